"""Linear algebra of the main namespace; the rest is in :mod:`dispatch_xp.linalg`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dispatch_xp.array.array import Array
from dispatch_xp.array.calls import apply, plain
from dispatch_xp.array.core import core
from dispatch_xp.array.elementwise import BINARY
from dispatch_xp.array.routed import Routed

__all__ = [
    "matmul",
    "matrix_transpose",
    "tensordot",
    "vecdot",
]

_MATMUL = BINARY["matmul"].number
_TENSORDOT = Routed("numpy.tensordot")
_VECDOT = Routed("numpy.linalg.vecdot")


def matmul(x1: Array, x2: Array, /) -> Array:
    """Return the matrix product; of stacks of matrices, of a matrix and a vector.

    Parameters
    ----------
    x1 : Array
        Matrices, of shape ``(..., M, K)``, or one vector of K elements.
    x2 : Array
        Matrices, of shape ``(..., K, N)``, or one vector of K elements. Stacks broadcast.

    Returns
    -------
    Array
        Of shape ``(..., M, N)`` and the common dtype; without M or N where a vector was given.

    Raises
    ------
    ValueError
        If an operand has no axis, if the lengths K differ, or if the stacks don't broadcast.
    """
    return core.binary(_MATMUL, x1, x2)


def matrix_transpose(x: Array, /) -> Array:
    """Return the transpose of every matrix of a stack.

    Parameters
    ----------
    x : Array
        Matrices, of shape ``(..., M, N)``.

    Returns
    -------
    Array
        Of shape ``(..., N, M)`` and the dtype of `x`.

    Raises
    ------
    ValueError
        If `x` has less than 2 axes.
    """
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose() needs 2 axes or more, this array has {x.ndim}")
    return plain(np.swapaxes, x, -1, -2)


def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """Return the sums of products over axes: the last of `x1` with the first of `x2`, or pairs.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtype. Neither is conjugated.
    axes : int or tuple of two sequences of int, optional
        How many axes are summed over, 2 by default, and 0 for the outer product; or the axes of
        `x1` and those of `x2`, in pairs of equal length.

    Returns
    -------
    Array
        Of the common dtype; the remaining axes of `x1`, then those of `x2`.

    Raises
    ------
    ValueError
        If the lengths of a pair differ, or the two sequences do.
    IndexError
        If there are not so many axes.
    """
    return apply(_TENSORDOT, x1, x2, axes=axes)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the dot product of vectors along an axis, the first conjugated.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtype, equally long along `axis`; their other axes broadcast.
    axis : int, optional
        Where the vectors are; negative, counted from the last of either array. Default: the last.

    Returns
    -------
    Array
        Of the common dtype and the broadcast shape, without `axis`.

    Raises
    ------
    ValueError
        If the lengths along `axis` differ, or the others don't broadcast.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return apply(_VECDOT, x1, x2, axis=axis)
