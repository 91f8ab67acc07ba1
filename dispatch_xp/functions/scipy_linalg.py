"""The functions of ``scipy.linalg``, in the terms of the operation table.

Each function here takes what its namesake takes. SciPy computes in the precision of its input, and
hands out what LAPACK made: factors in Fortran order. Stacks of matrices stay on the reference.
``overwrite_*`` means that SciPy may overwrite, and programs rely on where: a result that it would
leave in an argument's memory is there in the end. A backend overwrites nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dispatch_xp.errors import Unsupported
from dispatch_xp.functions.function import Request, Results
from dispatch_xp.functions.operand import (
    deliver,
    matrix,
    only_default,
    operand,
    request,
)
from dispatch_xp.reasons import Reason

__all__ = ["FUNCTIONS"]

Array = npt.NDArray[Any]


_SINGLE = "?bBhHfF"
"""What SciPy's LAPACK wrappers compute in single precision: integers of 16 bits fit into it."""


def _dtype(*arrays: Array, single: str = _SINGLE) -> np.dtype[Any]:
    """Return the LAPACK dtype of the arguments: single only if all are."""
    is_complex = any(a.dtype.kind == "c" for a in arrays)
    if all(a.dtype.char in single for a in arrays):
        return np.dtype(np.complex64 if is_complex else np.float32)
    return np.dtype(np.complex128 if is_complex else np.float64)


def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(dtype.char.lower())


def _square(a: Any) -> tuple[Array, np.dtype[Any]]:
    a = matrix(a, square=True, ndim=2)
    if a.shape == (1, 1):
        raise Unsupported(Reason.SHAPE, "one by one")
    return a, _dtype(a)


def _any_shape(a: Any) -> tuple[Array, np.dtype[Any]]:
    a = matrix(a, ndim=2)
    return a, _dtype(a)


def _dense(a: Array, assume_a: Any) -> None:
    """Refuse what the reference solves with less work than a general matrix takes.

    SciPy looks for a structure unless told that there is none. Zero corners are how a triangular,
    a banded and a diagonal matrix show at a glance.
    """
    if isinstance(assume_a, str) and assume_a in ("gen", "general"):
        return
    if assume_a is not None:
        raise Unsupported(Reason.ARGUMENT, f"assume_a={assume_a!r:.40}")
    if a[0, -1] == 0 or a[-1, 0] == 0:
        raise Unsupported(Reason.SHAPE, "perhaps triangular or banded")


def _right_hand_side(n: int, b: Any) -> Array:
    array = operand(b)
    if array.ndim not in (1, 2) or array.shape[0] != n:
        raise Unsupported(Reason.INVALID, f"right-hand side of shape {array.shape}")
    return array


def _place(
    argument: Any, array: Array, overwrite: Any, dtype: np.dtype[Any], order: str = "F"
) -> Array | None:
    """Return the memory of an argument that LAPACK would leave its result in, if it would.

    Parameters
    ----------
    argument : object
        What the user gave.
    array : ndarray
        The same as an array.
    overwrite : bool
        Whether it may be overwritten.
    dtype : numpy.dtype
        What is computed in. Everything else is copied first.
    order : str
        The memory order that SciPy would not copy: C's for what it has written itself.
    """
    flags = array.flags
    contiguous = flags.f_contiguous if order == "F" else flags.c_contiguous
    if overwrite and array is argument and array.dtype == dtype and contiguous:
        return array if flags.writeable else None
    return None


