"""The other cores: NumPy and SciPy themselves, on several parts of a call at once.

NumPy releases the GIL within ufuncs, reductions, sorts and LAPACK, so that Python threads are
enough. Needs nothing installed; the second backend of every machine.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dispatch_xp.backends.interface import Availability, Backend
from dispatch_xp.call import Call
from dispatch_xp.errors import Unsupported
from dispatch_xp.operations import OPERATIONS, elementwise
from dispatch_xp.operations.contraction import einsum_sizes
from dispatch_xp.operations.statistical import reduced
from dispatch_xp.reasons import Reason

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["ThreadsBackend"]

Array = npt.NDArray[Any]
Part = Callable[[slice], None]
Each = Callable[[int, Part], None]
"""``each(n, part)`` runs `part` on slices that make up ``range(n)``."""

# flops and bytes below which a thread takes longer to wake up than to do its part
_SMALL = 1 << 15

_UFUNCS: dict[str, Any] = {
    row.name: getattr(np, row.numpy.removeprefix("numpy."))
    for row in elementwise.ROWS
    if row.problems
}
_REDUCTIONS: dict[str, Any] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
}
_AXIS_FUNCTIONS: dict[str, Any] = {
    "mean": np.mean,
    "var": np.var,
    "std": np.std,
    "argmin": np.argmin,
    "argmax": np.argmax,
}
_STACKS: dict[str, Callable[..., Any]] = {
    "matmul": np.matmul,
    "linalg.solve": lambda a, b, **o: np.linalg.solve(a, b),
    "linalg.inv": lambda a, **o: np.linalg.inv(a),
    "linalg.det": np.linalg.det,
    "linalg.slogdet": np.linalg.slogdet,
    "linalg.cholesky": np.linalg.cholesky,
    "linalg.qr": np.linalg.qr,
    "linalg.svd": np.linalg.svd,
    "linalg.svdvals": np.linalg.svdvals,
    "linalg.eigh": lambda a, lower: np.linalg.eigh(a, "L" if lower else "U"),
    "linalg.eigvalsh": lambda a, lower: np.linalg.eigvalsh(a, "L" if lower else "U"),
    "linalg.pinv": lambda a, atol, rtol: np.linalg.pinv(a, rcond=rtol),
    "linalg.matrix_rank": np.linalg.svdvals,
    "linalg.cond": np.linalg.svdvals,
    "linalg.matrix_power": np.linalg.matrix_power,
}
_TRANSFORMS = tuple(
    name
    for name, row in OPERATIONS.items()
    if name.startswith("fft.") and row.scipy and row.problems
)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _slices(n: int, parts: int) -> list[slice]:
    """Return `parts` slices of nearly equal length that make up ``range(n)``."""
    edges = [n * i // parts for i in range(parts + 1)]
    return [slice(a, b) for a, b in pairwise(edges) if a < b]


def _at(axis: int, part: slice) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, part)


class ThreadsBackend(Backend):
    """NumPy and SciPy split over the other cores."""

    name = "threads"

    def __init__(self) -> None:
        self._workers = _cores()
        self._pool: ThreadPoolExecutor | None = None

    def probe(self) -> Availability:
        """Available wherever there is more than one core."""
        if self._workers < 2:
            return Availability(False, "this process may use one core only")
        return Availability(True, description=f"NumPy {np.__version__} on {self._workers} cores")

    def operations(self) -> frozenset[str]:
        """Return what can be split."""
        return frozenset(
            {
                *_UFUNCS,
                *_REDUCTIONS,
                *_AXIS_FUNCTIONS,
                *_STACKS,
                *_TRANSFORMS,
                "vecdot",
                "outer",
                "einsum",
                "cumulative_sum",
                "sort",
                "argsort",
            }
        )

    def start(self) -> None:
        """Start the worker threads."""
        from concurrent.futures import ThreadPoolExecutor

        if self._pool is None:
            # the calling thread works too
            self._pool = ThreadPoolExecutor(self._workers - 1, thread_name_prefix="dispatch_xp")
        self.started = True

    def after_fork(self) -> None:
        """Forget the threads, which a child process does not inherit."""
        self._pool = None
        self.started = False

    def refuses(self, call: Call) -> str:
        """Refuse what can't be split."""
        name, shapes = call.operation.name, call.shapes
        if name in _STACKS:
            if math.prod(shapes[0][:-2]) < 2 or any(s[:-2] != shapes[0][:-2] for s in shapes[1:]):
                return "one matrix: LAPACK and BLAS use the other cores themselves"
            return ""
        if name in _TRANSFORMS:
            return "one transform cannot be split" if call.layout.startswith("single") else ""
        if name in ("cumulative_sum", "sort", "argsort"):
            return "one axis cannot be split" if len(shapes[0]) < 2 else ""
        if name == "vecdot":
            same = shapes[0] == shapes[1] and len(shapes[0]) > 1
            return "" if same else "one vector cannot be split"
        if name == "prod" and call.dtype.kind in "fc":
            whole = len(reduced(shapes[0], call.options)) == len(shapes[0])
            return "the order of a product decides what overflows on the way" if whole else ""
        if name == "einsum":
            if call.options["optimize"]:
                return "BLAS uses the other cores itself"
            return "" if call.options["subscripts"].split("->")[1] else "a scalar result"
        return ""

    def run(self, call: Call, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        """Run the parts of a call and put their results together."""
        name, options = call.operation.name, dict(call.options)
        each = self._in_turn if _is_small(call) else self._at_once
        if name in _UFUNCS:
            return (self._elementwise(each, _UFUNCS[name], arrays, call.destination),)
        if name in _REDUCTIONS or name in _AXIS_FUNCTIONS:
            return (self._reduce(each, name, arrays[0], options),)
        if name in _STACKS:
            return self._stack(each, _STACKS[name], arrays, options, call.destination)
        if name in _TRANSFORMS:
            return (self._transform(call, arrays[0], options),)
        if name == "outer":
            return (self._outer(each, *arrays),)
        if name == "einsum":
            return (self._einsum(each, options["subscripts"], arrays),)
        if name == "vecdot":
            return self._stack(each, np.vecdot, arrays, {}, call.destination)
        return (self._along_axis(each, name, arrays[0], options),)

    def is_finite(self, call: Call, result: Array) -> bool:
        """Trust the floating-point flags, which every part is run with."""
        trusted = not call.operation.finite and call.operation.name not in _TRANSFORMS
        return trusted or super().is_finite(call, result)

    def _in_turn(self, n: int, part: Part) -> None:
        """Run the parts of a small call here, one after the other."""
        with _noticed():
            for s in _slices(n, self._workers):
                part(s)

    def _at_once(self, n: int, part: Part) -> None:
        """Run the parts at the same time, one of them in the calling thread."""
        slices = _slices(n, self._workers)
        if self._pool is None:
            self.start()
        assert self._pool is not None
        shares = [_Share(part, s) for s in slices[1:]]
        # in the caller's context: there, nothing is routed again
        running = [self._pool.submit(copy_context().run, share) for share in shares]
        try:
            _quietly(part, slices[0])
        finally:
            # a part still running holds the caller's memory: always wait for all of them
            for share in running:
                share.exception()
            errors = [share.take_error() for share in shares]
        error = next((e for e in errors if e is not None), None)
        try:
            if error is not None:
                raise error
        finally:
            # the traceback knows this frame: nothing here may keep it, and the arrays, alive
            del error, errors

    def _elementwise(
        self,
        each: Each,
        ufunc: Any,
        arrays: tuple[Array, ...],
        destination: tuple[Array, ...] | None,
    ) -> Array:
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        if destination is not None:
            out = destination[0]
        else:
            if ufunc is np.clip:
                dtype = arrays[0].dtype
            else:
                dtype = ufunc.resolve_dtypes((*(a.dtype for a in arrays), None))[-1]
            out = np.empty_like(max(arrays, key=lambda a: a.size), dtype=dtype, shape=shape)
        whole = [a for a in (*arrays, out) if a.ndim]
        if all(a.flags.c_contiguous and a.shape == shape for a in whole):
            arrays = tuple(a.reshape(-1) if a.ndim else a for a in arrays)
            flat = out.reshape(-1)
        else:
            flat = out
        axis = int(np.argmax(flat.shape)) if flat.ndim > 1 else 0

        def part(s: slice) -> None:
            given = []
            for a in arrays:
                own = axis - (flat.ndim - a.ndim)
                given.append(a[_at(own, s)] if own >= 0 and a.shape[own] > 1 else a)
            ufunc(*given, out=flat[_at(axis, s)])

        each(flat.shape[axis], part)
        return out

    def _reduce(self, each: Each, name: str, x: Array, options: dict[str, Any]) -> Array:
        axes = reduced(x.shape, options)
        keepdims = bool(options.get("keepdims"))
        kept = [i for i in range(x.ndim) if i not in axes]
        if kept:
            axis = max(kept, key=lambda i: x.shape[i])
            return self._reduce_kept(each, name, x, options, axes, axis)
        value = np.asarray(self._reduce_whole(each, name, x, options))
        return value.reshape((1,) * x.ndim) if keepdims else value

    def _reduce_kept(
        self,
        each: Each,
        name: str,
        x: Array,
        options: dict[str, Any],
        axes: tuple[int, ...],
        axis: int,
    ) -> Array:
        """Split along an axis that stays: every part is a reduction of its own."""
        parts: dict[int, Array] = {}
        where: Any = axes[0] if name in ("argmin", "argmax") else axes

        def part(s: slice) -> None:
            parts[s.start] = self._reduction(name, x[_at(axis, s)], where, options)

        each(x.shape[axis], part)
        position = axis if options.get("keepdims") else axis - sum(a < axis for a in axes)
        return np.concatenate([parts[start] for start in sorted(parts)], axis=position)

    @staticmethod
    def _reduction(name: str, x: Array, axis: Any, options: dict[str, Any]) -> Array:
        keepdims = bool(options.get("keepdims"))
        if name in _REDUCTIONS:
            return np.asarray(_REDUCTIONS[name].reduce(x, axis=axis, keepdims=keepdims))
        extra = {"ddof": options["correction"]} if "correction" in options else {}
        return np.asarray(_AXIS_FUNCTIONS[name](x, axis=axis, keepdims=keepdims, **extra))

    def _reduce_whole(self, each: Each, name: str, x: Array, options: dict[str, Any]) -> Any:
        """Reduce each part to one number, and the numbers to one."""
        flat = x.ravel(order="K") if x.flags.forc and name not in ("argmin", "argmax") else x
        if name in ("argmin", "argmax"):
            flat = x.reshape(-1)
        axis = int(np.argmax(flat.shape))
        n = flat.shape[axis]

        def partial(ufunc: Any, prepare: Callable[[Array], Array]) -> Any:
            values: dict[int, Any] = {}

            def part(s: slice) -> None:
                values[s.start] = ufunc.reduce(prepare(flat[_at(axis, s)]), axis=None)

            each(n, part)
            with _noticed():
                return ufunc.reduce([values[start] for start in sorted(values)])

        if name in _REDUCTIONS:
            return partial(_REDUCTIONS[name], lambda a: a)
        if name in ("argmin", "argmax"):
            return self._search(each, name, flat)
        mean = partial(np.add, lambda a: a) / flat.dtype.type(x.size)
        if name == "mean":
            return mean

        def squares(a: Array) -> Any:
            d = a - mean
            return (d.real**2 + d.imag**2) if d.dtype.kind == "c" else d * d

        count = x.size - options["correction"]
        variance = partial(np.add, squares)
        variance = variance / variance.dtype.type(count)
        return np.sqrt(variance) if name == "std" else variance

    def _search(self, each: Each, name: str, x: Array) -> Any:
        """Return the first index of the extremum; NaN counts as one, as in NumPy."""
        search = _AXIS_FUNCTIONS[name]
        found: dict[int, int] = {}

        def part(s: slice) -> None:
            found[s.start] = s.start + int(search(x[s]))

        each(len(x), part)
        indices = [found[start] for start in sorted(found)]
        return np.intp(indices[int(search(x[indices]))])

    def _stack(
        self,
        each: Each,
        function: Callable[..., Any],
        arrays: tuple[Array, ...],
        options: dict[str, Any],
        destination: tuple[Array, ...] | None,
    ) -> tuple[Array, ...]:
        """Split a stack of matrices, or of vectors, along its longest leading axis."""
        core = 1 if function is np.vecdot else 2
        leading = arrays[0].shape[: arrays[0].ndim - core]
        axis = int(np.argmax(leading))
        parts: dict[int, tuple[Array, ...]] = {}

        def part(s: slice) -> None:
            at = _at(axis, s)
            result = function(*(a[at] for a in arrays), **options)
            results = result if isinstance(result, tuple) else (result,)
            if destination is None:
                parts[s.start] = tuple(np.asarray(r) for r in results)
            else:
                for out, value in zip(destination, results, strict=True):
                    out[at] = value

        each(leading[axis], part)
        if destination is not None:
            return destination
        ordered = [parts[start] for start in sorted(parts)]
        return tuple(np.concatenate(pieces, axis=axis) for pieces in zip(*ordered, strict=True))

    def _transform(self, call: Call, x: Array, options: dict[str, Any]) -> Array:
        import scipy.fft

        name = call.operation.scipy.removeprefix("scipy.fft.")
        result: Array = getattr(scipy.fft, name)(x, **options, workers=self._workers)
        return result

    def _outer(self, each: Each, a: Array, b: Array) -> Array:
        out = np.empty((len(a), len(b)), dtype=a.dtype)

        def part(s: slice) -> None:
            np.multiply(a[s, None], b, out=out[s])

        each(len(a), part)
        return out

    def _einsum(self, each: Each, subscripts: str, arrays: tuple[Array, ...]) -> Array:
        """Split along the longest index of the result."""
        inputs, result = subscripts.split("->")
        terms = inputs.split(",")
        lengths = einsum_sizes(subscripts, tuple(a.shape for a in arrays))
        index = max(result, key=lambda c: lengths[c])
        axis = result.index(index)
        parts: dict[int, Array] = {}

        def part(s: slice) -> None:
            given = (
                a[_at(t.index(index), s)] if index in t else a
                for t, a in zip(terms, arrays, strict=True)
            )
            parts[s.start] = np.einsum(subscripts, *given)

        each(lengths[index], part)
        return np.concatenate([parts[start] for start in sorted(parts)], axis=axis)

    def _along_axis(self, each: Each, name: str, x: Array, options: dict[str, Any]) -> Array:
        """Split what runs along one axis along the longest other one."""
        along = options["axis"] % x.ndim
        others = [i for i in range(x.ndim) if i != along]
        axis = max(others, key=lambda i: x.shape[i])
        if x.shape[axis] < 2:
            raise Unsupported(Reason.SHAPE, "one axis cannot be split")
        index = np.intp if name == "argsort" else x.dtype
        out = np.empty_like(x, dtype=index)
        kind: Any = options.get("kind") or ("stable" if options.get("stable") else None)

        def part(s: slice) -> None:
            at = _at(axis, s)
            if name == "cumulative_sum":
                np.cumsum(x[at], axis=along, out=out[at])
            elif name == "sort":
                out[at] = np.sort(x[at], axis=along, kind=kind)
            else:
                out[at] = np.argsort(x[at], axis=along, kind=kind)

        each(x.shape[axis], part)
        return out


def _is_small(call: Call) -> bool:
    work = call.workload
    return work.flops + work.bytes_in + work.bytes_out < _SMALL


class _Share:
    """One part of a call, for a worker thread.

    A worker holds on to what it was given for a moment after the caller has been told that it is
    done. That must not be the caller's memory, and neither a traceback that leads to it.
    """

    def __init__(self, part: Part, s: slice) -> None:
        self._part: Part | None = part
        self._slice = s
        self._error: BaseException | None = None

    def __call__(self) -> None:
        """Run the part, once."""
        part, self._part = self._part, None
        assert part is not None
        try:
            _quietly(part, self._slice)
        except BaseException as error:
            self._error = error

    def take_error(self) -> BaseException | None:
        """Return what the part raised, if anything; whoever asks again gets nothing."""
        error, self._error = self._error, None
        return error


def _quietly(part: Part, s: slice) -> None:
    """Run a part so that a floating-point flag is noticed."""
    with _noticed():
        part(s)


@contextmanager
def _noticed() -> Iterator[None]:
    """Notice floating-point flags here instead of warning about them.

    The reference then runs the call in the caller's own thread, where its warning belongs.
    """
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise", under="ignore"):
            yield
    except FloatingPointError as error:
        raise Unsupported(Reason.NON_FINITE_RESULT, str(error)) from None
