"""What any array library needs: the operations written against an Array API namespace.

A backend for such a library subclasses :class:`ArrayAPIBackend`, says which namespace, and
overrides only how its library differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from dispatch_xp.backends.interface import Backend
from dispatch_xp.call import Call
from dispatch_xp.errors import Unsupported
from dispatch_xp.reasons import Reason

__all__ = ["KERNELS", "ArrayAPIBackend", "Kernel", "clear_cut", "squares_fit"]

Kernel = Callable[..., Any]
"""``kernel(xp, *arrays, **options)`` returns an array or a tuple of arrays."""


def _transpose(x: Any) -> Any:
    return x.mT if hasattr(x, "mT") else x.swapaxes(-1, -2)


def _adjoint(xp: Any, x: Any) -> Any:
    return _transpose(xp.conj(x) if xp.isdtype(x.dtype, "complex floating") else x)


def _dot(xp: Any, a: Any, b: Any) -> Any:
    if b.ndim <= 2 and a.ndim <= 2:
        return xp.matmul(a, b)
    return xp.tensordot(a, b, axes=((a.ndim - 1,), (max(b.ndim - 2, 0),)))


def _inner(xp: Any, a: Any, b: Any) -> Any:
    return xp.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 1,)))


def _outer(xp: Any, a: Any, b: Any) -> Any:
    return xp.reshape(a, (-1, 1)) * xp.reshape(b, (1, -1))


def _solve(xp: Any, a: Any, b: Any, **options: Any) -> Any:
    if b.ndim == 1:
        return xp.linalg.solve(a, b[:, None])[..., 0]
    return xp.linalg.solve(a, b)


def clear_cut(s: Any, cutoff: Any, xp: Any, shape: tuple[int, ...]) -> None:
    """Leave to the reference what rounding decides: a singular value next to the cut-off.

    Parameters
    ----------
    s : array
        Singular values.
    cutoff : array
        Below it, they count as zero.
    xp : namespace
        Of both.
    shape : tuple of int
        The matrix's, by which the rounding of its singular values grows.

    Raises
    ------
    Unsupported
        If a value is so close that another LAPACK may have it on the other side.
    """
    largest = xp.max(s, axis=-1, keepdims=True)
    rounding = max(shape[-2:]) * xp.finfo(s.dtype).eps * largest
    if bool(xp.any(xp.abs(s - cutoff) < rounding)):
        raise Unsupported(Reason.ILL_CONDITIONED, "the rank is a matter of rounding")


def _pinv(xp: Any, a: Any, atol: float, rtol: float) -> Any:
    """Pseudo-inverse by singular values, with the reference's cut-off ``max(atol, rtol s0)``."""
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    cutoff = atol + rtol * xp.max(s, axis=-1, keepdims=True)
    clear_cut(s, cutoff, xp, a.shape)
    kept = s > cutoff
    inverse = xp.where(kept, 1 / xp.where(kept, s, xp.ones_like(s)), xp.zeros_like(s))
    return (_adjoint(xp, vh) * xp.astype(inverse, a.dtype)[..., None, :]) @ _adjoint(xp, u)


def _lstsq(xp: Any, a: Any, b: Any, rcond: float) -> tuple[Any, Any]:
    """Minimum-norm least squares by singular values; the caller counts the rank from them."""
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    cutoff = rcond * xp.max(s, axis=-1, keepdims=True)
    clear_cut(s, cutoff, xp, a.shape)
    kept = s > cutoff
    inverse = xp.where(kept, 1 / xp.where(kept, s, xp.ones_like(s)), xp.zeros_like(s))
    inverse = xp.astype(inverse, a.dtype)
    projected = _adjoint(xp, u) @ b
    scaled = inverse[:, None] * projected if b.ndim == 2 else inverse * projected
    return _adjoint(xp, vh) @ scaled, s


def _cholesky(xp: Any, a: Any, upper: bool = False) -> Any:
    return xp.linalg.cholesky(a, upper=upper)


def _polar(xp: Any, a: Any, side: str) -> tuple[Any, Any]:
    w, s, vh = xp.linalg.svd(a, full_matrices=False)
    s = xp.astype(s, a.dtype)
    if side == "right":
        return w @ vh, (_adjoint(xp, vh) * s[..., None, :]) @ vh
    return w @ vh, (w * s[..., None, :]) @ _adjoint(xp, w)


def squares_fit(xp: Any, x: Any) -> None:
    """Leave to the reference a variance that is finite, or not, by the rounding of the mean.

    Raises
    ------
    Unsupported
        If the square of a rounding error of the largest number overflows.
    """
    info = xp.finfo(x.dtype)
    if bool(xp.max(xp.abs(x)) * info.eps > math.sqrt(info.max)):
        raise Unsupported(Reason.NON_FINITE_RESULT, "squares of rounding errors overflow")


def _spread(name: str) -> Kernel:
    def kernel(xp: Any, x: Any, **options: Any) -> Any:
        squares_fit(xp, x)
        return getattr(xp, name)(x, **options)

    return kernel


def _fft(name: str) -> Kernel:
    def kernel(xp: Any, x: Any, **options: Any) -> Any:
        return getattr(xp.fft, name)(x, **options)

    return kernel


def _linalg(name: str) -> Kernel:
    def kernel(xp: Any, *arrays: Any, **options: Any) -> Any:
        return getattr(xp.linalg, name)(*arrays, **options)

    return kernel


def _same(name: str) -> Kernel:
    def kernel(xp: Any, *arrays: Any, **options: Any) -> Any:
        return getattr(xp, name)(*arrays, **options)

    return kernel


