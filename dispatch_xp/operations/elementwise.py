"""Elementwise functions of the Array API standard.

Each counts one flop an element; what it really costs is measured, function by function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dispatch_xp.operations.row import (
    Operation,
    Options,
    Problem,
    Shapes,
    broadcast,
    mask_dtype,
    real_dtype,
    same_dtype,
)

__all__ = ["ROWS"]

ELEMENTS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
INTEGERS = "biu"


def _positive(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> Any:
    """Return values inside the domain of every function but ``acosh``."""
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(dtype)
    if dtype.kind in "iu":
        return rng.integers(1, 7, n).astype(dtype)
    x = rng.uniform(0.1, 0.9, n)
    return (x + 1j * rng.uniform(0.1, 0.9, n) if dtype.kind == "c" else x).astype(dtype)


def _above_one(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> Any:
    return (_positive(n, dtype, rng) + 1).astype(dtype)


def _row(
    name: str,
    numpy: str,
    kinds: str,
    *,
    inputs: int = 1,
    out_dtype: Callable[[np.dtype[Any]], np.dtype[Any]] = same_dtype,
    make: Callable[[int, np.dtype[Any], np.random.Generator], Any] = _positive,
) -> Operation:
    def arguments(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        return tuple(make(n, dtype, rng) for _ in range(inputs))

    def flops(shapes: Shapes, options: Options) -> float:
        return float(math.prod(broadcast(*shapes)))

    return Operation(
        name,
        array_api=name,
        numpy=f"numpy.{numpy}",
        flops=flops,
        outputs=lambda shapes, options: (broadcast(*shapes),),
        source="one per element",
        problems=(Problem("vector", f"numpy.{numpy}", arguments, ELEMENTS, "elements"),),
        layout=lambda shapes, options: "vector",
        kinds=kinds,
        complex_factor=1,
        out_dtype=out_dtype,
    )


_UNARY = {
    "acos": "arccos",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atanh": "arctanh",
    "cos": "cos",
    "cosh": "cosh",
    "exp": "exp",
    "expm1": "expm1",
    "log": "log",
    "log1p": "log1p",
    "log2": "log2",
    "log10": "log10",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "tan": "tan",
    "tanh": "tanh",
    "reciprocal": "reciprocal",
}
_UNARY_ANY = {
    "conj": "conjugate",
    "negative": "negative",
    "positive": "positive",
    "square": "square",
    "sign": "sign",
}
_UNARY_REAL = {"ceil": "ceil", "floor": "floor", "trunc": "trunc", "round": "rint"}
_UNARY_MASK = {"isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan"}
_BINARY_ANY = {
    "add": "add",
    "subtract": "subtract",
    "multiply": "multiply",
    "divide": "divide",
    "pow": "power",
}
_BINARY_REAL = {
    "atan2": "arctan2",
    "copysign": "copysign",
    "hypot": "hypot",
    "logaddexp": "logaddexp",
    "nextafter": "nextafter",
    "floor_divide": "floor_divide",
    "remainder": "remainder",
    "maximum": "maximum",
    "minimum": "minimum",
}
_COMPARISONS = {
    "equal": "equal",
    "not_equal": "not_equal",
    "greater": "greater",
    "greater_equal": "greater_equal",
    "less": "less",
    "less_equal": "less_equal",
}
_LOGICAL = {"logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor"}
_BITWISE = {
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
}


def _views() -> tuple[Operation, ...]:
    """Return ``real`` and ``imag``: NumPy gives views, so no door ever routes them."""
    return tuple(
        Operation(
            name,
            array_api=name,
            numpy=f"numpy.{name}",
            flops=lambda shapes, options: float(math.prod(shapes[0])),
            outputs=lambda shapes, options: (shapes[0],),
            source="one per element",
            problems=(),
            layout=lambda shapes, options: "vector",
            kinds="fc",
            complex_factor=1,
            out_dtype=real_dtype,
        )
        for name in ("real", "imag")
    )


def _clip() -> Operation:
    def arguments(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        low, high = np.asarray([0.3, 0.6]).astype(dtype)
        return _positive(n, dtype, rng), low, high

    return Operation(
        "clip",
        array_api="clip",
        numpy="numpy.clip",
        flops=lambda shapes, options: float(math.prod(broadcast(*shapes))),
        outputs=lambda shapes, options: (broadcast(*shapes),),
        source="one per element",
        problems=(Problem("vector", "numpy.clip", arguments, ELEMENTS, "elements"),),
        layout=lambda shapes, options: "vector",
        kinds="f",
        complex_factor=1,
    )


ROWS = (
    _row("abs", "absolute", "fc", out_dtype=real_dtype),
    _row("acosh", "arccosh", "fc", make=_above_one),
    *(_row(name, numpy, "fc") for name, numpy in _UNARY.items()),
    *(_row(name, numpy, "fc") for name, numpy in _UNARY_ANY.items()),
    *(_row(name, numpy, "f") for name, numpy in _UNARY_REAL.items()),
    *(_row(name, numpy, "fc", out_dtype=mask_dtype) for name, numpy in _UNARY_MASK.items()),
    _row("signbit", "signbit", "f", out_dtype=mask_dtype),
    *(_row(name, numpy, "fc", inputs=2) for name, numpy in _BINARY_ANY.items()),
    *(_row(name, numpy, "f", inputs=2) for name, numpy in _BINARY_REAL.items()),
    *(
        _row(name, numpy, "f", inputs=2, out_dtype=mask_dtype)
        for name, numpy in _COMPARISONS.items()
    ),
    *(_row(name, numpy, "b", inputs=2, out_dtype=mask_dtype) for name, numpy in _LOGICAL.items()),
    _row("logical_not", "logical_not", "b", out_dtype=mask_dtype),
    *(_row(name, numpy, "iu", inputs=2) for name, numpy in _BITWISE.items()),
    _row("bitwise_invert", "invert", "iu"),
    _clip(),
    *_views(),
)