def _not_in_place(
    argument: Any, array: Array, overwrite: Any, dtype: np.dtype[Any], order: str = "F"
) -> None:
    """Leave to the reference what would leave one of its results in the argument's memory."""
    if _place(argument, array, overwrite, dtype, order) is not None:
        raise Unsupported(Reason.ARGUMENT, "a result in the memory of an argument")


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: Any = None,
    transposed: bool = False,
) -> Request:
    only_default(lower=(lower, False), transposed=(transposed, False))
    a, _ = _square(a)
    given, b = b, _right_hand_side(len(a), b)
    _dense(a, assume_a)
    integers = a.dtype.kind in "biu" and b.dtype.kind in "biu"
    dtype = np.dtype(np.float64) if integers else _dtype(a, b)
    return request(
        "linalg.solve",
        (a, b),
        dtype,
        lambda r: deliver(r[0], dtype),
        {"well_conditioned": True},
        out=_place(given, b, overwrite_b, dtype),
    )


def inv(
    a: Any,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: Any = None,
    lower: bool = False,
) -> Request:
    only_default(lower=(lower, False))
    given, (a, dtype) = a, _square(a)
    _dense(a, assume_a)
    # SciPy inverts in place where it may: the caller's memory, or its own copy
    in_place = (overwrite_a or a.dtype != dtype) and a.flags.f_contiguous
    order = "F" if in_place else "C"
    return request(
        "linalg.inv",
        (a,),
        dtype,
        lambda r: deliver(r[0], dtype, order),
        {"well_conditioned": True},
        out=_place(given, a, overwrite_a, dtype),
    )


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Request:
    a, dtype = _square(a)
    result = np.complex128 if dtype.kind == "c" else np.float64
    return request("linalg.det", (a,), dtype, lambda r: result(r[0][()]))


def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Request:
    given, (a, dtype) = a, _square(a)
    return request(
        "linalg.cholesky",
        (a,),
        dtype,
        lambda r: deliver(r[0], dtype, "F"),
        {"upper": not lower},
        out=_place(given, a, overwrite_a, dtype),
    )


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: Any = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Request:
    only_default(lwork=(lwork, None), pivoting=(pivoting, False))
    modes = {"full": "complete", "qr": "complete", "r": "r", "economic": "reduced"}
    if not isinstance(mode, str) or mode not in modes:
        raise Unsupported(Reason.ARGUMENT, f"mode={mode!r:.40}")
    a, dtype = _any_shape(a)
    m, n = a.shape

    def finish(r: Results) -> Any:
        triangle = deliver(r[-1], dtype)
        if mode != "r":
            return deliver(r[0], dtype, "F"), triangle
        # SciPy keeps the rows of zeros that numpy.linalg drops
        padding = np.zeros((max(m - n, 0), n), dtype=dtype)
        return (np.concatenate((triangle, padding)) if m > n else triangle,)

    return request("linalg.qr", (a,), dtype, finish, {"mode": modes[mode]})


def _indexable(elements: int) -> None:
    """Refuse singular vectors that LAPACK's 32-bit indices can't tell apart: SciPy raises."""
    if elements > 2**31 - 1:
        raise Unsupported(Reason.INVALID, f"{elements} elements are too many for LAPACK's indices")


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Request:
    only_default(lapack_driver=(lapack_driver, "gesdd"))
    if not compute_uv:
        return svdvals(a)
    a, dtype = _any_shape(a)
    _indexable(max(a.shape) ** 2 if full_matrices else a.size)

    def finish(r: Results) -> Any:
        u, s, vh = r
        return deliver(u, dtype, "F"), deliver(s, _real(dtype)), deliver(vh, dtype, "F")

    return request("linalg.svd", (a,), dtype, finish, {"full_matrices": bool(full_matrices)})


def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Request:
    a, dtype = _any_shape(a)
    return request("linalg.svdvals", (a,), dtype, lambda r: deliver(r[0], _real(dtype)))


def _standard_problem(**arguments: Any) -> None:
    """Refuse the generalised problem, subsets and a driver by name."""
    for name, value in arguments.items():
        if value is not None and value is not False and not (name == "type" and value == 1):
            raise Unsupported(Reason.ARGUMENT, f"{name}={value!r:.40}")


