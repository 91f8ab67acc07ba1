"""What a door costs: not installed, installed and outside, and active but staying.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python benchmarks/bench_doors.py

Each function is called with the smallest sensible arguments, so that the door's share shows. The
three variants take turns within one process; figures are medians, differences in nanoseconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import scipy.fft
import scipy.linalg
from interleave import medians

import dispatch_xp

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
    auto = dispatch_xp.backend("auto")
    print(f"{'':26}{'plain':>12}{'outside':>12}{'auto, stays':>14}   (plain us; rest + ns)")
    for name, call in CALLS.items():
        found = medians(
            {"plain": call, "outside": call, "auto": call},
            around={"plain": Without, "outside": Outside, "auto": lambda: auto},
        )
        plain = found["plain"]
        outside, inside = ((found[k] - plain) * 1e9 for k in ("outside", "auto"))
        print(f"{name:26}{plain * 1e6:12.3f}{outside:+12.0f}{inside:+14.0f}")


if __name__ == "__main__":
    main()
