"""Searching functions of the standard."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dispatch_xp.array.array import Array, operand
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
    """Return the position of the first greatest element along an axis.

    Parameters
    ----------
    x : Array
        Of real dtype.
    axis : int, optional
        The axis. Default: the position in the flattened array.
    keepdims : bool, optional
        Whether the axis stays, of length 1. Default: no.

    Returns
    -------
    Array
        Of the default indexing dtype. The first NaN counts as the greatest.

    Raises
    ------
    ValueError
        If there are no elements.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return apply(_ARGMAX, x, axis=axis, keepdims=keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the position of the first least element along an axis.

    Parameters
    ----------
    x : Array
        Of real dtype.
    axis : int, optional
        The axis. Default: the position in the flattened array.
    keepdims : bool, optional
        Whether the axis stays, of length 1. Default: no.

    Returns
    -------
    Array
        Of the default indexing dtype. The first NaN counts as the least.

    Raises
    ------
    ValueError
        If there are no elements.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return apply(_ARGMIN, x, axis=axis, keepdims=keepdims)


def count_nonzero(
    x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Array:
    """Return how many elements along the axes are not zero.

    Parameters
    ----------
    x : Array
        Of any dtype. NaN is not zero.
    axis : int or tuple of int, optional
        The axes. Default: all.
    keepdims : bool, optional
        Whether these axes stay, of length 1. Default: no.

    Returns
    -------
    Array
        Of the default indexing dtype.

    Raises
    ------
    ValueError
        If an axis is named twice.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return plain(np.count_nonzero, x, axis=axis, keepdims=keepdims)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return the positions of the elements that are not zero, an array for each axis.

    Parameters
    ----------
    x : Array
        Of any dtype, with one axis at least.

    Returns
    -------
    tuple of Array
        As many as `x` has axes, in the order of the elements, the last axis changing fastest.

    Raises
    ------
    ValueError
        If `x` has no axis.
    """
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
    """Return where `x2` would have to stand in the sorted `x1`.

    Parameters
    ----------
    x1 : Array
        Of real dtype, with one axis and ascending, unless `sorter` says the order.
    x2 : Array or float
        What to look for; of real dtype and any shape.
    side : {"left", "right"}, optional
        Before the elements that are equal, as by default, or after them.
    sorter : Array, optional
        The positions that sort `x1`, such as :func:`argsort` returns, of integer dtype.

    Returns
    -------
    Array
        Positions from 0 to the length of `x1`, in the shape of `x2`.

    Raises
    ------
    ValueError
        For another `side`, or if `x1` or `sorter` hasn't the right shape.
    TypeError
        If `sorter` is floating, or `x2` is neither an Array nor a number.
    """
    return plain(np.searchsorted, x1, operand(x2), side=side, sorter=sorter)


def where(condition: Array, x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return `x1` where the condition is true, `x2` elsewhere.

    Parameters
    ----------
    condition : Array
        Of dtype bool. Of another dtype, all but 0 is true.
    x1, x2 : Array or number
        Of any dtype. The three broadcast.

    Returns
    -------
    Array
        Of the common dtype of `x1` and `x2`.

    Raises
    ------
    TypeError
        If `condition` is no array, or `x1` or `x2` neither an Array nor a number.
    ValueError
        If the shapes don't broadcast.
    """
    return plain(np.where, condition, operand(x1), operand(x2))