def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: Any = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Request:
    _standard_problem(
        b=b, type=type, subset_by_index=subset_by_index, subset_by_value=subset_by_value,
        driver=driver,
    )  # fmt: skip
    if eigvals_only:
        return eigvalsh(a, lower=lower)
    a, dtype = _square(a)

    def finish(r: Results) -> Any:
        return deliver(r[0], _real(dtype)), deliver(r[1], dtype, "F")

    return request("linalg.eigh", (a,), dtype, finish, {"lower": bool(lower)})


def eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: Any = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Request:
    _standard_problem(
        b=b, type=type, subset_by_index=subset_by_index, subset_by_value=subset_by_value,
        driver=driver,
    )  # fmt: skip
    a, dtype = _square(a)
    return request(
        "linalg.eigvalsh",
        (a,),
        dtype,
        lambda r: deliver(r[0], _real(dtype)),
        {"lower": bool(lower)},
    )


def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Request:
    _standard_problem(b=b, left=left, homogeneous_eigvals=homogeneous_eigvals)
    if not right:
        return eigvals(a)
    a, dtype = _square(a)
    cast = np.dtype(dtype.char.upper())

    def finish(r: Results) -> Any:
        w, v = r
        real = dtype.kind == "f" and not (w.dtype.kind == "c" and w.imag.any())
        return deliver(w, cast), deliver(v.real if real else v, dtype if real else cast, "F")

    return request("linalg.eig", (a,), dtype, finish)


