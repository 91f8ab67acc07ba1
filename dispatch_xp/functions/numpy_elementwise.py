"""NumPy's elementwise functions, in the terms of the table.

The ufunc door makes its calls itself, out of the memory that a loop was given; these are for
whoever holds whole arrays: calibration and predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatch_xp.errors import Unsupported
from dispatch_xp.functions.function import Request
from dispatch_xp.functions.operand import deliver, iteration_order, only_default, operand, request
from dispatch_xp.operations import OPERATIONS, elementwise
from dispatch_xp.reasons import Reason

__all__ = ["FUNCTIONS"]


_WEAK = (int, float, complex, bool)


def _elementwise(operation: str) -> Callable[..., Request]:
    out_dtype = OPERATIONS[operation].out_dtype

    def bind(*operands: Any) -> Request:
        weak = [type(x) in _WEAK for x in operands]
        arrays = tuple(operand(x) for x in operands)
        shapes = {a.shape for a in arrays if a.ndim}
        if not shapes:
            raise Unsupported(Reason.ZERO_DIMENSIONAL)
        if len(shapes) > 1:
            try:
                np.broadcast_shapes(*shapes)
            except ValueError as error:
                raise Unsupported(Reason.INVALID, str(error)) from None
        if any(weak):
            # a number of Python takes the dtype of the others, or does not fit and is an error
            pairs = tuple(zip(operands, arrays, weak, strict=True))
            dtype = np.result_type(*(x if is_weak else a.dtype for x, a, is_weak in pairs))
            arrays = tuple(np.asarray(x, dtype) if w else a for x, a, w in pairs)
        else:
            dtype = np.result_type(*arrays)
        result = out_dtype(dtype)
        order = iteration_order(*(a for a in arrays if a.ndim))
        return request(operation, arrays, dtype, lambda r: deliver(r[0], result, order))

    return bind


_NO_VALUE: Any = np._NoValue


def clip(
    a: Any,
    a_min: Any = _NO_VALUE,
    a_max: Any = _NO_VALUE,
    out: Any = None,
    *,
    min: Any = _NO_VALUE,
    max: Any = _NO_VALUE,
    **kwargs: Any,
) -> Request:
    only_default(out=(out, None))
    low, high = (a_min, a_max) if min is _NO_VALUE and max is _NO_VALUE else (min, max)
    if kwargs or any(x is _NO_VALUE or x is None for x in (low, high)):
        raise Unsupported(Reason.ARGUMENT, "one bound, or more than bounds")
    arrays = operand(a, "f"), operand(low, "f"), operand(high, "f")
    if any(x.ndim for x in arrays[1:]) or any(x.dtype != arrays[0].dtype for x in arrays):
        raise Unsupported(Reason.ARGUMENT, "bounds that are arrays")
    if arrays[0].ndim == 0:
        raise Unsupported(Reason.ZERO_DIMENSIONAL)
    order = iteration_order(arrays[0])
    dtype = arrays[0].dtype
    return request("clip", arrays, dtype, lambda r: deliver(r[0], dtype, order))


FUNCTIONS: dict[str, tuple[Callable[..., Request], str]] = {
    row.numpy.removeprefix("numpy."): (_elementwise(row.name), row.name)
    for row in elementwise.ROWS
    if row.problems and row.name != "clip"
} | {"clip": (clip, "clip")}
