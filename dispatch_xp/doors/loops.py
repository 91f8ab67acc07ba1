"""What an exchanged ufunc loop amounts to: an operation over views of the loop's operands.

A generalised ufunc hands on its operands with one outer axis, of length one where nothing is
stacked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from dispatch_xp.call import Call
from dispatch_xp.operations import OPERATIONS, Operation, elementwise

__all__ = ["Loop", "Reduction", "exchanged"]

Array = npt.NDArray[Any]
Operands = tuple[tuple[Array, ...], Array]
"""The arguments of an operation, and where its result belongs."""

_FLOATING = "fdFD"
_WHOLE: Mapping[str, Any] = MappingProxyType({"axis": None, "keepdims": False})
_FOLDS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}


@dataclass(frozen=True, slots=True)
class Loop:
    """One inner loop of a ufunc.

    Attributes
    ----------
    operation : Operation
        What it computes.
    dtype : numpy.dtype
        In what.
    path : str
        What the user called.
    operands : callable
        Makes of the loop's arrays the operation's arguments and the place of its result.
    """

    operation: Operation
    dtype: np.dtype[Any]
    path: str
    operands: Callable[[tuple[Array, ...]], Operands]

    def call(self, arrays: tuple[Array, ...]) -> Call | None:
        """Return the call that a loop amounts to; None of nothing."""
        if any(a.size == 0 for a in arrays):
            return None
        inputs, output = self.operands(arrays)
        in_place = arrays[0].base is arrays[-1] or arrays[-2].base is arrays[-1]
        return Call(
            self.operation,
            self.dtype,
            tuple(a.shape for a in inputs),
            arrays=inputs,
            destination=None if in_place else (output,),
            in_place=in_place,
        )

    def unwritten(self, call: Call, arrays: tuple[Array, ...], results: tuple[Any, ...]) -> Any:
        """Return what the output has yet to be given; None if the backend has written it."""
        return results[0] if call.in_place else None

    def reduction(self) -> Reduction | None:
        """Return what the same loop amounts to where it reduces; None if nothing that is known."""
        name = self.path.removeprefix("numpy.")
        operation = OPERATIONS.get(_FOLDS.get(name, ""))
        if operation is None or self.dtype.kind not in operation.kinds:
            return None
        return Reduction(operation, self.dtype, f"{self.path}.reduce", getattr(np, name))


@dataclass(frozen=True, slots=True)
class Reduction:
    """What the loop of a binary ufunc does in ``ufunc.reduce``, ``ufunc.reduceat``.

    NumPy hands on what is reduced, in one dimension, and a number that it has to be folded into:
    the identity, `initial`, or the first element, which is then left out of the rest; what came out
    of the chunks before where the operand is cast or masked; the result so far of other rows where
    several axes are reduced.

    Attributes
    ----------
    operation : Operation
        What it computes.
    dtype : numpy.dtype
        In what.
    path : str
        What the user called.
    ufunc : numpy.ufunc
        What folds.
    """

    operation: Operation
    dtype: np.dtype[Any]
    path: str
    ufunc: np.ufunc

    def call(self, arrays: tuple[Array, ...]) -> Call:
        """Return the call that a loop amounts to."""
        x, _ = arrays
        return Call(self.operation, self.dtype, (x.shape,), options=_WHOLE, arrays=(x,))

    def unwritten(self, call: Call, arrays: tuple[Array, ...], results: tuple[Any, ...]) -> Any:
        """Return a result folded with the number.

        Raises
        ------
        FloatingPointError
            If the original loop has to do it, and to set the flags that the caller is warned by.
        """
        _, number = arrays
        with np.errstate(all="raise", under="ignore"):
            return self.ufunc(number, results[0])


def exchanged() -> Iterator[tuple[np.ufunc, tuple[int, ...], Loop]]:
    """Return every loop worth a door, with its ufunc and the numbers of its types."""
    for row in elementwise.ROWS:
        if row.problems and row.name != "clip":
            yield from _loops(row.numpy, row, _elementwise)
    for path, name, operands in _PRODUCTS:
        yield from _loops(path, OPERATIONS[name], operands)


def _loops(
    path: str, operation: Operation, operands: Callable[[tuple[Array, ...]], Operands]
) -> Iterator[tuple[np.ufunc, tuple[int, ...], Loop]]:
    """Return the loops of a ufunc that have the same floating dtype for all inputs."""
    ufunc = getattr(np, path.removeprefix("numpy."), None)
    if ufunc is None:  # this version does not have it
        return
    for text in ufunc.types:
        inputs, outputs = text.split("->")
        if inputs[0] not in _FLOATING or len(set(inputs)) > 1 or len(outputs) > 1:
            continue
        dtype = np.dtype(inputs[0])
        if dtype.kind in operation.kinds:
            types = tuple(np.dtype(c).num for c in inputs + outputs)
            yield ufunc, types, Loop(operation, dtype, path, operands)


def _elementwise(arrays: tuple[Array, ...]) -> Operands:
    return arrays[:-1], arrays[-1]


def _stacked(arrays: tuple[Array, ...]) -> Operands:
    """Drop an outer axis of length one: a matrix is not a stack of one."""
    *inputs, output = arrays
    if all(len(a) == 1 for a in arrays):
        return tuple(a[0] for a in inputs), output[0] if output.ndim > 1 else output
    return tuple(inputs), output


def _matvec(arrays: tuple[Array, ...]) -> Operands:
    """Take vectors for columns; many of them times one matrix are one product."""
    a, x, output = arrays
    if len(output) == 1:
        return (a[0], x[0]), output[0]
    if a.strides[0] == 0:
        return (x, a[0].T), output
    return (a, x[:, :, np.newaxis]), output[:, :, np.newaxis]


def _vecmat(arrays: tuple[Array, ...]) -> Operands:
    """Take vectors for rows; ``vecmat`` conjugates them, ``matmul`` does not."""
    x, a, output = arrays
    if x.dtype.kind == "c":
        x = x.conj()  # a copy of the vectors, small beside the matrices
    if len(output) == 1:
        return (x[0], a[0]), output[0]
    if a.strides[0] == 0:
        return (x, a[0]), output
    return (x[:, np.newaxis, :], a), output[:, np.newaxis, :]


_PRODUCTS = (
    ("numpy.matmul", "matmul", _stacked),
    ("numpy.vecdot", "vecdot", _stacked),
    ("numpy.matvec", "matmul", _matvec),
    ("numpy.vecmat", "matmul", _vecmat),
)
