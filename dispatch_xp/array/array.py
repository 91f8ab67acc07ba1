"""The array object of the standard: NumPy's values, and calls that are routed one by one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from dispatch_xp.array import device as devices
from dispatch_xp.array.core import core
from dispatch_xp.array.elementwise import BINARY, UNARY, Elementwise
from dispatch_xp.array.placed import call, moved, place
from dispatch_xp.array.placed import host as unwrap
from dispatch_xp.array.routed import LIMITS, Routed, pinned, routed
from dispatch_xp.residency import ACTIVE, Resident, fetch, hold, value_on
from dispatch_xp.state import quiet

__all__ = [
    "Array",
    "host",
    "operand",
    "pin_of",
    "placed",
    "same",
    "share",
    "taken",
    "unwrap",
    "view",
    "wrap",
]

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
_SCALARS = (int, float, complex, bool)
# functions of NumPy that write into their first argument
_WRITE_FIRST = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})


class Array(core.Core):
    """An array whose calls are routed, each to the backend that the policy chooses.

    Made by :func:`dispatch_xp.asarray` and the other creation functions of the namespace, never by
    calling the class.

    Memory may be shared with the ndarray that an `Array` was made from, until one of the two is
    written through the `Array`. Two `Array` objects never see each other's writes: an in-place
    operator or ``x[...] = y`` changes exactly one.

    Attributes
    ----------
    dtype : numpy.dtype
        The data type.
    shape : tuple of int
        The length of every axis.
    ndim, size : int
        The number of axes and of elements.
    device : str
        ``"auto"``: placed by the policy; ``"cpu"``: pinned to the host; ``"cuda:0"`` and such: to
        a device.
    residency : tuple of str
        The devices where its current values are.
    T, mT : Array
        The transpose of a matrix; of every matrix of a stack.
    """

    # the values; the device it is pinned to; whether the memory may be another's too: who writes
    # first takes a copy
    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError("an Array is made by dispatch_xp.asarray() and other creation functions")

    # --- attributes

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type."""
        return self._memory.dtype

    @property
    def device(self) -> str:
        """``"auto"`` or the device it is pinned to."""
        return self._pin or devices.AUTO

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._memory.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of every axis."""
        return self._memory.shape

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._memory.size

    @property
    def T(self) -> Array:
        """The transpose of a matrix."""
        if self.ndim != 2:
            raise ValueError(f".T is for matrices, this array has {self.ndim} axes: use .mT")
        return self.mT

    @property
    def mT(self) -> Array:
        """The transpose of every matrix of a stack."""
        if self.ndim < 2:
            raise ValueError(f".mT needs 2 axes or more, this array has {self.ndim}")
        there = moved(self, lambda value: value.swapaxes(-1, -2))
        if there is not None:
            return taken(there, self._pin)
        return view(self, np.swapaxes(self._host, -1, -2))

    # --- protocols

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """Return :mod:`dispatch_xp`."""
        if api_version is not None and api_version not in _VERSIONS:
            allowed = ", ".join(_VERSIONS)
            raise ValueError(f"there is no version {api_version!r} of the standard here: {allowed}")
        import dispatch_xp

        return dispatch_xp

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return an ndarray; of the same memory unless a copy or another dtype is asked for.

        What is on a device too is copied, unless ``copy=False`` forbids that: nothing would tell
        the device of a write.
        """
        values = self._host
        if copy is None and self._away is not None:
            copy = True
        result = np.array(values, dtype=dtype, copy=copy)
        if not copy:
            self._lend()
        return result

    def __buffer__(self, flags: int, /) -> memoryview:
        """Return the buffer of the values on the host."""
        self._lend()
        return memoryview(self._host)  # type: ignore[arg-type]

    def __dlpack__(
        self,
        /,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Export the values by DLPack, without a copy if that is possible.

        Those on the host; of an array pinned to a device, a copy that is made there: nothing would
        tell an `Array` of a write.
        """
        if self._pin not in (None, devices.CPU) and dl_device in (None, self.__dlpack_device__()):
            if copy is False:
                raise BufferError("an Array does not lend memory on a device: allow a copy")
            backend = devices.backend_of(self._pin)
            with quiet():
                twin = backend.copied(value_on(backend, self))
            return twin.__dlpack__(stream=stream, max_version=max_version)
        values = self._host
        if copy is None and self._away is not None:
            copy = True
        if not copy:
            self._lend()
        return values.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self, /) -> tuple[Any, int]:
        """Return the device type and number in DLPack's terms."""
        if self._pin in (None, devices.CPU):
            return self._memory.__dlpack_device__()
        backend = devices.backend_of(self._pin)
        return value_on(backend, self).__dlpack_device__()  # type: ignore[no-any-return]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, /, *inputs: Any, **kwargs: Any) -> Any:
        """Run a ufunc of NumPy: the result is an `Array`, or what `out` names."""
        if method == "__call__" and not kwargs and ufunc in _BY_UFUNC:
            # the usual case: the core's
            number = _BY_UFUNC[ufunc].number
            if ufunc.nin == 1 == len(inputs):
                return core.unary(number, inputs[0])
            if len(inputs) == 2 and type(inputs[0]) in _PLAIN and type(inputs[1]) in _PLAIN:
                return core.binary(number, *inputs)
        if not all(_is_known(x) for x in inputs):
            return NotImplemented
        pin = pin_of((inputs, kwargs))
        with pinned(pin):
            return self._by_ufunc(ufunc, method, inputs, kwargs, pin)

    @staticmethod
    def _by_ufunc(
        ufunc: np.ufunc,
        method: str,
        inputs: tuple[Any, ...],
        kwargs: dict[str, Any],
        pin: str | None,
    ) -> Any:
        if method == "at":
            if isinstance(inputs[0], Array):
                inputs[0]._own()
            ufunc.at(*(unwrap(x) for x in inputs), **unwrap(kwargs))
            return None
        out = kwargs.pop("out", None)
        given = unwrap(inputs)
        if out is not None:
            for x in out:
                if isinstance(x, Array):
                    x._own()
            kwargs["out"] = tuple(unwrap(x) for x in out)
        result = getattr(ufunc, method)(*given, **unwrap(kwargs))
        if out is None:
            return _wrapped(result, pin)
        results = result if isinstance(result, tuple) else (result,)
        kept = tuple(
            _wrapped(r, pin) if o is None else o for r, o in zip(results, out, strict=True)
        )
        return kept if isinstance(result, tuple) else kept[0]

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Run a function of NumPy: ndarrays among the results become `Array`."""
        if not all(issubclass(t, (Array, np.ndarray)) for t in types):
            return NotImplemented
        out = kwargs.get("out")
        if function.__name__ in _WRITE_FIRST and args and isinstance(args[0], Array):
            args[0]._own()
        for x in out if isinstance(out, tuple) else (out,):
            if isinstance(x, Array):
                x._own()
        pin = pin_of((args, kwargs))
        entry = routed(function)
        away = (ACTIVE[0] or pin is not None) and pin != devices.CPU
        if away and out is None and isinstance(entry, Routed):
            result = call(entry, args, kwargs, pin)
        else:
            with pinned(pin):
                result = entry(*unwrap(args), **unwrap(kwargs))
        if isinstance(out, Array):
            return out
        if isinstance(out, tuple) and any(isinstance(x, Array) for x in out):
            return out if len(out) > 1 else out[0]
        return _wrapped(result, pin, (args, kwargs))

    def to_device(self, device: str, /, *, stream: Any = None) -> Array:
        """Return the array on a device, pinned there; ``"auto"`` leaves it to the policy again.

        Raises
        ------
        ValueError
            If there is no such device here, or for a stream: the host has none.
        """
        if stream is not None:
            raise ValueError(f"stream={stream!r}: the devices here have no streams")
        name = devices.checked(device)
        if name == devices.CPU and self._away is not None:
            return wrap(self._host.copy(), name)
        return placed(same(self), name)

    @property
    def residency(self) -> tuple[str, ...]:
        """The devices where the current values are; on the host, that is ``"cpu"``."""
        away = [resident.backend.device_name for resident in (self._away or {}).values()]
        return tuple(away if self._stale else (devices.CPU, *away))

    # --- indexing

    def __getitem__(self, key: Any, /) -> Array:
        """Return a part; later writes to it or to this array are not seen by the other."""
        pin = devices.common(self._pin, pin_of(key))
        if self._away is not None and _is_basic(key):
            # numbers, and rows one by one, are cheaper all at once; most of it is cheaper there
            there = moved(self, lambda value: value[key])
            if there is not None and 2 * there.size >= self.size:
                return taken(there, pin)
        part = self._host[unwrap(key)]
        if type(part) is np.ndarray:
            return view(self, part) if part.base is not None else wrap(part, pin)
        return wrap(np.asarray(part), self._pin)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        """Write a part of this array, and of no other."""
        pin_of((self, key, value))
        given = unwrap(value)
        self._own()
        self._host[unwrap(key)] = given

    def __len__(self) -> int:
        return len(self._memory)

    def __iter__(self) -> Any:
        if self.ndim == 0:
            raise TypeError("iteration over an array without axes")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return unwrap(value) in self._host

    def _own(self) -> None:
        """Make the memory this array's alone, writeable, and the only place of its values."""
        values = self._host
        if self._shared or not values.flags.writeable:
            self._host = values.copy()
            self._shared = False
        else:
            self._away = None

    def _lend(self) -> None:
        """Let somebody else see the memory, who may write it."""
        self._host = self._host
        self._shared = True

    def _become(self, result: Array) -> None:
        """Take the values of an array that nobody else has."""
        away, stale = result._away, result._stale
        self._host, self._shared = result._memory, result._shared
        for resident in (away or {}).values():
            hold(self, resident)
        self._stale = stale

    # --- conversion to Python's own types

    def __bool__(self, /) -> bool:
        return bool(self._host)

    def __int__(self, /) -> int:
        return int(self._host)

    def __float__(self, /) -> float:
        return float(self._host)

    def __complex__(self, /) -> complex:
        return complex(self._host)

    def __index__(self, /) -> int:
        return operator.index(self._host)

    def __repr__(self) -> str:
        where = f"device={self.device!r}"
        if self._away is not None:
            where += f", residency={self.residency}"
        text = repr(self._host).removeprefix("array(").removesuffix(")")
        return f"Array({text}, {where})"

    def __str__(self) -> str:
        return str(self._host)

    def __format__(self, spec: str) -> str:
        return format(self._host[()] if self.ndim == 0 else self._host, spec)

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> Array:
        return same(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Array:
        return wrap(self._host.copy(), self._pin)

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (self._host, self._pin)

    # --- operators; the others are in the core

    def __iadd__(self, other: Any, /) -> Array:
        return _in_place(_ADD, self, other)

    def __isub__(self, other: Any, /) -> Array:
        return _in_place(_SUBTRACT, self, other)

    def __imul__(self, other: Any, /) -> Array:
        return _in_place(_MULTIPLY, self, other)

    def __itruediv__(self, other: Any, /) -> Array:
        return _in_place(_DIVIDE, self, other)

    def __ifloordiv__(self, other: Any, /) -> Array:
        return _in_place(_FLOOR_DIVIDE, self, other)

    def __imod__(self, other: Any, /) -> Array:
        return _in_place(_REMAINDER, self, other)

    def __ipow__(self, other: Any, /) -> Array:
        return _in_place(_POW, self, other)

    def __imatmul__(self, other: Any, /) -> Array:
        return _in_place(_MATMUL, self, other)

    def __iand__(self, other: Any, /) -> Array:
        return _in_place(_AND, self, other)

    def __ior__(self, other: Any, /) -> Array:
        return _in_place(_OR, self, other)

    def __ixor__(self, other: Any, /) -> Array:
        return _in_place(_XOR, self, other)

    def __ilshift__(self, other: Any, /) -> Array:
        return _in_place(_LEFT_SHIFT, self, other)

    def __irshift__(self, other: Any, /) -> Array:
        return _in_place(_RIGHT_SHIFT, self, other)


def wrap(values: npt.NDArray[Any], pin: str | None = None) -> Array:
    """Return an array over memory that nobody else has."""
    array = object.__new__(Array)
    array._host = values
    array._pin = pin
    array._shared = False
    return array


def restored(values: npt.NDArray[Any], pin: str | None) -> Array:
    """Return a pickled array; it is free again where its device is not."""
    try:
        devices.checked(pin)
    except ValueError:
        pin = None
    return wrap(values, pin)


def taken(result: Any, pin: str | None = None) -> Array:
    """Return an array of a result that nobody else has: an ndarray, a scalar, or on a device."""
    if type(result) is np.ndarray:
        return wrap(result, pin)
    if type(result) is not Resident:
        return wrap(np.asarray(result), pin)
    # memory that is never touched until somebody looks at the numbers costs an address
    array = wrap(np.empty(result.shape, result.dtype), pin)
    hold(array, result)
    array._stale = True
    return array


def placed(array: Array, device: str | None) -> Array:
    """Return the array itself, pinned to a device that :func:`devices.checked` knows."""
    array._pin = None if device == devices.AUTO else device
    if device not in (None, devices.AUTO, devices.CPU):
        place(array, device)
    return array


def same(source: Array) -> Array:
    """Return another array of the same values, where they are."""
    if source._away is None:
        return view(source, source._host)
    array = wrap(np.empty(source.shape, source.dtype), source._pin)
    for resident in source._away.values():
        hold(array, resident)
    array._stale = True
    return array


def view(source: Array, values: npt.NDArray[Any]) -> Array:
    """Return an array over (a part of) another's memory; the first of both to write copies."""
    if source._away is not None:
        return wrap(values.copy(), source._pin)
    source._shared = True
    array = wrap(values, source._pin)
    array._shared = True
    return array


def host(x: Any) -> Any:
    """Return an array's values, or a scalar as it is; for arguments of the namespace.

    Raises
    ------
    TypeError
        For anything else, with its type.
    """
    if type(x) is Array:
        return x._host
    if isinstance(x, (np.ndarray, np.generic, *_SCALARS)):
        return x
    raise TypeError(f"an Array or a number is needed here, not {type(x).__name__}")


def operand(x: Any) -> Any:
    """Return an `Array`, an ndarray or a scalar as it is.

    Raises
    ------
    TypeError
        For anything else, with its type.
    """
    return x if type(x) is Array else host(x)


def pin_of(value: Any) -> str | None:
    """Return the device that every `Array` in a value, its lists and dictionaries, is pinned to.

    Raises
    ------
    ValueError
        If there are several.
    """
    if type(value) is Array:
        return value._pin
    if isinstance(value, dict):
        value = tuple(value.values())
    pin = None
    if isinstance(value, (tuple, list)):
        for x in value:
            pin = devices.common(pin, pin_of(x))
    return pin


def _wrapped(value: Any, pin: str | None = None, sources: Any = ()) -> Any:
    """Return a result of NumPy with ndarrays and NumPy's scalars as `Array`."""
    if type(value) is Resident:
        return taken(value, pin)
    if type(value) is np.ndarray or isinstance(value, np.generic):
        values = np.asarray(value)
        array = wrap(values, pin)
        if values.base is not None or not values.flags.writeable:
            array._shared = True
        share(sources, array)
        return array
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return type(value)(*(_wrapped(x, pin, sources) for x in value))
    if type(value) in (tuple, list):
        return type(value)(_wrapped(x, pin, sources) for x in value)
    return value


def share(sources: Any, array: Array) -> None:
    """Note on every `Array` among the sources whose memory a result may look at that it does."""
    if isinstance(sources, Array):
        if np.may_share_memory(sources._memory, array._memory):
            if sources._away is not None:
                array._host, array._shared = array._memory.copy(), False
            else:
                sources._shared = array._shared = True
    elif isinstance(sources, (tuple, list)):
        for x in sources:
            share(x, array)
    elif isinstance(sources, dict):
        share(tuple(sources.values()), array)


def _is_basic(key: Any) -> bool:
    """Whether an index takes a part that all libraries agree on."""
    keys = key if type(key) is tuple else (key,)
    return all(k is None or k is ... or type(k) in (int, slice) for k in keys)


def _is_known(x: Any) -> bool:
    return isinstance(x, (Array, np.ndarray, np.generic, list, tuple, *_SCALARS))


def _unary(entry: Elementwise, x: Array) -> Array:
    if x._pin == devices.CPU:
        return wrap(np.asarray(entry.on_host(x._host)), x._pin)
    if ACTIVE[0] or x._pin is not None:
        return taken(_placed(entry, (x,), x._pin), x._pin)
    if LIMITS.configured is None:
        LIMITS.read()
    return taken(entry(x._host))


def _pair(entry: Elementwise, a: Any, b: Any, pin: str | None) -> Array:
    """Call with two operands, at least one an `Array` or an ndarray."""
    if pin == devices.CPU:
        return wrap(np.asarray(entry.on_host(_values(a), _values(b))), pin)
    if ACTIVE[0] or pin is not None:
        return taken(_placed(entry, (a, b), pin), pin)
    if LIMITS.configured is None:
        LIMITS.read()  # from now on the core knows what is small
    a, b = _values(a), _values(b)
    outcome = entry.handle(a, b)
    if outcome is None:
        result = entry.reference(a, b)
        if entry.correct is not None:
            result = entry.correct(result, a, b)
    else:
        result = entry.finished(outcome, a, b)
    return taken(result)


def _placed(entry: Elementwise, operands: tuple[Any, ...], pin: str | None) -> Any:
    result = call(entry, operands, {}, pin)
    if entry.correct is None or result.dtype.kind not in entry.kinds:
        return result
    if type(result) is Resident:
        result = result.on_host()
    return entry.correct(result, *(_values(x) for x in operands))


def _values(x: Any) -> Any:
    return x._host if type(x) is Array else x


def _binary(entry: Elementwise, x: Array, other: Any) -> Array:
    kind = type(other)
    if kind is Array:
        return _pair(entry, x, other, devices.common(x._pin, other._pin))
    if kind in _SCALARS or isinstance(other, (np.ndarray, np.generic)):
        return _pair(entry, x, other, x._pin)
    return NotImplemented  # type: ignore[no-any-return]


def _reflected(entry: Elementwise, x: Array, other: Any) -> Array:
    if type(other) in _SCALARS or isinstance(other, (np.ndarray, np.generic)):
        return _pair(entry, other, x, x._pin)
    return NotImplemented  # type: ignore[no-any-return]


def _in_place(entry: Elementwise, x: Array, other: Any) -> Array:
    """Give `x` the result's values; its dtype and shape stay."""
    result = _binary(entry, x, other)
    if result is NotImplemented:
        return result  # type: ignore[no-any-return]
    if result.shape != x.shape:
        raise ValueError(f"the result has shape {result.shape}, and {x.shape} is to be changed")
    if result.dtype != x.dtype:
        if not np.can_cast(result.dtype, x.dtype, "same_kind"):
            raise TypeError(f"a result of {result.dtype} can't be stored in an array of {x.dtype}")
        result = wrap(result._host.astype(x.dtype))
    x._become(result)
    return x


def _operator(entry: Elementwise) -> Callable[[Any, Any], Any]:
    """Return what a binary operator calls where the core leaves it to Python."""

    def function(x: Any, y: Any) -> Any:
        return _binary(entry, x, y) if type(x) is Array else _reflected(entry, y, x)

    return function


def _function_of_one(entry: Elementwise) -> Callable[[Any], Array]:
    def function(x: Any) -> Array:
        return _unary(entry, x if type(x) is Array else wrap(np.asarray(host(x))))

    return function


def _function_of_two(entry: Elementwise) -> Callable[[Any, Any], Array]:
    def function(x1: Any, x2: Any) -> Array:
        return _pair(entry, operand(x1), operand(x2), pin_of((x1, x2)))

    return function


for _entry in UNARY.values():
    _entry.register(_function_of_one(_entry))
for _entry in BINARY.values():
    _entry.register(_function_of_two(_entry))

_ADD = BINARY["add"]
_SUBTRACT = BINARY["subtract"]
_MULTIPLY = BINARY["multiply"]
_DIVIDE = BINARY["divide"]
_FLOOR_DIVIDE = BINARY["floor_divide"]
_REMAINDER = BINARY["remainder"]
_POW = BINARY["pow"]
_MATMUL = BINARY["matmul"]
_AND = BINARY["bitwise_and"]
_OR = BINARY["bitwise_or"]
_XOR = BINARY["bitwise_xor"]
_LEFT_SHIFT = BINARY["bitwise_left_shift"]
_RIGHT_SHIFT = BINARY["bitwise_right_shift"]
_COMPARISONS = ("less", "less_equal", "equal", "not_equal", "greater", "greater_equal")

core.set_type(
    Array,
    (
        *(
            entry.register(_operator(entry))
            for entry in (
                _ADD,
                _SUBTRACT,
                _MULTIPLY,
                _DIVIDE,
                _FLOOR_DIVIDE,
                _REMAINDER,
                _MATMUL,
                _AND,
                _OR,
                _XOR,
                _LEFT_SHIFT,
                _RIGHT_SHIFT,
                _POW,
                *(BINARY[name] for name in _COMPARISONS),
            )
        ),
        *(UNARY[name].number for name in ("negative", "positive", "abs", "bitwise_invert")),
    ),
    fetch,
)

_PLAIN = frozenset({Array, np.ndarray, *_SCALARS})
_BY_UFUNC: dict[Any, Elementwise] = {
    entry.reference: entry
    for entry in (*UNARY.values(), *BINARY.values())
    if isinstance(entry.reference, np.ufunc) and entry.correct is None
}
