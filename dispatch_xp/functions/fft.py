"""The functions of ``numpy.fft`` and ``scipy.fft``, in the terms of the operation table.

Both compute in the precision of their input. NumPy lays a result out like its input, SciPy in C
order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dispatch_xp.errors import Unsupported
from dispatch_xp.functions.function import Request
from dispatch_xp.functions.operand import (
    Order,
    axes_of,
    deliver,
    iteration_order,
    memory_order,
    only_default,
    operand,
    request,
)
from dispatch_xp.operations.fft import REAL_INPUT, REAL_RESULT, TRIGONOMETRIC, transformed
from dispatch_xp.reasons import Reason

__all__ = ["NUMPY", "SCIPY"]

Bind = Callable[..., Request]
Layout = Callable[[npt.NDArray[Any]], Order]


def _input(x: Any, name: str) -> tuple[npt.NDArray[Any], np.dtype[Any], np.dtype[Any]]:
    """Return the argument, what it is computed in and the dtype of the result."""
    a = operand(x)
    if a.ndim == 0:
        raise Unsupported(Reason.ZERO_DIMENSIONAL)
    single = a.dtype.char in "fF"
    real = np.dtype(np.float32 if single else np.float64)
    complex_ = np.dtype(np.complex64 if single else np.complex128)
    if name in REAL_RESULT:
        return a, complex_, real
    if name in REAL_INPUT:
        if a.dtype.kind == "c":
            raise Unsupported(Reason.INVALID, "complex input")
        return a, real, complex_
    return a, complex_ if a.dtype.kind == "c" else real, complex_


def _norm(norm: Any) -> str:
    if norm is None:
        return "backward"
    if not isinstance(norm, str) or norm not in ("backward", "ortho", "forward"):
        raise Unsupported(Reason.INVALID, f"norm={norm!r:.40}")
    return str(norm)


def _length(n: Any) -> int | None:
    if n is None:
        return None
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise Unsupported(Reason.ARGUMENT, f"n={n!r:.40}")
    return int(n)


def _checked(name: str, a: npt.NDArray[Any], options: dict[str, Any], half: bool) -> dict[str, Any]:
    if any(n < 1 for n in transformed(a.shape, options, half=half).values()):
        raise Unsupported(Reason.SHAPE, f"fft.{name} of shape {a.shape}")
    return options


def _conjugate_like(a: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return memory in the order of ``np.conjugate(a)``, which ``hfft`` transforms."""
    order = iteration_order(a)
    if isinstance(order, str):
        return np.empty(a.shape)
    return np.empty([a.shape[i] for i in order]).transpose(np.argsort(order))


def _line(name: str, layout: Layout, library: str = "") -> Bind:
    """Return how a one-dimensional transform binds."""

    def bind(x: Any, n: Any, axis: Any, norm: Any) -> Request:
        a, compute, result = _input(x, name)
        (axis,) = axes_of(axis, a.ndim) if axis is not None else (None,)
        if axis is None:
            raise Unsupported(Reason.INVALID, "axis=None")
        options = {"n": _length(n), "axis": axis, "norm": _norm(norm)}
        options = _checked(name, a, options, name in REAL_RESULT)
        order = layout(_conjugate_like(a) if name == "hfft" else a)
        return request(
            f"fft.{name}", (a,), compute, lambda r: deliver(r[0], result, order), options,
            library=library,
        )  # fmt: skip

    return bind


def _grid_options(a: npt.NDArray[Any], s: Any, axes: Any, norm: Any) -> dict[str, Any]:
    if s is None:
        chosen = axes_of(axes, a.ndim)
        lengths = None
    else:
        if axes is None:
            raise Unsupported(Reason.ARGUMENT, "s without axes")
        chosen = axes_of(axes, a.ndim)
        lengths = tuple(_length(n) for n in (s if isinstance(s, (tuple, list)) else (s,)))
        if len(lengths) != len(chosen):
            raise Unsupported(Reason.ARGUMENT, f"s={s!r:.40}, axes={axes!r:.40}")
    if not chosen:
        raise Unsupported(Reason.ARGUMENT, "axes=()")
    if lengths is None or None in lengths:
        given = lengths or (None,) * len(chosen)
        lengths = None if lengths is None else given
    if lengths is not None and None in lengths:
        raise Unsupported(Reason.ARGUMENT, "None within s")
    return {"s": lengths, "axes": chosen, "norm": _norm(norm)}


