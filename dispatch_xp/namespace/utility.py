"""Utility functions of the standard."""

from __future__ import annotations

import numpy as np

from dispatch_xp.array.array import Array, unwrap
from dispatch_xp.array.calls import apply, plain
from dispatch_xp.array.routed import Routed

__all__ = [
    "all",
    "any",
    "diff",
]

_ALL = Routed("numpy.all")
_ANY = Routed("numpy.any")


def all(x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """Return whether all elements along the axes are true, as bool."""
    return apply(_ALL, x, axis=axis, keepdims=keepdims)


def any(x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """Return whether any element along the axes is true, as bool."""
    return apply(_ANY, x, axis=axis, keepdims=keepdims)


def diff(
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """Return the differences of neighbours along an axis, `n` times over."""
    more = {"prepend": prepend, "append": append}
    given = {name: unwrap(value) for name, value in more.items() if value is not None}
    return plain(np.diff, x, n=n, axis=axis, **given)
