"""What a door costs: not installed, installed and outside, and active but staying.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OPENBLAS_NUM_THREADS=1 \\
        python benchmarks/bench_doors.py

Each function is called with the smallest sensible arguments, so that the door's share shows. The
three variants take turns within one process. Figures are medians: of the plain times, and of the
differences within a round, in nanoseconds. One thread per pool, so that none spins.
"""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable

import numpy as np
import scipy.fft
import scipy.linalg
from interleave import rounds_of

import dispatch_xp
from dispatch_xp.doors.code import copy_of, swap_code
from dispatch_xp.doors.handler import handler
from dispatch_xp.doors.multimethods import multimethod
from dispatch_xp.functions import FUNCTIONS

A = np.array([[2.0, 1.0], [1.0, 3.0]])
V = np.ones(10)

CALLS: dict[str, Callable[[], object]] = {
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


def main() -> None:
    warnings.simplefilter("ignore")
    plain_door, with_uarray = of_a_function()
    print(f"an installed door adds {plain_door:.0f} ns, in scipy.linalg {with_uarray:.0f} ns")
    auto = dispatch_xp.backend("auto")
    print(f"{'':26}{'plain':>12}{'outside':>12}{'auto, stays':>14}   (plain us; rest + ns)")
    for name, call in CALLS.items():
        found = rounds_of(
            {"plain": call, "outside": call, "auto": call},
            rounds=31,
            seconds=0.01,
            around={"plain": Without, "outside": Outside, "auto": lambda: auto},
        )
        plain = statistics.median(found["plain"])
        outside, inside = (
            statistics.median(v - p for v, p in zip(found[k], found["plain"], strict=True)) * 1e9
            for k in ("outside", "auto")
        )
        print(f"{name:26}{plain * 1e6:12.3f}{outside:+12.0f}{inside:+14.0f}")


if __name__ == "__main__":
    main()
