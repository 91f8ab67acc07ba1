"""Linear algebra on CuPy: one adapter per operation, where CuPy's arguments or limits differ.

Every kernel takes the :class:`~dispatch_xp.backends.cupy_availability.Libraries` first and runs
inside ``cupyx.errstate(linalg="raise")``, so a singular matrix raises LinAlgError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dispatch_xp.errors import Unsupported
from dispatch_xp.reasons import Reason

__all__ = ["KERNELS", "tall"]

STACK_LIMIT = 16384
"""Matrices that one batched call gets; cuSOLVER's batched Jacobi routines fail beyond 32768."""

JACOBI_ORDER = 32
"""Up to this order the batched Jacobi routines are made for the purpose."""

ESTIMATE_STEPS = 5


def _adjoint(cp: Any, x: Any) -> Any:
    x = cp.swapaxes(x, -1, -2)
    return cp.conj(x) if x.dtype.kind == "c" else x


def _real_diagonal(cp: Any, a: Any) -> Any:
    """Drop the diagonal's imaginary part, as LAPACK does for Hermitian input."""
    if a.dtype.kind != "c":
        return a
    i = cp.arange(a.shape[-1])
    a = cp.array(a, copy=True)
    a[..., i, i] = a[..., i, i].real
    return a


def _by_parts(cp: Any, kernel: Callable[[Any], tuple[Any, ...]], a: Any, size: int) -> Any:
    """Run a kernel on `size` matrices of a stack at a time, and join its results."""
    stack = a.shape[:-2]
    count = math.prod(stack)
    flat = cp.reshape(a, (count, *a.shape[-2:]))
    if size == 1:
        parts = [tuple(r[None] for r in kernel(flat[i])) for i in range(count)]
    else:
        parts = [kernel(flat[i : i + size]) for i in range(0, count, size)]
    joined = (cp.concatenate(results, axis=0) for results in zip(*parts, strict=True))
    return tuple(cp.reshape(r, (*stack, *r.shape[1:])) for r in joined)


def _check_energy(cp: Any, a: Any, values: Any) -> None:
    """Compare the squares of singular values or eigenvalues with those of the matrix.

    cuSOLVER has returned wrong factors without saying so; they miss this by far.
    """
    peak = float(cp.max(cp.abs(a)))
    if not peak:
        return
    squares = cp.sum(cp.abs(a / peak) ** 2, axis=(-2, -1))
    sums = cp.sum(cp.abs(values / peak) ** 2, axis=-1)
    if bool(cp.any(cp.abs(sums - squares) > 1e-3 * squares)):
        raise RuntimeError("cuSOLVER's values do not fit the matrix: their squares differ in sum")


def _one_norm(cp: Any, a: Any) -> Any:
    return cp.max(cp.sum(cp.abs(a), axis=-2), axis=-1)


def _require_condition(rcond: float, dtype: Any) -> None:
    if not rcond >= np.finfo(dtype).eps:
        raise Unsupported(Reason.ILL_CONDITIONED, f"rcond = {rcond:.3g}")


# systems


def _inverse_norm(lib: Any, lu: Any) -> float:
    """Estimate the 1-norm of the inverse from LU factors.

    Higham (1988), ACM Trans. Math. Softw. 14, algorithm 4.1, as LAPACK's gecon. Row exchanges only
    permute the columns of the inverse, so the 1-norm needs no pivots.
    """
    cp, triangular = lib.cupy, lib.linalg.solve_triangular

    def solve(x: Any) -> Any:
        y = triangular(lu, x, lower=True, unit_diagonal=True)
        return triangular(lu, y, lower=False)

    def solve_adjoint(x: Any) -> Any:
        y = triangular(lu, x, trans=2, lower=False)
        return triangular(lu, y, trans=2, lower=True, unit_diagonal=True)

    n = lu.shape[0]
    x = cp.full((n,), 1 / n, dtype=lu.dtype)
    estimate, position = 0.0, -1
    for _ in range(ESTIMATE_STEPS):
        y = solve(x)
        size = cp.abs(y)
        found = float(cp.sum(size))
        if found <= estimate:
            break
        estimate = found
        one = cp.ones_like(size)
        z = cp.abs(solve_adjoint(cp.where(size == 0, one, y / cp.where(size == 0, one, size))))
        previous, position = position, int(cp.argmax(z))
        if position == previous:
            break
        x = cp.zeros((n,), dtype=lu.dtype)
        x[position] = 1
    i = np.arange(n)
    alternating = (-1.0) ** i * (1 + i / max(n - 1, 1))
    y = solve(cp.asarray(alternating.astype(lu.dtype)))
    return max(estimate, float(2 * cp.sum(cp.abs(y)) / (3 * n)))


