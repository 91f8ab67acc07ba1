"""Sorting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatch_xp.operations.row import Operation, Options, Problem, Shapes, index_dtype, same_dtype

__all__ = ["ROWS"]

ELEMENTS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
ROW_LENGTH = 250


def _flops(shapes: Shapes, options: Options) -> float:
    n = shapes[0][options["axis"]]
    return math.prod(shapes[0]) * math.log2(max(n, 2))


def _layout(shapes: Shapes, options: Options) -> str:
    return "vector" if len(shapes[0]) == 1 else "rows"


def _vector(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    return ((rng.standard_normal(n) * 1e6).astype(dtype),)


def _matrix(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    shape = (max(n // ROW_LENGTH, 2), ROW_LENGTH)
    return ((rng.standard_normal(shape) * 1e6).astype(dtype),)


def _row(name: str) -> Operation:
    keywords: tuple[tuple[str, Any], ...] = (("stable", True),) if name == "argsort" else ()
    function = f"numpy.{name}"
    return Operation(
        name,
        array_api=name,
        numpy=function,
        flops=_flops,
        outputs=lambda shapes, options: shapes,
        source="N log2 N comparisons: Knuth (1998), The Art of Computer Programming 3, 5.3.1",
        problems=(
            Problem("vector", function, _vector, ELEMENTS, "elements", keywords),
            Problem("rows", function, _matrix, ELEMENTS, "elements", keywords),
        ),
        layout=_layout,
        options=frozenset({"axis", "stable", "kind"}),
        kinds="iuf",
        complex_factor=1,
        out_dtype=index_dtype if name == "argsort" else same_dtype,
    )


ROWS = (_row("sort"), _row("argsort"))
