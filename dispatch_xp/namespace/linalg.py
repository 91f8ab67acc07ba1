"""Linear algebra of the standard: :mod:`dispatch_xp.linalg`.

Where a function takes matrices, the last two axes hold them and the others are a stack.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from dispatch_xp.array.array import Array, pin_of, unwrap, wrap
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
    """What :func:`eig` returns.

    Attributes
    ----------
    eigenvalues, eigenvectors : Array
        Of shape ``(..., M)`` and ``(..., M, M)``, a vector in each column.
    """

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """What :func:`eigh` returns.

    Attributes
    ----------
    eigenvalues, eigenvectors : Array
        Of shape ``(..., M)`` and ``(..., M, M)``, a vector in each column.
    """

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """What :func:`qr` returns.

    Attributes
    ----------
    Q, R : Array
        Of shape ``(..., M, K)`` and ``(..., K, N)``.
    """

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """What :func:`slogdet` returns.

    Attributes
    ----------
    sign, logabsdet : Array
        A number for each matrix.
    """

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """What :func:`svd` returns.

    Attributes
    ----------
    U, S, Vh : Array
        The left vectors in columns, the singular values, and the right vectors in rows, conjugated.
    """

    U: Array
    S: Array
    Vh: Array


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Return the lower Cholesky factor of positive definite matrices, or the upper.

    Parameters
    ----------
    x : Array
        Hermitian matrices, of shape ``(..., M, M)`` and floating dtype. Only the triangle of the
        result is read.
    upper : bool, optional
        Whether to return U of ``x = U^H U``; by default it is L of ``x = L L^H``.

    Returns
    -------
    Array
        Of the shape and dtype of `x`; zero in the other triangle.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not positive definite or not square, or `x` has less than 2 axes.
    """
    return apply(_CHOLESKY, x, upper=upper)


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the cross product of vectors of three elements.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtype, of length 3 along `axis`; their other axes broadcast.
    axis : int, optional
        Where the vectors are; negative, counted from the last of either array. Default: the last.

    Returns
    -------
    Array
        Of the common dtype and the broadcast shape.

    Raises
    ------
    ValueError
        If a length along `axis` is not 3, or the other axes don't broadcast.
    IndexError
        If there is no such axis.
    """
    return plain(np.linalg.cross, x1, x2, axis=axis)


def det(x: Array, /) -> Array:
    """Return the determinant of square matrices.

    Parameters
    ----------
    x : Array
        Of shape ``(..., M, M)`` and floating dtype.

    Returns
    -------
    Array
        Of shape ``(...)`` and the dtype of `x`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrices aren't square, or `x` has less than 2 axes.
    """
    return apply(_DET, x)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return the diagonal of every matrix, `offset` above the main one.

    Parameters
    ----------
    x : Array
        Matrices, of shape ``(..., M, N)``.
    offset : int, optional
        Which diagonal: 0, the default, is the main one, negative ones lie below it.

    Returns
    -------
    Array
        Of the dtype of `x`; the diagonal is the last axis, without elements if it lies outside.

    Raises
    ------
    ValueError
        If `x` has less than 2 axes.
    """
    return plain(np.linalg.diagonal, x, offset=offset)


def eig(x: Array, /) -> tuple[Array, Array]:
    """Return the eigenvalues and right eigenvectors of square matrices, complex.

    Parameters
    ----------
    x : Array
        Of shape ``(..., M, M)`` and floating dtype.

    Returns
    -------
    EigResult
        ``eigenvalues`` of shape ``(..., M)``, in no order; ``eigenvectors`` of shape
        ``(..., M, M)``, a normalised one in each column. Complex, of the precision of `x`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrices aren't square or finite, `x` has less than 2 axes, or the iteration does not
        converge.
    """
    return EigResult(*(_complex(part) for part in apply_each(_EIG, x)))


def eigh(x: Array, /) -> tuple[Array, Array]:
    """Return the eigenvalues, ascending, and eigenvectors of Hermitian matrices.

    Parameters
    ----------
    x : Array
        Of shape ``(..., M, M)`` and floating dtype. Only the lower triangles are read.

    Returns
    -------
    EighResult
        ``eigenvalues`` of shape ``(..., M)``, real, of the precision of `x`; ``eigenvectors`` of
        shape ``(..., M, M)`` and the dtype of `x`, an orthonormal one in each column.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrices aren't square, `x` has less than 2 axes, or the iteration does not converge.
    """
    return EighResult(*apply_each(_EIGH, x))


