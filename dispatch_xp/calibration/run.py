"""One calibration, from the plan to the profile."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from dispatch_xp import backends as registry
from dispatch_xp.backends.interface import Backend
from dispatch_xp.blas_threads import BlasThreads
from dispatch_xp.calibration import blas_threads
from dispatch_xp.calibration.canary import LOADED, Canary, busy
from dispatch_xp.calibration.overheads import copies, in_fresh_process, page_locked_copy, switch
from dispatch_xp.calibration.plan import DEPTHS, Case, Depth, Task, tasks
from dispatch_xp.calibration.spinning import USERS_OF_BLAS, of_backend, of_blas
from dispatch_xp.calibration.timing import Failure, on_backend, on_device, on_reference
from dispatch_xp.config import Settings
from dispatch_xp.curve import Point
from dispatch_xp.decision import REFERENCE
from dispatch_xp.levels import LEVELS
from dispatch_xp.operations import BLAS, Workload
from dispatch_xp.profile import BackendProfile, Points, Profile, merged, this_machine
from dispatch_xp.quiet_pools import are_quiet
from dispatch_xp.state import quiet

__all__ = ["Interrupted", "Progress", "calibrate"]

T = TypeVar("T")

_GROWTH = 4.0
_BUDGET = 2e-3
_TOGETHER = 24
_TOGETHER_BYTES = 512 * 2**20
# seconds to wait to hear how busy a device is
_HEARING = 2.0
# times the expected seconds from which a point is measured again, and how often
_ODD, _AGAIN = 2.0, 3
# a point is in doubt if its speed-up is within this logarithm of what level 5 requires
_DOUBTFUL = math.log(1.5)
_MOST_ROUNDS = 8
# of the time, at the most, for comparing the thread counts of BLAS
_BLAS_SHARE = 1 / 20
# times a larger problem's seconds from which a point was disturbed
_BUMP = 1.3
# how often what is disturbed is measured again at once, and the wait before
_PATIENCE, _WAIT = 3, 20e-3


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
    failed: set[str] = field(default_factory=set)
    disturbed: set[str] = field(default_factory=set)

    def clearness(self) -> float:
        """Return how far the nearest backend is from what the default level requires."""
        reference = self.times.get(REFERENCE)
        if not reference:
            return math.inf
        required = math.log(LEVELS[Settings().level].speedup)
        return min(
            (
                abs(math.log(reference / seconds) - required)
                for name, seconds in self.times.items()
                if name != REFERENCE and seconds > 0
            ),
            default=math.inf,
        )


def _groups(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), _TOGETHER):
        yield items[start : start + _TOGETHER]


def calibrate(
    settings: Settings,
    depth: str = "quick",
    *,
    operations: Sequence[str] | None = None,
    dtypes: Sequence[str] | None = None,
    backends: Sequence[str] | None = None,
    layouts: Sequence[str] | None = None,
    blas: bool | None = None,
    seconds: float | None = None,
    known: Profile | None = None,
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
    blas : bool, optional
        Whether the thread counts of BLAS are compared too. If not given, they are where nothing is
        left out.
    seconds : float, optional
        How long it may take; the depth's own time if not given.
    known : Profile, optional
        Of this machine. Its curves and its comparison of thread counts are kept and not measured
        again, and the time is shorter in proportion.
    progress : callable, optional
        Told of every step.

    Returns
    -------
    Profile
        Not written anywhere.

    Raises
    ------
    Interrupted
        On a keyboard interrupt, with what has been measured until then.
    """
    plan = DEPTHS[depth]
    todo = tasks(operations, dtypes or plan.dtypes, layouts)
    rest = [task for task in todo if known is None or task.key not in known.curves]
    if blas is None:
        blas = all(only is None for only in (operations, dtypes, backends, layouts))
    blas = blas and (known is None or known.blas_threads is None)
    total = seconds or plan.seconds
    threads = min(plan.blas_seconds, total * _BLAS_SHARE) if blas else 0.0
    # nothing is routed meanwhile, whatever is active outside
    with quiet():
        run = _Run(settings, plan, threads + (total - threads) * len(rest) / len(todo), progress)
    try:
        with quiet(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if blas:
                # before other thread pools are there
                run.compare_threads(threads)
            run.prepare(backends if backends is not None else settings.backends)
            run.measure(rest)
    except KeyboardInterrupt:
        raise Interrupted(_together(known, run.profile(depth))) from None
    return _together(known, run.profile(depth))


def _together(known: Profile | None, measured: Profile) -> Profile:
    return measured if known is None else merged(known, measured)


class Interrupted(Exception):
    """A calibration was stopped.

    Parameters
    ----------
    profile : Profile
        What has been measured.
    """

    def __init__(self, profile: Profile) -> None:
        super().__init__("the calibration was stopped")
        self.profile = profile


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
        self.canary = Canary()
        # when whose threads were last at work, and how long they then spin
        self._awake: dict[str, float] = {}
        self._spin: dict[str, float] = {}
        self.blas_threads: tuple[BlasThreads, ...] | None = None
        self.load = busy()
        if self.load:
            self.notes.append(f"the machine was busy: {self.load}")

    def left(self) -> float:
        return self.deadline - time.perf_counter()

    def tell(self, label: str) -> None:
        if self.progress is not None:
            left = max(self.left(), 0.0)
            total = max(self.deadline - self.started, 1e-9)
            self.progress(Progress(min(1 - left / total, 1.0), left, label))

    def compare_threads(self, seconds: float) -> None:
        """Compare the thread counts of the reference's BLAS libraries."""
        try:
            # once more than a point of a curve: small differences count
            self.blas_threads = blas_threads.measure(
                seconds, self.plan.rounds + 1, load=self.load, tell=self.tell
            )
        except Exception as error:  # of a library's own: the curves can be measured all the same
            self.notes.append(f"the thread counts of BLAS could not be compared: {error}")

    def prepare(self, names: Sequence[str]) -> None:
        """Start the backends and measure what they cost besides computing."""
        self._spin.update((user, of_blas(user)) for user in USERS_OF_BLAS)
        for name in names:
            backend = registry.get(name)
            availability = backend.probe()
            if not availability.available:
                self.notes.append(f"{name}: {availability.reason}")
                continue
            self.tell(f"starting {name}")
            try:
                self._prepare(backend, availability.description)
            except Exception as error:  # a library's own, of whatever class
                self.notes.append(f"{name}: {error}")

    def _prepare(self, backend: Backend, description: str) -> None:
        others = backend.others_load(_HEARING)
        if others is not None and others > LOADED:
            self.notes.append(f"{backend.name}: other programs kept it busy: {others:.0%}")
        started = time.perf_counter()
        backend.start()
        here = time.perf_counter() - started
        copy_in, copy_out = copies(backend)
        try:
            page_locked = page_locked_copy(backend)
        except Exception as error:  # a library's own; ordinary memory is measured
            self.notes.append(f"{backend.name}: page-locked memory could not be measured: {error}")
            page_locked = None
        try:
            change: float | None = switch(backend)
            self._spin[backend.name] = of_backend(backend)
        except Exception as error:  # its curves will say the same
            self.notes.append(f"{backend.name}: changing to it could not be timed: {error}")
            change = None
        try:
            begin, usual = in_fresh_process(backend)
        except Failure as failure:
            self.notes.append(f"{backend.name}: {failure}; its start took {here:.2g} s here")
            begin, usual = here if backend.modules else 0.0, change or 0.0
        self.backends.append(backend)
        self.figures[backend.name] = BackendProfile(
            description,
            begin,
            usual,
            copy_in,
            copy_out,
            page_locked,
            change if are_quiet(os.environ) else None,
        )

    def measure(self, todo: list[Task]) -> None:
        """Measure in passes, each up to a larger size; then again, as often as time allows."""
        todo = [t for t in todo if any(t.operation.name in b.operations() for b in self.backends)]
        for cap in self.plan.caps:
            for group in _groups(todo):
                while self.left() > 0:
                    wave = [(task, size) for task in group if (size := self._next(task, cap))]
                    if not wave:
                        break
                    expected = {key: self._expected(*key)[0] for key in wave}
                    self._together(wave)
                    for _ in range(_AGAIN):
                        odd = [key for key in wave if self._disturbed(*key, expected[key])]
                        if not odd or self.left() <= 0:
                            break
                        self._together(odd)
        for turn in range(1, _MOST_ROUNDS):
            # first what can't be or was disturbed, then what decides least clearly, which alone
            # counts after the plan's rounds
            bumps = self._bumps()
            doubt = sorted(
                self.measured.values(),
                key=lambda point: (
                    id(point) not in bumps and not point.disturbed,
                    point.clearness(),
                ),
            )
            if turn >= self.plan.rounds:
                doubt = [p for p in doubt if id(p) in bumps or p.clearness() < _DOUBTFUL]
            for again in _groups([(point.task, point.size) for point in doubt]):
                if self.left() <= 0:
                    return
                self._together(again)

    def _bumps(self) -> set[int]:
        """Return the points, by identity, where a larger problem took less time, on any backend."""
        curves: dict[tuple[int, str], list[_Measured]] = {}
        for point in self.measured.values():
            for name in point.times:
                curves.setdefault((id(point.task), name), []).append(point)
        found = set()
        for (_, name), points in curves.items():
            least = math.inf
            for point in sorted(points, key=lambda p: -p.size):
                if point.times[name] > _BUMP * least:
                    found.add(id(point))
                least = min(least, point.times[name])
        return found

    def _next(self, task: Task, cap: float) -> int | None:
        """Return a task's next size, if the reference needs no longer than `cap` for it."""
        while task.sizes:
            size = task.sizes[0]
            predicted, known = self._expected(task, size)
            if predicted > cap:
                return None
            task.sizes.pop(0)
            # sizes so close that the last point says it all are passed over
            if known and predicted < _GROWTH * known and len(task.sizes) > 0 and known < cap / 8:
                continue
            return size
        return None

    def _disturbed(self, task: Task, size: int, expected: float) -> bool:
        """Tell whether the reference took far longer than growth explains."""
        point = self.measured.get((id(task), size))
        return (
            point is not None and expected > 0 and point.times.get(REFERENCE, 0.0) > _ODD * expected
        )

    def _expected(self, task: Task, size: int) -> tuple[float, float]:
        """Return the reference's expected seconds for a size, and those of the largest known."""
        known = [m for m in self.measured.values() if m.task is task and REFERENCE in m.times]
        if not known:
            return 0.0, 0.0
        last = max(known, key=lambda m: m.size)
        power = 1.0 if task.problem.unit.startswith(("elements", "matrices")) else 2.5
        return last.times[REFERENCE] * (size / last.size) ** power, last.times[REFERENCE]

    def _together(self, wave: Sequence[tuple[Task, int]]) -> None:
        """Measure several points, each backend in turn on all of them: their threads collide."""
        made: list[tuple[Case, _Measured]] = []
        held = 0
        for position, (task, size) in enumerate(wave):
            if self.left() <= 0:
                return
            self.tell(task.label)
            case = self._case(task, size)
            if case is not None:
                made.append((case, self._point(task, size, case)))
                held += case.call.workload.bytes_in
            if held > _TOGETHER_BYTES or position == len(wave) - 1:
                if any(_pool(case) for case, _ in made):
                    # they were at work on the arguments
                    self._awake.update(dict.fromkeys(USERS_OF_BLAS, time.perf_counter()))
                self._measure(made)
                made, held = [], 0

    def _case(self, task: Task, size: int) -> Case | None:
        try:
            case = task.case(size)
        except Exception as error:  # of a library that makes the arguments, or of ours: Unsupported
            self._drop(task, size, str(error))
            return None
        if not self._takers(case):
            task.sizes.clear()
            return None
        return case

    def _takers(self, case: Case) -> list[Backend]:
        name = case.call.operation.name
        return [b for b in self.backends if name in b.operations() and not b.refuses(case.call)]

    def _point(self, task: Task, size: int, case: Case) -> _Measured:
        call = case.call
        key = (call.operation.name, call.layout, call.dtype.name)
        new = _Measured(task, size, key, call.workload, case.elements)
        return self.measured.setdefault((id(task), size), new)

    def _measure(self, made: Sequence[tuple[Case, _Measured]]) -> None:
        """Measure everything once, then again what was disturbed.

        A disturbance outlasts a point, so that the others come first.
        """
        again = self._round(made, None)
        for _ in range(_PATIENCE):
            if not again or self.left() <= 0:
                return
            time.sleep(_WAIT)
            again = self._round(made, again)

    def _round(
        self, made: Sequence[tuple[Case, _Measured]], only: set[tuple[int, str]] | None
    ) -> set[tuple[int, str]]:
        """Measure once, in turn by whose threads are at work; return what was disturbed.

        Parameters
        ----------
        made : sequence
            Cases and their points.
        only : set of tuple or None
            What to measure, by a point's identity and the backend; None for everything.
        """
        disturbed: set[tuple[int, str]] = set()
        for case, point in sorted(made, key=lambda pair: _pool(pair[0])):
            if self.left() <= 0:
                return disturbed
            if only is not None and (id(point), REFERENCE) not in only:
                continue
            pool = _pool(case)
            self._rest(pool)
            try:
                measure = partial(on_reference, case, _BUDGET)
                if not self._once(point, REFERENCE, pool or REFERENCE, measure):
                    disturbed.add((id(point), REFERENCE))
            except Exception as error:  # the reference's own: there is nothing to compare with
                self._drop(point.task, point.size, str(error))
                self.measured.pop((id(point.task), point.size), None)
            self._awake[pool] = time.perf_counter()
        for backend in self.backends:
            mine = [
                (case, point)
                for case, point in made
                if (only is None or (id(point), backend.name) in only)
                and backend in self._takers(case)
            ]
            for case, point in mine:
                self._rest(backend.name)
                known = REFERENCE in point.times and backend.name not in point.failed
                if known and self.left() > 0 and not self._on(backend, case, point):
                    disturbed.add((id(point), backend.name))
                self._awake[backend.name] = time.perf_counter()
        return disturbed

    def _rest(self, pool: str) -> None:
        """Wait until the threads of the other pools no longer spin."""
        rested = max(
            (
                at + self._spin.get(other, 0.0)
                for other, at in self._awake.items()
                if other not in ("", pool)
            ),
            default=0.0,
        )
        seconds = rested - time.perf_counter()
        if seconds > 0:
            time.sleep(seconds)

    def _drop(self, task: Task, size: int, why: str) -> None:
        task.sizes.clear()
        self.notes.append(f"{task.label} {size}: {why}")

    def _on(self, backend: Backend, case: Case, point: _Measured) -> bool:
        """Measure a backend; return whether the machine was quiet."""
        how = on_backend if backend.shares_host_memory else on_device
        measure = partial(how, case, backend, self.settings, _BUDGET)
        try:
            return self._once(point, backend.name, backend.name, measure)
        except Exception as failure:  # a failed call is never a fast call
            point.times.pop(backend.name, None)
            point.failed.add(backend.name)
            self.notes.append(f"{point.task.label} {point.size} on {backend.name}: {failure}")
            return True

    def _once(self, point: _Measured, name: str, kind: str, measure: Callable[[], float]) -> bool:
        """Measure, keep the shortest time, and return whether the machine was quiet around it."""
        before = self.canary.sing()
        seconds = measure()
        quiet = self.canary.is_quiet(kind, before, self.canary.sing())
        point.times[name] = min(seconds, point.times.get(name, seconds))
        (point.disturbed.discard if quiet else point.disturbed.add)(name)
        return quiet

    def profile(self, depth: str) -> Profile:
        """Return what was measured."""
        if self.canary.disturbed:
            self.notes.append(f"{self.canary.disturbed} measurements were disturbed, and repeated")
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
            blas_threads=self.blas_threads,
        )


def _pool(case: Case) -> str:
    """Return whose BLAS the reference runs on; NumPy and SciPy bring one each, and they collide."""
    if case.call.operation.name not in BLAS:
        return ""
    return case.function.path.partition(".")[0]
