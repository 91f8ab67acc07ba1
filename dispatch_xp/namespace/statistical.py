"""Statistical functions of the standard.

`axis` is an axis, several, or None for all.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from dispatch_xp.array.array import Array, wrap
from dispatch_xp.array.calls import apply, plain
from dispatch_xp.array.routed import Routed
from dispatch_xp.namespace.data_types import DType

__all__ = [
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]

_CUMULATIVE_SUM = Routed("numpy.cumulative_sum")
_MAX = Routed("numpy.max")
_MEAN = Routed("numpy.mean")
_MIN = Routed("numpy.min")
_PROD = Routed("numpy.prod")
_STD = Routed("numpy.std")
_SUM = Routed("numpy.sum")
_VAR = Routed("numpy.var")


def cumulative_prod(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Array:
    """Return the products of the elements up to each; with ``include_initial`` 1 comes first.

    Parameters
    ----------
    x : Array
        Of numeric dtype.
    axis : int, optional
        The axis. May be left out if `x` has no more than one.
    dtype : numpy.dtype, optional
        In which to multiply. Default: that of `x`; int64 or uint64 for small integers, bool.
    include_initial : bool, optional
        Whether 1 comes first, so that the result is longer by 1. Default: no.

    Returns
    -------
    Array
        Of the shape of `x`, but for an initial 1.

    Raises
    ------
    ValueError
        If `axis` is left out and `x` has several axes.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return plain(_cumulative_prod, x, axis, dtype, include_initial)


def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Array:
    """Return the sums of the elements up to each; with ``include_initial`` 0 comes first.

    Parameters
    ----------
    x : Array
        Of numeric dtype.
    axis : int, optional
        The axis. May be left out if `x` has no more than one.
    dtype : numpy.dtype, optional
        In which to add. Default: that of `x`; int64 or uint64 for small integers, bool.
    include_initial : bool, optional
        Whether 0 comes first, so that the result is longer by 1. Default: no.

    Returns
    -------
    Array
        Of the shape of `x`, but for an initial 0.

    Raises
    ------
    ValueError
        If `axis` is left out and `x` has several axes.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return apply(_CUMULATIVE_SUM, x, axis=axis, dtype=dtype, include_initial=include_initial)


def max(x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """Return the greatest element along the axes; NaN if there is one.

    Parameters
    ----------
    x : Array
        Of real dtype.
    axis : int or tuple of int, optional
        The axes. Default: all.
    keepdims : bool, optional
        Whether these axes stay, of length 1. Default: no.

    Returns
    -------
    Array
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        If there are no elements, or an axis is named twice.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return apply(_MAX, x, axis=axis, keepdims=keepdims)


