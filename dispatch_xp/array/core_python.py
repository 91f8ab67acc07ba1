"""What ``_array_core`` is in C, for an installation without a compiler: right, and slower."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

__all__ = ["Core", "add_entry", "binary", "set_limits", "set_type", "unary"]

_slow: list[Callable[..., Any]] = []
_operators: list[int] = []
_fetch: list[Callable[[Any], None]] = []

# in the order of set_type: the binary ones that have a reflected form, the comparisons, the unary
_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "matmul", "and", "or", "xor", "lshift",
    "rshift", "pow",
)  # fmt: skip
_COMPARISONS = ("lt", "le", "eq", "ne", "gt", "ge")
_UNARY = ("neg", "pos", "abs", "invert")


class Core:
    """The fields of an array, and its operators."""

    __slots__ = ("__weakref__", "_away", "_memory", "_pin", "_shared", "_stale")

    _away: dict[str, Any] | None
    _memory: npt.NDArray[Any]
    _pin: str | None
    _shared: bool
    _stale: bool

    __hash__ = None  # type: ignore[assignment]

    @property
    def _host(self) -> npt.NDArray[Any]:
        """The values on the host, brought there if need be; set, they are the only ones."""
        if self._stale:
            _fetch[0](self)
        return self._memory

    @_host.setter
    def _host(self, values: npt.NDArray[Any]) -> None:
        self._memory = values
        self._stale = False
        self._away = None


def _install() -> None:
    def forward(position: int) -> Callable[[Any, Any], Any]:
        return lambda self, other: _slow[_operators[position]](self, other)

    def reflected(position: int) -> Callable[[Any, Any], Any]:
        return lambda self, other: _slow[_operators[position]](other, self)

    def alone(position: int) -> Callable[[Any], Any]:
        return lambda self: _slow[_operators[position]](self)

    for position, name in enumerate((*_BINARY, *_COMPARISONS)):
        setattr(Core, f"__{name}__", forward(position))
    for position, name in enumerate(_BINARY):
        setattr(Core, f"__r{name}__", reflected(position))
    for position, name in enumerate(_UNARY, start=len(_BINARY) + len(_COMPARISONS)):
        setattr(Core, f"__{name}__", alone(position))


_install()


def binary(entry: int, x1: Any, x2: Any, /) -> Any:
    """Call an entry with two operands."""
    return _slow[entry](x1, x2)


def unary(entry: int, x: Any, /) -> Any:
    """Call an entry with one operand."""
    return _slow[entry](x)


def add_entry(function: Callable[..., Any], slow: Callable[..., Any], /) -> int:
    """Make an entry of NumPy's function and ours; its number."""
    _slow.append(slow)
    return len(_slow) - 1


def set_limits(values: npt.NDArray[Any], /) -> None:
    """Set the sizes from which ours are called: here they always are."""


def set_type(type: type[Core], entries: tuple[int, ...], fetch: Callable[[Any], None], /) -> None:
    """Set the class of arrays, the entries of its operators, and what brings values to the host."""
    _operators[:] = entries
    _fetch[:] = [fetch]
