"""Sorting."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from dispatch_xp.operations.row import Operation, Options, Problem, Shapes, index_dtype, same_dtype
from dispatch_xp.operations.series import ROWS as SORTED_ROWS

__all__ = ["ROWS"]

ELEMENTS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)


def _flops(shapes: Shapes, options: Options) -> float:
    n = shapes[0][options["axis"]]
    return math.prod(shapes[0]) * math.log2(max(n, 2))


def _layout(shapes: Shapes, options: Options) -> str:
    shape = shapes[0]
    return "vector" if len(shape) == 1 else SORTED_ROWS.nearest(shape[options["axis"]])


def _beside(shapes: Shapes, options: Options) -> tuple[str, float] | None:
    shape = shapes[0]
    return None if len(shape) == 1 else SORTED_ROWS.beside(shape[options["axis"]])


def _vector(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    return ((rng.standard_normal(n) * 1e6).astype(dtype),)


def _matrix(length: int, n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    shape = (max(n // length, 2), length)
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
            *(
                Problem(
                    name,
                    function,
                    partial(_matrix, n),
                    ELEMENTS,
                    "elements",
                    keywords,
                    refines=name != SORTED_ROWS.middle,
                )
                for name, n in SORTED_ROWS.layouts.items()
            ),
        ),
        layout=_layout,
        beside=_beside,
        options=frozenset({"axis", "stable", "kind"}),
        kinds="iuf",
        complex_factor=1,
        out_dtype=index_dtype if name == "argsort" else same_dtype,
    )


ROWS = (_row("sort"), _row("argsort"))
