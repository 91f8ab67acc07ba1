"""What to measure: one task per speed curve, in the order of what it is worth."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dispatch_xp.calibration.numbers import Recycled
from dispatch_xp.call import Call
from dispatch_xp.errors import Unsupported
from dispatch_xp.functions import FUNCTIONS
from dispatch_xp.functions.function import Function
from dispatch_xp.operations import OPERATIONS, Operation, Problem

__all__ = ["DEPTHS", "Case", "Depth", "Task", "resolve", "tasks"]


@dataclass(frozen=True, slots=True)
class Depth:
    """How thorough a calibration is.

    Attributes
    ----------
    seconds : float
        How long it may take in all.
    caps : tuple of float
        In pass after pass, problems are measured up to a size that takes the reference so long.
    rounds : int
        How often every point is measured, spread over the time.
    dtypes : tuple of str
        What is measured if nobody says.
    blas_seconds : float
        How much of the time comparing the thread counts of BLAS may take.
    refined : bool
        Whether curves are measured for which another layout's would do.
    """

    seconds: float
    caps: tuple[float, ...]
    rounds: int
    dtypes: tuple[str, ...]
    blas_seconds: float
    refined: bool = True


DEPTHS = {
    "quick": Depth(52.0, (0.5e-3, 4e-3, 20e-3), 2, ("float64", "float32"), 2.0, refined=False),
    "default": Depth(
        270.0,
        (1e-3, 10e-3, 60e-3, 250e-3),
        3,
        ("float64", "float32", "complex128", "complex64"),
        8.0,
    ),
    "full": Depth(
        1800.0,
        (1e-3, 10e-3, 100e-3, 1.0, 30.0),
        3,
        ("float64", "float32", "complex128", "complex64"),
        60.0,
    ),
}

_OTHER = {"b": "bool", "i": "int64", "u": "int64"}


@dataclass(frozen=True, slots=True)
class Case:
    """A problem of one size: arguments made, function and call known."""

    function: Function
    reference: Any
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    call: Call

    @property
    def elements(self) -> int:
        """Elements of the largest argument."""
        return max(math.prod(shape) for shape in self.call.shapes)


@dataclass(slots=True, eq=False)
class Task:
    """One speed curve to measure.

    Attributes
    ----------
    operation, problem, dtype
        What is measured.
    function : str
        Which user-facing function.
    sizes : list of int
        What hasn't been measured yet, ascending.
    """

    operation: Operation
    problem: Problem
    dtype: np.dtype[Any]
    function: str
    sizes: list[int] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str, str]:
        """The curve's key in a profile."""
        return (self.operation.name, self.problem.layout, self.dtype.name)

    @property
    def label(self) -> str:
        """What is measured, for a reader."""
        return f"{self.operation.name} ({self.problem.layout}, {self.dtype})"

    def case(self, size: int) -> Case:
        """Return the problem of a size.

        Raises
        ------
        Unsupported
            If the reference alone takes it.
        """
        function = FUNCTIONS[self.function]
        generator = Recycled(size)
        arguments = self.problem.arguments(size, self.dtype, generator)
        keywords = self.problem.keywords_of(self.function)
        call = function.bind(*arguments, **keywords).call
        return Case(function, resolve(self.function), arguments, keywords, call)


def resolve(path: str) -> Any:
    """Return the function at a path."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _dtypes(operation: Operation, dtypes: Sequence[str]) -> Iterator[np.dtype[Any]]:
    chosen = [np.dtype(name) for name in dtypes if np.dtype(name).kind in operation.kinds]
    if chosen:
        yield from chosen
    elif not set("fc") & set(operation.kinds):
        yield np.dtype(_OTHER[operation.kinds[0]])


def _tries(operation: Operation, problem: Problem) -> tuple[str, ...]:
    """Return the functions that compute the problem; SciPy's keeps single precision single."""
    same = problem.function == operation.numpy and operation.name.startswith("linalg.")
    return (problem.function, operation.scipy) if same and operation.scipy else (problem.function,)


def _task(
    operation: Operation, problem: Problem, dtype: np.dtype[Any], dtypes: Sequence[str]
) -> Task | None:
    """Return the task of a problem in a dtype, or in the one that it is computed in.

    ``irfft`` of real numbers, for one, is computed in complex ones.
    """
    computed: list[np.dtype[Any]] = []
    for function in _tries(operation, problem):
        task = Task(operation, problem, dtype, function, list(problem.sizes))
        try:
            call = task.case(problem.sizes[0]).call
        except Unsupported:
            continue
        if call.operation is operation:
            if call.dtype == dtype:
                return task
            computed.append(call.dtype)
    for other in computed:
        if other.name not in dtypes:
            return _task(operation, problem, other, (*dtypes, other.name))
    return None


def tasks(
    operations: Sequence[str] | None,
    dtypes: Sequence[str],
    layouts: Sequence[str] | None = None,
    *,
    refined: bool = True,
) -> list[Task]:
    """Return what to measure.

    Parameters
    ----------
    operations : sequence of str or None
        Names; all of them for None.
    dtypes : sequence of str
        Where an operation has none of them, it is measured in the dtypes that it has.
    layouts : sequence of str, optional
        Only these curves.
    refined : bool
        Whether also those for which another layout's would do; not asked about named ones.
    """
    found: dict[tuple[str, str, str], Task] = {}
    for name in operations if operations is not None else OPERATIONS:
        operation = OPERATIONS[name]
        for problem in operation.problems:
            if layouts is None:
                wanted = refined or not problem.refines
            else:
                wanted = problem.layout in layouts
            if not wanted:
                continue
            for dtype in _dtypes(operation, dtypes):
                task = _task(operation, problem, dtype, dtypes)
                if task is not None:
                    found.setdefault((name, problem.layout, task.dtype.name), task)
    # every operation's first dtype before the others, so that a deadline cuts evenly
    order = {dtype: position for position, dtype in enumerate(dtypes)}
    return sorted(found.values(), key=lambda task: order.get(task.dtype.name, 0))
