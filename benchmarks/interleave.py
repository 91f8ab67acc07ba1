"""Timing several variants of a statement side by side, in turn, so that drift hits them alike."""

from __future__ import annotations

import statistics
import time
import timeit
from collections.abc import Callable

__all__ = ["medians", "rounds_of"]


def rounds_of(
    variants: dict[str, Callable[[], object]],
    *,
    rounds: int = 15,
    seconds: float = 0.02,
    around: dict[str, Callable[[], object]] | None = None,
    rest: float = 0.0,
) -> dict[str, list[float]]:
    """Return the seconds of one call of each variant, round by round.

    Parameters
    ----------
    variants : dict of str to callable
        What to time.
    rounds : int
        How often each is visited; the order alternates.
    seconds : float
        How long one visit takes, about.
    around : dict of str to callable, optional
        Returns a context manager to be inside of while a variant is timed.
    rest : float
        Seconds to wait before each visit: thread pools spin for a while after a call, and would
        slow whichever variant comes after the one that uses them.
    """
    around = around or {}
    counts: dict[str, int] = {}
    times: dict[str, list[float]] = {name: [] for name in variants}
    for name, function in variants.items():
        with around[name]() if name in around else _nothing():
            function()
            once = min(timeit.repeat(function, number=1, repeat=3))
        counts[name] = max(1, int(seconds / max(once, 1e-8)))
    for turn in range(rounds):
        order = list(variants.items())
        for name, function in order if turn % 2 else reversed(order):
            with around[name]() if name in around else _nothing():
                time.sleep(rest)
                function()
                total = timeit.timeit(function, number=counts[name])
            times[name].append(total / counts[name])
    return times


def medians(
    variants: dict[str, Callable[[], object]],
    *,
    rounds: int = 15,
    seconds: float = 0.02,
    around: dict[str, Callable[[], object]] | None = None,
    rest: float = 0.0,
) -> dict[str, float]:
    """Return the median seconds of one call of each variant; arguments as :func:`rounds_of`."""
    times = rounds_of(variants, rounds=rounds, seconds=seconds, around=around, rest=rest)
    return {name: statistics.median(values) for name, values in times.items()}


class _nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...
