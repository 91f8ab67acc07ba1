"""CuPy's kernels that are not linear algebra: elementwise, sums, sorting, products, FFT."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dispatch_xp.backends import cupy_linalg
from dispatch_xp.backends.array_api import squares_fit
from dispatch_xp.errors import Unsupported
from dispatch_xp.operations import elementwise
from dispatch_xp.operations.fft import REAL_RESULT, TRIGONOMETRIC, transformed
from dispatch_xp.reasons import Reason

__all__ = ["KERNELS"]

# elementwise: CuPy has NumPy's names


def _ufunc(name: str) -> Callable[..., Any]:
    def kernel(lib: Any, *arrays: Any) -> Any:
        return getattr(lib.cupy, name)(*arrays)

    return kernel


def _shift(name: str) -> Callable[..., Any]:
    """Shift by what C defines; NumPy defines more, and CUDA something else."""

    def kernel(lib: Any, x: Any, count: Any) -> Any:
        cp = lib.cupy
        bits = 8 * np.dtype(x.dtype).itemsize
        if bool(cp.any((count < 0) | (count >= bits))):
            raise Unsupported(Reason.ARGUMENT, f"a shift outside of 0 to {bits - 1}")
        return getattr(cp, name)(x, count)

    return kernel


def _divmod(cp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Divide as NumPy does, by an exact remainder; CuPy rounds the quotient first."""
    if not bool(cp.all(cp.isfinite(a) & cp.isfinite(b) & (b != 0))):
        raise Unsupported(Reason.ARGUMENT, "division by zero, or of infinities")
    rest = cp.fmod(a, b)
    quotient = (a - rest) / b
    wrong = (rest != 0) & ((b < 0) != (rest < 0))
    rest = cp.where(wrong, rest + b, rest)
    rest = cp.where(rest == 0, cp.copysign(cp.zeros_like(rest), b), rest)
    quotient = cp.where(wrong, quotient - 1, quotient)
    floor = cp.floor(quotient)
    floor = cp.where(quotient - floor > 0.5, floor + 1, floor)
    return cp.where(quotient == 0, cp.copysign(cp.zeros_like(floor), a / b), floor), rest


def _floor_divide(lib: Any, a: Any, b: Any) -> Any:
    return _divmod(lib.cupy, a, b)[0]


def _remainder(lib: Any, a: Any, b: Any) -> Any:
    return _divmod(lib.cupy, a, b)[1]


def _clip(lib: Any, x: Any, low: Any, high: Any) -> Any:
    return lib.cupy.minimum(lib.cupy.maximum(x, low), high)


# reductions


