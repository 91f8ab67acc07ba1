"""What one row of the operation table holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "Operation",
    "Options",
    "Problem",
    "Shape",
    "Shapes",
    "Workload",
    "broadcast",
    "complex_dtype",
    "index_dtype",
    "mask_dtype",
    "real_dtype",
    "same_dtype",
]

Shape = tuple[int, ...]
Shapes = tuple[Shape, ...]
Options = Mapping[str, Any]

_BOOL, _INDEX = np.dtype(np.bool_), np.dtype(np.intp)


def same_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a result that is of the computation's own."""
    return dtype


def mask_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a result that is always bool."""
    return _BOOL


def index_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of positions."""
    return _INDEX


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a result that is always complex."""
    return np.result_type(dtype, np.complex64)


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a result that is always real."""
    return np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype


@dataclass(frozen=True, slots=True)
class Workload:
    """What a call costs on any machine.

    Attributes
    ----------
    flops : float
        Real floating-point operations; for data movement (sorting, comparing), elementary steps.
    bytes_in, bytes_out : int
        Bytes of the arguments and of the results.
    work : float
        Where to read a speed curve, in the same unit as `flops`: for a shape that is not the
        calibrated one, the flops of the calibrated shape that runs at the same rate.
    """

    flops: float
    bytes_in: int
    bytes_out: int
    work: float


@dataclass(frozen=True, slots=True)
class Problem:
    """A family of inputs that calibration measures; one speed curve each.

    Attributes
    ----------
    layout : str
        The name of the curve: ``"matrix"``, ``"tall"``, ``"wide"``, ``"stack32"``, ``"vector"``,
        ``"rows"``, ``"grid"``.
    function : str
        The user-facing function to call, such as ``"numpy.linalg.svd"``.
    arguments : callable
        ``arguments(size, dtype, rng)`` returns the positional arguments.
    sizes : tuple of int
        From the smallest to the largest size worth measuring.
    unit : str
        What `size` counts, for a reader: ``"order"`` of a matrix or ``"elements"``.
    keywords : tuple of tuple
        Keyword arguments of the call, by name.
    keywords_scipy : tuple of tuple or None
        Of SciPy's function of the same name, if it calls them otherwise.
    refines : bool
        Whether another layout's curve does for it where there is little time to measure.
    """

    layout: str
    function: str
    arguments: Callable[[int, np.dtype[Any], np.random.Generator], tuple[Any, ...]]
    sizes: tuple[int, ...]
    unit: str
    keywords: tuple[tuple[str, Any], ...] = ()
    keywords_scipy: tuple[tuple[str, Any], ...] | None = None
    refines: bool = False

    def keywords_of(self, function: str) -> dict[str, Any]:
        """Return the keyword arguments with which a function is called."""
        own = self.keywords_scipy if function.startswith("scipy.") else None
        return dict(self.keywords if own is None else own)


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One row of the operation table.

    Attributes
    ----------
    name : str
        The Array API standard's name, else NumPy's, else SciPy's.
    array_api, numpy, scipy : str
        Where users find it, empty if a library lacks it.
    flops : callable
        ``flops(shapes, options)``: operations for real dtypes.
    outputs : callable
        ``outputs(shapes, options)``: the shapes of the results.
    source : str
        Where the flop formula is from.
    problems : tuple of Problem
        What calibration measures.
    options : frozenset of str
        The arguments that a backend may see.
    kinds : str
        ``numpy.dtype.kind`` letters that a backend may be given.
    complex_factor : int
        Real flops in one complex one: 4 for multiply-adds, 2 for additions.
    finite : bool
        Whether non-finite input stays on the reference (linear algebra: LAPACK's behaviour on it
        differs from build to build).
    layout : callable
        ``layout(shapes, options)``: the name of the curve that predicts the call.
    beside : callable or None
        ``beside(shapes, options)``: where a call is between two layouts, the name of the other
        curve and its share in the prediction, at the most a half; else None.
    work : callable or None
        ``work(shapes, options)``: where to read the curve, if not at the flops.
    out_dtype : callable
        ``out_dtype(dtype)``: the dtype of the results (of the first, if they differ).
    determined : bool
        False where the result is only defined up to sign, phase or order.
    """

    name: str
    flops: Callable[[Shapes, Options], float]
    outputs: Callable[[Shapes, Options], Shapes]
    source: str
    problems: tuple[Problem, ...]
    layout: Callable[[Shapes, Options], str]
    array_api: str = ""
    numpy: str = ""
    scipy: str = ""
    options: frozenset[str] = frozenset()
    kinds: str = "fc"
    complex_factor: int = 4
    finite: bool = False
    beside: Callable[[Shapes, Options], tuple[str, float] | None] | None = None
    work: Callable[[Shapes, Options], float] | None = None
    out_dtype: Callable[[np.dtype[Any]], np.dtype[Any]] = same_dtype
    determined: bool = True

    def workload(
        self,
        shapes: Shapes,
        dtype: np.dtype[Any],
        options: Options,
        itemsizes: tuple[int, ...] | None = None,
    ) -> Workload:
        """Return what a call costs.

        Parameters
        ----------
        shapes : tuple of tuple of int
            The shapes of the array arguments.
        dtype : numpy.dtype
            What it is computed in.
        options : mapping
            The arguments that are not arrays.
        itemsizes : tuple of int, optional
            Bytes of one element of each argument; the dtype's own if not given.
        """
        factor = self.complex_factor if dtype.kind == "c" else 1
        flops = factor * self.flops(shapes, options)
        work = factor * self.work(shapes, options) if self.work is not None else flops
        sizes = [math.prod(shape) for shape in shapes]
        widths = itemsizes or (dtype.itemsize,) * len(sizes)
        results = sum(math.prod(shape) for shape in self.outputs(shapes, options))
        return Workload(
            flops=float(flops),
            bytes_in=sum(n * width for n, width in zip(sizes, widths, strict=True)),
            bytes_out=results * self.out_dtype(dtype).itemsize,
            work=float(work),
        )


def broadcast(*shapes: Shape) -> Shape:
    """Return the shape that NumPy's broadcasting rules give, as a tuple of int."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    return tuple(int(n) for n in np.broadcast_shapes(*shapes))
