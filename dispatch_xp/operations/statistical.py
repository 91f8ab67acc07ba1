"""Reductions, searches and cumulative sums along axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dispatch_xp.operations.row import (
    Operation,
    Options,
    Problem,
    Shape,
    Shapes,
    index_dtype,
    mask_dtype,
    real_dtype,
    same_dtype,
)

__all__ = ["ROWS", "reduced"]

ELEMENTS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
ROW_LENGTH = 250


def reduced(shape: Shape, options: Options) -> tuple[int, ...]:
    """Return the axes that are reduced, non-negative."""
    axis = options.get("axis")
    if axis is None:
        return tuple(range(len(shape)))
    return tuple(a % len(shape) for a in ((axis,) if isinstance(axis, int) else axis))


def _outputs(shapes: Shapes, options: Options) -> Shapes:
    axes = reduced(shapes[0], options)
    if options.get("keepdims"):
        return (tuple(1 if i in axes else n for i, n in enumerate(shapes[0])),)
    return (tuple(n for i, n in enumerate(shapes[0]) if i not in axes),)


def _layout(shapes: Shapes, options: Options) -> str:
    axes = reduced(shapes[0], options)
    if len(axes) == len(shapes[0]):
        return "vector"
    if len(shapes[0]) - 1 not in axes:
        return "columns"
    # of rows so long nobody notices where they end
    return "vector" if math.prod(shapes[0][i] for i in axes) >= 16 * ROW_LENGTH else "rows"


def _values(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> Any:
    if dtype.kind == "b":
        return np.ones(shape, dtype=dtype)
    x = rng.uniform(0.9, 1.1, shape)
    return (x + 1j * rng.uniform(-0.1, 0.1, shape) if dtype.kind == "c" else x).astype(dtype)


def _near_one(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> Any:
    """Return values whose product stays near one, however many they are."""
    return (1 + 1e-9 * _values(shape, dtype, rng)).astype(dtype)


def _false(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> Any:
    return np.zeros(shape, dtype=dtype)


# np.random is imported when it is named, which takes 9 ms
Maker = Callable[[Shape, np.dtype[Any], "np.random.Generator"], Any]


def _problems(function: str, make: Maker) -> tuple[Problem, ...]:
    def vector(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        return (make((n,), dtype, rng),)

    def matrix(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        return (make((max(n // ROW_LENGTH, 2), ROW_LENGTH), dtype, rng),)

    return (
        Problem("vector", function, vector, ELEMENTS, "elements"),
        Problem("rows", function, matrix, ELEMENTS, "elements", (("axis", 1),)),
        Problem("columns", function, matrix, ELEMENTS, "elements", (("axis", 0),)),
    )


def _row(
    name: str,
    kinds: str,
    *,
    per_element: float = 1.0,
    options: tuple[str, ...] = ("axis", "keepdims"),
    make: Maker = _values,
    out_dtype: Callable[[np.dtype[Any]], np.dtype[Any]] = same_dtype,
) -> Operation:
    return Operation(
        name,
        array_api=name,
        numpy=f"numpy.{name}",
        flops=lambda shapes, options: per_element * math.prod(shapes[0]),
        outputs=_outputs,
        source=f"{per_element:g} per element",
        problems=_problems(f"numpy.{name}", make),
        layout=_layout,
        options=frozenset(options),
        kinds=kinds,
        complex_factor=2,
        out_dtype=out_dtype,
    )


def _cumulative() -> Operation:
    def vector(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        return (_values((n,), dtype, rng),)

    def matrix(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        return (_values((max(n // ROW_LENGTH, 2), ROW_LENGTH), dtype, rng),)

    def layout(shapes: Shapes, options: Options) -> str:
        if len(shapes[0]) == 1:
            return "vector"
        last = options["axis"] % len(shapes[0]) == len(shapes[0]) - 1
        return "rows" if last else "columns"

    return Operation(
        "cumulative_sum",
        array_api="cumulative_sum",
        numpy="numpy.cumsum",
        flops=lambda shapes, options: float(math.prod(shapes[0])),
        outputs=lambda shapes, options: shapes,
        source="one per element",
        problems=(
            Problem("vector", "numpy.cumsum", vector, ELEMENTS, "elements"),
            Problem("rows", "numpy.cumsum", matrix, ELEMENTS, "elements", (("axis", 1),)),
            Problem("columns", "numpy.cumsum", matrix, ELEMENTS, "elements", (("axis", 0),)),
        ),
        layout=layout,
        options=frozenset({"axis"}),
        kinds="iufc",
        complex_factor=2,
    )


ROWS = (
    _row("sum", "iufc"),
    _row("prod", "iufc", make=_near_one),
    _row("mean", "fc"),
    _row(
        "var", "fc", per_element=4.0, options=("axis", "keepdims", "correction"),
        out_dtype=real_dtype,
    ),
    _row(
        "std", "fc", per_element=4.0, options=("axis", "keepdims", "correction"),
        out_dtype=real_dtype,
    ),
    _row("min", "iuf"),
    _row("max", "iuf"),
    _row("argmin", "iuf", out_dtype=index_dtype),
    _row("argmax", "iuf", out_dtype=index_dtype),
    _row("any", "b", out_dtype=mask_dtype, make=_false),
    _row("all", "b", out_dtype=mask_dtype),
    _cumulative(),
)  # fmt: skip
