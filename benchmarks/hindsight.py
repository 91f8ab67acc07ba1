"""Policies that measure and that know: every call of a program timed where it is, then the oracle.

A program is run under :class:`Metered` once or several times per backend; :class:`Times` keeps the
shortest time of every call signature. An :class:`Oracle` looks its choice up.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from dispatch_xp.backends.interface import Backend
from dispatch_xp.call import Call
from dispatch_xp.config import Settings
from dispatch_xp.context import switch
from dispatch_xp.decision import REFERENCE, Decision, Standing, stay
from dispatch_xp.observer import Ended, Observer
from dispatch_xp.operations import Operation
from dispatch_xp.policies import Policy
from dispatch_xp.reasons import Reason
from dispatch_xp.state import State

__all__ = ["Choices", "Metered", "Oracle", "Times", "active"]

Signature = tuple[Any, ...]


@contextmanager
def active(state: State) -> Iterator[None]:
    """Make a state that of the whole process for a while."""
    switch(state)
    try:
        yield
    finally:
        switch(None)


class Times:
    """The shortest time of every call by backend, how often it is made, and what it is."""

    def __init__(self) -> None:
        self.seconds: dict[Signature, dict[str, float]] = defaultdict(dict)
        self.calls: dict[Signature, Call] = {}
        self.counts: dict[Signature, int] = {}

    def keep(self, call: Call, backend: str, seconds: float) -> None:
        known = self.seconds[call.signature]
        known[backend] = min(seconds, known.get(backend, math.inf))

    def choice(self, signature: Signature, among: Sequence[str], margin: float) -> str:
        """Return the fastest backend if the reference takes so many times as long."""
        seconds = self.seconds.get(signature, {})
        there = [name for name in among if name in seconds]
        if REFERENCE not in seconds or not there:
            return REFERENCE
        best = min(there, key=seconds.__getitem__)
        return best if seconds[REFERENCE] >= margin * seconds[best] else REFERENCE


class Metered(Policy):
    """Runs everything on one backend, as far as it goes, and keeps the times.

    Parameters
    ----------
    settings : Settings
        The effective configuration.
    backend : str
        Where to run.
    times : Times
        Where to keep them.
    """

    name = "metered"

    def __init__(self, settings: Settings, backend: str, times: Times) -> None:
        super().__init__(settings)
        self.backend = backend
        self.times = times
        self.counts: dict[Signature, int] = defaultdict(int)

    def choose(self, call: Call, candidates: Sequence[Backend]) -> Decision:
        signature = call.signature
        self.counts[signature] += 1
        if signature not in self.times.calls:
            kept = replace(call, arrays=(), destination=None, owners=())
            self.times.calls[signature] = kept
        if self.backend != REFERENCE:
            there = any(backend.name == self.backend for backend in candidates)
            return Decision(self.backend, Reason.FIXED) if there else stay(Reason.NO_BACKEND)
        seconds = _loop_seconds(call)
        if seconds is not None:
            self.times.keep(call, REFERENCE, seconds)
        return stay(Reason.FIXED)

    def observe(self, call: Call, backend: str, seconds: float) -> None:
        if backend == self.backend:
            self.times.keep(call, backend, seconds)


def _loop_seconds(call: Call) -> float | None:
    """Time a ufunc on the reference, whose loop runs out of our sight; None for what isn't one."""
    ufunc = getattr(np, call.operation.numpy.removeprefix("numpy."), None)
    if not isinstance(ufunc, np.ufunc):
        return None
    arrays: Sequence[np.ndarray[Any, Any]] = call.arrays
    if call.in_place:
        # the argument that is the output is a view of it
        arrays = [array.copy() for array in arrays]
        out = next(copy for copy, a in zip(arrays, call.arrays, strict=True) if a.base is not None)
    elif call.destination is not None:
        (out,) = call.destination
    else:
        return None
    with np.errstate(all="ignore"):
        started = time.perf_counter()
        ufunc(*arrays, out=out)
        return time.perf_counter() - started


class Oracle(Policy):
    """Chooses what was measured to be best, at the cost of a look-up.

    Parameters
    ----------
    settings : Settings
        The effective configuration.
    times : Times
        What was measured.
    among : sequence of str
        Which backends it may choose.
    margin : float
        How many times as long as a backend the reference has to take. Below 1, a backend keeps its
        threads awake by running also what it is slower at.
    """

    name = "oracle"

    def __init__(
        self, settings: Settings, times: Times, among: Sequence[str], margin: float
    ) -> None:
        super().__init__(settings)
        self.label = f"{'+'.join(among) or REFERENCE}, from {margin:g}"
        self._smallest: dict[str, float] = {}
        self._decisions: dict[Signature, Decision] = {}
        for signature, call in times.calls.items():
            name = times.choice(signature, among, margin)
            standing = Standing(255) if name == REFERENCE else None
            self._decisions[signature] = Decision(name, Reason.FIXED, standing=standing)
            if name != REFERENCE:
                elements = max(map(math.prod, call.shapes))
                known = self._smallest.get(call.operation.name, math.inf)
                self._smallest[call.operation.name] = min(known, elements)

    def choose(self, call: Call, candidates: Sequence[Backend]) -> Decision:
        found = self._decisions.get(call.signature)
        if found is None or all(backend.name != found.backend for backend in candidates):
            return found if found is not None and found.standing else stay(Reason.FIXED)
        return found

    def limit(self, operation: Operation, backends: Sequence[Backend]) -> float:
        return self._smallest.get(operation.name, math.inf)


class Choices(Observer):
    """Counts where calls ran that were not on the reference."""

    def __init__(self) -> None:
        self.away: dict[Signature, dict[str, int]] = defaultdict(lambda: defaultdict(int))

    def add(self, ended: Ended) -> None:
        if ended.call is not None and ended.backend != REFERENCE:
            self.away[ended.call.signature][ended.backend] += 1

    def of(self, signature: Signature, count: int) -> Mapping[str, int]:
        """Return how many of so many calls ran where."""
        away = dict(self.away.get(signature, {}))
        return {REFERENCE: max(count - sum(away.values()), 0), **away}
