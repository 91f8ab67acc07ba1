"""Statistical functions of the standard.

`axis` is an axis, several, or None for all.
"""

from __future__ import annotations

import numpy as np

from dispatch_xp.array.array import Array
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
    """Return the products of the elements up to each; with ``include_initial`` 1 comes first."""
    return plain(_cumulative_prod, x, axis, dtype, include_initial)


def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Array:
    """Return the sums of the elements up to each; with ``include_initial`` 0 comes first."""
    return apply(_CUMULATIVE_SUM, x, axis=axis, dtype=dtype, include_initial=include_initial)


def max(x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """Return the greatest element along the axes; NaN if there is one."""
    return apply(_MAX, x, axis=axis, keepdims=keepdims)


def mean(
    x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Array:
    """Return the arithmetic mean along the axes."""
    return apply(_MEAN, x, axis=axis, keepdims=keepdims)


def min(x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """Return the least element along the axes; NaN if there is one."""
    return apply(_MIN, x, axis=axis, keepdims=keepdims)


def prod(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    dtype: DType | None = None,
    keepdims: bool = False,
) -> Array:
    """Return the product along the axes; small integers are multiplied as the default integer."""
    return apply(_PROD, x, axis=axis, dtype=dtype, keepdims=keepdims)


def sum(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    dtype: DType | None = None,
    keepdims: bool = False,
) -> Array:
    """Return the sum along the axes; small integers are added as the default integer."""
    return apply(_SUM, x, axis=axis, dtype=dtype, keepdims=keepdims)


def std(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """Return the standard deviation along the axes; divided by N less the correction."""
    return apply(_STD, x, axis=axis, correction=correction, keepdims=keepdims)


def var(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """Return the variance along the axes; divided by N less the correction."""
    return apply(_VAR, x, axis=axis, correction=correction, keepdims=keepdims)


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
