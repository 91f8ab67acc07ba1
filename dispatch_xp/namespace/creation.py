"""Creation functions of the standard.

`device` is ``"auto"`` (the policy places every call) or a device to pin the array to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from dispatch_xp.array import device as devices
from dispatch_xp.array.array import Array, host, placed, taken, unwrap, wrap
from dispatch_xp.array.calls import plain, plain_each
from dispatch_xp.backends import Backend
from dispatch_xp.namespace.data_types import DType
from dispatch_xp.residency import ACTIVE, Resident

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: str | None = None,
) -> Array:
    """Return the numbers from `start` to `stop`, that one not included, `step` apart.

    Parameters
    ----------
    start : float
        The first number; without `stop`, the end, and the first is 0.
    stop : float, optional
        The end.
    step : float, optional
        From one number to the next, 1 by default; may be negative, not 0.
    dtype : numpy.dtype, optional
        Default: int64 if all numbers given are int, else float64.
    device : str, optional
        ``"auto"``, or where to pin the array. Default: not pinned.

    Returns
    -------
    Array
        With one axis, of ``ceil((stop - start) / step)`` elements; of none if that is negative.

    Raises
    ------
    ZeroDivisionError
        If `step` is 0.
    ValueError
        If there is no such device.
    """
    first, last = (0, start) if stop is None else (start, stop)
    return _made(np.arange(first, last, step, dtype=dtype), device)


def asarray(
    obj: Any, /, *, dtype: DType | None = None, device: str | None = None, copy: bool | None = None
) -> Array:
    """Return an array of given values.

    Parameters
    ----------
    obj : Array, ndarray, number, nested list, or any object with a buffer or DLPack
        The values. PyTorch's, CuPy's, dpnp's and JAX's arrays come in by DLPack. One on a device
        stays there if a backend computes on it, else it is copied to the host.
    dtype : numpy.dtype, optional
        Converted to it. Default: the values' own, the default dtype for Python's numbers.
    device : str, optional
        ``"auto"``, or where to pin the array.
    copy : bool, optional
        True: always copy. False: never. None: only if it has to be. An `Array` that is as asked
        for is returned itself; the memory of an ndarray is shared until the `Array` is written.

    Returns
    -------
    Array

    Raises
    ------
    TypeError
        For objects, strings and dates, which are no numbers.
    ValueError
        If ``copy=False`` and it can't be done without, or there is no such device.
    """
    return _asarray(obj, dtype, device, copy)


def empty(
    shape: int | tuple[int, ...], *, dtype: DType | None = None, device: str | None = None
) -> Array:
    """Return an array whose elements are whatever was in memory.

    Parameters
    ----------
    shape : int or tuple of int
        The length of every axis.
    dtype : numpy.dtype, optional
        Default: float64.
    device : str, optional
        ``"auto"``, or where to pin the array. Default: not pinned.

    Returns
    -------
    Array

    Raises
    ------
    TypeError
        For a dtype that is neither of numbers nor bool.
    ValueError
        If a length is negative, or there is no such device.
    """
    return _made(np.empty(shape, dtype=dtype), device)


def empty_like(x: Array, /, *, dtype: DType | None = None, device: str | None = None) -> Array:
    """Return an array of the same shape whose elements are whatever was in memory.

    Parameters
    ----------
    x : Array
        Gives the shape.
    dtype : numpy.dtype, optional
        Default: that of `x`.
    device : str, optional
        ``"auto"``, or where to pin the array. Default: as `x`.

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If there is no such device.
    """
    return _like(np.empty, x, dtype, device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: str | None = None,
) -> Array:
    """Return a matrix with ones on a diagonal, `k` above the main one, and zeros elsewhere.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    n_cols : int, optional
        The number of columns. Default: `n_rows`.
    k : int, optional
        Which diagonal: 0, the default, is the main one, negative ones lie below it.
    dtype : numpy.dtype, optional
        Default: float64.
    device : str, optional
        ``"auto"``, or where to pin the array. Default: not pinned.

    Returns
    -------
    Array
        Of shape ``(n_rows, n_cols)``; all zeros if the diagonal lies outside.

    Raises
    ------
    ValueError
        If a length is negative, or there is no such device.
    """
    return _made(np.eye(n_rows, n_cols, k=k, dtype=float if dtype is None else dtype), device)


def from_dlpack(x: object, /, *, device: str | None = None, copy: bool | None = None) -> Array:
    """Return an array of another library's, by DLPack.

    Parameters
    ----------
    x : object
        Has ``__dlpack__`` and ``__dlpack_device__``.
    device : str, optional
        Where to pin it.
    copy : bool, optional
        As for :func:`asarray`.

    Returns
    -------
    Array

    Raises
    ------
    TypeError
        If `x` has no DLPack.
    BufferError
        If its memory can't be exported.
    """
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack() needs an object with __dlpack__, not {type(x).__name__}")
    backend = None if isinstance(x, (np.ndarray, Array)) else devices.owner_of(x)
    if backend is not None:
        return _adopted(backend, x, None, devices.checked(device), copy)
    array = _asarray(_exported(x, copy), None, device, copy)
    if device is None and isinstance(x, Array):
        array._pin = x._pin
    return array


def full(
    shape: int | tuple[int, ...],
    fill_value: complex,
    *,
    dtype: DType | None = None,
    device: str | None = None,
) -> Array:
    """Return an array in which every element is the same.

    Parameters
    ----------
    shape : int or tuple of int
        The length of every axis.
    fill_value : bool, int, float or complex
        The value of every element.
    dtype : numpy.dtype, optional
        Default: bool, int64, float64 or complex128, by the type of `fill_value`.
    device : str, optional
        ``"auto"``, or where to pin the array. Default: not pinned.

    Returns
    -------
    Array

    Raises
    ------
    TypeError
        If `fill_value` is no number.
    OverflowError
        If an integer `fill_value` is out of the range of an integer `dtype`.
    ValueError
        If a length is negative, or there is no such device.
    """
    return _made(np.full(shape, host(fill_value), dtype=_dtype_of(fill_value, dtype)), device)


def full_like(
    x: Array, /, fill_value: complex, *, dtype: DType | None = None, device: str | None = None
) -> Array:
    """Return an array of the same shape in which every element is the same.

    Parameters
    ----------
    x : Array
        Gives the shape.
    fill_value : bool, int, float or complex
        The value of every element, converted to the dtype.
    dtype : numpy.dtype, optional
        Default: that of `x`.
    device : str, optional
        ``"auto"``, or where to pin the array. Default: as `x`.

    Returns
    -------
    Array

    Raises
    ------
    TypeError
        If `fill_value` is no number.
    OverflowError
        If an integer `fill_value` is out of the range of an integer dtype.
    ValueError
        If there is no such device.
    """
    x = _checked(x, "full_like")
    values = np.full(x.shape, host(fill_value), dtype=x.dtype if dtype is None else dtype)
    return _made(values, device, x)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Array:
    """Return `num` numbers, evenly spaced from `start` to `stop`.

    Parameters
    ----------
    start, stop : float or complex
        The first number, and the end.
    num : int
        How many numbers.
    dtype : numpy.dtype, optional
        Default: float64, or complex128 if one of the two is complex.
    device : str, optional
        ``"auto"``, or where to pin the array. Default: not pinned.
    endpoint : bool, optional
        Whether `stop` is the last number, as by default. If not, the spacing is
        ``(stop - start) / num``.

    Returns
    -------
    Array
        With one axis, of `num` elements.

    Raises
    ------
    ValueError
        If `num` is negative, or there is no such device.
    """
    return _made(np.linspace(start, stop, num, dtype=dtype, endpoint=endpoint), device)


def meshgrid(*arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> tuple[Array, ...]:
    """Return the coordinates of a grid, an array for each axis.

    Parameters
    ----------
    *arrays : Array
        The coordinates along each axis; each with one axis, of numeric dtype.
    indexing : {"xy", "ij"}, optional
        Whether the first two axes of the results are exchanged, as by default, or in the order
        of the arrays. Of lengths M and N, the results have shape (N, M) or (M, N).

    Returns
    -------
    tuple of Array
        As many as `arrays`, all of one shape, each of its own dtype.

    Raises
    ------
    ValueError
        For another `indexing`, or if the arrays are pinned to different devices.
    """
    if not arrays:
        return ()
    return plain_each(_meshgrid(indexing), list(arrays))


def ones(
    shape: int | tuple[int, ...], *, dtype: DType | None = None, device: str | None = None
) -> Array:
    """Return an array of ones.

    Parameters
    ----------
    shape : int or tuple of int
        The length of every axis.
    dtype : numpy.dtype, optional
        Default: float64.
    device : str, optional
        ``"auto"``, or where to pin the array. Default: not pinned.

    Returns
    -------
    Array

    Raises
    ------
    TypeError
        For a dtype that is neither of numbers nor bool.
    ValueError
        If a length is negative, or there is no such device.
    """
    return _made(np.ones(shape, dtype=dtype), device)


def ones_like(x: Array, /, *, dtype: DType | None = None, device: str | None = None) -> Array:
    """Return an array of ones, of the same shape.

    Parameters
    ----------
    x : Array
        Gives the shape.
    dtype : numpy.dtype, optional
        Default: that of `x`.
    device : str, optional
        ``"auto"``, or where to pin the array. Default: as `x`.

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If there is no such device.
    """
    return _like(np.ones, x, dtype, device)


def tril(x: Array, /, *, k: int = 0) -> Array:
    """Return the lower triangle of every matrix, zero above diagonal `k`.

    Parameters
    ----------
    x : Array
        Matrices, of shape ``(..., M, N)``.
    k : int, optional
        The last diagonal that is kept: 0, the default, is the main one, positive ones lie above.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.

    Raises
    ------
    ValueError
        If `x` has less than 2 axes.
    """
    return plain(np.tril, _matrices(x, "tril"), k)


def triu(x: Array, /, *, k: int = 0) -> Array:
    """Return the upper triangle of every matrix, zero below diagonal `k`.

    Parameters
    ----------
    x : Array
        Matrices, of shape ``(..., M, N)``.
    k : int, optional
        The first diagonal that is kept: 0, the default, is the main one, positive ones lie above.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.

    Raises
    ------
    ValueError
        If `x` has less than 2 axes.
    """
    return plain(np.triu, _matrices(x, "triu"), k)


def zeros(
    shape: int | tuple[int, ...], *, dtype: DType | None = None, device: str | None = None
) -> Array:
    """Return an array of zeros.

    Parameters
    ----------
    shape : int or tuple of int
        The length of every axis.
    dtype : numpy.dtype, optional
        Default: float64.
    device : str, optional
        ``"auto"``, or where to pin the array. Default: not pinned.

    Returns
    -------
    Array

    Raises
    ------
    TypeError
        For a dtype that is neither of numbers nor bool.
    ValueError
        If a length is negative, or there is no such device.
    """
    return _made(np.zeros(shape, dtype=dtype), device)


def zeros_like(x: Array, /, *, dtype: DType | None = None, device: str | None = None) -> Array:
    """Return an array of zeros, of the same shape.

    Parameters
    ----------
    x : Array
        Gives the shape.
    dtype : numpy.dtype, optional
        Default: that of `x`.
    device : str, optional
        ``"auto"``, or where to pin the array. Default: as `x`.

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If there is no such device.
    """
    return _like(np.zeros, x, dtype, device)


_KINDS = "biufc"


def _made(values: Any, device: str | None, like: Array | None = None) -> Array:
    """Return an array of fresh values; pinned as another is, if no device is named."""
    if device is None and like is not None:
        return wrap(_numbers(values), like._pin)
    return placed(wrap(_numbers(values)), devices.checked(device))


def _numbers(values: Any) -> Any:
    if values.dtype.kind not in _KINDS:
        raise TypeError(f"an Array holds numbers and bools, not {values.dtype}")
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


def _dtype_of(fill_value: Any, dtype: DType | None) -> Any:
    if dtype is not None or not isinstance(fill_value, int) or isinstance(fill_value, bool):
        return dtype
    return np.int64


def _checked(x: Any, name: str) -> Array:
    if not isinstance(x, Array):
        raise TypeError(f"{name}() needs an Array, not {type(x).__name__}")
    return x


def _like(make: Callable[..., Any], x: Array, dtype: DType | None, device: str | None) -> Array:
    x = _checked(x, f"{make.__name__}_like")
    return _made(make(x.shape, dtype=x.dtype if dtype is None else dtype), device, x)


def _matrices(x: Array, name: str) -> Array:
    if x.ndim < 2:
        raise ValueError(f"{name}() needs 2 axes or more, this array has {x.ndim}")
    return x


def _meshgrid(indexing: Any) -> Callable[[list[Any]], Any]:
    return lambda arrays: np.meshgrid(*arrays, indexing=indexing)


def _asarray(obj: Any, dtype: DType | None, device: str | None, copy: bool | None) -> Array:
    name = devices.checked(device)
    shared = True
    if isinstance(obj, Array):
        if not copy and dtype in (None, obj.dtype):
            return obj if name in (None, obj.device) else obj.to_device(name)
        values = obj._host
    elif isinstance(obj, (np.ndarray, np.generic)):
        values = np.asarray(obj)
    elif hasattr(obj, "__dlpack__"):
        backend = devices.owner_of(obj)
        if backend is not None:
            return _adopted(backend, obj, dtype, name, copy)
        values = _exported(obj, copy)
    elif isinstance(obj, (bool, int, float, complex, list, tuple)):
        if copy is False:
            raise ValueError(f"a {type(obj).__name__} can't become an array without a copy")
        values, shared = np.asarray(unwrap(obj), dtype=dtype), False
    else:
        values = np.asarray(obj)
    values = _numbers(values)
    if dtype is not None and values.dtype != dtype:
        if copy is False:
            raise ValueError(f"{values.dtype} can't become {np.dtype(dtype)} without a copy")
        values, shared = values.astype(dtype), False
    if copy and shared:
        values, shared = values.copy(), False
    array = wrap(values)
    array._shared = shared
    if shared and isinstance(obj, Array):
        obj._shared = True
    if name is None and isinstance(obj, Array):
        array._pin = obj._pin
        return array
    return placed(array, name)


def _adopted(
    backend: Backend, array: Any, dtype: DType | None, name: str | None, copy: bool | None
) -> Array:
    """Return an `Array` over another library's memory on a device."""
    found = backend.dtype_of(array)
    if found.kind not in _KINDS:
        raise TypeError(f"an Array holds numbers and bools, not {found}")
    value = backend.copied(array) if copy else array
    if dtype is not None and found != dtype:
        if copy is False:
            raise ValueError(f"{found} can't become {np.dtype(dtype)} without a copy")
        value = backend.convert(value, np.dtype(dtype))
    ACTIVE[0] = True
    return placed(taken(Resident(backend, value)), name)


def _exported(x: Any, copy: bool | None) -> Any:
    """Return another library's array as an ndarray, copied to the host if it is on a device."""
    kind, _ = x.__dlpack_device__()
    if int(kind) == 1:
        return np.from_dlpack(x)
    if copy is False:
        raise ValueError("values on a device can't become an Array without a copy")
    return np.from_dlpack(x, device="cpu", copy=True)
