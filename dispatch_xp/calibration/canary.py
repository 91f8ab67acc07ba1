"""The canary: a small fixed job that tells a quiet machine from a disturbed one."""

from __future__ import annotations

import os
import time
from collections import deque

import numpy as np

from dispatch_xp.profile import cores

__all__ = ["Canary", "busy"]

# within the first cache, for which the one before the clock starts makes room
_ELEMENTS = 2_048
_TIMES = 16
_REMEMBERED = 2001
_NEEDED = 5
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
        self._seen: dict[str, deque[float]] = {}

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
        seen = self._seen.setdefault(kind, deque(maxlen=_REMEMBERED))
        seen.extend(seconds)
        if len(seen) < _NEEDED:
            return True
        usual = sorted(seen)[len(seen) // 10]
        quiet = max(seconds) <= self.tolerance * usual
        self.disturbed += not quiet
        return quiet