def _sum(name: str) -> Callable[..., Any]:
    def kernel(lib: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return getattr(lib.cupy, name)(x, axis=axis, dtype=x.dtype, keepdims=keepdims)

    return kernel


def _logical(name: str) -> Callable[..., Any]:
    def kernel(lib: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return getattr(lib.cupy, name)(x, axis=axis, keepdims=keepdims)

    return kernel


def _extreme(name: str) -> Callable[..., Any]:
    """Search finite values only: with infinities and NaN, CUB's answer has not been NumPy's."""

    def kernel(lib: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        cp = lib.cupy
        if x.dtype.kind == "f" and not bool(cp.all(cp.isfinite(x))):
            raise Unsupported(Reason.NON_FINITE_INPUT, f"{name} on the device takes finite values")
        return getattr(cp, name)(x, axis=axis, keepdims=keepdims)

    return kernel


def _var(lib: Any, x: Any, axis: Any = None, keepdims: bool = False, correction: float = 0) -> Any:
    cp = lib.cupy
    squares_fit(cp, x)
    mean = cp.mean(x, axis=axis, keepdims=True)
    count = x.size // mean.size
    if count <= correction:
        raise Unsupported(Reason.ARGUMENT, "no degrees of freedom: the reference warns")
    away = cp.abs(x - mean)
    return cp.sum(away * away, axis=axis, keepdims=keepdims) / (count - correction)


def _std(lib: Any, x: Any, axis: Any = None, keepdims: bool = False, correction: float = 0) -> Any:
    return lib.cupy.sqrt(_var(lib, x, axis, keepdims, correction))


def _cumulative_sum(lib: Any, x: Any, axis: int | None = None) -> Any:
    return lib.cupy.cumsum(x, axis=axis, dtype=x.dtype)


# sorting


def _sort(lib: Any, x: Any, axis: int = -1, **_: Any) -> Any:
    return lib.cupy.sort(x, axis=axis)


def _argsort(lib: Any, x: Any, axis: int = -1, stable: bool | None = None, **_: Any) -> Any:
    if not stable:
        raise Unsupported(Reason.ARGUMENT, "argsort that is not stable: ties come in another order")
    return lib.cupy.argsort(x, axis=axis, kind="stable")


# products


def _matmul(lib: Any, a: Any, b: Any) -> Any:
    return lib.cupy.matmul(a, b)


def _dot(lib: Any, a: Any, b: Any) -> Any:
    return lib.cupy.dot(a, b)


def _inner(lib: Any, a: Any, b: Any) -> Any:
    return lib.cupy.inner(a, b)


def _outer(lib: Any, a: Any, b: Any) -> Any:
    return lib.cupy.outer(a, b)


def _kron(lib: Any, a: Any, b: Any) -> Any:
    return lib.cupy.kron(a, b)


def _vecdot(lib: Any, a: Any, b: Any) -> Any:
    cp = lib.cupy
    if a.ndim == b.ndim == 1:
        return cp.vdot(a, b)
    return cp.sum((cp.conj(a) if a.dtype.kind == "c" else a) * b, axis=-1)


def _tensordot(lib: Any, a: Any, b: Any, axes: Any = 2) -> Any:
    return lib.cupy.tensordot(a, b, axes=axes)


def _einsum(lib: Any, *arrays: Any, subscripts: str, optimize: Any = False) -> Any:
    return lib.cupy.einsum(subscripts, *arrays, optimize=optimize)


# Fourier transforms, always with explicit lengths and axes


def _transform(name: str) -> Callable[..., Any]:
    many = name.endswith("n")
    own = ("type",) if name.rstrip("n") in TRIGONOMETRIC else ()

    def kernel(lib: Any, x: Any, norm: str | None = None, **options: Any) -> Any:
        if options.get("orthogonalize") is not None:
            raise Unsupported(Reason.ARGUMENT, "orthogonalize")
        if not many:
            options.setdefault("axis", -1)
        lengths = transformed(x.shape, options, half=name in REAL_RESULT)
        where = (
            {"s": tuple(lengths.values()), "axes": tuple(lengths)}
            if many
            else {"n": next(iter(lengths.values())), "axis": next(iter(lengths))}
        )
        given = {key: options[key] for key in own if key in options}
        return getattr(lib.fft, name)(x, **given, **where, norm=norm or "backward")

    return kernel


def _moved(name: str) -> Callable[..., Any]:
    def kernel(lib: Any, x: Any, axes: Any = None) -> Any:
        return getattr(lib.cupy.fft, name)(x, axes=axes)

    return kernel


_NO_KERNEL = {"real", "imag"}
_ELEMENTWISE = {
    row.name: row.numpy.removeprefix("numpy.")
    for row in elementwise.ROWS
    if row.name not in _NO_KERNEL
}
_TRANSFORMS = (
    "fft", "ifft", "fftn", "ifftn", "rfft", "irfft", "rfftn", "irfftn", "hfft", "ihfft",
    "hfftn", "ihfftn", "dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn",
)  # fmt: skip

KERNELS: Mapping[str, Callable[..., Any]] = {
    **{name: _ufunc(numpy) for name, numpy in _ELEMENTWISE.items()},
    "bitwise_left_shift": _shift("left_shift"),
    "bitwise_right_shift": _shift("right_shift"),
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "clip": _clip,
    **{name: _sum(name) for name in ("sum", "prod", "mean")},
    **{name: _logical(name) for name in ("any", "all")},
    **{name: _extreme(name) for name in ("min", "max", "argmin", "argmax")},
    "var": _var,
    "std": _std,
    "cumulative_sum": _cumulative_sum,
    "sort": _sort,
    "argsort": _argsort,
    "matmul": _matmul,
    "dot": _dot,
    "inner": _inner,
    "outer": _outer,
    "kron": _kron,
    "vecdot": _vecdot,
    "tensordot": _tensordot,
    "einsum": _einsum,
    **{f"fft.{name}": _transform(name) for name in _TRANSFORMS},
    **{f"fft.{name}": _moved(name) for name in ("fftshift", "ifftshift")},
    **cupy_linalg.KERNELS,
}
"""``kernel(libraries, *arrays, **options)`` by operation."""
