"""What a trace says of a call, and of the process that made it."""

from __future__ import annotations

import math
from ast import literal_eval
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from dispatch_xp.call import Call, stand_in
from dispatch_xp.operations import OPERATIONS

__all__ = ["SCHEMA", "End", "Header", "Record", "literal"]

SCHEMA = 1


class Header(msgspec.Struct, tag="process", omit_defaults=True):
    """The first record of a process.

    Attributes
    ----------
    pid : int
        The process.
    schema : int
        The version of the format.
    version : str
        The version of dispatch-xp.
    cpu : str
        The processor.
    cores : int
        How many of them the process may use.
    program : list of str
        ``sys.argv``.
    started : str
        When, in UTC.
    """

    pid: int
    schema: int
    version: str = ""
    cpu: str = ""
    cores: int = 0
    program: list[str] = []
    started: str = ""


class Record(msgspec.Struct, tag="call", omit_defaults=True):
    """One call.

    Attributes
    ----------
    pid, thread : int
        Who made it.
    at : float
        When it ended, in seconds since the process began to trace.
    seconds : float
        How long it took, everything included.
    function : str
        What was called.
    where : str
        File and line of the call, outside of NumPy and SciPy.
    backend : str
        Where it ran.
    reason : str
        Why there.
    operation : str
        What it amounted to; empty if the arguments could not be bound, and then so is the rest.
    dtype : str
        What it was computed in.
    shapes : list of list of int
        Of the array arguments.
    itemsizes : list of int
        Bytes of one element of each.
    options : str
        The other arguments, as a Python literal.
    memory : list of int
        The address of each array argument: the same memory has the same address.
    results : list of int
        The addresses of the arrays that came out.
    predicted : dict of str to float
        The predicted seconds by backend, if the policy predicted.
    in_place : bool
        Whether a ufunc's result replaced an argument, as in ``x += y``.
    library : str
        As in :class:`~dispatch_xp.call.Call`.
    """

    pid: int
    thread: int
    at: float
    seconds: float | None
    function: str
    where: str
    backend: str
    reason: str
    operation: str = ""
    dtype: str = ""
    shapes: list[list[int]] = []
    itemsizes: list[int] = []
    options: str = ""
    memory: list[int] = []
    results: list[int] = []
    predicted: dict[str, float] = {}
    in_place: bool = False
    library: str = ""

    def call(self) -> Call | None:
        """Return the call, with arrays that have no memory of their own; None if there is none."""
        row = OPERATIONS.get(self.operation)
        if row is None:
            return None
        try:
            options = literal_eval(self.options or "{}")
        except ValueError:
            return None
        dtype = np.dtype(self.dtype)
        shapes = tuple(tuple(shape) for shape in self.shapes)
        arrays = tuple(
            stand_in(shape, dtype if size == dtype.itemsize else np.dtype(f"u{size}"))
            for shape, size in zip(shapes, self.itemsizes, strict=True)
        )
        return Call(
            row, dtype, shapes, options, arrays, in_place=self.in_place, library=self.library
        )


class End(msgspec.Struct, tag="end", omit_defaults=True):
    """The last record of a process that ended by itself.

    Attributes
    ----------
    pid : int
        The process.
    at : float
        Seconds since it began to trace.
    calls : int
        How many records it has written.
    dropped : int
        How many calls came after the file had reached its size.
    """

    pid: int
    at: float
    calls: int = 0
    dropped: int = 0


def literal(options: Mapping[str, Any]) -> str:
    """Return options as a Python literal that :func:`ast.literal_eval` reads."""
    return _text(dict(options))


def _text(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(k)}: {_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + "".join(f"{_text(v)}, " for v in value) + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return repr(value)
    # what has no literal is of no use to a reader but by its name
    return repr(str(value))
