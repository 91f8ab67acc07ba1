"""Sorting functions of the standard."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatch_xp.array.array import Array
from dispatch_xp.array.calls import apply, plain
from dispatch_xp.array.routed import Routed

__all__ = [
    "argsort",
    "sort",
]

_ARGSORT = Routed("numpy.argsort")
_SORT = Routed("numpy.sort")


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the positions that sort the elements along an axis.

    Parameters
    ----------
    x : Array
        Of real dtype.
    axis : int, optional
        The axis. Default: the last.
    descending : bool, optional
        Whether the greatest comes first. Default: no.
    stable : bool, optional
        Whether equal elements keep their order, as by default. False leaves it open.

    Returns
    -------
    Array
        Of the shape of `x` and the default indexing dtype. NaN counts as the greatest.

    Raises
    ------
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    _check(x, axis)
    if descending:
        return plain(_descending, x, axis)
    return apply(_ARGSORT, x, axis=axis, stable=stable)


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the elements sorted along an axis.

    Parameters
    ----------
    x : Array
        Of real dtype.
    axis : int, optional
        The axis. Default: the last.
    descending : bool, optional
        Whether the greatest comes first. Default: no.
    stable : bool, optional
        Whether equal elements keep their order, as by default. False leaves it open.

    Returns
    -------
    Array
        Of the shape and dtype of `x`. NaN counts as the greatest.

    Raises
    ------
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    _check(x, axis)
    if descending:
        # reversed before, so that equal elements (0.0 and -0.0) keep their order when it is again
        found = apply(_SORT, plain(np.flip, x, axis), axis=axis, stable=stable)
        return plain(np.flip, found, axis)
    return apply(_SORT, x, axis=axis, stable=stable)


def _check(x: Any, axis: Any) -> None:
    if axis is None:
        raise TypeError("axis is a number; reshape(x, (-1,)) flattens")
    if isinstance(x, Array) and x.ndim == 0:
        raise np.exceptions.AxisError(axis, 0)


def _descending(x: Any, axis: int) -> Any:
    """Sort the reversed array, so that equal elements keep their order when reversed again."""
    reversed_order = np.argsort(np.flip(x, axis), axis=axis, stable=True)
    return x.shape[axis] - 1 - np.flip(reversed_order, axis)