def eigvals(
    a: Any,
    b: Any = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Request:
    _standard_problem(b=b, homogeneous_eigvals=homogeneous_eigvals)
    a, dtype = _square(a)
    cast = np.dtype(dtype.char.upper())
    return request("linalg.eigvals", (a,), dtype, lambda r: deliver(r[0], cast))


def pinv(
    a: Any,
    *,
    atol: Any = None,
    rtol: Any = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Request:
    only_default(return_rank=(return_rank, False))
    a, dtype = _any_shape(a)
    _indexable(a.size)
    if not all(isinstance(t, (int, float, np.floating, type(None))) for t in (atol, rtol)):
        raise Unsupported(Reason.ARGUMENT, "a tolerance that is no number")
    absolute = 0.0 if atol is None else float(atol)
    relative = float(max(a.shape) * np.finfo(dtype).eps if rtol is None else rtol)
    if absolute < 0 or relative < 0:
        raise Unsupported(Reason.INVALID, "a negative tolerance")
    options = {"atol": absolute, "rtol": relative}
    return request("linalg.pinv", (a,), dtype, lambda r: deliver(r[0], dtype, "F"), options)


def _top_rows(x: Array, rows: int, dtype: np.dtype[Any]) -> Any:
    """Return a solution as what LAPACK makes of the right-hand side: its first rows."""
    if x.ndim == 1 or rows <= len(x):
        return deliver(x, dtype, "F")
    whole = np.zeros((rows, x.shape[1]), dtype=dtype, order="F")
    whole[: len(x)] = x
    return whole[: len(x)]


def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = None,
) -> Request:
    import scipy.linalg

    if (lapack_driver or scipy.linalg.lstsq.default_lapack_driver) != "gelsd":
        raise Unsupported(Reason.ARGUMENT, f"lapack_driver={lapack_driver!r:.40}")
    a, _ = _any_shape(a)
    b = _right_hand_side(len(a), b)
    dtype = _dtype(a, b)
    m, n = a.shape
    if cond is None or (isinstance(cond, (int, float)) and cond == -1):
        cond = np.finfo(dtype).eps
    elif not isinstance(cond, (int, float, np.floating)) or cond < 0:
        raise Unsupported(Reason.ARGUMENT, f"cond={cond!r:.40}")

    def finish(r: Results) -> Any:
        x, s = r
        rank = int((s > cond * s.max()).sum())
        residuals: Array = np.asarray([], dtype=dtype)
        if rank == n and m > n:
            residuals = np.sum(np.abs(a @ x - b) ** 2, axis=0).astype(_real(dtype))
        return _top_rows(x, m, dtype), residuals, rank, deliver(s, _real(dtype))

    return request("linalg.lstsq", (a, b), dtype, finish, {"rcond": float(cond)})


def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Request:
    given, (a, dtype) = a, _any_shape(a)
    if a.shape == (1, 1):
        raise Unsupported(Reason.SHAPE, "one by one")
    _not_in_place(given, a, overwrite_a, dtype, order="C")

    def finish(r: Results) -> Any:
        p, lower, upper = r
        if permute_l:
            return deliver(p.astype(dtype) @ lower, dtype), deliver(upper, dtype)
        if p_indices:
            permutation: Any = np.argmax(p.real, axis=1).astype(np.int32)
        else:
            permutation = deliver(p.real, _real(dtype))
        return permutation, deliver(lower, dtype), deliver(upper, dtype)

    return request("linalg.lu", (a,), dtype, finish)


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Request:
    given, (a, dtype) = a, _any_shape(a)
    _not_in_place(given, a, overwrite_a, dtype)

    def finish(r: Results) -> Any:
        factors, pivots = deliver(r[0], dtype, "F"), deliver(r[1], np.dtype(np.int32))
        if (np.diagonal(factors) == 0).any():
            # the reference warns of a singular matrix
            raise Unsupported(Reason.ILL_CONDITIONED, "singular matrix")
        return factors, pivots

    return request("linalg.lu_factor", (a,), dtype, finish)


def lu_solve(
    lu_and_piv: Any,
    b: Any,
    trans: Any = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Request:
    factors, pivots = lu_and_piv
    factors, _ = _square(factors)
    pivots = operand(pivots, "iu")
    if not isinstance(trans, int) or trans not in (0, 1, 2) or pivots.shape != (len(factors),):
        raise Unsupported(Reason.ARGUMENT, f"trans={trans!r:.40}")
    given, b = b, _right_hand_side(len(factors), b)
    dtype = _dtype(factors, b)
    out = _place(given, b, overwrite_b, dtype)
    order = np.arange(len(factors))
    for i, j in enumerate(pivots):
        order[[i, j]] = order[[j, i]]
    # P a = L U: rows are exchanged before the triangles for trans=0, after them for the others
    if trans == 0:
        b = b[order]

    def finish(r: Results) -> Any:
        x = r[0] if trans == 0 else r[0][np.argsort(order)]
        return deliver(x, dtype, "F")

    options = {"trans": int(trans)}
    return request("linalg.lu_solve", (factors, b), dtype, finish, options, out=out)


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Request:
    a, _ = _square(a)
    given, b = b, _right_hand_side(len(a), b)
    codes = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}
    if not isinstance(trans, (int, str)) or isinstance(trans, bool) or trans not in codes:
        raise Unsupported(Reason.ARGUMENT, f"trans={trans!r:.40}")
    if not unit_diagonal and (np.diagonal(a) == 0).any():
        raise Unsupported(Reason.INVALID, "singular matrix")
    dtype = _dtype(a, b)
    options = {
        "trans": codes[trans],
        "lower": bool(lower),
        "unit_diagonal": bool(unit_diagonal),
    }
    return request(
        "linalg.solve_triangular",
        (a, b),
        dtype,
        lambda r: deliver(r[0], dtype, "F"),
        options,
        out=_place(given, b, overwrite_b, dtype),
    )


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Request:
    given, (a, dtype) = a, _square(a)
    _not_in_place(given, a, overwrite_a, dtype)
    lower = bool(lower)

    def finish(r: Results) -> Any:
        # LAPACK leaves the other triangle as it was
        rest = np.triu(a, 1) if lower else np.tril(a, -1)
        factor = np.tril(r[0]) if lower else np.triu(r[0])
        return deliver(factor + rest, dtype, "F"), lower

    return request("linalg.cho_factor", (a,), dtype, finish, {"lower": lower})


def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Request:
    factor, lower = c_and_lower
    factor, _ = _square(factor)
    given, b = b, _right_hand_side(len(factor), b)
    if (np.diagonal(factor) == 0).any():
        raise Unsupported(Reason.INVALID, "singular matrix")
    dtype = _dtype(factor, b)
    return request(
        "linalg.cho_solve",
        (factor, b),
        dtype,
        lambda r: deliver(r[0], dtype, "F"),
        {"lower": bool(lower)},
        out=_place(given, b, overwrite_b, dtype),
    )


def expm(A: Any) -> Request:
    a, _ = _square(A)
    _dense(a, None)
    dtype = _dtype(a, single="fF")
    return request("linalg.expm", (a,), dtype, lambda r: deliver(r[0], dtype))


def schur(
    a: Any,
    output: str = "real",
    lwork: Any = None,
    overwrite_a: bool = False,
    sort: Any = None,
    check_finite: bool = True,
) -> Request:
    only_default(output=(output, "real"), lwork=(lwork, None), sort=(sort, None))
    given, (a, _) = a, _square(a)
    dtype = _dtype(a, single="?fF")
    _not_in_place(given, a, overwrite_a, dtype)
    return request(
        "linalg.schur",
        (a,),
        dtype,
        lambda r: (deliver(r[0], dtype, "F"), deliver(r[1], dtype, "F")),
    )


def hessenberg(
    a: Any, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Request:
    given, (a, dtype) = a, _square(a)
    if len(a) < 3:
        raise Unsupported(Reason.SHAPE, "already of that form")
    _not_in_place(given, a, overwrite_a, dtype)

    def finish(r: Results) -> Any:
        h = deliver(r[0], dtype)
        return (h, deliver(r[1], dtype, "F")) if calc_q else h

    return request("linalg.hessenberg", (a,), dtype, finish, {"calc_q": bool(calc_q)})


def polar(a: Any, side: Any = "right") -> Request:
    if not isinstance(side, str) or side not in ("right", "left"):
        raise Unsupported(Reason.INVALID, f"side={side!r:.40}")
    a, dtype = _any_shape(a)
    _indexable(a.size)
    return request(
        "linalg.polar",
        (a,),
        dtype,
        lambda r: (deliver(r[0], dtype), deliver(r[1], dtype)),
        {"side": side},
    )


FUNCTIONS = {
    "solve": (solve, "linalg.solve"),
    "inv": (inv, "linalg.inv"),
    "det": (det, "linalg.det"),
    "cholesky": (cholesky, "linalg.cholesky"),
    "qr": (qr, "linalg.qr"),
    "svd": (svd, "linalg.svd", "linalg.svdvals"),
    "svdvals": (svdvals, "linalg.svdvals"),
    "eigh": (eigh, "linalg.eigh", "linalg.eigvalsh"),
    "eigvalsh": (eigvalsh, "linalg.eigvalsh"),
    "eig": (eig, "linalg.eig", "linalg.eigvals"),
    "eigvals": (eigvals, "linalg.eigvals"),
    "pinv": (pinv, "linalg.pinv"),
    "lstsq": (lstsq, "linalg.lstsq"),
    "lu": (lu, "linalg.lu"),
    "lu_factor": (lu_factor, "linalg.lu_factor"),
    "lu_solve": (lu_solve, "linalg.lu_solve"),
    "solve_triangular": (solve_triangular, "linalg.solve_triangular"),
    "cho_factor": (cho_factor, "linalg.cho_factor"),
    "cho_solve": (cho_solve, "linalg.cho_solve"),
    "expm": (expm, "linalg.expm"),
    "schur": (schur, "linalg.schur"),
    "hessenberg": (hessenberg, "linalg.hessenberg"),
    "polar": (polar, "linalg.polar"),
}
