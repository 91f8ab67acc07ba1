"""Products and contractions of NumPy's main namespace, in the terms of the operation table."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dispatch_xp.errors import Unsupported
from dispatch_xp.functions.function import Request, Results
from dispatch_xp.functions.operand import (
    Order,
    axes_of,
    deliver,
    only_default,
    operand,
    request,
    scalar,
    stack_order,
)
from dispatch_xp.operations.contraction import einsum_sizes
from dispatch_xp.reasons import Reason

__all__ = ["FUNCTIONS"]


def _pair(a: Any, b: Any, *, ndim: int = 1) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Any]:
    """Return two operands and the dtype that NumPy computes their product in."""
    a, b = operand(a), operand(b)
    if a.ndim < ndim or b.ndim < ndim:
        raise Unsupported(Reason.ZERO_DIMENSIONAL)
    dtype = np.result_type(a, b)
    if dtype.kind not in "fc":
        # integers wrap around, and no backend promises how
        raise Unsupported(Reason.DTYPE, str(dtype))
    return a, b, dtype


def _destination(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse an `out` that the reference would refuse, or that isn't a plain array."""
    if type(out) is not np.ndarray or out.shape != shape or out.dtype != dtype:
        raise Unsupported(Reason.ARGUMENT, "out")
    if not out.flags.carray:
        raise Unsupported(Reason.ARGUMENT, "out")


def dot(a: Any, b: Any, out: Any = None) -> Request:
    a, b, dtype = _pair(a, b)
    if a.shape[-1] != b.shape[max(b.ndim - 2, 0)]:
        raise Unsupported(Reason.INVALID, f"shapes {a.shape} and {b.shape}")
    if out is not None:
        _destination(out, (*a.shape[:-1], *b.shape[:-2], *b.shape[-1:][: b.ndim - 1]), dtype)
    return request("dot", (a, b), dtype, lambda r: scalar(r[0], dtype), out=out)


def inner(a: Any, b: Any, /) -> Request:
    a, b, dtype = _pair(a, b)
    if a.shape[-1] != b.shape[-1]:
        raise Unsupported(Reason.INVALID, f"shapes {a.shape} and {b.shape}")
    return request("inner", (a, b), dtype, lambda r: scalar(r[0], dtype))


def vdot(a: Any, b: Any, /) -> Request:
    a, b, dtype = _pair(a, b, ndim=0)
    if a.size != b.size:
        raise Unsupported(Reason.INVALID, f"shapes {a.shape} and {b.shape}")
    return request("vecdot", (a.ravel(), b.ravel()), dtype, lambda r: scalar(r[0], dtype))


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Request:
    a, b, dtype = _pair(x1, x2)
    if axis != -1:
        raise Unsupported(Reason.ARGUMENT, f"axis={axis!r:.40}")
    if a.shape[-1] != b.shape[-1]:
        raise Unsupported(Reason.INVALID, f"shapes {a.shape} and {b.shape}")
    order = stack_order(0, (a, 1), (b, 1))
    return request("vecdot", (a, b), dtype, lambda r: scalar(r[0], dtype, order))


def matmul(x1: Any, x2: Any, /) -> Request:
    a, b, dtype = _pair(x1, x2)
    if a.shape[-1] != b.shape[max(b.ndim - 2, 0)]:
        raise Unsupported(Reason.INVALID, f"shapes {a.shape} and {b.shape}")
    core = min(a.ndim, 2) + min(b.ndim, 2) - 2
    order = stack_order(core, (a, min(a.ndim, 2)), (b, min(b.ndim, 2)))
    return request("matmul", (a, b), dtype, lambda r: scalar(r[0], dtype, order))


def outer(a: Any, b: Any, out: Any = None) -> Request:
    a, b, dtype = _pair(a, b, ndim=0)
    if out is not None:
        _destination(out, (a.size, b.size), dtype)
    vectors = a.ravel(), b.ravel()
    return request("outer", vectors, dtype, lambda r: scalar(r[0], dtype), out=out)


def linalg_outer(x1: Any, x2: Any, /) -> Request:
    a, b, _ = _pair(x1, x2)
    if a.ndim != 1 or b.ndim != 1:
        raise Unsupported(Reason.INVALID, f"shapes {a.shape} and {b.shape}")
    return outer(a, b)


