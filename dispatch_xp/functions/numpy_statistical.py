"""Reductions, searches and sorting of NumPy's main namespace, in the terms of the table.

The functions of ``numpy._core._methods`` are what ``x.sum()`` and its like call: binding them too
means that methods and functions are routed alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dispatch_xp.errors import Unsupported
from dispatch_xp.functions.function import Request, Results
from dispatch_xp.functions.operand import (
    axes_of,
    deliver,
    iteration_order,
    memory_order,
    operand,
    request,
    scalar,
)
from dispatch_xp.reasons import Reason

__all__ = ["FUNCTIONS", "METHODS"]

_NO_VALUE: Any = np._NoValue


def _plain(**arguments: Any) -> None:
    """Refuse the arguments that only the reference takes, if they are given."""
    for name, value in arguments.items():
        if not (value is _NO_VALUE or value is None or value is True):
            raise Unsupported(Reason.ARGUMENT, name)


def _keep(keepdims: Any) -> bool:
    return keepdims is not _NO_VALUE and bool(keepdims)


def _reduction(
    operation: str,
    a: npt.NDArray[Any],
    axis: Any,
    keepdims: bool,
    out: Any,
    result: Any,
    compute: Any = None,
    **options: Any,
) -> Request:
    """Return the request of a reduction over `axis` whose result has dtype `result`."""
    if a.ndim == 0:
        raise Unsupported(Reason.ZERO_DIMENSIONAL)
    axes = axes_of(axis, a.ndim)
    if not axes:
        raise Unsupported(Reason.ARGUMENT, "axis=()")
    dropped = () if keepdims else axes
    shape = tuple(1 if i in axes else n for i, n in enumerate(a.shape) if keepdims or i not in axes)
    order = iteration_order(a, dropped=dropped)
    if out is not None and (
        type(out) is not np.ndarray
        or out.shape != shape
        or out.dtype != np.dtype(result)
        or not out.flags.writeable
    ):
        raise Unsupported(Reason.ARGUMENT, "out")

    def finish(r: Results) -> Any:
        return scalar(r[0], result) if not shape else deliver(r[0], result, order)

    result = np.dtype(result)
    whole = len(axes) == a.ndim
    if operation in ("argmin", "argmax"):
        options |= {"axis": None if axis is None else axes[0], "keepdims": keepdims}
    else:
        options |= {"axis": None if whole else axes, "keepdims": keepdims}
    return request(operation, (a,), compute or a.dtype, finish, options, out=out)


def _widened(a: npt.NDArray[Any]) -> np.dtype[Any]:
    """Return the dtype that sums and products accumulate in."""
    if a.dtype.kind == "b" or (a.dtype.kind == "i" and a.dtype.itemsize < 8):
        return np.dtype(np.int64)
    if a.dtype.kind == "u" and a.dtype.itemsize < 8:
        return np.dtype(np.uint64)
    return a.dtype


def _accumulation(operation: str) -> Callable[..., Request]:
    def bind(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = _NO_VALUE,
        initial: Any = _NO_VALUE,
        where: Any = _NO_VALUE,
    ) -> Request:
        _plain(initial=initial, where=where)
        a = operand(a)
        widened = _widened(a)
        if dtype is not None and np.dtype(dtype) != widened:
            raise Unsupported(Reason.ARGUMENT, f"dtype={dtype!r:.40}")
        return _reduction(operation, a, axis, _keep(keepdims), out, widened, widened)

    return bind


def _floating(a: Any, dtype: Any) -> tuple[npt.NDArray[Any], np.dtype[Any]]:
    a = operand(a)
    compute = a.dtype if a.dtype.kind in "fc" else np.dtype(np.float64)
    if dtype is not None and np.dtype(dtype) != compute:
        raise Unsupported(Reason.ARGUMENT, f"dtype={dtype!r:.40}")
    return a, compute


def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = _NO_VALUE,
    *,
    where: Any = _NO_VALUE,
) -> Request:
    _plain(where=where)
    a, compute = _floating(a, dtype)
    return _reduction("mean", a, axis, _keep(keepdims), out, compute, compute)


def _spread(operation: str) -> Callable[..., Request]:
    def bind(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = _NO_VALUE,
        *,
        where: Any = _NO_VALUE,
        mean: Any = _NO_VALUE,
        correction: Any = _NO_VALUE,
    ) -> Request:
        _plain(where=where, mean=mean)
        a, compute = _floating(a, dtype)
        if correction is not _NO_VALUE:
            if ddof != 0:
                raise Unsupported(Reason.INVALID, "ddof and correction")
            ddof = correction
        if not isinstance(ddof, (int, float, np.integer, np.floating)):
            raise Unsupported(Reason.ARGUMENT, f"ddof={ddof!r:.40}")
        count = np.prod([a.shape[i] for i in axes_of(axis, a.ndim)])
        if ddof >= count:
            raise Unsupported(Reason.ARGUMENT, "no degrees of freedom: the reference warns")
        result = np.dtype(compute.char.lower())
        return _reduction(
            operation, a, axis, _keep(keepdims), out, result, compute, correction=float(ddof)
        )

    return bind


def _extremum(operation: str) -> Callable[..., Request]:
    def bind(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = _NO_VALUE,
        initial: Any = _NO_VALUE,
        where: Any = _NO_VALUE,
    ) -> Request:
        _plain(initial=initial, where=where)
        a = operand(a, "iuf")
        return _reduction(operation, a, axis, _keep(keepdims), out, a.dtype)

    return bind


def _search(operation: str) -> Callable[..., Request]:
    def bind(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = _NO_VALUE) -> Request:
        a = operand(a, "iuf")
        if axis is not None and not isinstance(axis, (int, np.integer)):
            raise Unsupported(Reason.INVALID, f"axis={axis!r:.40}")
        if axis is None and a.ndim > 1 and not a.flags.c_contiguous:
            raise Unsupported(Reason.SHAPE, "an index into another memory order")
        request = _reduction(operation, a, axis, _keep(keepdims), out, np.intp)
        # unlike other reductions, the result is always in C order
        return replace(request, finish=_in_c_order(request.finish))

    return bind


def _in_c_order(finish: Callable[[Results], Any]) -> Callable[[Results], Any]:
    def ordered(r: Results) -> Any:
        result = finish(r)
        return deliver(result) if getattr(result, "ndim", 0) > 1 else result

    return ordered


def _truth(operation: str) -> Callable[..., Request]:
    def bind(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = _NO_VALUE,
        *,
        where: Any = _NO_VALUE,
    ) -> Request:
        _plain(where=where)
        return _reduction(operation, operand(a, "b"), axis, _keep(keepdims), out, np.bool_)

    return bind


def _truth_method(operation: str) -> Callable[..., Request]:
    bind_function = _truth(operation)

    def bind(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        *,
        where: Any = True,
    ) -> Request:
        if dtype is not None:
            raise Unsupported(Reason.ARGUMENT, f"dtype={dtype!r:.40}")
        return bind_function(a, axis, out, keepdims, where=where)

    return bind


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Request:
    if out is not None:
        raise Unsupported(Reason.ARGUMENT, "out")
    a = operand(a)
    widened = _widened(a)
    if dtype is not None and np.dtype(dtype) != widened:
        raise Unsupported(Reason.ARGUMENT, f"dtype={dtype!r:.40}")
    if a.ndim == 0:
        raise Unsupported(Reason.ZERO_DIMENSIONAL)
    if axis is None:
        a, axis = a.ravel(), 0
    (axis,) = axes_of(axis, a.ndim)
    order = iteration_order(a)
    return request(
        "cumulative_sum",
        (a,),
        widened,
        lambda r: deliver(r[0], widened, order),
        {"axis": axis},
    )


def cumulative_sum(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Request:
    if include_initial:
        raise Unsupported(Reason.ARGUMENT, "include_initial")
    if axis is None and np.ndim(x) > 1:
        raise Unsupported(Reason.INVALID, "axis=None")
    return cumsum(x, axis, dtype, out)


def _sorting(a: Any, axis: Any, kind: Any, order: Any, stable: Any) -> tuple[Any, Any, Any]:
    if order is not None:
        raise Unsupported(Reason.ARGUMENT, "order")
    if kind is not None and stable is not None:
        raise Unsupported(Reason.INVALID, "kind and stable")
    a = operand(a, "iuf")
    if a.ndim == 0:
        raise Unsupported(Reason.ZERO_DIMENSIONAL)
    if axis is None:
        a, axis = a.ravel(), 0
    (axis,) = axes_of(axis, a.ndim)
    is_stable = bool(stable) or kind in ("stable", "mergesort")
    if kind not in (None, "stable", "mergesort", "quicksort", "heapsort"):
        raise Unsupported(Reason.ARGUMENT, f"kind={kind!r:.40}")
    return a, axis, {"axis": axis, "stable": is_stable, "kind": kind}


def sort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Request:
    a, axis, options = _sorting(a, axis, kind, order, stable)
    layout = memory_order(a)
    return request("sort", (a,), a.dtype, lambda r: deliver(r[0], a.dtype, layout), options)


def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Request:
    a, axis, options = _sorting(a, axis, kind, order, stable)
    return request("argsort", (a,), a.dtype, lambda r: deliver(r[0], np.dtype(np.intp)), options)


FUNCTIONS = {
    **{name: (_accumulation(name), name) for name in ("sum", "prod")},
    "mean": (mean, "mean"),
    **{name: (_spread(name), name) for name in ("var", "std")},
    **{name: (_extremum(name), name) for name in ("min", "max")},
    **{f"a{name}": (_extremum(name), name) for name in ("min", "max")},
    **{name: (_search(name), name) for name in ("argmin", "argmax")},
    **{name: (_truth(name), name) for name in ("any", "all")},
    "cumsum": (cumsum, "cumulative_sum"),
    "cumulative_sum": (cumulative_sum, "cumulative_sum"),
    "sort": (sort, "sort"),
    "argsort": (argsort, "argsort"),
}

METHODS = {
    "_sum": (_accumulation("sum"), "sum"),
    "_prod": (_accumulation("prod"), "prod"),
    "_mean": (mean, "mean"),
    "_var": (_spread("var"), "var"),
    "_std": (_spread("std"), "std"),
    "_amin": (_extremum("min"), "min"),
    "_amax": (_extremum("max"), "max"),
    "_any": (_truth_method("any"), "any"),
    "_all": (_truth_method("all"), "all"),
}