def _grid(name: str, layout: Layout, library: str = "") -> Bind:
    """Return how an n-dimensional transform binds."""

    def bind(x: Any, s: Any, axes: Any, norm: Any) -> Request:
        a, compute, result = _input(x, name)
        options = _checked(name, a, _grid_options(a, s, axes, norm), name in REAL_RESULT)
        order = layout(a)
        return request(
            f"fft.{name}", (a,), compute, lambda r: deliver(r[0], result, order), options,
            library=library,
        )  # fmt: skip

    return bind


# NumPy's own code ignores the `out` of these
_OUT_IGNORED = frozenset({"hfft", "ifft2", "irfft2"})


def _into(bound: Request, name: str, out: Any) -> Request:
    """Return a request with `out`, if it is what NumPy could write the result into as it is."""
    if out is None:
        return bound
    call = bound.call
    row, options = call.operation, call.options
    (shape,) = row.outputs(call.shapes, options)
    if (
        name in _OUT_IGNORED
        or type(out) is not np.ndarray
        or out.shape != shape
        or out.dtype != row.out_dtype(call.dtype)
        or not out.flags.writeable
    ):
        raise Unsupported(Reason.ARGUMENT, "out")
    if "axes" in options and row.name.removeprefix("fft.") not in REAL_RESULT:
        # every step is written into it, and the first is along the last axis
        (before,) = call.shapes
        if any(shape[i] != before[i] for i in options["axes"][:-1]):
            raise Unsupported(Reason.ARGUMENT, "out, which no step but the last fits into")
    return replace(bound, out=out)