def _solve_checked(lib: Any, a: Any, b: Any) -> Any:
    cp = lib.cupy
    lu = cp.array(a, order="F", copy=True)
    x = cp.array(b, order="F", copy=True)
    lib.lapack.gesv(lu, x)
    norm = float(_one_norm(cp, a)) * _inverse_norm(lib, lu)
    _require_condition(1 / norm if norm else 0.0, a.dtype)
    return x


def _stack_rcond(cp: Any, a: Any, inverse: Any) -> float:
    return float(cp.min(1 / (_one_norm(cp, a) * _one_norm(cp, inverse))))


def _solve(lib: Any, a: Any, b: Any, well_conditioned: bool = False) -> Any:
    cp = lib.cupy
    if a.ndim == 2 and b.ndim <= 2:
        return _solve_checked(lib, a, b) if well_conditioned else cp.linalg.solve(a, b)
    columns = b[:, None] if b.ndim == 1 else b
    stack = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    wide_a = cp.ascontiguousarray(cp.broadcast_to(a, stack + a.shape[-2:]))
    wide_b = cp.ascontiguousarray(cp.broadcast_to(columns, stack + columns.shape[-2:]))
    x = cp.linalg.solve(wide_a, wide_b)
    if well_conditioned:
        _require_condition(_stack_rcond(cp, a, cp.linalg.inv(a)), a.dtype)
    return x[..., 0] if b.ndim == 1 else x


def _inv(lib: Any, a: Any, well_conditioned: bool = False) -> Any:
    cp = lib.cupy
    x = cp.linalg.inv(a)
    if well_conditioned:
        _require_condition(_stack_rcond(cp, a, x), a.dtype)
    return x


def _det(lib: Any, a: Any) -> Any:
    return lib.cupy.linalg.det(a)


def _slogdet(lib: Any, a: Any) -> Any:
    sign, logarithm = lib.cupy.linalg.slogdet(a)
    return sign, logarithm


def _matrix_power(lib: Any, a: Any, n: int) -> Any:
    if n == 1:
        return lib.cupy.array(a, copy=True)
    return lib.cupy.linalg.matrix_power(a, int(n))


# LU


def _getrf(lib: Any, a: Any) -> tuple[Any, Any]:
    """Factor by cuSOLVER and read its record.

    ``cupyx.scipy.linalg.lu_factor`` would warn of a singular matrix, where SciPy's ``lu`` does not.
    """
    cp, cusolver = lib.cupy, lib.cusolver
    m, n = a.shape
    letter = {"f": "s", "d": "d", "F": "c", "D": "z"}[a.dtype.char]
    lu = cp.array(a, order="F", copy=True)
    pivots = cp.empty((min(m, n),), dtype=np.int32)
    record = cp.empty((1,), dtype=np.int32)
    handle = cp.cuda.device.get_cusolver_handle()
    size = getattr(cusolver, f"{letter}getrf_bufferSize")(handle, m, n, lu.data.ptr, m)
    work = cp.empty((max(int(size), 1),), dtype=a.dtype)
    getattr(cusolver, f"{letter}getrf")(
        handle, m, n, lu.data.ptr, m, work.data.ptr, pivots.data.ptr, record.data.ptr
    )
    info = int(record[0])
    if info < 0:
        raise RuntimeError(f"cuSOLVER refuses argument {-info} of getrf")
    if info > 0:
        raise Unsupported(Reason.LINALG_ERROR, f"pivot {info} is zero")
    return lu, pivots - 1


def _lu_factor(lib: Any, a: Any) -> tuple[Any, Any]:
    return _getrf(lib, a)


def _lu(lib: Any, a: Any) -> tuple[Any, Any, Any]:
    cp = lib.cupy
    factors, pivots = _getrf(lib, a)
    m, n = a.shape
    k = min(m, n)
    order = list(range(m))
    for i, j in enumerate(pivots.tolist()):
        order[i], order[j] = order[j], order[i]
    p = cp.zeros((m, m), dtype=a.real.dtype)
    p[cp.asarray(np.asarray(order)), cp.arange(m)] = 1
    lower = cp.tril(factors[:, :k], k=-1) + cp.eye(m, k, dtype=a.dtype)
    return p, lower, cp.triu(factors[:k])


def _lu_solve(lib: Any, lu: Any, b: Any, trans: int = 0) -> Any:
    """Solve with the triangles of ``P a = L U``; the caller exchanges the rows."""
    solve = lib.linalg.solve_triangular
    if trans == 0:
        x = solve(lu, b, lower=True, unit_diagonal=True)
        return solve(lu, x, lower=False)
    x = solve(lu, b, trans=trans, lower=False)
    return solve(lu, x, trans=trans, lower=True, unit_diagonal=True)


