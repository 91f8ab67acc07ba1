"""The canary: a small fixed job that tells a quiet machine from a disturbed one."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Sequence

import numpy as np

from dispatch_xp.profile import cores

__all__ = ["Canary", "busy"]

# within the first cache, for which the one before the clock starts makes room
_ELEMENTS = 2_048
_TIMES = 16
_REMEMBERED = 2001
_NEEDED = 5
# of what is remembered, what is usual is found anew so often
_RENEWED = 50
LOADED = 0.5


def busy() -> str:
    """Return how many programs want how many cores, or nothing if those are few."""
    load, there = (os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0), cores()
    return f"a load of {load:.1f} on {there} cores" if load > LOADED * there else ""


class Canary:
    """Times the same sum again and again, next to what is measured.

    What is usual depends on what ran before: a thread pool that still spins takes a part of the
    processor. So each `kind` of neighbour has its own usual time, a tenth of those seen are below
    it: on a shared machine other programs may be at work for more than half of the time.

    Parameters
    ----------
    tolerance : float
        How many times the usual time is still quiet.

    Attributes
    ----------
    disturbed : int
        How often it was not.
    """

    def __init__(self, tolerance: float = 1.3) -> None:
        self.tolerance = tolerance
        self.disturbed = 0
        self._values = np.linspace(0.0, 1.0, _ELEMENTS)
        self._seen: dict[str, _Seen] = {}

    def sing(self) -> float:
        """Return the seconds that the job takes now: some 20 us on a quiet machine."""
        job, values, clock = np.add.reduce, self._values, time.perf_counter
        job(values)
        started = clock()
        for _ in range(_TIMES):
            job(values)
        return clock() - started

    def is_quiet(self, kind: str, *seconds: float) -> bool:
        """Return whether the job was as fast as it usually is, and remember.

        Parameters
        ----------
        kind : str
            What ran next to it.
        *seconds : float
            From :meth:`sing`, before and after.
        """
        usual = self._seen.setdefault(kind, _Seen()).usual(seconds)
        quiet = usual is None or max(seconds) <= self.tolerance * usual
        self.disturbed += not quiet
        return quiet


class _Seen:
    """What was seen next to one kind of neighbour."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=_REMEMBERED)
        self._usual = math.inf
        self._since = 0

    def usual(self, seconds: Sequence[float]) -> float | None:
        """Remember, and return what is usual; None as long as too little is known."""
        self._times.extend(seconds)
        self._since += len(seconds)
        if len(self._times) < _NEEDED:
            return None
        if self._since >= _RENEWED or len(self._times) <= _RENEWED:
            self._since = 0
            self._usual = sorted(self._times)[len(self._times) // 10]
        return self._usual
