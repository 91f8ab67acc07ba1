"""A call: an operation with its arguments, whichever door it came through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from dispatch_xp.operations.row import Operation, Shapes, Workload

__all__ = ["Call"]

_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """An operation with its arguments, in the operation's own terms.

    Attributes
    ----------
    operation : Operation
        The row of the operation table.
    dtype : numpy.dtype
        What it is computed in; the arrays are converted to it on the way in.
    shapes : tuple of tuple of int
        One shape per array.
    options : mapping
        Everything that is not an array, by the operation's own names.
    arrays : tuple of ndarray
        The arguments as the user gave them, never written to; empty where only a prediction is
        asked for.
    destination : tuple of ndarray or None
        Where the results have to be written, if the caller has the memory already.
    workload : Workload
        What it costs on any machine.
    layout : str
        Which speed curve predicts it.
    """

    operation: Operation
    dtype: np.dtype[Any]
    shapes: Shapes
    options: Mapping[str, Any] = field(default_factory=lambda: _NO_OPTIONS)
    arrays: tuple[npt.NDArray[Any], ...] = ()
    destination: tuple[npt.NDArray[Any], ...] | None = None
    workload: Workload = field(init=False)
    layout: str = field(init=False)

    def __post_init__(self) -> None:
        itemsizes = tuple(a.dtype.itemsize for a in self.arrays) or None
        workload = self.operation.workload(self.shapes, self.dtype, self.options, itemsizes)
        object.__setattr__(self, "workload", workload)
        object.__setattr__(self, "layout", self.operation.layout(self.shapes, self.options))

    @property
    def signature(self) -> tuple[Any, ...]:
        """What two calls share that a backend can't tell apart: a key for what is remembered."""
        return (
            self.operation.name,
            self.dtype.char,
            self.shapes,
            tuple(self.options.items()),
        )
