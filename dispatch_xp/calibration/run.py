"""One calibration, from the plan to the profile."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dispatch_xp import backends as registry
from dispatch_xp.backends.interface import Backend
from dispatch_xp.calibration.overheads import copies, startup, switch
from dispatch_xp.calibration.plan import DEPTHS, Case, Depth, Task, tasks
from dispatch_xp.calibration.timing import Failure, on_backend, on_reference
from dispatch_xp.config import Settings
from dispatch_xp.curve import Point
from dispatch_xp.decision import REFERENCE
from dispatch_xp.errors import BackendUnavailable, Unsupported
from dispatch_xp.operations import Workload
from dispatch_xp.profile import BackendProfile, Points, Profile, this_machine
from dispatch_xp.state import CURRENT, QUIET

__all__ = ["Progress", "calibrate"]

_GROWTH = 4.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a calibration is: shares of its time, and what it measures now."""

    share: float
    seconds_left: float
    label: str


@dataclass(slots=True)
class _Measured:
    """A point that was measured: it is measured again in later rounds."""

    task: Task
    size: int
    key: tuple[str, str, str]
    workload: Workload
    elements: int
    times: dict[str, float] = field(default_factory=dict)


def calibrate(
    settings: Settings,
    depth: str = "quick",
    *,
    operations: Sequence[str] | None = None,
    dtypes: Sequence[str] | None = None,
    backends: Sequence[str] | None = None,
    layouts: Sequence[str] | None = None,
    seconds: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Profile:
    """Measure this machine.

    Parameters
    ----------
    settings : Settings
        Names the backends.
    depth : str
        ``"quick"`` (under a minute), ``"default"`` (under five), ``"full"``.
    operations, dtypes, backends, layouts : sequence of str, optional
        Measure only these.
    seconds : float, optional
        How long it may take; the depth's own time if not given.
    progress : callable, optional
        Told of every step.

    Returns
    -------
    Profile
        Not written anywhere.
    """
    plan = DEPTHS[depth]
    run = _Run(settings, plan, seconds or plan.seconds, progress)
    # nothing is routed meanwhile, whatever is active outside
    token = CURRENT.set(QUIET)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run.prepare(backends if backends is not None else settings.backends)
            run.measure(tasks(operations, dtypes or plan.dtypes, layouts))
    finally:
        CURRENT.reset(token)
    return run.profile(depth)


class _Run:
    def __init__(
        self,
        settings: Settings,
        plan: Depth,
        seconds: float,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.settings = settings
        self.plan = plan
        self.progress = progress
        self.started = time.perf_counter()
        self.deadline = self.started + seconds
        self.backends: list[Backend] = []
        self.figures: dict[str, BackendProfile] = {}
        self.measured: dict[tuple[int, int], _Measured] = {}
        self.notes: list[str] = []

    def left(self) -> float:
        return self.deadline - time.perf_counter()

    def tell(self, label: str) -> None:
        if self.progress is not None:
            left = max(self.left(), 0.0)
            total = self.deadline - self.started
            self.progress(Progress(min(1 - left / total, 1.0), left, label))

    def prepare(self, names: Sequence[str]) -> None:
        """Start the backends and measure what they cost besides computing."""
        for name in names:
            backend = registry.get(name)
            availability = backend.probe()
            if not availability.available:
                self.notes.append(f"{name}: {availability.reason}")
                continue
            self.tell(f"starting {name}")
            begin = startup(backend)
            try:
                backend.start()
                change = switch(backend)
                copy_in, copy_out = copies(backend)
            except BackendUnavailable as error:
                self.notes.append(f"{name}: {error}")
                continue
            self.backends.append(backend)
            self.figures[name] = BackendProfile(
                availability.description, begin, change, copy_in, copy_out
            )

    def measure(self, todo: list[Task]) -> None:
        """Measure in passes, each up to a larger size; then again, as often as time allows."""
        todo = [t for t in todo if any(t.operation.name in b.operations() for b in self.backends)]
        for cap in self.plan.caps:
            for task in todo:
                if self.left() <= 0:
                    return
                self._extend(task, cap)
        for _ in range(self.plan.rounds - 1):
            for point in list(self.measured.values()):
                if self.left() <= 0:
                    return
                self._point(point.task, point.size)

    def _extend(self, task: Task, cap: float) -> None:
        """Measure a task's next sizes as long as the reference needs no longer than `cap`."""
        while task.sizes and self.left() > 0:
            size = task.sizes[0]
            predicted, known = self._expected(task, size)
            if predicted > cap:
                return
            task.sizes.pop(0)
            # sizes so close that the last point says it all are passed over
            if known and predicted < _GROWTH * known and len(task.sizes) > 0 and known < cap / 8:
                continue
            self.tell(task.label)
            if not self._point(task, size):
                task.sizes.clear()

    def _expected(self, task: Task, size: int) -> tuple[float, float]:
        """Return the reference's expected seconds for a size, and those of the largest known."""
        known = [m for m in self.measured.values() if m.task is task and REFERENCE in m.times]
        if not known:
            return 0.0, 0.0
        last = max(known, key=lambda m: m.size)
        power = 1.0 if task.problem.unit.startswith(("elements", "matrices")) else 2.5
        return last.times[REFERENCE] * (size / last.size) ** power, last.times[REFERENCE]

    def _point(self, task: Task, size: int) -> bool:
        """Measure one size on the reference and on every backend that takes it."""
        try:
            case = task.case(size)
        except (Unsupported, MemoryError) as error:
            self.notes.append(f"{task.label} {size}: {error}")
            return False
        takers = [
            backend
            for backend in self.backends
            if task.operation.name in backend.operations() and not backend.refuses(case.call)
        ]
        if not takers:
            return False
        point = self.measured.get((id(task), size))
        if point is None:
            call = case.call
            key = (call.operation.name, call.layout, call.dtype.name)
            point = _Measured(task, size, key, call.workload, case.elements)
            self.measured[id(task), size] = point
        budget = 2e-3
        self._keep(point, REFERENCE, on_reference(case, budget))
        for backend in takers:
            self._on(backend, case, point, budget)
        return True

    def _on(self, backend: Backend, case: Case, point: _Measured, budget: float) -> None:
        try:
            self._keep(point, backend.name, on_backend(case, backend, self.settings, budget))
        except Failure as failure:
            point.times.pop(backend.name, None)
            self.notes.append(f"{point.task.label} {point.size} on {backend.name}: {failure}")

    @staticmethod
    def _keep(point: _Measured, name: str, seconds: float) -> None:
        point.times[name] = min(seconds, point.times.get(name, seconds))

    def profile(self, depth: str) -> Profile:
        """Return what was measured."""
        points: Points = {}
        for measured in self.measured.values():
            operation, layout, dtype = measured.key
            curves = points.setdefault(operation, {}).setdefault(layout, {}).setdefault(dtype, {})
            work = measured.workload
            for name, seconds in measured.times.items():
                # the curve is read at `work`, and holds the time of so much work
                scaled = seconds * work.work / work.flops
                curves.setdefault(name, []).append(Point(work.work, scaled, measured.elements))
        for layouts in points.values():
            for dtypes in layouts.values():
                for found in dtypes.values():
                    for listed in found.values():
                        listed.sort(key=lambda point: point.work)
        return Profile(
            machine=this_machine(),
            points=points,
            backends=self.figures,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            depth=depth,
            notes=self.notes,
        )
