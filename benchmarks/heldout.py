"""Calls that calibration did not measure: other sizes, other shapes, all kinds of operations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dispatch_xp.calibration.plan import Case, resolve
from dispatch_xp.errors import Unsupported
from dispatch_xp.functions import FUNCTIONS

__all__ = ["calls"]

UNARY = "absolute exp log sin sqrt square tanh isfinite negative floor expm1 arctan".split()
BINARY = "add multiply divide maximum less power hypot".split()
REDUCTIONS = "sum mean var min argmax".split()
SQUARE = "solve inv det cholesky eigh eigvalsh svd svdvals qr pinv eig eigvals".split()
DTYPES = ("float64", "float64", "float32", "complex128")


class _Maker:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def between(self, low: float, high: float) -> int:
        """Return a whole number, uniform in its logarithm."""
        return round(math.exp(self.rng.uniform(math.log(low), math.log(high))))

    def choice(self, values: Any) -> Any:
        return values[self.rng.integers(len(values))]

    def array(self, shape: tuple[int, ...], dtype: str) -> Any:
        x = self.rng.uniform(0.1, 0.9, shape)
        if np.dtype(dtype).kind == "c":
            x = x + 1j * self.rng.uniform(0.1, 0.9, shape)
        return x.astype(dtype)

    def elementwise(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        dtype, n = self.choice(DTYPES), self.between(1e3, 3e6)
        if self.rng.random() < 0.6:
            return f"numpy.{self.choice(UNARY)}", (self.array((n,), dtype),), {}
        operands = (self.array((n,), dtype), self.array((n,), dtype))
        return f"numpy.{self.choice(BINARY)}", operands, {}

    def reduction(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        rows = self.between(1, 3000)
        shape = (rows, max(self.between(1e3, 2e6) // rows, 1))
        axis = self.choice((None, 0, 1))
        x = self.array(shape, self.choice(("float64", "float32")))
        return f"numpy.{self.choice(REDUCTIONS)}", (x,), {"axis": axis}

    def product(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        dtype = self.choice(DTYPES)
        m, k, n = (self.between(16, 1200) for _ in range(3))
        if self.rng.random() < 0.25:
            stack = self.between(4, 400)
            m, k, n = (self.between(4, 60) for _ in range(3))
            a, b = self.array((stack, m, k), dtype), self.array((stack, k, n), dtype)
        else:
            a, b = self.array((m, k), dtype), self.array((k, n), dtype)
        return "numpy.matmul", (a, b), {}

    def matrix(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        name, dtype = self.choice(SQUARE), self.choice(DTYPES)
        n = self.between(8, 400)
        stack = (self.between(4, 300),) if self.rng.random() < 0.3 else ()
        n = min(n, 40) if stack else n
        if name in ("qr", "svd", "svdvals", "pinv") and self.rng.random() < 0.6:
            m = self.between(n, 20 * n)
            a = self.array((*stack, m, n), dtype)
        else:
            a = self.array((*stack, n, n), dtype) + n * np.eye(n, dtype=dtype)
            if name in ("cholesky", "eigh", "eigvalsh"):
                a = a + np.conj(np.swapaxes(a, -1, -2))
        arguments = (
            (a, self.array((*stack, n, self.between(1, n)), dtype)) if name == "solve" else (a,)
        )
        keywords = {"full_matrices": False} if name == "svd" else {}
        return f"numpy.linalg.{name}", arguments, keywords

    def transform(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        dtype = self.choice(("complex128", "complex64", "float64"))
        real = dtype == "float64"
        package = self.choice(("numpy.fft", "scipy.fft"))
        kind = self.rng.integers(3)
        if kind == 0:
            shape: tuple[int, ...] = (self.between(500, 5e5),)
            name = "rfft" if real else "fft"
        elif kind == 1:
            shape = (self.between(4, 500), self.between(64, 4000))
            name = "rfft" if real else "ifft"
        else:
            shape = (self.between(32, 900), self.between(32, 900))
            name = "rfft2" if real else "fft2"
        return f"{package}.{name}", (self.array(shape, dtype),), {}

    def order(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        name = self.choice(("numpy.sort", "numpy.argsort"))
        keywords = {"stable": True} if name == "numpy.argsort" else {}
        if self.rng.random() < 0.5:
            shape: tuple[int, ...] = (self.between(1e3, 5e5),)
        else:
            shape = (self.between(4, 400), self.between(64, 2000))
        return name, (self.array(shape, self.choice(("float64", "float32"))),), keywords


def calls(count: int, seed: int = 1) -> Iterator[Case]:
    """Yield so many calls that some backend may take.

    Parameters
    ----------
    count : int
        How many.
    seed : int
        Of the random generator.
    """
    maker = _Maker(seed)
    kinds = (
        maker.elementwise, maker.elementwise, maker.reduction, maker.product, maker.matrix,
        maker.matrix, maker.transform, maker.order,
    )  # fmt: skip
    made = 0
    while made < count:
        path, arguments, keywords = maker.choice(kinds)()
        try:
            call = FUNCTIONS[path].bind(*arguments, **keywords).call
        except Unsupported:
            continue
        made += 1
        yield Case(FUNCTIONS[path], resolve(path), arguments, keywords, call)