def mean(
    x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Array:
    """Return the arithmetic mean along the axes.

    Parameters
    ----------
    x : Array
        Of floating dtype.
    axis : int or tuple of int, optional
        The axes. Default: all.
    keepdims : bool, optional
        Whether these axes stay, of length 1. Default: no.

    Returns
    -------
    Array
        Of the dtype of `x`, float64 for integers. NaN where N is not more than the correction.

    Raises
    ------
    ValueError
        If an axis is named twice.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return apply(_MEAN, x, axis=axis, keepdims=keepdims)


def min(x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """Return the least element along the axes; NaN if there is one.

    Parameters
    ----------
    x : Array
        Of real dtype.
    axis : int or tuple of int, optional
        The axes. Default: all.
    keepdims : bool, optional
        Whether these axes stay, of length 1. Default: no.

    Returns
    -------
    Array
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        If there are no elements, or an axis is named twice.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return apply(_MIN, x, axis=axis, keepdims=keepdims)


def prod(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    dtype: DType | None = None,
    keepdims: bool = False,
) -> Array:
    """Return the product along the axes; small integers are multiplied as the default integer.

    Parameters
    ----------
    x : Array
        Of numeric dtype.
    axis : int or tuple of int, optional
        The axes. Default: all.
    dtype : numpy.dtype, optional
        In which to multiply. Default: that of `x`; int64 or uint64 for small integers, bool.
    keepdims : bool, optional
        Whether these axes stay, of length 1. Default: no.

    Returns
    -------
    Array
        Of that dtype; integers wrap around. 1 of no elements.

    Raises
    ------
    ValueError
        If an axis is named twice.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return apply(_PROD, x, axis=axis, dtype=dtype, keepdims=keepdims)


def sum(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    dtype: DType | None = None,
    keepdims: bool = False,
) -> Array:
    """Return the sum along the axes; small integers are added as the default integer.

    Parameters
    ----------
    x : Array
        Of numeric dtype.
    axis : int or tuple of int, optional
        The axes. Default: all.
    dtype : numpy.dtype, optional
        In which to add. Default: that of `x`; int64 or uint64 for small integers, bool.
    keepdims : bool, optional
        Whether these axes stay, of length 1. Default: no.

    Returns
    -------
    Array
        Of that dtype; integers wrap around. 0 of no elements.

    Raises
    ------
    ValueError
        If an axis is named twice.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return apply(_SUM, x, axis=axis, dtype=dtype, keepdims=keepdims)


def std(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """Return the standard deviation along the axes; divided by N less the correction.

    Parameters
    ----------
    x : Array
        Of real floating dtype.
    axis : int or tuple of int, optional
        The axes. Default: all.
    correction : float, optional
        What is subtracted from N, the number of elements, to divide by: 0, the default, for a whole
        population, 1 for a sample.
    keepdims : bool, optional
        Whether these axes stay, of length 1. Default: no.

    Returns
    -------
    Array
        The square root of :func:`var`; of the dtype of `x`, float64 for integers.

    Raises
    ------
    ValueError
        If an axis is named twice.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    if correction and _count(x, axis) <= correction:
        return _nan(x, axis, keepdims)
    return apply(_STD, x, axis=axis, correction=correction, keepdims=keepdims)


def var(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """Return the variance along the axes; divided by N less the correction.

    Parameters
    ----------
    x : Array
        Of real floating dtype.
    axis : int or tuple of int, optional
        The axes. Default: all.
    correction : float, optional
        What is subtracted from N, the number of elements, to divide by: 0, the default, for a whole
        population, 1 for a sample.
    keepdims : bool, optional
        Whether these axes stay, of length 1. Default: no.

    Returns
    -------
    Array
        Of the dtype of `x`, float64 for integers. NaN of no elements.

    Raises
    ------
    ValueError
        If an axis is named twice.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    if correction and _count(x, axis) <= correction:
        return _nan(x, axis, keepdims)
    return apply(_VAR, x, axis=axis, correction=correction, keepdims=keepdims)


def _count(x: Array, axis: int | tuple[int, ...] | None) -> int:
    """Return how many elements a reduction makes one of."""
    if axis is None:
        return x.size
    return math.prod(x.shape[i] for i in normalize_axis_tuple(axis, x.ndim))


def _nan(x: Array, axis: int | tuple[int, ...] | None, keepdims: bool) -> Array:
    """Return what is left without a degree of freedom; NumPy would divide by less than zero."""
    outline = np.broadcast_to(np.empty((), bool), x.shape)
    shape = np.any(outline, axis=axis, keepdims=keepdims).shape
    dtype = x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64)
    return wrap(np.full(shape, np.nan, dtype=dtype.char.lower()), x._pin)


def _cumulative_prod(x: np.ndarray, axis: int | None, dtype: DType | None, initial: bool) -> object:
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"an array of {x.ndim} axes needs an axis")
        axis = 0
    result = np.cumprod(x, axis=axis, dtype=dtype)
    if not initial:
        return result
    shape = list(x.shape)
    shape[axis] = 1
    return np.concatenate((np.ones(shape, dtype=result.dtype), result), axis=axis)
