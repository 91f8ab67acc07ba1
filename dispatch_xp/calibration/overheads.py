"""What a backend costs besides computing: its start, copies, and a change of thread pools."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dispatch_xp import quiet_pools
from dispatch_xp.backends.interface import Backend
from dispatch_xp.calibration.spinning import example
from dispatch_xp.calibration.timing import Failure, fastest
from dispatch_xp.profile import Copy

__all__ = ["copies", "in_fresh_process", "page_locked_copy", "switch"]

# all that is ours is imported before the clock starts
_CHILD = """
import sys, time
import numpy as np
from dispatch_xp.backends import get
from dispatch_xp.calibration.overheads import switch
from dispatch_xp.call import Call
from dispatch_xp.execution import execute
from dispatch_xp.operations import OPERATIONS
backend, x = get(sys.argv[1]), np.ones(8, dtype=np.float32)
call = Call(OPERATIONS["exp"], x.dtype, (x.shape,), arrays=(x,))
started = time.perf_counter()
backend.start()
if "exp" in backend.operations():
    execute(backend, call)
print(time.perf_counter() - started)
print(switch(backend))
"""


def in_fresh_process(backend: Backend) -> tuple[float, float]:
    """Return what a backend costs in a process of the user's own.

    Returns
    -------
    startup : float
        The seconds from nothing to the first result; 0 if no library has to be loaded.
    switch : float
        As :func:`switch` says, with thread pools as they come there.

    Raises
    ------
    Failure
        If it doesn't get that far there: a start that can't be measured is not free.
    """
    environment = quiet_pools.as_they_come(os.environ)
    # the child finds what this process found, installed or not
    environment["PYTHONPATH"] = os.pathsep.join(p or os.curdir for p in sys.path)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, backend.name],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
            env=environment,
        )
        begin, change = map(float, done.stdout.split()[-2:])
    except subprocess.CalledProcessError as error:
        lines = str(error.stderr).strip().splitlines()
        raise Failure(
            f"it does not start in a fresh process: {lines[-1] if lines else ''}"
        ) from error
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise Failure(f"its start in a fresh process could not be timed: {error}") from error
    return (begin if backend.modules else 0.0), change


def copies(backend: Backend, largest: int = 64_000_000) -> tuple[Copy | None, Copy | None]:
    """Return the cost of copying in and out; None for a backend on the host's memory."""
    if backend.shares_host_memory:
        return None, None
    sizes = _sizes(largest)
    times_in, times_out = [], []
    for size in sizes:
        copy_in = partial(_copied_in, backend, np.ones(size // _DOUBLE.itemsize))
        device = copy_in()
        times_in.append(fastest(copy_in, 0.2))
        times_out.append(fastest(partial(backend.copy_out, device), 0.2))
    return _line(sizes, times_in), _line(sizes, times_out)


def page_locked_copy(backend: Backend, largest: int = 64_000_000) -> Copy | None:
    """Return the cost of copying in from page-locked memory; None where there is no such thing.

    Raises
    ------
    Failure
        If the backend doesn't know such memory again: the figures would never be used.
    """
    if backend.shares_host_memory:
        return None
    sizes = _sizes(largest)
    times = []
    for size in sizes:
        memory = backend.page_locked(size)
        if memory is None:
            return None
        host = memory.view(_DOUBLE)
        host[...] = 1.0
        if not backend.is_page_locked(host, _DOUBLE):
            raise Failure("it does not recognise its own page-locked memory")
        times.append(fastest(partial(_copied_in, backend, host), 0.2))
    return _line(sizes, times)


_DOUBLE = np.dtype(np.float64)


def _sizes(largest: int) -> list[int]:
    return [size for size in (8_000, 800_000, 8_000_000, largest) if size <= largest]


def _copied_in(backend: Backend, array: npt.NDArray[Any]) -> Any:
    value = backend.copy_in(array, _DOUBLE)
    backend.synchronize()
    return value


def _line(sizes: list[int], seconds: list[float]) -> Copy:
    """Return the fixed part from the smallest copy and the rate from the largest."""
    rate = (sizes[-1] - sizes[0]) / max(seconds[-1] - seconds[0], 1e-12)
    return Copy(max(seconds[0] - sizes[0] / rate, 0.0), rate)


def switch(backend: Backend, rounds: int = 15) -> float:
    """Return what a call costs more right after one of the reference.

    NumPy's, SciPy's and a backend's thread pools wait for work by spinning, and for a while after
    a call they take the cores from each other. Measured with a matrix product on the reference and
    an elementwise function on the backend, in turn and each alone; medians.
    """
    run = example(backend)
    if run is None:
        return 0.0
    a = np.ones((300, 300))
    clock = time.perf_counter

    def product() -> float:
        started = clock()
        np.matmul(a, a)
        return clock() - started

    def routed() -> float:
        started = clock()
        run()
        return clock() - started

    product_alone = float(np.median([product() for _ in range(rounds)]))
    time.sleep(0.2)
    routed_alone = float(np.median([routed() for _ in range(rounds)]))
    pairs = [(product(), routed()) for _ in range(rounds)]
    together = float(np.median([p + r for p, r in pairs]))
    # one change there and one back
    return max(together - product_alone - routed_alone, 0.0) / 2