def eigvals(x: Array, /) -> Array:
    """Return the eigenvalues of square matrices, complex.

    Parameters
    ----------
    x : Array
        Of shape ``(..., M, M)`` and floating dtype.

    Returns
    -------
    Array
        Of shape ``(..., M)``, in no order; complex, of the precision of `x`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrices aren't square or finite, `x` has less than 2 axes, or the iteration does not
        converge.
    """
    return _complex(apply(_EIGVALS, x))


def eigvalsh(x: Array, /) -> Array:
    """Return the eigenvalues of Hermitian matrices, ascending.

    Parameters
    ----------
    x : Array
        Of shape ``(..., M, M)`` and floating dtype. Only the lower triangles are read.

    Returns
    -------
    Array
        Of shape ``(..., M)``; real, of the precision of `x`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrices aren't square, `x` has less than 2 axes, or the iteration does not converge.
    """
    return apply(_EIGVALSH, x)


def inv(x: Array, /) -> Array:
    """Return the inverse of square matrices.

    Parameters
    ----------
    x : Array
        Of shape ``(..., M, M)`` and floating dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is singular or not square, or `x` has less than 2 axes.
    """
    return apply(_INV, x)


def matrix_norm(
    x: Array, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro"
) -> Array:
    """Return a norm of every matrix of a stack.

    Parameters
    ----------
    x : Array
        Matrices, of shape ``(..., M, N)`` and floating dtype.
    keepdims : bool, optional
        Whether the last two axes stay, of length 1. Default: no.
    ord : {"fro", "nuc", 1, -1, 2, -2, inf, -inf}, optional
        The square root of the sum of squares, as by default and for None; the sum of the singular
        values; the greatest (-1: least) sum of magnitudes of a column; the greatest (-2: least)
        singular value; the greatest (-inf: least) sum of magnitudes of a row.

    Returns
    -------
    Array
        Of shape ``(...)``; real, of the precision of `x`.

    Raises
    ------
    ValueError
        For another `ord`.
    numpy.exceptions.AxisError
        If `x` has less than 2 axes.
    """
    return apply(_MATRIX_NORM, x, keepdims=keepdims, ord=ord)


def matrix_power(x: Array, n: int, /) -> Array:
    """Return the `n`-th power of square matrices, of their inverses if it is negative.

    Parameters
    ----------
    x : Array
        Of shape ``(..., M, M)`` and floating dtype.
    n : int
        The exponent; 0 gives the identity.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.

    Raises
    ------
    TypeError
        If `n` is no integer.
    numpy.linalg.LinAlgError
        If a matrix is singular and `n` negative, if one isn't square, or `x` has less than 2 axes.
    """
    return apply(_MATRIX_POWER, x, n)


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the rank: how many singular values exceed `rtol` times the greatest.

    Parameters
    ----------
    x : Array
        Matrices, of shape ``(..., M, N)`` and floating dtype.
    rtol : float or Array, optional
        Of an array, one for each matrix. Default: ``max(M, N)`` times the dtype's epsilon.

    Returns
    -------
    Array
        Of shape ``(...)`` and dtype int64.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the iteration for the singular values does not converge.
    """
    pin_of((x, rtol))
    return apply(_MATRIX_RANK, x, rtol=unwrap(rtol))


def outer(x1: Array, x2: Array, /) -> Array:
    """Return the products of all pairs of elements of two vectors.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtype, with one axis each, of M and N elements. Neither is conjugated.

    Returns
    -------
    Array
        Of shape ``(M, N)`` and the common dtype.

    Raises
    ------
    ValueError
        If an array has not one axis.
    """
    return apply(_OUTER, x1, x2)


def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the Moore-Penrose pseudo-inverse; small singular values count as zero.

    Parameters
    ----------
    x : Array
        Matrices, of shape ``(..., M, N)`` and floating dtype.
    rtol : float or Array, optional
        Singular values up to `rtol` times the greatest count as zero; of an array, one for each
        matrix. Default: ``max(M, N)`` times the dtype's epsilon.

    Returns
    -------
    Array
        Of shape ``(..., N, M)`` and the dtype of `x`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If `x` has less than 2 axes, or the iteration does not converge.
    ValueError
        If `x` is not floating and `rtol` is left out.
    """
    pin_of((x, rtol))
    return apply(_PINV, x, rtol=unwrap(rtol))


