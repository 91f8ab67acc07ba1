"""``add`` of 1000 elements: NumPy, dispatch_xp and other namespaces, side by side.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python benchmarks/bench_array.py

``array_api_strict`` is left out where it is not installed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from interleave import medians

import dispatch_xp as xp

N = 1000


def main() -> None:
    a = np.linspace(0.0, 1.0, N)
    x = xp.asarray(a)
    variants: dict[str, Callable[[], object]] = {
        "np.add(a, a)": lambda: np.add(a, a),
        "xp.add(x, x)": lambda: xp.add(x, x),
        "x + x": lambda: x + x,
        "np.add(x, x)": lambda: np.add(x, x),
        "xp.sum(x)": lambda: xp.sum(x),
        "np.sum(a)": lambda: np.sum(a),
    }
    for name in ("array_api_compat.numpy", "array_api_strict"):
        if find_spec(name.partition(".")[0]) is not None:
            other = import_module(name)
            y = other.asarray(a)
            variants[f"{name}.add"] = lambda other=other, y=y: other.add(y, y)
    for label in ("reference", "auto"):
        with xp.backend(label):
            found = medians(variants)
        print(f"{N} elements, float64, inside backend({label!r})")
        base = found["np.add(a, a)"]
        for name, seconds in found.items():
            print(f"  {name:28}{seconds * 1e6:8.3f} us {seconds / base:8.2f} times np.add(a, a)")


if __name__ == "__main__":
    main()
