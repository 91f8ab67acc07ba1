"""What a door costs: not installed, installed and outside, and on while the call stays.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OPENBLAS_NUM_THREADS=1 \\
        python benchmarks/bench_doors.py

Each function is called with the smallest sensible arguments, so that the door's share shows. The
variants take turns within one process:

- plain: no door; outside: doors installed, nothing on.
- auto: within ``backend("auto")``, which is a context variable. "context" is plain NumPy while
  another variable is set: Python and NumPy look longer for NumPy's error state then.
- run: on for the whole process, as by ``dispatch-xp run``.

Figures are medians: of the plain times, and of the differences within a round, in nanoseconds. One
thread per pool, so that none spins.
"""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable
from contextvars import ContextVar

import numpy as np
import scipy.fft
import scipy.linalg
from interleave import rounds_of

import dispatch_xp
from dispatch_xp.config import load
from dispatch_xp.context import state_of, switch
from dispatch_xp.doors.code import copy_of, swap_code
from dispatch_xp.doors.handler import handler
from dispatch_xp.doors.multimethods import multimethod
from dispatch_xp.functions import FUNCTIONS

A = np.array([[2.0, 1.0], [1.0, 3.0]])
V = np.ones(10)
ANY: ContextVar[int] = ContextVar("any")
M = np.random.default_rng(0).random((64, 64))

CALLS: dict[str, Callable[[], object]] = {
    "a @ b (2x2)": lambda: A @ A,
    "a @ b (64x64)": lambda: M @ M,
    "np.exp(10)": lambda: np.exp(V),
    "np.dot(2x2)": lambda: np.dot(A, A),
    "np.inner(10)": lambda: np.inner(V, V),
    "np.sum(10)": lambda: np.sum(V),
    "x.sum()": V.sum,
    "np.tensordot(2x2)": lambda: np.tensordot(A, A, 1),
    "np.einsum(2x2)": lambda: np.einsum("ij,jk->ik", A, A),
    "np.linalg.solve(2x2)": lambda: np.linalg.solve(A, V[:2]),
    "np.linalg.inv(2x2)": lambda: np.linalg.inv(A),
    "np.fft.fft(10)": lambda: np.fft.fft(V),
    "scipy.linalg.solve(2x2)": lambda: scipy.linalg.solve(A, V[:2]),
    "scipy.linalg.svd(2x2)": lambda: scipy.linalg.svd(A),
    "scipy.fft.fft(10)": lambda: scipy.fft.fft(V),
    "scipy.fft.dct(10)": lambda: scipy.fft.dct(V),
}


def of_a_function() -> tuple[float, float]:
    """Return what a door adds to a function that does nothing, in ns: without and with uarray.

    The difference is that of large numbers anywhere else.
    """

    def nothing(a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True):
        return None

    reference = copy_of(nothing)
    found = []
    for beneath in (reference, multimethod(reference)):
        undo = swap_code(nothing, handler(FUNCTIONS["scipy.linalg.solve"]), beneath)
        times = rounds_of({"door": lambda: nothing(A, A), "none": lambda: reference(A, A)})
        undo()
        difference = zip(times["door"], times["none"], strict=True)
        found.append(statistics.median(door - none for door, none in difference) * 1e9)
    return found[0], found[1]


class Without:
    """No door at all."""

    def __enter__(self) -> None:
        dispatch_xp.uninstall()

    def __exit__(self, *exception: object) -> None: ...


class Outside:
    """Doors installed, no context active."""

    def __enter__(self) -> None:
        dispatch_xp.install()

    def __exit__(self, *exception: object) -> None: ...


class Context(Without):
    """No door, and a context variable of no meaning."""

    def __enter__(self) -> None:
        super().__enter__()
        self._token = ANY.set(1)

    def __exit__(self, *exception: object) -> None:
        ANY.reset(self._token)


class Run:
    """On in every context, as in a program that was started by ``dispatch-xp run``."""

    def __enter__(self) -> None:
        switch(state_of(load(backend="auto").settings))

    def __exit__(self, *exception: object) -> None:
        switch(None)


def main() -> None:
    warnings.simplefilter("ignore")
    plain_door, with_uarray = of_a_function()
    print(f"an installed door adds {plain_door:.0f} ns, in scipy.linalg {with_uarray:.0f} ns")
    names = "".join(f"{name:>10}" for name in AROUND if name != "plain")
    print(f"{'':26}{'plain':>10}{names}   (plain us; rest + ns)")
    for name, call in CALLS.items():
        found = rounds_of(
            dict.fromkeys(AROUND, call),
            rounds=31,
            seconds=0.01,
            around=AROUND,
        )
        plain = statistics.median(found["plain"])
        added = {
            variant: statistics.median(v - p for v, p in zip(times, found["plain"], strict=True))
            for variant, times in found.items()
            if variant != "plain"
        }
        figures = "".join(f"{seconds * 1e9:+10.0f}" for seconds in added.values())
        print(f"{name:26}{plain * 1e6:10.3f}{figures}")


AROUND: dict[str, Callable[[], object]] = {
    "plain": Without,
    "context": Context,
    "outside": Outside,
    "auto": lambda: dispatch_xp.backend("auto"),
    "run": Run,
}


if __name__ == "__main__":
    main()
