"""A chain of calls on a device: an ``Array`` that stays, ndarrays that are copied, and NumPy.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python benchmarks/bench_residency.py [BACKEND]

BACKEND is one with memory of its own; ``dpnp`` if not given.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from interleave import medians

import dispatch_xp as xp
from dispatch_xp import backends

N = 10_000_000


def chain(x: Any, namespace: Any) -> Any:
    """Ten elementwise calls on one array."""
    y = namespace.exp(-x)
    y = namespace.sin(y) * x
    y = namespace.sqrt(namespace.abs(y))
    y = namespace.tanh(y) + x
    return namespace.exp(-y)


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "dpnp"
    backends.get(name).start()
    a = np.random.default_rng(0).standard_normal(N)

    def stays() -> Any:
        with xp.backend(name):
            return np.asarray(chain(xp.asarray(a), xp))

    def copies() -> Any:
        with xp.backend(name):
            return chain(a, np)

    found = medians(
        {"NumPy": lambda: chain(a, np), f"{name}, ndarray": copies, f"{name}, Array": stays}
    )
    print(f"ten elementwise calls on {N} float64")
    for label, seconds in found.items():
        times = found["NumPy"] / seconds
        print(f"  {label:20}{seconds * 1e3:8.2f} ms {times:6.2f} times as fast as NumPy")


if __name__ == "__main__":
    main()
