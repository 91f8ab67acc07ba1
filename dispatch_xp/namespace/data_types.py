"""Data types of the standard, which are NumPy's, and the functions on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dispatch_xp.array import device as devices
from dispatch_xp.array.array import Array, placed, taken, wrap
from dispatch_xp.state import quiet

__all__ = [
    "astype",
    "bool",
    "can_cast",
    "complex64",
    "complex128",
    "finfo",
    "float32",
    "float64",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "result_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

DType: TypeAlias = Any
"""A ``numpy.dtype``, or anything that NumPy takes for one."""

bool = np.bool_
int8 = np.int8
int16 = np.int16
int32 = np.int32
int64 = np.int64
uint8 = np.uint8
uint16 = np.uint16
uint32 = np.uint32
uint64 = np.uint64
float32 = np.float32
float64 = np.float64
complex64 = np.complex64
complex128 = np.complex128


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """What :func:`finfo` returns.

    Attributes
    ----------
    bits : int
        How many bits a number has.
    eps : float
        From 1 to the next number.
    max, min : float
        The greatest and the least finite number.
    smallest_normal : float
        The smallest positive number of full precision.
    dtype : numpy.dtype
        The real floating dtype.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class IntegerInfo:
    """What :func:`iinfo` returns.

    Attributes
    ----------
    bits : int
        How many bits a number has.
    max, min : int
        The greatest and the least number.
    dtype : numpy.dtype
        The integer dtype.
    """

    bits: int
    max: int
    min: int
    dtype: np.dtype[Any]


def _dtype(x: Any) -> np.dtype[Any]:
    return x.dtype if isinstance(x, Array) else np.dtype(x)


def astype(x: Array, dtype: DType, /, *, copy: Any = True, device: str | None = None) -> Array:
    """Return the array converted to a dtype; itself if nothing changes and no copy is asked for.

    Parameters
    ----------
    x : Array
        Of any dtype.
    dtype : numpy.dtype
        What to convert to. Floats lose their fraction in integers; all but 0 is true as bool.
    copy : bool, optional
        Whether to copy what is of that dtype already, as by default.
    device : str, optional
        ``"auto"``, or where to pin the result. Default: as `x`.

    Returns
    -------
    Array
        Of the shape of `x`.

    Raises
    ------
    TypeError
        From complex to real: say :func:`dispatch_xp.real`.
    ValueError
        If there is no such device.
    """
    if not isinstance(x, Array):
        raise TypeError(f"astype() needs an Array, not {type(x).__name__}")
    wanted = np.dtype(dtype)
    if wanted.kind not in "biufc":
        raise TypeError(f"an Array holds numbers and bools, not {wanted}")
    name = devices.checked(device)
    if x.dtype == wanted and not copy and name in (None, x.device):
        return x
    if x.dtype.kind == "c" and wanted.kind not in "cb":
        raise TypeError(f"{x.dtype} can't become {wanted}: take real() or imag() of it")
    if name is None and x._away is not None:
        try:
            with quiet():
                there = next(iter(x._away.values())).converted(wanted)
        except Exception:  # the host does it, and warns where NumPy does
            pass
        else:
            return taken(there, x._pin)
    values = x._host.astype(wanted)
    return wrap(values, x._pin) if name is None else placed(wrap(values), name)


def can_cast(from_: DType | Array, to: DType, /) -> Any:
    """Return whether values of one dtype become another's without loss.

    Parameters
    ----------
    from_ : numpy.dtype or Array
        The dtype to convert from; that of an array.
    to : numpy.dtype
        The dtype to convert to.

    Returns
    -------
    bool
        By NumPy's rule ``"safe"``, under which int64 becomes float64, too.

    Raises
    ------
    TypeError
        For what is no dtype, a number of Python among it.
    """
    return np.can_cast(_dtype(from_), np.dtype(to))


def finfo(type: DType | Array, /) -> FloatInfo:
    """Return the limits of a floating dtype; those of its parts for a complex one.

    Parameters
    ----------
    type : numpy.dtype or Array
        Real or complex floating; the dtype of an array.

    Returns
    -------
    FloatInfo
        With ``bits``, ``eps``, ``max``, ``min``, ``smallest_normal`` and ``dtype``.

    Raises
    ------
    ValueError
        If the dtype is not floating.
    """
    found: Any = np.finfo(_dtype(type))
    return FloatInfo(
        bits=int(found.bits),
        eps=float(found.eps),
        max=float(found.max),
        min=float(found.min),
        smallest_normal=float(found.smallest_normal),
        dtype=np.dtype(found.dtype),
    )


def iinfo(type: DType | Array, /) -> IntegerInfo:
    """Return the limits of an integer dtype.

    Parameters
    ----------
    type : numpy.dtype or Array
        Integer; the dtype of an array.

    Returns
    -------
    IntegerInfo
        With ``bits``, ``max``, ``min`` and ``dtype``.

    Raises
    ------
    ValueError
        If the dtype is not integer; bool isn't.
    """
    found: Any = np.iinfo(_dtype(type))
    return IntegerInfo(
        bits=int(found.bits), max=int(found.max), min=int(found.min), dtype=np.dtype(found.dtype)
    )


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> Any:
    """Return whether a dtype is of a kind, such as ``"real floating"``, or of one of several.

    Parameters
    ----------
    dtype : numpy.dtype
        The dtype in question.
    kind : str, numpy.dtype or tuple of them
        ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``,
        ``"real floating"``, ``"complex floating"`` or ``"numeric"``, which is all but bool; or a
        dtype, which has to be the same. Of a tuple one is enough.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If there is no such kind.
    TypeError
        If `kind` is neither a string nor a dtype, or has something else in it.
    """
    return np.isdtype(np.dtype(dtype), kind)


def result_type(*arrays_and_dtypes: Array | complex | DType) -> np.dtype[Any]:
    """Return the dtype that an operation on these has; numbers of Python adapt to the others.

    Parameters
    ----------
    *arrays_and_dtypes : Array, numpy.dtype, bool, int, float or complex
        One at least. A number of Python counts by its kind only: it leaves the dtype as it is
        unless that is of a lower kind.

    Returns
    -------
    numpy.dtype

    Raises
    ------
    ValueError
        If nothing is given.
    TypeError
        For what is no dtype.
    """
    return np.result_type(*(x.dtype if isinstance(x, Array) else x for x in arrays_and_dtypes))
