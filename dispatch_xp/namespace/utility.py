"""Utility functions of the standard."""

from __future__ import annotations

import numpy as np

from dispatch_xp.array.array import Array
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
    """Return whether all elements along the axes are true, as bool.

    Parameters
    ----------
    x : Array
        Of any dtype; all but 0 is true, NaN too.
    axis : int or tuple of int, optional
        The axes. Default: all.
    keepdims : bool, optional
        Whether these axes stay, of length 1. Default: no.

    Returns
    -------
    Array
        Of dtype bool; true of no elements.

    Raises
    ------
    ValueError
        If an axis is named twice.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return apply(_ALL, x, axis=axis, keepdims=keepdims)


def any(x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """Return whether any element along the axes is true, as bool.

    Parameters
    ----------
    x : Array
        Of any dtype; all but 0 is true, NaN too.
    axis : int or tuple of int, optional
        The axes. Default: all.
    keepdims : bool, optional
        Whether these axes stay, of length 1. Default: no.

    Returns
    -------
    Array
        Of dtype bool; false of no elements.

    Raises
    ------
    ValueError
        If an axis is named twice.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
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
    """Return the differences of neighbours along an axis, `n` times over.

    Parameters
    ----------
    x : Array
        Of numeric dtype.
    axis : int, optional
        The axis. Default: the last.
    n : int, optional
        How many times, 1 by default; 0 returns `x`.
    prepend, append : Array, optional
        Put before the first and after the last element of the axis; of the same shape but for it.

    Returns
    -------
    Array
        Shorter along the axis by `n`, or without elements. Of the dtype of `x`, in which unsigned
        integers wrap around; of dtype bool, whether neighbours differ.

    Raises
    ------
    ValueError
        If `n` is negative, `x` has no axis, or the shapes don't fit.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    more = {"prepend": prepend, "append": append}
    given = {name: value for name, value in more.items() if value is not None}
    return plain(np.diff, x, n=n, axis=axis, **given)
