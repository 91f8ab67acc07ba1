"""How long threads go on spinning after a call: until then they are in the way of what follows."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from dispatch_xp.backends.interface import Backend
from dispatch_xp.call import Call
from dispatch_xp.execution import execute
from dispatch_xp.operations import OPERATIONS

__all__ = ["USERS_OF_BLAS", "example", "of_backend", "of_blas", "spinning"]

# who brings a BLAS library with threads of its own
USERS_OF_BLAS = ("numpy", "scipy")

# between two looks; the share of it that the process may compute; how often that has to be so
_STEP, _IDLE, _LOOKS = 1e-3, 0.3, 4
_LONGEST = 0.3
# what is no longer may have been another thing, so it is seen several times
_LONG, _TIMES = 0.02, 3
# where the clock of the process is too coarse to see it: what OpenBLAS takes as it is built
_UNSEEN = 0.12


def spinning(call: Callable[[], Any]) -> float:
    """Return for how many seconds after a call the process goes on computing.

    Parameters
    ----------
    call : callable
        Called several times; of short spinning the median counts.
    """
    if time.get_clock_info("process_time").resolution > _STEP / 10:
        return _UNSEEN
    call()
    first = _once(call)
    return first if first > _LONG else median((first, *(_once(call) for _ in range(_TIMES - 1))))


def _once(call: Callable[[], Any]) -> float:
    call()
    started = last = time.perf_counter()
    computed, idle = time.process_time(), 0
    while idle < _LOOKS and last - started < _LONGEST:
        time.sleep(_STEP)
        now = time.process_time()
        if now - computed > _IDLE * _STEP:
            last, idle = time.perf_counter(), 0
        else:
            idle += 1
        computed = now
    return last - started


def of_blas(user: str) -> float:
    """Return how long the threads of NumPy's or SciPy's BLAS spin."""
    a = np.ones((300, 300))
    if user == "numpy":
        return spinning(lambda: np.matmul(a, a))
    import scipy.linalg.blas as blas

    return spinning(lambda: blas.dgemm(1.0, a, a))


def of_backend(backend: Backend) -> float:
    """Return how long a backend's threads spin."""
    run = example(backend)
    return 0.0 if run is None else spinning(run)


def example(backend: Backend) -> Callable[[], None] | None:
    """Return a call on a backend that wakes its threads, or None if it can't take it."""
    operation = OPERATIONS["exp"]
    if operation.name not in backend.operations():
        return None
    x = np.full(200_000, 0.5)
    call = Call(operation, x.dtype, (x.shape,), arrays=(x,))

    def run() -> None:
        execute(backend, call)
        backend.synchronize()

    return run