def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> tuple[Array, Array]:
    """Return the QR decomposition of matrices.

    Parameters
    ----------
    x : Array
        Matrices, of shape ``(..., M, N)`` and floating dtype.
    mode : {"reduced", "complete"}, optional
        Whether Q has ``K = min(M, N)`` columns, as by default, or ``K = M``.

    Returns
    -------
    QRResult
        ``Q`` of shape ``(..., M, K)``, with orthonormal columns, and ``R`` of shape
        ``(..., K, N)``, upper triangular; of the dtype of `x`.

    Raises
    ------
    ValueError
        For another mode.
    numpy.linalg.LinAlgError
        If `x` has less than 2 axes.
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"mode={mode!r} is neither 'reduced' nor 'complete'")
    return QRResult(*apply_each(_QR, x, mode=mode))


def slogdet(x: Array, /) -> tuple[Array, Array]:
    """Return the sign and the natural logarithm of the absolute value of the determinant.

    Parameters
    ----------
    x : Array
        Square matrices, of shape ``(..., M, M)`` and floating dtype.

    Returns
    -------
    SlogdetResult
        ``sign`` of the dtype of `x`: of magnitude 1, 0 for a singular matrix; ``logabsdet``, real,
        -inf for a singular one. Both of shape ``(...)``.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrices aren't square, or `x` has less than 2 axes.
    """
    return SlogdetResult(*apply_each(_SLOGDET, x))


def solve(x1: Array, x2: Array, /) -> Array:
    """Return the solution of ``x1 @ x = x2``; `x2` is a vector only if it has one axis.

    Parameters
    ----------
    x1 : Array
        Square matrices, of shape ``(..., M, M)`` and floating dtype.
    x2 : Array
        Of shape ``(M,)`` or ``(..., M, K)`` and floating dtype. Stacks broadcast.

    Returns
    -------
    Array
        Of shape ``(..., M)`` or ``(..., M, K)`` and the common dtype.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is singular or not square, or `x1` has less than 2 axes.
    ValueError
        If the lengths M differ, or the stacks don't broadcast.
    """
    return apply(_SOLVE, x1, x2)


def svd(x: Array, /, *, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """Return the singular value decomposition ``U @ diag(S) @ Vh`` of matrices.

    Parameters
    ----------
    x : Array
        Matrices, of shape ``(..., M, N)`` and floating dtype.
    full_matrices : bool, optional
        Whether U and Vh are square, as by default, or have ``K = min(M, N)`` columns and rows.

    Returns
    -------
    SVDResult
        ``U`` of shape ``(..., M, M)`` or ``(..., M, K)`` and ``Vh`` of shape ``(..., N, N)`` or
        ``(..., K, N)``, of the dtype of `x`; ``S`` of shape ``(..., K)``, descending, real.

    Raises
    ------
    numpy.linalg.LinAlgError
        If `x` has less than 2 axes, or the iteration does not converge.
    """
    return SVDResult(*apply_each(_SVD, x, full_matrices=full_matrices))


def svdvals(x: Array, /) -> Array:
    """Return the singular values of matrices, descending.

    Parameters
    ----------
    x : Array
        Matrices, of shape ``(..., M, N)`` and floating dtype.

    Returns
    -------
    Array
        Of shape ``(..., min(M, N))``; real, of the precision of `x`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If `x` has less than 2 axes, or the iteration does not converge.
    """
    return apply(_SVDVALS, x)


def trace(x: Array, /, *, offset: int = 0, dtype: DType | None = None) -> Array:
    """Return the sum of the diagonal of every matrix.

    Parameters
    ----------
    x : Array
        Matrices, of shape ``(..., M, N)`` and numeric dtype.
    offset : int, optional
        Which diagonal: 0, the default, is the main one, negative ones lie below it.
    dtype : numpy.dtype, optional
        In which to add. Default: that of `x`; small integers are added as int64 or uint64.

    Returns
    -------
    Array
        Of shape ``(...)``; 0 if the diagonal lies outside.

    Raises
    ------
    ValueError
        If `x` has less than 2 axes.
    """
    return plain(np.linalg.trace, x, offset=offset, dtype=dtype)


def vector_norm(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Array:
    """Return a norm of vectors along the axes, or of all elements.

    Parameters
    ----------
    x : Array
        Of floating dtype.
    axis : int or tuple of int, optional
        The axes that the elements of a vector lie along. Default: all.
    keepdims : bool, optional
        Whether these axes stay, of length 1. Default: no.
    ord : float, optional
        ``sum(abs(x) ** ord) ** (1 / ord)``, 2 by default; inf and -inf are the greatest and the
        least magnitude, 0 is how many elements aren't zero.

    Returns
    -------
    Array
        Real, of the precision of `x`.

    Raises
    ------
    ValueError
        If an axis is named twice, for an `ord` that is no number, or for the least magnitude of no
        elements.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return apply(_VECTOR_NORM, x, axis=axis, keepdims=keepdims, ord=ord)


def _complex(x: Array) -> Array:
    """Return a complex array: NumPy returns a real one where every imaginary part is zero."""
    if x.dtype.kind == "c":
        return x
    return wrap(x._host.astype(np.result_type(x.dtype, np.complex64)), x._pin)