def _solve_triangular(
    lib: Any, a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False
) -> Any:
    cp = lib.cupy
    if not unit_diagonal and bool(cp.any(cp.diagonal(a) == 0)):
        raise np.linalg.LinAlgError("singular matrix: zero on the diagonal")
    return lib.linalg.solve_triangular(
        a, b, trans=trans, lower=lower, unit_diagonal=unit_diagonal, check_finite=False
    )


# Cholesky


def _cholesky(lib: Any, a: Any, upper: bool = False) -> Any:
    """Read and return the lower triangle, which is all that CuPy has, or the mirrored upper."""
    cp = lib.cupy
    a = _real_diagonal(cp, a)
    if not upper:
        return cp.linalg.cholesky(a)
    factor = cp.linalg.cholesky(cp.ascontiguousarray(_adjoint(cp, a)))
    return cp.ascontiguousarray(_adjoint(cp, factor))


def _cho_factor(lib: Any, a: Any, lower: bool = False) -> Any:
    """Keep the input in the other triangle, as LAPACK does."""
    cp = lib.cupy
    factor = _cholesky(lib, a, upper=not lower)
    return factor + (cp.triu(a, k=1) if lower else cp.tril(a, k=-1))


def _cho_solve(lib: Any, c: Any, b: Any, lower: bool = False) -> Any:
    cp = lib.cupy
    return lib.lapack.potrs(
        cp.array(c, order="F", copy=True), cp.array(b, order="F", copy=True), lower
    )


# orthogonal factorizations


def _qr(lib: Any, a: Any, mode: str = "reduced") -> Any:
    if mode == "r":
        return lib.cupy.linalg.qr(a, mode="r")
    q, r = lib.cupy.linalg.qr(a, mode=mode)
    return q, r


def tall(m: int, n: int) -> bool:
    """Say whether an SVD starts with a QR decomposition (and so runs on the smaller side only)."""
    return max(m, n) >= 2 * min(m, n)


def _svd_square(cp: Any, a: Any, full_matrices: bool) -> tuple[Any, Any, Any]:
    u, s, vh = cp.linalg.svd(a, full_matrices=full_matrices, compute_uv=True)
    return u, s, vh


def _svd(lib: Any, a: Any, full_matrices: bool = False) -> tuple[Any, Any, Any]:
    cp = lib.cupy
    if math.prod(a.shape[:-2]) > STACK_LIMIT:
        result = _by_parts(cp, lambda part: _svd(lib, part, full_matrices), a, STACK_LIMIT)
        return result[0], result[1], result[2]
    m, n = a.shape[-2:]
    if full_matrices or not tall(m, n):
        u, s, vh = _svd_square(cp, a, full_matrices)
    elif m > n:
        q, r = cp.linalg.qr(a, mode="reduced")
        u, s, vh = _svd_square(cp, r, False)
        u = cp.matmul(q, u)
    else:
        q, r = cp.linalg.qr(cp.ascontiguousarray(_adjoint(cp, a)), mode="reduced")
        v, s, uh = _svd_square(cp, r, False)
        u, vh = _adjoint(cp, uh), _adjoint(cp, cp.matmul(q, v))
    _check_energy(cp, a, s)
    return u, s, vh


def _svdvals(lib: Any, a: Any) -> Any:
    cp = lib.cupy
    if math.prod(a.shape[:-2]) > STACK_LIMIT:
        return _by_parts(cp, lambda part: (_svdvals(lib, part),), a, STACK_LIMIT)[0]
    m, n = a.shape[-2:]
    core = a
    if tall(m, n):
        core = cp.linalg.qr(a if m > n else cp.ascontiguousarray(_adjoint(cp, a)), mode="r")
    s = cp.linalg.svd(core, full_matrices=False, compute_uv=False)
    _check_energy(cp, a, s)
    return s


def _inverted(cp: Any, s: Any, cutoff: Any, dtype: Any) -> Any:
    kept = s > cutoff
    return cp.where(kept, 1 / cp.where(kept, s, cp.ones_like(s)), cp.zeros_like(s)).astype(dtype)


def _pinv(lib: Any, a: Any, atol: float = 0.0, rtol: float = 0.0) -> Any:
    cp = lib.cupy
    u, s, vh = _svd(lib, a)
    inverse = _inverted(cp, s, atol + rtol * cp.max(s, axis=-1, keepdims=True), a.dtype)
    return cp.matmul(_adjoint(cp, vh) * inverse[..., None, :], _adjoint(cp, u))


def _lstsq(lib: Any, a: Any, b: Any, rcond: float) -> tuple[Any, Any]:
    cp = lib.cupy
    u, s, vh = _svd(lib, a)
    inverse = _inverted(cp, s, rcond * cp.max(s), a.dtype)
    projected = cp.matmul(_adjoint(cp, u), b)
    scaled = inverse[:, None] * projected if b.ndim == 2 else inverse * projected
    return cp.matmul(_adjoint(cp, vh), scaled), s