def kron(a: Any, b: Any) -> Request:
    a, b, dtype = _pair(a, b)
    return request("kron", (a, b), dtype, lambda r: deliver(r[0], dtype))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Request:
    a, b, dtype = _pair(a, b)
    try:
        first, second = axes
    except TypeError:
        if not isinstance(axes, (int, np.integer)) or not 0 <= axes <= min(a.ndim, b.ndim):
            raise Unsupported(Reason.INVALID, f"axes={axes!r:.40}") from None
        count = int(axes)
        first, second = range(a.ndim - count, a.ndim), range(count)
    sums = (axes_of(_listed(first), a.ndim), axes_of(_listed(second), b.ndim))
    if len(sums[0]) != len(sums[1]) or any(
        a.shape[i] != b.shape[j] for i, j in zip(*sums, strict=True)
    ):
        raise Unsupported(Reason.INVALID, f"shapes {a.shape} and {b.shape}, axes {axes!r:.40}")

    def finish(r: Results) -> Any:
        # the reference ends with a reshape of a matrix product: always an array
        return deliver(r[0], dtype)

    return request("tensordot", (a, b), dtype, finish, {"axes": sums})


def _listed(axes: Any) -> tuple[Any, ...]:
    return tuple(axes) if isinstance(axes, (list, tuple, range)) else (axes,)


def _explicit(subscripts: str, operands: list[npt.NDArray[Any]]) -> str:
    """Return the subscripts with their result written out, as NumPy completes them."""
    text = subscripts.replace(" ", "")
    inputs, arrow, result = text.partition("->")
    terms = inputs.split(",")
    if "." in text or len(terms) != len(operands) or not all(t.isalpha() for t in terms):
        raise Unsupported(Reason.ARGUMENT, f"subscripts {subscripts!r:.60}")
    if not arrow:
        letters = inputs.replace(",", "")
        result = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    for term, x in zip(terms, operands, strict=True):
        # a repeated index takes a diagonal; broadcasting an index is NumPy's alone
        if len(term) != x.ndim or len(set(term)) != len(term):
            raise Unsupported(Reason.ARGUMENT, f"subscripts {subscripts!r:.60}")
    if len(set(result)) != len(result) or not set(result) <= set(inputs):
        raise Unsupported(Reason.INVALID, f"subscripts {subscripts!r:.60}")
    explicit = f"{inputs}->{result}"
    sizes = einsum_sizes(explicit, tuple(x.shape for x in operands))
    for term, x in zip(terms, operands, strict=True):
        if any(sizes[c] != n for c, n in zip(term, x.shape, strict=True)):
            raise Unsupported(Reason.SHAPE, "an index of different lengths")
    return explicit


def _einsum_outside(
    explicit: str, operands: list[npt.NDArray[Any]], optimize: Any
) -> tuple[Order, bool]:
    """Return the memory order of NumPy's result, and whether it is an array without dimensions.

    Both depend on the path that NumPy takes; found on the smallest such problem.
    """
    tiny = []
    for x in operands:
        axes = sorted(range(x.ndim), key=lambda i: -abs(x.strides[i]))
        shape = [min(x.shape[i], 2) for i in axes]
        tiny.append(np.zeros(shape, dtype=x.dtype).transpose(np.argsort(axes)))
    result: Any = np.einsum(explicit, *tiny, optimize=optimize)
    order = tuple(sorted(range(result.ndim), key=lambda i: -result.strides[i]))
    return order, isinstance(result, np.ndarray)


def einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Request:
    only_default(out=(out, None))
    if kwargs:
        raise Unsupported(Reason.ARGUMENT, ", ".join(kwargs))
    if not operands or not isinstance(operands[0], str):
        raise Unsupported(Reason.ARGUMENT, "subscripts as lists")
    arrays = [operand(x) for x in operands[1:]]
    if len(arrays) < 2:
        raise Unsupported(Reason.VIEW, "one operand")
    dtype = np.result_type(*arrays)
    if dtype.kind not in "fc":
        raise Unsupported(Reason.DTYPE, str(dtype))
    explicit = _explicit(operands[0], arrays)
    order, stays_array = _einsum_outside(explicit, arrays, optimize)
    options = {"subscripts": explicit, "optimize": bool(optimize)}

    def finish(r: Results) -> Any:
        return deliver(r[0], dtype, order) if stays_array else scalar(r[0], dtype)

    return request("einsum", tuple(arrays), dtype, finish, options)


def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Request:
    return tensordot(x1, x2, axes)


FUNCTIONS = {
    "dot": (dot, "dot"),
    "inner": (inner, "inner"),
    "vdot": (vdot, "vecdot"),
    "vecdot": (vecdot, "vecdot"),
    "matmul": (matmul, "matmul"),
    "outer": (outer, "outer"),
    "kron": (kron, "kron"),
    "tensordot": (tensordot, "tensordot"),
    "einsum": (einsum, "einsum"),
    "linalg.outer": (linalg_outer, "outer"),
    "linalg.tensordot": (linalg_tensordot, "tensordot"),
    "linalg.matmul": (matmul, "matmul"),
    "linalg.vecdot": (vecdot, "vecdot"),
}
