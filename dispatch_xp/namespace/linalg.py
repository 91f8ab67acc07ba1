"""Linear algebra of the standard: :mod:`dispatch_xp.linalg`.

Where a function takes matrices, the last two axes hold them and the others are a stack.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from dispatch_xp.array.array import Array, unwrap, wrap
from dispatch_xp.array.calls import apply, apply_each, plain
from dispatch_xp.array.routed import Routed
from dispatch_xp.namespace.data_types import DType
from dispatch_xp.namespace.linear_algebra import matmul, matrix_transpose, tensordot, vecdot

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

_CHOLESKY = Routed("numpy.linalg.cholesky")
_DET = Routed("numpy.linalg.det")
_EIG = Routed("numpy.linalg.eig")
_EIGH = Routed("numpy.linalg.eigh")
_EIGVALS = Routed("numpy.linalg.eigvals")
_EIGVALSH = Routed("numpy.linalg.eigvalsh")
_INV = Routed("numpy.linalg.inv")
_MATRIX_NORM = Routed("numpy.linalg.matrix_norm")
_MATRIX_POWER = Routed("numpy.linalg.matrix_power")
_MATRIX_RANK = Routed("numpy.linalg.matrix_rank")
_OUTER = Routed("numpy.linalg.outer")
_PINV = Routed("numpy.linalg.pinv")
_QR = Routed("numpy.linalg.qr")
_SLOGDET = Routed("numpy.linalg.slogdet")
_SOLVE = Routed("numpy.linalg.solve")
_SVD = Routed("numpy.linalg.svd")
_SVDVALS = Routed("numpy.linalg.svdvals")
_VECTOR_NORM = Routed("numpy.linalg.vector_norm")


class EigResult(NamedTuple):
    """What :func:`eig` returns."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """What :func:`eigh` returns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """What :func:`qr` returns."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """What :func:`slogdet` returns."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """What :func:`svd` returns."""

    U: Array
    S: Array
    Vh: Array


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Return the lower Cholesky factor of positive definite matrices, or the upper."""
    return apply(_CHOLESKY, x, upper=upper)


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the cross product of vectors of three elements."""
    return plain(np.linalg.cross, x1, x2, axis=axis)


def det(x: Array, /) -> Array:
    """Return the determinant of square matrices."""
    return apply(_DET, x)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return the diagonal of every matrix, `offset` above the main one."""
    return plain(np.linalg.diagonal, x, offset=offset)


def eig(x: Array, /) -> tuple[Array, Array]:
    """Return the eigenvalues and right eigenvectors of square matrices, complex."""
    return EigResult(*(_complex(part) for part in apply_each(_EIG, x)))


def eigh(x: Array, /) -> tuple[Array, Array]:
    """Return the eigenvalues, ascending, and eigenvectors of Hermitian matrices."""
    return EighResult(*apply_each(_EIGH, x))


def eigvals(x: Array, /) -> Array:
    """Return the eigenvalues of square matrices, complex."""
    return _complex(apply(_EIGVALS, x))


def eigvalsh(x: Array, /) -> Array:
    """Return the eigenvalues of Hermitian matrices, ascending."""
    return apply(_EIGVALSH, x)


def inv(x: Array, /) -> Array:
    """Return the inverse of square matrices."""
    return apply(_INV, x)


def matrix_norm(
    x: Array, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro"
) -> Array:
    """Return a norm of every matrix of a stack."""
    return apply(_MATRIX_NORM, x, keepdims=keepdims, ord=ord)


def matrix_power(x: Array, n: int, /) -> Array:
    """Return the `n`-th power of square matrices, of their inverses if it is negative."""
    return apply(_MATRIX_POWER, x, n)


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the rank: how many singular values exceed `rtol` times the greatest."""
    return apply(_MATRIX_RANK, x, rtol=unwrap(rtol))


def outer(x1: Array, x2: Array, /) -> Array:
    """Return the products of all pairs of elements of two vectors."""
    return apply(_OUTER, x1, x2)


def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the Moore-Penrose pseudo-inverse; small singular values count as zero."""
    return apply(_PINV, x, rtol=unwrap(rtol))


def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> tuple[Array, Array]:
    """Return the QR decomposition of matrices."""
    return QRResult(*apply_each(_QR, x, mode=mode))


def slogdet(x: Array, /) -> tuple[Array, Array]:
    """Return the sign and the natural logarithm of the absolute value of the determinant."""
    return SlogdetResult(*apply_each(_SLOGDET, x))


def solve(x1: Array, x2: Array, /) -> Array:
    """Return the solution of ``x1 @ x = x2``; `x2` is a vector only if it has one axis."""
    return apply(_SOLVE, x1, x2)


def svd(x: Array, /, *, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """Return the singular value decomposition ``U @ diag(S) @ Vh`` of matrices."""
    return SVDResult(*apply_each(_SVD, x, full_matrices=full_matrices))


def svdvals(x: Array, /) -> Array:
    """Return the singular values of matrices, descending."""
    return apply(_SVDVALS, x)


def trace(x: Array, /, *, offset: int = 0, dtype: DType | None = None) -> Array:
    """Return the sum of the diagonal of every matrix."""
    return plain(np.linalg.trace, x, offset=offset, dtype=dtype)


def vector_norm(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Array:
    """Return a norm of vectors along the axes, or of all elements."""
    return apply(_VECTOR_NORM, x, axis=axis, keepdims=keepdims, ord=ord)


def _complex(x: Array) -> Array:
    """Return a complex array: NumPy returns a real one where every imaginary part is zero."""
    if x.dtype.kind == "c":
        return x
    return wrap(x._host.astype(np.result_type(x.dtype, np.complex64)), x._pin)
