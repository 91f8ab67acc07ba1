"""The functions of ``numpy.linalg``, in the terms of the operation table.

Each function here takes what its namesake takes. ``numpy.linalg`` computes single precision in
double and rounds the result, so the calls are made in double.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from dispatch_xp.errors import Unsupported
from dispatch_xp.functions.function import Request, Results
from dispatch_xp.functions.operand import (
    Order,
    deliver,
    iteration_order,
    matrix,
    only_default,
    operand,
    request,
    scalar,
    stack_order,
)
from dispatch_xp.reasons import Reason

__all__ = ["FUNCTIONS"]

_NO_VALUE: Any = np._NoValue


def _result_types() -> dict[str, Any]:
    """Return NumPy's own named tuples; they have no public constructor name before 2.0."""
    from numpy.linalg import _linalg

    return {
        name: getattr(_linalg, name)
        for name in ("SVDResult", "EighResult", "EigResult", "QRResult", "SlogdetResult")
    }


_RESULTS = _result_types()


def _dtypes(*arrays: npt.NDArray[Any]) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return what ``numpy.linalg`` computes in, and the dtype of its result."""
    is_complex = any(a.dtype.kind == "c" for a in arrays)
    double = any(a.dtype.char not in "fF" for a in arrays)
    compute = np.dtype(np.complex128 if is_complex else np.float64)
    single = np.dtype(np.complex64 if is_complex else np.float32)
    return compute, compute if double else single


def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(dtype.char.lower())


def _give(x: npt.NDArray[Any], dtype: Any, *stacks: npt.NDArray[Any]) -> Any:
    """Return a result as ``numpy.linalg`` does: a stack in the order of the stacks given."""
    if all(a.ndim < 4 for a in stacks):
        return scalar(x, dtype)
    core = x.ndim - max(a.ndim - 2 for a in stacks)
    return scalar(x, dtype, stack_order(core, *((a, 2) for a in stacks)))


def solve(a: Any, b: Any) -> Request:
    a, b = matrix(a, square=True), operand(b)
    # NumPy 2: b is a vector if it is one-dimensional, else a stack of matrices
    if b.ndim == 1:
        if a.shape[-1] != b.shape[0]:
            raise Unsupported(Reason.INVALID, f"shapes {a.shape} and {b.shape}")
        if a.ndim > 2:
            raise Unsupported(Reason.SHAPE, "a stack of matrices against one vector")
    elif a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2]:
        raise Unsupported(Reason.SHAPE, f"shapes {a.shape} and {b.shape}")
    compute, result = _dtypes(a, b)
    return request(
        "linalg.solve", (a, b), compute, lambda r: _give(r[0], result, a, b), native=result
    )


def inv(a: Any) -> Request:
    a = matrix(a, square=True)
    compute, result = _dtypes(a)
    return request("linalg.inv", (a,), compute, lambda r: _give(r[0], result, a), native=result)


def det(a: Any) -> Request:
    a = matrix(a, square=True)
    compute, result = _dtypes(a)
    return request("linalg.det", (a,), compute, lambda r: _give(r[0], result, a), native=result)


def slogdet(a: Any) -> Request:
    a = matrix(a, square=True)
    compute, result = _dtypes(a)

    def finish(r: Results) -> Any:
        return _RESULTS["SlogdetResult"](_give(r[0], result, a), _give(r[1], _real(result), a))

    return request("linalg.slogdet", (a,), compute, finish, native=result)


def cholesky(a: Any, /, *, upper: bool = False) -> Request:
    a = matrix(a, square=True)
    compute, result = _dtypes(a)
    return request(
        "linalg.cholesky",
        (a,),
        compute,
        lambda r: _give(r[0], result, a),
        {"upper": bool(upper)},
        result,
    )


def _triangle_order(a: npt.NDArray[Any], triangle: npt.NDArray[Any]) -> Order:
    """Return the order of R, which NumPy cuts out of a copy of `a` with a mask in C order."""
    if a.ndim < 3 or a.flags.c_contiguous:
        return "C"
    mask = np.empty(triangle.shape[-2:], dtype=np.bool_)
    return iteration_order(mask, np.empty_like(a)[..., : triangle.shape[-2], :])


def qr(a: Any, mode: Any = "reduced") -> Request:
    if not isinstance(mode, str) or mode not in ("reduced", "complete", "r"):
        raise Unsupported(Reason.ARGUMENT, f"mode={mode!r:.40}")
    a = matrix(a)
    compute, result = _dtypes(a)

    def finish(r: Results) -> Any:
        triangle = deliver(r[-1], result, _triangle_order(a, r[-1]))
        return triangle if mode == "r" else _RESULTS["QRResult"](_give(r[0], result, a), triangle)

    return request("linalg.qr", (a,), compute, finish, {"mode": mode}, result)


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Request:
    only_default(hermitian=(hermitian, False))
    if not compute_uv:
        return svdvals(a)
    a = matrix(a)
    compute, result = _dtypes(a)

    def finish(r: Results) -> Any:
        u, s, vh = r
        return _RESULTS["SVDResult"](
            _give(u, result, a), _give(s, _real(result), a), _give(vh, result, a)
        )

    options = {"full_matrices": bool(full_matrices)}
    return request("linalg.svd", (a,), compute, finish, options, result)


def svdvals(x: Any, /) -> Request:
    a = matrix(x)
    compute, result = _dtypes(a)
    return request(
        "linalg.svdvals", (a,), compute, lambda r: _give(r[0], _real(result), a), native=result
    )


def _lower(uplo: Any) -> dict[str, Any]:
    if not isinstance(uplo, str) or uplo not in ("L", "U", "l", "u"):
        raise Unsupported(Reason.INVALID, f"UPLO={uplo!r:.40}")
    return {"lower": uplo in "Ll"}


def eigh(a: Any, UPLO: str = "L") -> Request:
    a = matrix(a, square=True)
    compute, result = _dtypes(a)

    def finish(r: Results) -> Any:
        return _RESULTS["EighResult"](_give(r[0], _real(result), a), _give(r[1], result, a))

    return request("linalg.eigh", (a,), compute, finish, _lower(UPLO), result)


def eigvalsh(a: Any, UPLO: str = "L") -> Request:
    a = matrix(a, square=True)
    compute, result = _dtypes(a)
    return request(
        "linalg.eigvalsh",
        (a,),
        compute,
        lambda r: _give(r[0], _real(result), a),
        _lower(UPLO),
        result,
    )


def _real_if_all(
    a: npt.NDArray[Any], result: np.dtype[Any], values: npt.NDArray[Any], *others: Any
) -> list[Any]:
    """Return eigenvalues, and vectors, as NumPy does: views of the real parts if all are real."""
    compute = np.dtype(np.complex128)
    parts = [_give(x, compute, a) for x in (values, *others)]
    cast = np.dtype(result.char.upper())
    if result.kind != "c" and not parts[0].imag.any():
        cast, parts = result, [x.real for x in parts]
    return [x.astype(cast, copy=False) for x in parts]


def eig(a: Any) -> Request:
    a = matrix(a, square=True)
    compute, result = _dtypes(a)

    def finish(r: Results) -> Any:
        return _RESULTS["EigResult"](*_real_if_all(a, result, *r))

    return request("linalg.eig", (a,), compute, finish, native=result)


def eigvals(a: Any) -> Request:
    a = matrix(a, square=True)
    compute, result = _dtypes(a)
    return request(
        "linalg.eigvals",
        (a,),
        compute,
        lambda r: _real_if_all(a, result, r[0])[0],
        native=result,
    )


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NO_VALUE) -> Request:
    only_default(hermitian=(hermitian, False))
    a = matrix(a)
    compute, result = _dtypes(a)
    if rcond is None:
        if rtol is _NO_VALUE:
            rcond = 1e-15
        elif rtol is None:
            if a.dtype.kind not in "fc":
                raise Unsupported(Reason.INVALID, "rtol=None needs a floating dtype")
            rcond = max(a.shape[-2:]) * np.finfo(a.dtype).eps
        else:
            rcond = rtol
    elif rtol is not _NO_VALUE:
        raise Unsupported(Reason.INVALID, "rcond and rtol")
    if not isinstance(rcond, (int, float, np.floating)):
        raise Unsupported(Reason.ARGUMENT, "a tolerance per matrix")
    options = {"atol": 0.0, "rtol": float(rcond)}
    return request(
        "linalg.pinv", (a,), compute, lambda r: _give(r[0], result, a), options, native=result
    )


def lstsq(a: Any, b: Any, rcond: Any = None) -> Request:
    a, b = matrix(a, ndim=2), operand(b)
    if b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise Unsupported(Reason.INVALID, f"shapes {a.shape} and {b.shape}")
    compute, result = _dtypes(a, b)
    m, n = a.shape
    eps = np.finfo(compute).eps
    if rcond is None:
        rcond = eps * max(m, n)
    elif isinstance(rcond, (int, float)) and rcond == -1:
        rcond = eps
    elif not isinstance(rcond, (int, float, np.floating)) or not rcond >= 0:
        raise Unsupported(Reason.ARGUMENT, f"rcond={rcond!r:.40}")

    def finish(r: Results) -> Any:
        x, s = r
        rank = int((s > rcond * s.max()).sum())
        residuals = np.empty(0, dtype=_real(compute))
        if rank == n and m > n:
            difference = a @ x.reshape(n, -1) - b.reshape(m, -1)
            residuals = np.sum(np.abs(difference) ** 2, axis=0)
        return (
            deliver(x, result),
            deliver(residuals, _real(result)),
            np.int32(rank),
            deliver(s, _real(result)),
        )

    return request("linalg.lstsq", (a, b), compute, finish, {"rcond": float(rcond)}, result)


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Request:
    only_default(hermitian=(hermitian, False))
    a = matrix(A)
    compute, result = _dtypes(a)
    if tol is not None and rtol is not None:
        raise Unsupported(Reason.INVALID, "tol and rtol")
    if not all(isinstance(t, (int, float, np.floating, type(None))) for t in (tol, rtol)):
        raise Unsupported(Reason.ARGUMENT, "a tolerance per matrix")

    def finish(r: Results) -> Any:
        s = deliver(r[0], _real(result))
        if tol is not None:
            cutoff = np.asarray(tol)[..., np.newaxis]
        else:
            relative = max(a.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else rtol
            cutoff = s.max(axis=-1, keepdims=True) * np.asarray(relative)[..., np.newaxis]
        rounding = max(a.shape[-2:]) * np.finfo(s.dtype).eps * s.max(axis=-1, keepdims=True)
        if (np.abs(s - cutoff) < rounding).any():
            raise Unsupported(Reason.ILL_CONDITIONED, "the rank is a matter of rounding")
        rank = np.asarray(np.count_nonzero(s > cutoff, axis=-1))
        return _give(rank, np.dtype(np.intp), a)

    return request("linalg.matrix_rank", (a,), compute, finish, native=result)


def cond(x: Any, p: Any = None) -> Request:
    if p is not None and not (isinstance(p, int) and p in (2, -2)):
        raise Unsupported(Reason.ARGUMENT, f"p={p!r:.40}")
    a = matrix(x)
    compute, result = _dtypes(a)

    def finish(r: Results) -> Any:
        s = deliver(r[0], _real(result))
        with np.errstate(all="ignore"):
            ratio = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
        largest = s[..., 0] * max(a.shape[-2:]) * np.finfo(s.dtype).eps
        if not (s[..., -1] > largest).all():
            raise Unsupported(Reason.ILL_CONDITIONED, "singular, or not, by rounding alone")
        return _give(np.asarray(ratio), ratio.dtype, a)

    return request("linalg.cond", (a,), compute, finish, native=result)


def matrix_power(a: Any, n: Any) -> Request:
    a = matrix(a, square=True)
    try:
        n = operator.index(n)
    except TypeError:
        raise Unsupported(Reason.INVALID, "n") from None
    if a.dtype.kind not in "fc" or n in (0, 1):
        raise Unsupported(Reason.DTYPE if a.dtype.kind not in "fc" else Reason.ARGUMENT, f"n={n}")
    compute = _dtypes(a)[0] if n < 0 else a.dtype
    return request(
        "linalg.matrix_power",
        (a,),
        compute,
        lambda r: _give(r[0], a.dtype, a),
        {"n": n},
        native=a.dtype,
    )


def _matrix_norm(a: npt.NDArray[Any], order: Any, keepdims: bool) -> Request:
    if not isinstance(order, (str, int, float)) or order not in (
        "fro",
        "nuc",
        1,
        -1,
        2,
        -2,
        math.inf,
        -math.inf,
    ):
        raise Unsupported(Reason.ARGUMENT, f"ord={order!r:.40}")
    # sums run in the dtype of the input, singular values in double
    by_values = order in ("nuc", 2, -2)
    compute, result = _dtypes(a)
    options = {"ord": order, "keepdims": bool(keepdims)}
    return request(
        "linalg.matrix_norm",
        (a,),
        compute if by_values else result,
        lambda r: _give(r[0], _real(result), a),
        options,
        native=result,
    )


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Request:
    return _matrix_norm(matrix(x), ord, keepdims)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Request:
    if axis is not None:
        raise Unsupported(Reason.ARGUMENT, f"axis={axis!r:.40}")
    a = operand(x)
    if ord is not None and not isinstance(ord, (str, int, float)):
        raise Unsupported(Reason.ARGUMENT, f"ord={ord!r:.40}")
    if ord is None or (ord == 2 and a.ndim == 1) or (ord in ("f", "fro") and a.ndim == 2):
        return _flat_norm(a, keepdims)
    if a.ndim != 2:
        raise Unsupported(Reason.ARGUMENT, f"ord={ord!r:.40} of {a.ndim} dimensions")
    return _matrix_norm(a, ord, keepdims)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Request:
    only_default(axis=(axis, None), ord=(ord, 2))
    return _flat_norm(operand(x), keepdims)


def _flat_norm(a: npt.NDArray[Any], keepdims: bool) -> Request:
    _, result = _dtypes(a)
    shape = (1,) * a.ndim

    def finish(r: Results) -> Any:
        value = scalar(r[0], _real(result))
        return np.asarray(value).reshape(shape) if keepdims else value

    return request("linalg.vector_norm", (a,), result, finish, {"ord": 2})


FUNCTIONS = {
    "solve": (solve, "linalg.solve"),
    "inv": (inv, "linalg.inv"),
    "det": (det, "linalg.det"),
    "slogdet": (slogdet, "linalg.slogdet"),
    "cholesky": (cholesky, "linalg.cholesky"),
    "qr": (qr, "linalg.qr"),
    "svd": (svd, "linalg.svd", "linalg.svdvals"),
    "svdvals": (svdvals, "linalg.svdvals"),
    "eigh": (eigh, "linalg.eigh"),
    "eigvalsh": (eigvalsh, "linalg.eigvalsh"),
    "eig": (eig, "linalg.eig"),
    "eigvals": (eigvals, "linalg.eigvals"),
    "pinv": (pinv, "linalg.pinv"),
    "lstsq": (lstsq, "linalg.lstsq"),
    "matrix_rank": (matrix_rank, "linalg.matrix_rank"),
    "cond": (cond, "linalg.cond"),
    "matrix_power": (matrix_power, "linalg.matrix_power"),
    "matrix_norm": (matrix_norm, "linalg.matrix_norm"),
    "norm": (norm, "linalg.vector_norm", "linalg.matrix_norm"),
    "vector_norm": (vector_norm, "linalg.vector_norm"),
}
