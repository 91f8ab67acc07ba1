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
    """Return the elements at positions along an axis; an array of one axis needs none named.

    Parameters
    ----------
    x : Array
        Of any dtype.
    indices : Array
        The positions, with one axis, of integer dtype. Negative ones count from the end.
    axis : int, optional
        The axis. May be left out if `x` has one only.

    Returns
    -------
    Array
        Of the dtype of `x`, and of its shape but for `axis`, which is as long as `indices`.

    Raises
    ------
    ValueError
        If `axis` is left out and `x` has another number of axes than 1.
    IndexError
        If there is no such axis or position.
    TypeError
        If `indices` are floating.
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"an array of {x.ndim} axes needs an axis")
        axis = 0
    return plain(np.take, x, indices, axis)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return, for each place, the element at a position along an axis.

    Parameters
    ----------
    x : Array
        Of any dtype.
    indices : Array
        The positions, of integer dtype and with as many axes as `x`; all but `axis` broadcast with
        those of `x`. Negative ones count from the end.
    axis : int, optional
        The axis. Default: the last.

    Returns
    -------
    Array
        Of the dtype of `x`, along `axis` as long as `indices`.

    Raises
    ------
    ValueError
        If the two have different numbers of axes.
    IndexError
        If there is no such axis or position, if `indices` are not integer, or don't broadcast.
    """
    return plain(np.take_along_axis, x, indices, axis)