def _numpy_line(name: str) -> Bind:
    bind_line = _line(name, memory_order, "numpy")

    def bind(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Request:
        return _into(bind_line(a, n, axis, norm), name, out)

    return bind


def _numpy_grid(name: str, default: tuple[int, ...] | None) -> Bind:
    bind_grid = _grid(f"{name[:-1]}n", memory_order, "numpy")

    def bind(
        a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None
    ) -> Request:
        if not all(x is None or isinstance(x, (tuple, list)) for x in (s, axes)):
            raise Unsupported(Reason.ARGUMENT, "s and axes that are no sequences")
        return _into(bind_grid(a, s, axes, norm), name, out)

    return bind


def _overwritten(x: Any, overwrite_x: Any) -> None:
    """Leave to the reference what would return its argument's memory in another order than C."""
    if overwrite_x and not (isinstance(x, np.ndarray) and x.flags.c_contiguous):
        raise Unsupported(Reason.ARGUMENT, "overwrite_x of an array that is not in C order")


def _in_place(bound: Request, x: Any, overwrite_x: Any) -> Request:
    """Return a request whose result goes where SciPy leaves it: into an argument that it fits."""
    if not overwrite_x:
        return bound
    call = bound.call
    (shape,) = call.operation.outputs(call.shapes, call.options)
    fits = x.shape == shape and x.dtype == call.operation.out_dtype(call.dtype)
    return replace(bound, out=x) if fits and x.flags.writeable else bound


def _in_c(a: npt.NDArray[Any]) -> Order:
    return "C"


def _scipy_line(name: str) -> Bind:
    bind_line = _line(name, _in_c)

    def bind(
        x: Any,
        n: Any = None,
        axis: Any = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Request:
        only_default(workers=(workers, None), plan=(plan, None))
        _overwritten(x, overwrite_x)
        return _in_place(bind_line(x, n, axis, norm), x, overwrite_x)

    return bind


def _scipy_grid(name: str, default: tuple[int, ...] | None) -> Bind:
    bind_grid = _grid(name, _in_c)

    def bind(
        x: Any,
        s: Any = None,
        axes: Any = default,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Request:
        only_default(workers=(workers, None), plan=(plan, None))
        _overwritten(x, overwrite_x)
        return _in_place(bind_grid(x, s, axes, norm), x, overwrite_x)

    return bind


def _real(x: Any) -> tuple[npt.NDArray[Any], np.dtype[Any]]:
    # integers are converted first, and the result then takes the copy's memory order
    a = operand(x, "f")
    if a.ndim == 0:
        raise Unsupported(Reason.ZERO_DIMENSIONAL)
    return a, a.dtype


def _long_enough(name: str, a: npt.NDArray[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Refuse a cosine transform of type 1 that is too short: the reference raises."""
    if name.rstrip("n").endswith("dct") and options["type"] == 1:
        lengths = transformed(a.shape, {k: v for k, v in options.items() if k != "type"})
        if min(lengths.values()) < 2:
            raise Unsupported(Reason.SHAPE, "one point")
    return options


def _type(type: Any) -> int:
    if not isinstance(type, int) or type not in (1, 2, 3, 4) or isinstance(type, bool):
        raise Unsupported(Reason.ARGUMENT, f"type={type!r:.40}")
    return int(type)


def _trigonometric_line(name: str) -> Bind:
    def bind(
        x: Any,
        type: Any = 2,
        n: Any = None,
        axis: Any = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        orthogonalize: Any = None,
    ) -> Request:
        only_default(workers=(workers, None), orthogonalize=(orthogonalize, None))
        a, compute = _real(x)
        (axis,) = axes_of(axis, a.ndim) if axis is not None else (None,)
        if axis is None:
            raise Unsupported(Reason.INVALID, "axis=None")
        options = {"type": _type(type), "n": _length(n), "axis": axis, "norm": _norm(norm)}
        _overwritten(a, overwrite_x)
        options = _long_enough(name, a, options)
        bound = request(f"fft.{name}", (a,), compute, lambda r: deliver(r[0], compute), options)
        return _in_place(bound, a, overwrite_x and a is x)

    return bind


def _trigonometric_grid(name: str) -> Bind:
    def bind(
        x: Any,
        type: Any = 2,
        s: Any = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        orthogonalize: Any = None,
    ) -> Request:
        only_default(workers=(workers, None), orthogonalize=(orthogonalize, None))
        a, compute = _real(x)
        options = {"type": _type(type), **_grid_options(a, s, axes, norm)}
        _overwritten(a, overwrite_x)
        options = _long_enough(name, a, options)
        bound = request(f"fft.{name}", (a,), compute, lambda r: deliver(r[0], compute), options)
        return _in_place(bound, a, overwrite_x and a is x)

    return bind


def _shift(name: str) -> Bind:
    def bind(x: Any, axes: Any = None) -> Request:
        a = operand(x)
        if a.ndim == 0:
            raise Unsupported(Reason.ZERO_DIMENSIONAL)
        order = memory_order(a)
        options = {"axes": axes_of(axes, a.ndim)}
        if not options["axes"]:
            raise Unsupported(Reason.ARGUMENT, "axes=()")
        return request(
            f"fft.{name}", (a,), a.dtype, lambda r: deliver(r[0], a.dtype, order), options
        )

    return bind


_LINES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_GRIDS = ("fft", "ifft", "rfft", "irfft")
_SHIFTS = {name: (_shift(name), f"fft.{name}") for name in ("fftshift", "ifftshift")}

NUMPY = {
    **{name: (_numpy_line(name), f"fft.{name}") for name in _LINES},
    **{f"{name}2": (_numpy_grid(f"{name}2", (-2, -1)), f"fft.{name}n") for name in _GRIDS},
    **{f"{name}n": (_numpy_grid(f"{name}n", None), f"fft.{name}n") for name in _GRIDS},
    **_SHIFTS,
}

SCIPY = {
    **{name: (_scipy_line(name), f"fft.{name}") for name in _LINES},
    **{f"{name}2": (_scipy_grid(f"{name}n", (-2, -1)), f"fft.{name}n") for name in _LINES},
    **{f"{name}n": (_scipy_grid(f"{name}n", None), f"fft.{name}n") for name in _LINES},
    **{name: (_trigonometric_line(name), f"fft.{name}") for name in TRIGONOMETRIC},
    **{f"{name}n": (_trigonometric_grid(f"{name}n"), f"fft.{name}n") for name in TRIGONOMETRIC},
}
