"""Indexing functions of the standard."""

from __future__ import annotations

import numpy as np

from dispatch_xp.array.array import Array
from dispatch_xp.array.calls import plain

__all__ = [
    "take",
    "take_along_axis",
]


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Return the elements at positions along an axis; an array of one axis needs none named."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"an array of {x.ndim} axes needs an axis")
        axis = 0
    return plain(np.take, x, indices, axis)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return, for each place, the element at a position along an axis."""
    return plain(np.take_along_axis, x, indices, axis)
