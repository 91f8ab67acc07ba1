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
    """Return the one-dimensional discrete Fourier transform.

    Parameters
    ----------
    x : Array
        Of complex floating dtype; real ones are taken as complex.
    n : int, optional
        The number of points: the axis is cut, or filled up with zeros. Default: the length of the
        axis.
    axis : int, optional
        The axis to transform. Default: the last.
    norm : {"backward", "ortho", "forward"}, optional
        The result is divided by 1, the default, by the square root of the number of points, or by
        that number.

    Returns
    -------
    Array
        Complex, of the precision of `x`; of length `n` along the axis.

    Raises
    ------
    ValueError
        If there is no point to transform, or for another `norm`.
    IndexError
        If there is no such axis.
    """
    return apply(_FFT, x, n=n, axis=axis, norm=norm)


def ifft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the one-dimensional inverse discrete Fourier transform.

    Parameters
    ----------
    x : Array
        Of complex floating dtype; real ones are taken as complex.
    n : int, optional
        The number of points: the axis is cut, or filled up with zeros. Default: the length of the
        axis.
    axis : int, optional
        The axis to transform. Default: the last.
    norm : {"backward", "ortho", "forward"}, optional
        The result is divided by the number of points, the default, by its square root, or by 1.

    Returns
    -------
    Array
        Complex, of the precision of `x`; of length `n` along the axis.

    Raises
    ------
    ValueError
        If there is no point to transform, or for another `norm`.
    IndexError
        If there is no such axis.
    """
    return apply(_IFFT, x, n=n, axis=axis, norm=norm)


def rfft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the one-dimensional discrete Fourier transform of real input, half of it.

    Parameters
    ----------
    x : Array
        Of real floating dtype.
    n : int, optional
        The number of points: the axis is cut, or filled up with zeros. Default: the length of the
        axis.
    axis : int, optional
        The axis to transform. Default: the last.
    norm : {"backward", "ortho", "forward"}, optional
        The result is divided by 1, the default, by the square root of the number of points, or by
        that number.

    Returns
    -------
    Array
        Complex, of the precision of `x`; of length ``n // 2 + 1`` along the axis.

    Raises
    ------
    TypeError
        If `x` is complex.
    ValueError
        If there is no point to transform, or for another `norm`.
    IndexError
        If there is no such axis.
    """
    return apply(_RFFT, x, n=n, axis=axis, norm=norm)


def irfft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the one-dimensional inverse of :func:`rfft`, real.

    Parameters
    ----------
    x : Array
        Of complex floating dtype: the half with frequencies that aren't negative.
    n : int, optional
        The length of the result along the axis; the input is cut, or filled up with zeros, to
        ``n // 2 + 1``. Default: ``2 * (m - 1)``, where m is the length of the axis; always even.
    axis : int, optional
        The axis to transform. Default: the last.
    norm : {"backward", "ortho", "forward"}, optional
        The result is divided by the number of points, the default, by its square root, or by 1.

    Returns
    -------
    Array
        Real, of the precision of `x`; of length `n` along the axis.

    Raises
    ------
    ValueError
        If there is no point to transform, or for another `norm`.
    IndexError
        If there is no such axis.
    """
    return apply(_IRFFT, x, n=n, axis=axis, norm=norm)


def hfft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the one-dimensional real transform of Hermitian input, of which half is given.

    Parameters
    ----------
    x : Array
        Of complex floating dtype: the half at times that aren't negative.
    n : int, optional
        The length of the result along the axis; the input is cut, or filled up with zeros, to
        ``n // 2 + 1``. Default: ``2 * (m - 1)``, where m is the length of the axis; always even.
    axis : int, optional
        The axis to transform. Default: the last.
    norm : {"backward", "ortho", "forward"}, optional
        The result is divided by 1, the default, by the square root of the number of points, or by
        that number.

    Returns
    -------
    Array
        Real, of the precision of `x`; of length `n` along the axis.

    Raises
    ------
    ValueError
        If there is no point to transform, or for another `norm`.
    IndexError
        If there is no such axis.
    """
    return apply(_HFFT, x, n=n, axis=axis, norm=norm)


def ihfft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the one-dimensional inverse of :func:`hfft`, half of it.

    Parameters
    ----------
    x : Array
        Of real floating dtype.
    n : int, optional
        The number of points: the axis is cut, or filled up with zeros. Default: the length of the
        axis.
    axis : int, optional
        The axis to transform. Default: the last.
    norm : {"backward", "ortho", "forward"}, optional
        The result is divided by the number of points, the default, by its square root, or by 1.

    Returns
    -------
    Array
        Complex, of the precision of `x`; of length ``n // 2 + 1`` along the axis.

    Raises
    ------
    TypeError
        If `x` is complex.
    ValueError
        If there is no point to transform, or for another `norm`.
    IndexError
        If there is no such axis.
    """
    return apply(_IHFFT, x, n=n, axis=axis, norm=norm)


def fftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the n-dimensional discrete Fourier transform.

    Parameters
    ----------
    x : Array
        Of complex floating dtype; real ones are taken as complex.
    s : sequence of int, optional
        The number of points along each of `axes`: the axis is cut, or filled up with zeros. -1
        stands for the length of the axis, which is the default.
    axes : sequence of int, optional
        The axes to transform. Default: all; with `s`, say them.
    norm : {"backward", "ortho", "forward"}, optional
        The result is divided by 1, the default, by the square root of the number of points, or by
        that number.

    Returns
    -------
    Array
        Complex, of the precision of `x`; of the lengths `s` along `axes`.

    Raises
    ------
    ValueError
        If there is no point to transform, `s` and `axes` differ in length, or for another `norm`.
    IndexError
        If there is no such axis.
    """
    return apply(_FFTN, x, s=s, axes=axes, norm=norm)


def ifftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the n-dimensional inverse discrete Fourier transform.

    Parameters
    ----------
    x : Array
        Of complex floating dtype; real ones are taken as complex.
    s : sequence of int, optional
        The number of points along each of `axes`: the axis is cut, or filled up with zeros. -1
        stands for the length of the axis, which is the default.
    axes : sequence of int, optional
        The axes to transform. Default: all; with `s`, say them.
    norm : {"backward", "ortho", "forward"}, optional
        The result is divided by the number of points, the default, by its square root, or by 1.

    Returns
    -------
    Array
        Complex, of the precision of `x`; of the lengths `s` along `axes`.

    Raises
    ------
    ValueError
        If there is no point to transform, `s` and `axes` differ in length, or for another `norm`.
    IndexError
        If there is no such axis.
    """
    return apply(_IFFTN, x, s=s, axes=axes, norm=norm)


def rfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the n-dimensional discrete Fourier transform of real input, half of it.

    Parameters
    ----------
    x : Array
        Of real floating dtype.
    s : sequence of int, optional
        The number of points along each of `axes`: the axis is cut, or filled up with zeros. -1
        stands for the length of the axis, which is the default.
    axes : sequence of int, optional
        The axes to transform, the last of them is halved. Default: all; with `s`, say them.
    norm : {"backward", "ortho", "forward"}, optional
        The result is divided by 1, the default, by the square root of the number of points, or by
        that number.

    Returns
    -------
    Array
        Complex, of the precision of `x`; of the lengths `s` along `axes`, along the last of them
        ``s[-1] // 2 + 1``.

    Raises
    ------
    TypeError
        If `x` is complex.
    ValueError
        If there is no point to transform, `s` and `axes` differ in length, or for another `norm`.
    IndexError
        If there is no such axis.
    """
    return apply(_RFFTN, x, s=s, axes=axes, norm=norm)


def irfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> Array:
    """Return the n-dimensional inverse of :func:`rfftn`, real.

    Parameters
    ----------
    x : Array
        Of complex floating dtype: the half with frequencies that aren't negative.
    s : sequence of int, optional
        The lengths of the result along `axes`; the input is cut, or filled up with zeros, to them,
        along the last to ``s[-1] // 2 + 1``. Default: the lengths of the axes, along the last
        ``2 * (m - 1)``, where m is its length.
    axes : sequence of int, optional
        The axes to transform, the last of them is the halved one. Default: all; with `s`, say them.
    norm : {"backward", "ortho", "forward"}, optional
        The result is divided by the number of points, the default, by its square root, or by 1.

    Returns
    -------
    Array
        Real, of the precision of `x`; of the lengths `s` along `axes`.

    Raises
    ------
    ValueError
        If there is no point to transform, `s` and `axes` differ in length, or for another `norm`.
    IndexError
        If there is no such axis.
    """
    return apply(_IRFFTN, x, s=s, axes=axes, norm=norm)


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | None = None
) -> Array:
    """Return the frequencies of :func:`fft`, for samples `d` apart.

    Parameters
    ----------
    n : int
        The number of points, 1 or more.
    d : float, optional
        From one sample to the next; 1 by default.
    dtype : numpy.dtype, optional
        Of real floats. Default: float64.
    device : str, optional
        ``"auto"``, or where to pin the array. Default: not pinned.

    Returns
    -------
    Array
        Of `n` elements, in cycles per unit of `d`: 0 and the positive ones, then the negative ones,
        ``1 / (n * d)`` apart. Of an even `n`, half the sampling frequency is negative.

    Raises
    ------
    ZeroDivisionError
        If `n` or `d` is 0.
    ValueError
        If `n` is no integer or negative, or there is no such device.
    TypeError
        If the dtype is not one of real floats.
    """
    return asarray(np.fft.fftfreq(n, d), dtype=_real_floating(dtype), device=device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | None = None
) -> Array:
    """Return the frequencies of :func:`rfft`, for samples `d` apart.

    Parameters
    ----------
    n : int
        The number of points, 1 or more.
    d : float, optional
        From one sample to the next; 1 by default.
    dtype : numpy.dtype, optional
        Of real floats. Default: float64.
    device : str, optional
        ``"auto"``, or where to pin the array. Default: not pinned.

    Returns
    -------
    Array
        Of ``n // 2 + 1`` elements, in cycles per unit of `d`: from 0, ``1 / (n * d)`` apart.

    Raises
    ------
    ZeroDivisionError
        If `n` or `d` is 0.
    ValueError
        If `n` is no integer or negative, or there is no such device.
    TypeError
        If the dtype is not one of real floats.
    """
    return asarray(np.fft.rfftfreq(n, d), dtype=_real_floating(dtype), device=device)


def fftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Return the spectrum with frequency zero moved to the middle.

    Parameters
    ----------
    x : Array
        A spectrum as :func:`fft` or :func:`fftn` returns it, or its frequencies.
    axes : int or sequence of int, optional
        The axes to shift. Default: all.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.

    Raises
    ------
    IndexError
        If there is no such axis.
    """
    return apply(_FFTSHIFT, x, axes=axes)


def ifftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Return the spectrum with frequency zero moved back to the start.

    Parameters
    ----------
    x : Array
        As :func:`fftshift` returns it, also along axes of odd length.
    axes : int or sequence of int, optional
        The axes to shift. Default: all.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.

    Raises
    ------
    IndexError
        If there is no such axis.
    """
    return apply(_IFFTSHIFT, x, axes=axes)


def _real_floating(dtype: DType | None) -> DType | None:
    if dtype is not None and np.dtype(dtype).kind != "f":
        raise TypeError(f"frequencies are real floats, not {np.dtype(dtype)}")
    return dtype