def _polar(lib: Any, a: Any, side: str = "right") -> tuple[Any, Any]:
    cp = lib.cupy
    w, s, vh = _svd(lib, a)
    s = s.astype(a.dtype)
    if side == "right":
        return cp.matmul(w, vh), cp.matmul(_adjoint(cp, vh) * s[..., None, :], vh)
    return cp.matmul(w, vh), cp.matmul(w * s[..., None, :], _adjoint(cp, w))


# eigenvalues


def _eigh(lib: Any, a: Any, lower: bool = True) -> tuple[Any, Any]:
    cp, triangle = lib.cupy, "L" if lower else "U"
    a = _real_diagonal(cp, a)

    def kernel(part: Any) -> tuple[Any, ...]:
        values, vectors = cp.linalg.eigh(part, UPLO=triangle)
        return values, vectors

    result = _hermitian(cp, kernel, a)
    _check_energy(cp, _mirrored(cp, a, lower), result[0])
    return result[0], result[1]


def _eigvalsh(lib: Any, a: Any, lower: bool = True) -> Any:
    cp, triangle = lib.cupy, "L" if lower else "U"
    a = _real_diagonal(cp, a)
    result = _hermitian(cp, lambda part: (cp.linalg.eigvalsh(part, UPLO=triangle),), a)
    _check_energy(cp, _mirrored(cp, a, lower), result[0])
    return result[0]


def _hermitian(cp: Any, kernel: Callable[[Any], tuple[Any, ...]], a: Any) -> tuple[Any, ...]:
    """Run one matrix as it is, a stack by the batched Jacobi routine or one after another."""
    if a.ndim == 2:
        return kernel(a)
    size = STACK_LIMIT if a.shape[-1] <= JACOBI_ORDER else 1
    return tuple(_by_parts(cp, kernel, a, size))


def _mirrored(cp: Any, a: Any, lower: bool) -> Any:
    """Return the whole matrix that one triangle stands for."""
    if lower:
        return cp.tril(a) + _adjoint(cp, cp.tril(a, k=-1))
    return cp.triu(a) + _adjoint(cp, cp.triu(a, k=1))


def _general(name: str) -> Callable[..., Any]:
    def kernel(lib: Any, a: Any) -> Any:
        if not hasattr(lib.cupy.linalg, name):
            raise Unsupported(Reason.NO_BACKEND, f"this CuPy has no linalg.{name}")
        if not lib.solvers.check_availability("geev"):
            raise Unsupported(Reason.NO_BACKEND, "this CUDA has no geev")
        return getattr(lib.cupy.linalg, name)(a)

    return kernel


# norms and matrix functions


def _matrix_norm(lib: Any, a: Any, ord: Any = "fro", keepdims: bool = False) -> Any:
    cp = lib.cupy
    if ord not in (2, -2, "nuc"):
        return cp.linalg.norm(a, ord=ord, axis=(-2, -1), keepdims=keepdims)
    s = _svdvals(lib, a)
    norm = cp.sum(s, axis=-1) if ord == "nuc" else s[..., 0 if ord == 2 else -1]
    return norm[..., None, None] if keepdims else norm


def _vector_norm(lib: Any, x: Any, ord: float = 2) -> Any:
    return lib.cupy.linalg.norm(lib.cupy.ravel(x), ord=ord)


def _expm(lib: Any, a: Any) -> Any:
    return lib.linalg.expm(a)


KERNELS: Mapping[str, Callable[..., Any]] = {
    "linalg.solve": _solve,
    "linalg.inv": _inv,
    "linalg.det": _det,
    "linalg.slogdet": _slogdet,
    "linalg.matrix_power": _matrix_power,
    "linalg.lu": _lu,
    "linalg.lu_factor": _lu_factor,
    "linalg.lu_solve": _lu_solve,
    "linalg.solve_triangular": _solve_triangular,
    "linalg.cholesky": _cholesky,
    "linalg.cho_factor": _cho_factor,
    "linalg.cho_solve": _cho_solve,
    "linalg.qr": _qr,
    "linalg.svd": _svd,
    "linalg.svdvals": _svdvals,
    "linalg.matrix_rank": _svdvals,
    "linalg.cond": _svdvals,
    "linalg.pinv": _pinv,
    "linalg.lstsq": _lstsq,
    "linalg.polar": _polar,
    "linalg.eigh": _eigh,
    "linalg.eigvalsh": _eigvalsh,
    "linalg.eig": _general("eig"),
    "linalg.eigvals": _general("eigvals"),
    "linalg.matrix_norm": _matrix_norm,
    "linalg.vector_norm": _vector_norm,
    "linalg.expm": _expm,
}
"""``kernel(libraries, *arrays, **options)`` by operation."""
