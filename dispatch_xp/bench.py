"""The table of ``dispatch-xp bench``: reference, backend, transfer, result."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dispatch_xp import backends as registry
from dispatch_xp.backends.interface import Backend
from dispatch_xp.calibration import calibrate
from dispatch_xp.calibration.plan import Case, resolve
from dispatch_xp.calibration.timing import Failure, fastest, on_backend, on_reference, state_for
from dispatch_xp.config import Settings
from dispatch_xp.decision import REFERENCE
from dispatch_xp.errors import BackendUnavailable, Unsupported
from dispatch_xp.functions import FUNCTIONS
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.policies.cost_model import CostModelPolicy
from dispatch_xp.router import consider
from dispatch_xp.state import CURRENT, QUIET
from dispatch_xp.verify import difference, tolerance

__all__ = ["Bench", "Report", "Row", "measure", "problems"]

_BUDGET = 0.5
_REST = 0.1


@dataclass(frozen=True, slots=True)
class Bench:
    """One line of the table: an operation at a size.

    Attributes
    ----------
    operation : str
        Its name.
    layout : str
        Which of its calibration problems makes the arguments.
    size : int
        Order, side or elements, as the problem has it.
    dtype : str
        Of the arguments.
    shrunk : str
        Why it is smaller than it should be, if it is.
    """

    operation: str
    layout: str
    size: int
    dtype: str
    shrunk: str = ""

    @property
    def label(self) -> str:
        """What it is, for a reader."""
        size = _elements(self.size)
        shape = f"{size} x {size}" if self.layout in ("matrix", "grid") else f"{size} elements"
        return f"{self.operation} {shape} {self.dtype}"

    def case(self) -> Case:
        """Make the arguments."""
        row = OPERATIONS[self.operation]
        problem = next(p for p in row.problems if p.layout == self.layout)
        generator = np.random.default_rng(0)
        arguments = problem.arguments(self.size, np.dtype(self.dtype), generator)
        function = FUNCTIONS[problem.function]
        call = function.bind(*arguments).call
        return Case(function, resolve(problem.function), arguments, {}, call)


@dataclass(slots=True)
class Row:
    """What was measured of one problem on one backend, in seconds."""

    label: str
    reference: float
    backend: str
    seconds: float = 0.0
    copies: float = 0.0
    result: str = ""
    note: str = ""
    chosen: bool = False
    stays: bool = False


@dataclass(slots=True)
class Report:
    """The rows, and what a reader has to know about them."""

    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


# operation, layout, size, quick size, bytes per element that it takes at its height
_LIST = (
    ("matmul", "matrix", 8192, 1536, 4),
    ("matmul", "matrix", 256, 256, 4),
    ("exp", "vector", 512_000_000, 8_000_000, 6),
    ("multiply", "vector", 512_000_000, 8_000_000, 8),
    ("exp", "vector", 10_000, 10_000, 6),
    ("fft.fftn", "grid", 4096, 1024, 12),
    ("sum", "vector", 512_000_000, 32_000_000, 4),
)


def _elements(n: int) -> str:
    return f"{n // 10**6}M" if n % 10**6 == 0 and n else f"{n // 1000}k" if n >= 10_000 else str(n)


def _free_memory() -> float:
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return 8e9


def problems(dtype: str, *, quick: bool) -> list[Bench]:
    """Return what to measure: shrunk to half of the free memory and, if `quick`, to less time."""
    found = []
    room = _free_memory() / 2
    itemsize = np.dtype(dtype).itemsize
    for operation, layout, full, small, width in _LIST:
        if np.dtype(dtype).kind not in OPERATIONS[operation].kinds:
            continue
        size, why = full, ""
        if quick and small < full:
            size, why = small, f"{_elements(full)} without --quick"
        power = 2 if layout in ("matrix", "grid") else 1
        while width * itemsize * size**power > room:
            size, why = size // 2, f"{_elements(full)} would not fit into half of the free memory"
        found.append(Bench(operation, layout, size, dtype, why))
    return found


def measure(
    settings: Settings,
    chosen: list[Bench],
    *,
    quick: bool,
    tell: Callable[[float, str], None],
) -> Report:
    """Measure every problem on the reference and on every available backend.

    Parameters
    ----------
    settings : Settings
        Names the backends and the machine profile.
    chosen : list of Bench
        What to measure.
    quick : bool
        Spend less time on each.
    tell : callable
        Told of every step: how many problems are done, and what is next.
    """
    report = Report()
    tell(0, "looking for backends")
    available = _start(settings, report)
    policy = _policy(settings, chosen, report, tell)
    token = CURRENT.set(QUIET)
    try:
        for done, bench in enumerate(chosen, start=1):
            tell(done, bench.label)
            report.rows += _rows(settings, bench, available, policy, _BUDGET / (4 if quick else 1))
    finally:
        CURRENT.reset(token)
    return report


def _start(settings: Settings, report: Report) -> list[Backend]:
    found = []
    for name in settings.backends:
        backend = registry.get(name)
        availability = backend.probe()
        reason = availability.reason
        if availability.available:
            try:
                backend.start()
            except BackendUnavailable as error:
                reason = str(error)
            else:
                found.append(backend)
                report.notes.append(f"{name}: {availability.description}")
                continue
        report.notes.append(f"{name}: not measured. {reason}")
    return found


def _policy(
    settings: Settings,
    chosen: list[Bench],
    report: Report,
    tell: Callable[[float, str], None],
) -> CostModelPolicy:
    policy = CostModelPolicy(settings)
    if policy.profile is not None:
        report.notes.append(f"auto: by the machine profile, level {settings.level}")
        return policy
    names = sorted({bench.operation for bench in chosen})
    layouts = sorted({bench.layout for bench in chosen})
    profile = calibrate(
        settings,
        "quick",
        operations=names,
        dtypes=[chosen[0].dtype],
        layouts=layouts,
        seconds=12.0,
        progress=lambda step: tell(step.share, f"calibrating {step.label}"),
    )
    report.notes.append(
        f"auto: {policy.problem}. For this table its operations were calibrated for a few seconds; "
        f"level {settings.level}."
    )
    return CostModelPolicy(settings, profile)


def _rows(
    settings: Settings,
    bench: Bench,
    available: list[Backend],
    policy: CostModelPolicy,
    budget: float,
) -> list[Row]:
    case = bench.case()
    time.sleep(_REST)
    reference = on_reference(case, budget)
    want = case.reference(*case.arguments)
    rows = []
    takers = []
    for backend in available:
        row = Row(bench.label, reference, backend.name)
        rows.append(row)
        if bench.operation not in backend.operations():
            row.note = "does not have it"
        elif why := backend.refuses(case.call):
            row.note = why
        else:
            takers.append(backend)
            # the thread pools that ran before spin for a while, on the cores that this one needs
            time.sleep(_REST)
            _fill(row, case, backend, settings, budget, want)
    decision = policy.choose(case.call, takers) if takers else None
    chosen = decision.backend if decision is not None else REFERENCE
    for row in rows:
        row.chosen = row.backend == chosen
        row.stays = chosen == REFERENCE
    return rows or [Row(bench.label, reference, REFERENCE, stays=True, note="no backend")]


def _fill(
    row: Row, case: Case, backend: Backend, settings: Settings, budget: float, want: Any
) -> None:
    try:
        row.seconds = on_backend(case, backend, settings, budget)
    except Failure as failure:
        row.note = str(failure)
        return
    outcome = consider(state_for(backend, settings), case.function, case.arguments, case.keywords)
    if outcome.done:
        apart = difference(outcome.result, want)
        row.result = "same" if apart <= tolerance(case.call, want) else f"differs by {apart:.1e}"
    if not backend.shares_host_memory:
        row.copies = _copies(case, backend, budget)


def _copies(case: Case, backend: Backend, budget: float) -> float:
    arrays, dtype = case.call.arrays, case.call.dtype

    def copy_in() -> tuple[Any, ...]:
        values = tuple(backend.copy_in(array, dtype) for array in arrays)
        backend.synchronize()
        return values

    try:
        there = fastest(copy_in, budget)
        results = backend.run(case.call, copy_in())
        backend.synchronize()
        back = fastest(lambda: [backend.copy_out(value) for value in results], budget)
    except (Unsupported, MemoryError):
        return 0.0
    return there + back
