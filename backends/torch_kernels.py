"""How PyTorch differs from the standard: its own kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dispatch_xp.backends.array_api import Kernel
from dispatch_xp.errors import Unsupported
from dispatch_xp.reasons import Reason

__all__ = ["ELEMENTWISE", "TORCH_KERNELS", "Elementwise"]


class Elementwise(NamedTuple):
    """A PyTorch function that takes ``out=``, and whether it agrees on complex numbers."""

    function: str
    complex: bool = False


ELEMENTWISE: Mapping[str, Elementwise] = {
    "abs": Elementwise("abs", True),
    "acos": Elementwise("acos"),
    "acosh": Elementwise("acosh"),
    "add": Elementwise("add", True),
    "asin": Elementwise("asin"),
    "asinh": Elementwise("asinh"),
    "atan": Elementwise("atan"),
    "atan2": Elementwise("atan2"),
    "atanh": Elementwise("atanh"),
    "bitwise_and": Elementwise("bitwise_and"),
    "bitwise_invert": Elementwise("bitwise_not"),
    "bitwise_or": Elementwise("bitwise_or"),
    "bitwise_xor": Elementwise("bitwise_xor"),
    "ceil": Elementwise("ceil"),
    "copysign": Elementwise("copysign"),
    "cos": Elementwise("cos", True),
    "cosh": Elementwise("cosh", True),
    "divide": Elementwise("div", True),
    "equal": Elementwise("eq"),
    "exp": Elementwise("exp", True),
    "expm1": Elementwise("expm1"),
    "floor": Elementwise("floor"),
    "greater": Elementwise("gt"),
    "greater_equal": Elementwise("ge"),
    "hypot": Elementwise("hypot"),
    "less": Elementwise("lt"),
    "less_equal": Elementwise("le"),
    "log": Elementwise("log"),
    "log10": Elementwise("log10"),
    "log1p": Elementwise("log1p"),
    "log2": Elementwise("log2"),
    "logaddexp": Elementwise("logaddexp"),
    "logical_and": Elementwise("logical_and"),
    "logical_not": Elementwise("logical_not"),
    "logical_or": Elementwise("logical_or"),
    "logical_xor": Elementwise("logical_xor"),
    "maximum": Elementwise("maximum"),
    "minimum": Elementwise("minimum"),
    "multiply": Elementwise("mul", True),
    "negative": Elementwise("neg", True),
    "not_equal": Elementwise("ne"),
    "pow": Elementwise("pow"),
    "reciprocal": Elementwise("reciprocal"),
    "round": Elementwise("round"),
    "signbit": Elementwise("signbit"),
    "sin": Elementwise("sin", True),
    "sinh": Elementwise("sinh", True),
    "sqrt": Elementwise("sqrt"),
    "square": Elementwise("square", True),
    "subtract": Elementwise("sub", True),
    "tan": Elementwise("tan"),
    "tanh": Elementwise("tanh"),
    "trunc": Elementwise("trunc"),
}
"""``sign`` of NaN, ``remainder`` and ``floor_divide`` of infinities differ, and are not here."""


def _torch() -> Any:
    import torch

    return torch


def _matmul(xp: Any, a: Any, b: Any) -> Any:
    return _torch().matmul(a, b)


def _einsum(xp: Any, *arrays: Any, subscripts: str, optimize: bool) -> Any:
    return _torch().einsum(subscripts, *arrays)


def _kron(xp: Any, a: Any, b: Any) -> Any:
    # torch looks at its arguments in another shape
    return _torch().kron(a.contiguous(), b.contiguous())


def _eps(x: Any) -> float:
    return float(_torch().finfo(x.dtype).eps)


def _clearly_positive(pivots: Any, scale: Any, x: Any) -> None:
    """Leave to the reference what is singular, or not, by rounding alone."""
    if bool((pivots.amin(-1) <= x.shape[-1] * _eps(x) * scale).any()):
        raise Unsupported(Reason.ILL_CONDITIONED, "nearly singular")


def _factored(a: Any) -> tuple[Any, Any]:
    """Return LU factors and pivots of what is clearly not singular."""
    lu, pivots, info = _torch().linalg.lu_factor_ex(a)
    if bool((info > 0).any()):
        raise np.linalg.LinAlgError("singular matrix")
    magnitude = lu.abs()
    _clearly_positive(magnitude.diagonal(dim1=-2, dim2=-1), magnitude.amax((-2, -1)), lu)
    return lu, pivots


def _cholesky(xp: Any, a: Any, upper: bool = False) -> Any:
    torch = _torch()
    # torch reads one triangle whatever `upper` says: give it the one that is asked for
    source = a.mH if upper else a
    factor = torch.linalg.cholesky(source)
    diagonal = factor.diagonal(dim1=-2, dim2=-1).real ** 2
    _clearly_positive(diagonal, a.diagonal(dim1=-2, dim2=-1).real.amax(-1), a)
    return factor.mH if upper else factor


def _eigh(xp: Any, a: Any, lower: bool) -> tuple[Any, Any]:
    values, vectors = _torch().linalg.eigh(a, UPLO="L" if lower else "U")
    return values, vectors


def _eigvalsh(xp: Any, a: Any, lower: bool) -> Any:
    return _torch().linalg.eigvalsh(a, UPLO="L" if lower else "U")


def _eig(xp: Any, a: Any) -> tuple[Any, Any]:
    values, vectors = _torch().linalg.eig(a)
    return values, vectors


def _eigvals(xp: Any, a: Any) -> Any:
    # eigvals alone takes another algorithm than eig only in LAPACK's flags
    return _torch().linalg.eigvals(a)


def _qr(xp: Any, a: Any, mode: str) -> Any:
    q, r = _torch().linalg.qr(a, mode=mode)
    return r if mode == "r" else (q, r)


def _columns(b: Any) -> Any:
    return b[:, None] if b.ndim == 1 else b


def _well_conditioned(a: Any, norm_of_inverse: float) -> None:
    """Leave what SciPy warns about to SciPy, a little before it does."""
    norm = float(_torch().linalg.matrix_norm(a, ord=1))
    if not norm * norm_of_inverse * 100 * _eps(a) < 1:
        raise Unsupported(Reason.ILL_CONDITIONED)


def _inverse_norm(torch: Any, lu: Any, pivots: Any) -> float:
    """Estimate the 1-norm of the inverse from LU factors.

    Hager's method in Higham's form: Higham (1988), ACM Trans. Math. Softw. 14(4), 381-396, the
    algorithm of LAPACK's ``gecon``. A lower bound, nearly always within a factor of 3.
    """
    n = lu.shape[-1]

    def solve(x: Any, adjoint: bool) -> Any:
        return torch.linalg.lu_solve(lu, pivots, x[:, None], adjoint=adjoint)[:, 0]

    x = torch.full((n,), 1.0 / n, dtype=lu.dtype, device=lu.device)
    estimate, last = 0.0, -1
    for _ in range(5):
        y = solve(x, False)
        norm = float(y.abs().sum())
        if norm <= estimate:
            break
        estimate = norm
        magnitude = y.abs()
        sign = torch.where(magnitude > 0, y / magnitude.clamp_min(1e-300), torch.ones_like(y))
        z = solve(sign, True)
        index = int(z.abs().argmax())
        if index == last:
            break
        last = index
        x = torch.zeros_like(x)
        x[index] = 1
    alternating = torch.arange(n, dtype=x.real.dtype, device=lu.device) / max(n - 1, 1) + 1
    alternating[1::2] *= -1
    other = float(solve(alternating.to(lu.dtype), False).abs().sum()) * 2 / (3 * n)
    return float(max(estimate, other))


def _solve(xp: Any, a: Any, b: Any, well_conditioned: bool = False) -> Any:
    torch = _torch()
    lu, pivots = _factored(a)
    if well_conditioned:
        _well_conditioned(a, _inverse_norm(torch, lu, pivots))
    return torch.linalg.lu_solve(lu, pivots, _columns(b)).reshape(b.shape)


def _inv(xp: Any, a: Any, well_conditioned: bool = False) -> Any:
    torch = _torch()
    inverse = torch.linalg.inv(a)
    norms = torch.linalg.matrix_norm(inverse, ord=1)
    if well_conditioned:
        _well_conditioned(a, float(norms))
    condition = norms * torch.linalg.matrix_norm(a, ord=1)
    if not bool((condition * 10 * a.shape[-1] * _eps(a) < 1).all()):
        raise Unsupported(Reason.ILL_CONDITIONED, "nearly singular")
    return inverse


def _slogdet(xp: Any, a: Any) -> tuple[Any, Any]:
    torch = _torch()
    lu, pivots = _factored(a)
    diagonal = lu.diagonal(dim1=-2, dim2=-1)
    unmoved = torch.arange(1, a.shape[-1] + 1, device=a.device)
    parity = 1 - 2 * ((pivots != unmoved).sum(-1) % 2)
    return torch.sgn(diagonal).prod(-1) * parity, diagonal.abs().log().sum(-1)


def _det(xp: Any, a: Any) -> Any:
    sign, logarithm = _slogdet(xp, a)
    return sign * logarithm.exp()


def _lu(xp: Any, a: Any) -> tuple[Any, Any, Any]:
    p, lower, upper = _torch().linalg.lu(a)
    return p, lower, upper


def _lu_factor(xp: Any, a: Any) -> tuple[Any, Any]:
    lu, pivots = _factored(a)
    return lu, pivots - 1


def _triangle(x: Any, trans: int) -> Any:
    return x if trans == 0 else x.mT if trans == 1 else x.mH


def _lu_solve(xp: Any, lu: Any, b: Any, trans: int) -> Any:
    """Solve with the triangles of ``P a = L U``; the caller exchanges the rows."""
    solve = _torch().linalg.solve_triangular
    x = _columns(b)
    if trans == 0:
        x = solve(lu, x, upper=False, unitriangular=True)
        x = solve(lu, x, upper=True)
    else:
        x = solve(_triangle(lu, trans), x, upper=False)
        x = solve(_triangle(lu, trans), x, upper=True, unitriangular=True)
    return x.reshape(b.shape)


def _solve_triangular(xp: Any, a: Any, b: Any, trans: int, lower: bool, unit_diagonal: bool) -> Any:
    x = _torch().linalg.solve_triangular(
        _triangle(a, trans),
        _columns(b),
        upper=lower if trans else not lower,
        unitriangular=unit_diagonal,
    )
    return x.reshape(b.shape)


def _cho_solve(xp: Any, c: Any, b: Any, lower: bool) -> Any:
    solve = _torch().linalg.solve_triangular
    first, second = (c, c.mH) if lower else (c.mH, c)
    x = solve(first, _columns(b), upper=False)
    return solve(second, x, upper=True).reshape(b.shape)


def _var(xp: Any, x: Any, axis: Any, keepdims: bool, correction: float) -> Any:
    variance = xp.var(x, axis=axis, keepdims=keepdims, correction=correction)
    # torch adds single precision up in double, where NumPy's squares overflow with a warning
    count = x.numel() // variance.numel()
    if not bool((variance * (count - correction)).isfinite().all()):
        raise Unsupported(Reason.NON_FINITE_RESULT, "the sum of squares")
    return variance


def _std(xp: Any, x: Any, **options: Any) -> Any:
    return _torch().sqrt(_var(xp, x, **options))


def _sort(xp: Any, x: Any, axis: int, stable: bool, kind: Any) -> Any:
    return _torch().sort(x, dim=axis, stable=stable).values


def _argsort(xp: Any, x: Any, axis: int, stable: bool, kind: Any) -> Any:
    return _torch().argsort(x, dim=axis, stable=True)


def _cumulative_sum(xp: Any, x: Any, axis: int) -> Any:
    return _torch().cumsum(x, dim=axis)


def _line(name: str) -> Kernel:
    def kernel(xp: Any, x: Any, n: int | None, axis: int, norm: str) -> Any:
        # its rounding depends on the memory order of what it is given; NumPy's does not
        return getattr(_torch().fft, name)(x.contiguous(), n=n, dim=axis, norm=norm)

    return kernel


def _grid(name: str) -> Kernel:
    def kernel(xp: Any, x: Any, s: Any, axes: tuple[int, ...], norm: str) -> Any:
        return getattr(_torch().fft, name)(x.contiguous(), s=s, dim=axes, norm=norm)

    return kernel


def _shift(name: str) -> Kernel:
    def kernel(xp: Any, x: Any, axes: tuple[int, ...]) -> Any:
        return getattr(_torch().fft, name)(x, dim=axes)

    return kernel


def _conj(xp: Any, x: Any) -> Any:
    return x.conj().resolve_conj()


def _mask(name: str) -> Kernel:
    def kernel(xp: Any, x: Any) -> Any:
        return getattr(_torch(), name)(x)

    return kernel


def _clip(xp: Any, x: Any, low: Any, high: Any) -> Any:
    return _torch().clamp(x, low, high)


TORCH_KERNELS: Mapping[str, Kernel] = {
    "matmul": _matmul,
    "einsum": _einsum,
    "kron": _kron,
    "clip": _clip,
    "conj": _conj,
    "isfinite": _mask("isfinite"),
    "isinf": _mask("isinf"),
    "isnan": _mask("isnan"),
    "positive": _mask("positive"),
    "linalg.cholesky": _cholesky,
    "linalg.cho_factor": lambda xp, a, lower: _cholesky(xp, a, upper=not lower),
    "linalg.cho_solve": _cho_solve,
    "linalg.eig": _eig,
    "linalg.eigh": _eigh,
    "linalg.eigvals": _eigvals,
    "linalg.eigvalsh": _eigvalsh,
    "linalg.det": _det,
    "linalg.inv": _inv,
    "linalg.lu": _lu,
    "linalg.lu_factor": _lu_factor,
    "linalg.lu_solve": _lu_solve,
    "linalg.qr": _qr,
    "linalg.slogdet": _slogdet,
    "linalg.solve": _solve,
    "linalg.solve_triangular": _solve_triangular,
    "std": _std,
    "var": _var,
    "sort": _sort,
    "argsort": _argsort,
    "cumulative_sum": _cumulative_sum,
    **{f"fft.{name}": _line(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{
        f"fft.{name}n": _grid(f"{name}n")
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    "fft.fftshift": _shift("fftshift"),
    "fft.ifftshift": _shift("ifftshift"),
}