def _svd(xp: Any, a: Any, full_matrices: bool) -> tuple[Any, Any, Any]:
    u, s, vh = xp.linalg.svd(a, full_matrices=full_matrices)
    return u, s, vh


def _eigh(xp: Any, a: Any, lower: bool) -> tuple[Any, Any]:
    """Read one triangle only, as LAPACK does; the standard's eigh says nothing of it."""
    triangle = xp.tril(a, k=-1) if lower else xp.triu(a, k=1)
    diagonal = xp.tril(xp.triu(a))
    if xp.isdtype(a.dtype, "complex floating"):
        diagonal = xp.astype(xp.real(diagonal), a.dtype)
    values, vectors = xp.linalg.eigh(triangle + _adjoint(xp, triangle) + diagonal)
    return values, vectors


def _eigvalsh(xp: Any, a: Any, lower: bool) -> Any:
    triangle = xp.tril(a, k=-1) if lower else xp.triu(a, k=1)
    diagonal = xp.tril(xp.triu(a))
    if xp.isdtype(a.dtype, "complex floating"):
        diagonal = xp.astype(xp.real(diagonal), a.dtype)
    return xp.linalg.eigvalsh(triangle + _adjoint(xp, triangle) + diagonal)


def _qr(xp: Any, a: Any, mode: str) -> Any:
    if mode == "r":
        return xp.linalg.qr(a, mode="reduced")[1]
    q, r = xp.linalg.qr(a, mode=mode)
    return q, r


def _slogdet(xp: Any, a: Any) -> tuple[Any, Any]:
    sign, logabsdet = xp.linalg.slogdet(a)
    return sign, logabsdet


def _squares(xp: Any, x: Any) -> Any:
    if xp.isdtype(x.dtype, "complex floating"):
        real, imaginary = xp.real(x), xp.imag(x)
        return real * real + imaginary * imaginary
    return x * x


def _vector_norm(xp: Any, x: Any, ord: float) -> Any:
    """Sum squares as NumPy does, without the scaling that keeps them from under- and overflow."""
    return xp.sqrt(xp.sum(_squares(xp, x)))


def _matrix_norm(xp: Any, a: Any, ord: Any, keepdims: bool) -> Any:
    if ord == "fro":
        return xp.sqrt(xp.sum(_squares(xp, a), axis=(-2, -1), keepdims=keepdims))
    return xp.linalg.matrix_norm(a, ord=ord, keepdims=keepdims)


_ELEMENTWISE = (
    "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift "
    "bitwise_or bitwise_right_shift bitwise_xor ceil conj copysign cos cosh divide equal exp expm1 "
    "floor floor_divide greater greater_equal hypot isfinite isinf isnan less less_equal log log10 "
    "log1p log2 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply "
    "negative nextafter not_equal positive pow reciprocal remainder round sign signbit sin sinh "
    "sqrt square subtract tan tanh trunc"
).split()

KERNELS: Mapping[str, Kernel] = {
    "matmul": _same("matmul"),
    "vecdot": _same("vecdot"),
    "tensordot": _same("tensordot"),
    "dot": _dot,
    "inner": _inner,
    "outer": _outer,
    "linalg.solve": _solve,
    "linalg.inv": lambda xp, a, **options: xp.linalg.inv(a),
    "linalg.det": _linalg("det"),
    "linalg.slogdet": _slogdet,
    "linalg.cholesky": _cholesky,
    "linalg.qr": _qr,
    "linalg.svd": _svd,
    "linalg.svdvals": _linalg("svdvals"),
    "linalg.eigh": _eigh,
    "linalg.eigvalsh": _eigvalsh,
    "linalg.pinv": _pinv,
    "linalg.lstsq": _lstsq,
    "linalg.matrix_rank": _linalg("svdvals"),
    "linalg.cond": _linalg("svdvals"),
    "linalg.matrix_power": _linalg("matrix_power"),
    "linalg.matrix_norm": _matrix_norm,
    "linalg.vector_norm": _vector_norm,
    "linalg.polar": _polar,
    **{
        f"fft.{name}": _fft(name)
        for name in (
            "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftshift ifftshift"
        ).split()
    },
    **{name: _same(name) for name in _ELEMENTWISE},
    **{
        name: _same(name)
        for name in "sum prod mean min max argmin argmax any all cumulative_sum".split()
    },
    "var": _spread("var"),
    "std": _spread("std"),
    "sort": lambda xp, x, axis, stable=True, **_: xp.sort(x, axis=axis, stable=stable),
    "argsort": lambda xp, x, axis, stable=True, **_: xp.argsort(x, axis=axis, stable=stable),
    "clip": _same("clip"),
}
"""The operations that the standard's own functions suffice for."""


class ArrayAPIBackend(Backend):
    """A backend over a library with an Array API namespace."""

    kernels: Mapping[str, Kernel] = KERNELS
    """The library's kernels, by operation."""

    xp: Any = None
    """The namespace, once started."""

    def operations(self) -> frozenset[str]:
        """Return the operations that have a kernel."""
        return frozenset(self.kernels)

    def all_finite(self, value: Any) -> bool:
        """Look on the device; waits for it."""
        if self.dtype_of(value).kind not in "fc":
            return True
        xp = self.xp
        # no mask is made unless the sum, which may overflow by itself, isn't finite
        return bool(xp.isfinite(xp.sum(value))) or bool(xp.all(xp.isfinite(value)))

    def run(self, call: Call, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run the operation's kernel."""
        result = self.kernels[call.operation.name](self.xp, *arrays, **call.options)
        return result if isinstance(result, tuple) else (result,)
