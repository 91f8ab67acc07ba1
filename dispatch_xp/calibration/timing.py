"""Timing one case on the reference and on a backend."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from dispatch_xp.backends.interface import Backend
from dispatch_xp.calibration.plan import Case
from dispatch_xp.config import Settings
from dispatch_xp.policies.fixed import FixedPolicy
from dispatch_xp.router import consider
from dispatch_xp.state import State

__all__ = ["Failure", "fastest", "on_backend", "on_device", "on_reference", "state_for"]

_SHORT = 50e-6
_LEAST = 3
_LONG = 10e-3


class Failure(Exception):
    """A backend did not finish a case; a failed call is never a fast call."""


def fastest(run: Callable[[], Any], budget: float, *, most: int = 7) -> float:
    """Return the shortest time of one call.

    Parameters
    ----------
    run : callable
        The call; the first one warms up and is not counted.
    budget : float
        Seconds to spend, about. At least one call is timed; three of those that are not long,
        since a single one may have waited for another program.
    most : int
        Calls to time at the most.
    """
    clock = time.perf_counter
    run()
    started = clock()
    run()
    once = clock() - started
    best = once
    repeat = max(1, int(_SHORT / max(once, 1e-7)))
    spent, count = once, 1
    while count < most and (
        spent + repeat * best < budget or (count < _LEAST and repeat * best < _LONG)
    ):
        started = clock()
        for _ in range(repeat):
            run()
        seconds = clock() - started
        spent += seconds
        count += 1
        best = min(best, seconds / repeat)
    return best


def on_reference(case: Case, budget: float) -> float:
    """Return the time of the function itself, as a user calls it."""
    reference, arguments, keywords = case.reference, case.arguments, case.keywords
    return fastest(lambda: reference(*arguments, **keywords), budget)


def on_backend(case: Case, backend: Backend, settings: Settings, budget: float) -> float:
    """Return the time on a backend, with everything that routing adds.

    Raises
    ------
    Failure
        If the call ends on the reference.
    """
    state = state_for(backend, settings)
    function, arguments, keywords = case.function, case.arguments, case.keywords

    def run() -> None:
        outcome = consider(state, function, arguments, keywords)
        if not outcome.done:
            raise Failure(f"{outcome.decision.reason}: {outcome.decision.why}")
        backend.synchronize()

    return fastest(run, budget)


def on_device(case: Case, backend: Backend, settings: Settings, budget: float) -> float:
    """Return the time on a backend with memory of its own, copies left out.

    Raises
    ------
    Failure
        If the call ends on the reference.
    """
    outcome = consider(state_for(backend, settings), case.function, case.arguments, case.keywords)
    if not outcome.done:
        raise Failure(f"{outcome.decision.reason}: {outcome.decision.why}")
    call = case.call
    arrays = tuple(backend.copy_in(array, call.dtype) for array in call.arrays)

    def run() -> None:
        backend.run(call, arrays)
        backend.synchronize()

    return fastest(run, budget)


def state_for(backend: Backend, settings: Settings) -> State:
    """Return a state in which one backend takes whatever it can."""
    import msgspec

    only = msgspec.structs.replace(settings, backend=backend.name, operations={}, verify=False)
    return State(only, FixedPolicy(only), (backend,))
