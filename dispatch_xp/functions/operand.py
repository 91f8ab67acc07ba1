"""What goes in and what comes out: which arguments a backend may see, and the result's layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dispatch_xp.call import Call
from dispatch_xp.errors import Unsupported
from dispatch_xp.functions.function import Request, Results
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.reasons import Reason
from dispatch_xp.residency import Resident

__all__ = [
    "axes_of",
    "deliver",
    "iteration_order",
    "matrix",
    "memory_order",
    "only_default",
    "operand",
    "request",
    "scalar",
    "stack_order",
]

_ARRAY_LIKE = (list, tuple, int, float, complex)
_DTYPE = {char: np.dtype(char) for char in "fdFD"}

# half and extended precision; and the second name of an integer type (`long long` beside `long`),
# which results would lose
_UNROUTED = "gGe" + "".join(c for c in "bBhHiIlLqQ" if np.dtype(np.dtype(c).name).char != c)

Order = str | tuple[int, ...]
"""``"C"``, ``"F"`` (of the last two axes), or the axes from the slowest to the fastest."""


def operand(x: Any, kinds: str = "biufc") -> npt.NDArray[Any]:
    """Return an argument as an array that a backend may see.

    Parameters
    ----------
    x : object
        What the user gave for an array.
    kinds : str
        The ``dtype.kind`` letters that are allowed.

    Raises
    ------
    Unsupported
        For subclasses and foreign arrays, object, structured, byte-swapped, half and extended
        precision dtypes, size zero, and unaligned memory.
    """
    if type(x) is not np.ndarray:
        if not (isinstance(x, np.generic) or type(x) in _ARRAY_LIKE):
            raise Unsupported(Reason.TYPE, type(x).__name__)
        x = np.asarray(x)
    array: npt.NDArray[Any] = x
    dtype = array.dtype
    if not dtype.isnative:
        raise Unsupported(Reason.BYTE_ORDER, str(dtype))
    if dtype.kind not in kinds or dtype.char in _UNROUTED:
        raise Unsupported(Reason.DTYPE, str(dtype))
    if array.size == 0:
        raise Unsupported(Reason.EMPTY, str(array.shape))
    if not array.flags.aligned:
        # a part of SciPy refuses it
        raise Unsupported(Reason.DTYPE, f"{dtype}, not aligned in memory")
    return array


def matrix(x: Any, *, square: bool = False, ndim: int | None = None) -> npt.NDArray[Any]:
    """Return an argument of linear algebra: at least two-dimensional.

    Raises
    ------
    Unsupported
        As :func:`operand`; and for shapes that make the reference raise.
    """
    a = operand(x)
    if a.ndim < 2 or (square and a.shape[-1] != a.shape[-2]):
        raise Unsupported(Reason.SHAPE, f"{a.shape}")
    if ndim is not None and a.ndim != ndim:
        raise Unsupported(Reason.SHAPE, f"{a.ndim} dimensions")
    return a


def only_default(**arguments: Any) -> None:
    """Refuse arguments that no backend takes, if they are given.

    Parameters
    ----------
    **arguments
        ``name=(value, default)``.
    """
    for name, (value, default) in arguments.items():
        if value is not default and not (isinstance(value, type(default)) and value == default):
            raise Unsupported(Reason.ARGUMENT, f"{name}={value!r:.40}")


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return `axis` as distinct non-negative axes; all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = []
    for a in given:
        if not isinstance(a, (int, np.integer)) or isinstance(a, bool):
            raise Unsupported(Reason.ARGUMENT, f"axis {axis!r:.40}")
        if not -ndim <= a < ndim:
            raise Unsupported(Reason.INVALID, f"axis {axis!r:.40}")
        axes.append(int(a) % ndim)
    if len(set(axes)) != len(axes):
        raise Unsupported(Reason.ARGUMENT, f"axis {axis!r:.40}")
    return tuple(axes)


def memory_order(array: npt.NDArray[Any]) -> Order:
    """Return the order in which NumPy lays out a copy of `array`, and what is made like it."""
    if array.flags.c_contiguous:
        return "C"
    if array.flags.f_contiguous:
        return _named(list(reversed(range(array.ndim))))
    # stable, so that ties stay in C order
    return _named(sorted(range(array.ndim), key=lambda i: -abs(array.strides[i])))


def iteration_order(*arrays: npt.NDArray[Any], dropped: Sequence[int] = ()) -> Order:
    """Return the order in which a ufunc, or a reduction by one, lays out its result.

    Parameters
    ----------
    *arrays : ndarray
        The arguments.
    dropped : sequence of int
        Axes that the result doesn't have.
    """
    if all(a.flags.c_contiguous for a in arrays) and len({a.shape for a in arrays}) == 1:
        return "C"
    ndim = max(a.ndim for a in arrays)
    # axes along which an argument doesn't move say nothing about its order
    steps = [
        (0,) * (ndim - a.ndim)
        + tuple(abs(s) if n != 1 else 0 for n, s in zip(a.shape, a.strides, strict=True))
        for a in arrays
    ]
    return _named([i for i in _sorted_axes(ndim, steps) if i not in dropped])


def _sorted_axes(ndim: int, steps: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the axes from the slowest to the fastest, sorted as NumPy's iterator sorts them.

    An insertion sort from the last axis on; arguments that disagree, and axes that cannot be
    compared, stay in C order.
    """
    fastest_first: list[int] = []
    for axis in reversed(range(ndim)):
        position = len(fastest_first)
        for k in reversed(range(len(fastest_first))):
            verdict = _is_faster(axis, fastest_first[k], steps)
            if verdict is False:
                break
            if verdict:
                position = k
        fastest_first.insert(position, axis)
    return fastest_first[::-1]


