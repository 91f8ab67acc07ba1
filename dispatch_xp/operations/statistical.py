"""Reductions, searches and cumulative sums along axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dispatch_xp.operations import series
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
from dispatch_xp.operations.series import Series

__all__ = ["ROWS", "reduced"]

ELEMENTS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)


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


def _series(shape: Shape, axes: tuple[int, ...]) -> tuple[Series, int] | None:
    """Return what a reduction along some axes is one of, and its length; None for a whole array."""
    if len(axes) == len(shape):
        return None
    if len(shape) - 1 in axes:
        return series.ROWS, math.prod(shape[axis] for axis in axes)
    return series.COLUMNS, math.prod(shape[max(axes) + 1 :])


def _layout(shapes: Shapes, options: Options) -> str:
    found = _series(shapes[0], reduced(shapes[0], options))
    return "vector" if found is None else found[0].nearest(found[1])


def _beside(shapes: Shapes, options: Options) -> tuple[str, float] | None:
    found = _series(shapes[0], reduced(shapes[0], options))
    return None if found is None else found[0].beside(found[1])


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

    def matrix(
        length: int, n: int, dtype: np.dtype[Any], rng: np.random.Generator
    ) -> tuple[Any, ...]:
        return (make((max(n // length, 2), length), dtype, rng),)

    return (
        Problem("vector", function, vector, ELEMENTS, "elements"),
        *(
            Problem(
                name,
                function,
                partial(matrix, n),
                ELEMENTS,
                "elements",
                (("axis", axis),),
                refines=name != kind.middle,
            )
            for kind, axis in ((series.ROWS, 1), (series.COLUMNS, 0))
            for name, n in kind.layouts.items()
        ),
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
        beside=_beside,
        options=frozenset(options),
        kinds=kinds,
        complex_factor=2,
        out_dtype=out_dtype,
    )


def _cumulative() -> Operation:
    return Operation(
        "cumulative_sum",
        array_api="cumulative_sum",
        numpy="numpy.cumsum",
        flops=lambda shapes, options: float(math.prod(shapes[0])),
        outputs=lambda shapes, options: shapes,
        source="one per element",
        problems=_problems("numpy.cumsum", _values),
        layout=_layout,
        beside=_beside,
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
