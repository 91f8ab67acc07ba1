"""Searching functions of the standard."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dispatch_xp.array.array import Array, host, unwrap
from dispatch_xp.array.calls import apply, plain, plain_each
from dispatch_xp.array.routed import Routed

__all__ = [
    "argmax",
    "argmin",
    "count_nonzero",
    "nonzero",
    "searchsorted",
    "where",
]

_ARGMAX = Routed("numpy.argmax")
_ARGMIN = Routed("numpy.argmin")


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the position of the first greatest element along an axis."""
    return apply(_ARGMAX, x, axis=axis, keepdims=keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the position of the first least element along an axis."""
    return apply(_ARGMIN, x, axis=axis, keepdims=keepdims)


def count_nonzero(
    x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Array:
    """Return how many elements along the axes are not zero."""
    return plain(np.count_nonzero, x, axis=axis, keepdims=keepdims)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return the positions of the elements that are not zero, an array for each axis."""
    if x.ndim == 0:
        raise ValueError("nonzero() needs an axis, this array has none")
    return plain_each(np.nonzero, x)


def searchsorted(
    x1: Array,
    x2: Array | float,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Array | None = None,
) -> Array:
    """Return where `x2` would have to stand in the sorted `x1`."""
    return plain(np.searchsorted, x1, host(x2), side=side, sorter=unwrap(sorter))


def where(condition: Array, x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return `x1` where the condition is true, `x2` elsewhere."""
    return plain(np.where, condition, host(x1), host(x2))