def _is_faster(axis: int, other: int, steps: Sequence[tuple[int, ...]]) -> bool | None:
    """Whether every argument that can tell moves in smaller steps along `axis`."""
    told = [s[other] > s[axis] for s in steps if s[other] and s[axis]]
    return all(told) if told else None


def stack_order(core: int, *stacks: tuple[npt.NDArray[Any], int]) -> Order:
    """Return the order of a generalised ufunc's result: the stack's order, then the core in C.

    Parameters
    ----------
    core : int
        Core dimensions of the result.
    *stacks : (ndarray, int)
        The arguments, each with its core dimensions.
    """
    corner: list[Any] = [0]
    leading = [a[(..., *corner * n)] for a, n in stacks]
    ndim = max(a.ndim for a in leading)
    order = iteration_order(*leading) if ndim > 1 else "C"
    if isinstance(order, str):
        return "C"
    return (*order, *range(ndim, ndim + core))


def _named(slowest_first: list[int]) -> Order:
    """Return an order of axes, those of the result counted anew."""
    rank = {axis: i for i, axis in enumerate(sorted(slowest_first))}
    order = tuple(rank[axis] for axis in slowest_first)
    return "C" if order == tuple(range(len(order))) else order


def deliver(x: Any, dtype: np.dtype[Any] | None = None, order: Order = "C") -> Any:
    """Return a result with the reference's dtype and memory order, copied only if need be.

    What is on a device stays there, if it has the dtype; memory order means nothing there.

    Raises
    ------
    Unsupported
        If a number is too large for the dtype: the reference warns of that.
    TypeError
        If something on a device is needed on the host.
    """
    if type(x) is Resident:
        if x.ndim == 0:
            raise TypeError("needed on the host")
        return x if dtype in (None, x.dtype) else x.rounded(dtype)
    if dtype is not None and x.dtype.kind in "fc" and x.dtype.itemsize > dtype.itemsize:
        x = _rounded(x, dtype)
    if x.ndim < 2 or order == "C":
        return np.ascontiguousarray(x, dtype=dtype) if x.ndim else np.array(x, dtype=dtype)
    fortran = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    axes = fortran if isinstance(order, str) else order
    back = np.argsort(axes)
    return np.ascontiguousarray(x.transpose(axes), dtype=dtype).transpose(back)


def _rounded(x: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    try:
        with np.errstate(over="raise", invalid="raise", under="ignore"):
            return x.astype(dtype)
    except FloatingPointError as error:
        raise Unsupported(Reason.NON_FINITE_RESULT, str(error)) from None


def scalar(x: Any, dtype: np.dtype[Any] | None = None, order: Order = "C") -> Any:
    """Return a result as the reference does: a NumPy scalar where it has no dimensions."""
    delivered = deliver(x, dtype, order)
    return delivered if type(delivered) is Resident else delivered[()]


def request(
    operation: str,
    arrays: tuple[npt.NDArray[Any], ...],
    dtype: Any,
    finish: Callable[[Results], Any],
    options: Mapping[str, Any] | None = None,
    native: np.dtype[Any] | None = None,
    out: npt.NDArray[Any] | None = None,
    library: str = "",
) -> Request:
    """Return a request.

    Parameters
    ----------
    operation : str
        The operation's name.
    arrays : tuple of ndarray
        The array arguments.
    dtype : dtype-like
        What it is computed in.
    finish : callable
        As in :class:`~dispatch_xp.functions.function.Request`.
    options : mapping, optional
        Everything else.
    native : numpy.dtype, optional
        What ``precision = "native"`` may compute it in, where the reference computes in more.
    out : ndarray, optional
        The caller's memory for the result.
    library : str, optional
        As in :class:`~dispatch_xp.call.Call`.
    """
    row = OPERATIONS[operation]
    dtype = np.dtype(dtype)
    if dtype.kind not in row.kinds:
        raise Unsupported(Reason.DTYPE, str(dtype))
    shapes = tuple(a.shape for a in arrays)
    call = Call(row, dtype, shapes, options or {}, arrays, library=library)
    return Request(call, finish, native, out)
