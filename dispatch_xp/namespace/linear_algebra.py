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
    """Return the matrix product; of stacks of matrices, of a matrix and a vector."""
    return core.binary(_MATMUL, x1, x2)


def matrix_transpose(x: Array, /) -> Array:
    """Return the transpose of every matrix of a stack."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose() needs 2 axes or more, this array has {x.ndim}")
    return plain(np.swapaxes, x, -1, -2)


def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """Return the sums of products over axes: the last of `x1` with the first of `x2`, or pairs."""
    return apply(_TENSORDOT, x1, x2, axes=axes)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the dot product of vectors along an axis, the first conjugated."""
    return apply(_VECDOT, x1, x2, axis=axis)
