"""Fourier transforms of the standard: :mod:`dispatch_xp.fft`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from dispatch_xp.array.array import Array
from dispatch_xp.array.calls import apply
from dispatch_xp.array.routed import Routed
from dispatch_xp.namespace.creation import asarray
from dispatch_xp.namespace.data_types import DType

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

_FFT = Routed("numpy.fft.fft")
_FFTN = Routed("numpy.fft.fftn")
_FFTSHIFT = Routed("numpy.fft.fftshift")
_HFFT = Routed("numpy.fft.hfft")
_IFFT = Routed("numpy.fft.ifft")
_IFFTN = Routed("numpy.fft.ifftn")
_IFFTSHIFT = Routed("numpy.fft.ifftshift")
_IHFFT = Routed("numpy.fft.ihfft")
_IRFFT = Routed("numpy.fft.irfft")
_IRFFTN = Routed("numpy.fft.irfftn")
_RFFT = Routed("numpy.fft.rfft")
_RFFTN = Routed("numpy.fft.rfftn")


def fft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the one-dimensional discrete Fourier transform."""
    return apply(_FFT, x, n=n, axis=axis, norm=norm)


def ifft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the one-dimensional inverse discrete Fourier transform."""
    return apply(_IFFT, x, n=n, axis=axis, norm=norm)


def rfft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the one-dimensional discrete Fourier transform of real input, half of it."""
    return apply(_RFFT, x, n=n, axis=axis, norm=norm)


def irfft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the one-dimensional inverse of :func:`rfft`, real."""
    return apply(_IRFFT, x, n=n, axis=axis, norm=norm)


def hfft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the one-dimensional real transform of Hermitian input, of which half is given."""
    return apply(_HFFT, x, n=n, axis=axis, norm=norm)


def ihfft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the one-dimensional inverse of :func:`hfft`, half of it."""
    return apply(_IHFFT, x, n=n, axis=axis, norm=norm)


def fftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the n-dimensional discrete Fourier transform."""
    return apply(_FFTN, x, s=s, axes=axes, norm=norm)


def ifftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the n-dimensional inverse discrete Fourier transform."""
    return apply(_IFFTN, x, s=s, axes=axes, norm=norm)


def rfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the n-dimensional discrete Fourier transform of real input, half of it."""
    return apply(_RFFTN, x, s=s, axes=axes, norm=norm)


def irfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the n-dimensional inverse of :func:`rfftn`, real."""
    return apply(_IRFFTN, x, s=s, axes=axes, norm=norm)


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | None = None
) -> Array:
    """Return the frequencies of :func:`fft`, for samples `d` apart."""
    return asarray(np.fft.fftfreq(n, d), dtype=dtype, device=device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | None = None
) -> Array:
    """Return the frequencies of :func:`rfft`, for samples `d` apart."""
    return asarray(np.fft.rfftfreq(n, d), dtype=dtype, device=device)


def fftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Return the spectrum with frequency zero moved to the middle."""
    return apply(_FFTSHIFT, x, axes=axes)


def ifftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Return the spectrum with frequency zero moved back to the start."""
    return apply(_IFFTSHIFT, x, axes=axes)
