"""One calibration, from the plan to the profile."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from dispatch_xp import backends as registry
from dispatch_xp.backends.interface import Backend
from dispatch_xp.blas_threads import BlasThreads
from dispatch_xp.calibration import blas_threads
from dispatch_xp.calibration.canary import LOADED, busy
from dispatch_xp.calibration.doubt import bumps, clearness, is_decided, is_doubtful
from dispatch_xp.calibration.measuring import Measuring
from dispatch_xp.calibration.overheads import copies, in_fresh_process, page_locked_copy, switch
from dispatch_xp.calibration.plan import DEPTHS, Depth, Task, tasks
from dispatch_xp.calibration.spinning import USERS_OF_BLAS, of_backend, of_blas
from dispatch_xp.calibration.timing import Failure
from dispatch_xp.config import Settings
from dispatch_xp.curve import Point
from dispatch_xp.decision import REFERENCE
from dispatch_xp.profile import BackendProfile, Points, Profile, merged, this_machine
from dispatch_xp.quiet_pools import are_quiet
from dispatch_xp.state import quiet

__all__ = ["Interrupted", "Progress", "calibrate"]

T = TypeVar("T")

_GROWTH = 4.0
_TOGETHER = 24
# seconds to wait to hear how busy a device is
_HEARING = 2.0
# times the expected seconds from which a point is measured again, and how often
_ODD, _AGAIN = 2.0, 3
_MOST_ROUNDS = 8
# of the time, at the most, for comparing the thread counts of BLAS
_BLAS_SHARE = 1 / 20
# problems that take the reference so long are measured whatever is decided
_SHORT = 10e-3


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a calibration is: shares of its time, and what it measures now."""

    share: float
    seconds_left: float
    label: str


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
    todo = tasks(operations, dtypes or plan.dtypes, layouts, refined=plan.refined)
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
        self.figures: dict[str, BackendProfile] = {}
        self.notes: list[str] = []
        self.measuring = Measuring(settings, self.left, self.tell, self.notes)
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
        self.measuring.spins.update((user, of_blas(user)) for user in USERS_OF_BLAS)
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
            self.measuring.spins[backend.name] = of_backend(backend)
        except Exception as error:  # its curves will say the same
            self.notes.append(f"{backend.name}: changing to it could not be timed: {error}")
            change = None
        try:
            begin, usual = in_fresh_process(backend)
        except Failure as failure:
            self.notes.append(f"{backend.name}: {failure}; its start took {here:.2g} s here")
            begin, usual = here if backend.modules else 0.0, change or 0.0
        self.measuring.backends.append(backend)
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
        """Measure in passes, each up to a larger size; then again, as often as time allows.

        Long problems are measured first where they may change a decision, and where they can't
        after the plan's rounds.
        """
        todo = [
            t
            for t in todo
            if any(t.operation.name in b.operations() for b in self.measuring.backends)
        ]
        for cap in self.plan.caps:
            self._pass(todo, cap, decided=cap <= _SHORT)
        self._repeat(range(1, self.plan.rounds))
        for cap in self.plan.caps:
            self._pass(todo, cap, decided=True)
        self._repeat(range(self.plan.rounds, _MOST_ROUNDS))

    def _pass(self, todo: list[Task], cap: float, *, decided: bool) -> None:
        """Measure what takes the reference up to so long, sizes that are decided too or not."""
        for group in _groups(todo):
            while self.left() > 0:
                found = ((task, self._next(task, cap, decided=decided)) for task in group)
                wave = [(task, size) for task, size in found if size]
                if not wave:
                    break
                expected = {key: self._expected(*key)[0] for key in wave}
                self.measuring.together(wave)
                for _ in range(_AGAIN):
                    odd = [key for key in wave if self._disturbed(*key, expected[key])]
                    if not odd or self.left() <= 0:
                        break
                    self.measuring.together(odd)

    def _repeat(self, turns: range) -> None:
        """Measure again: first what can't be or was disturbed, then what decides least clearly.

        These alone after the plan's rounds.
        """
        for turn in turns:
            odd = bumps(self.measuring.points())
            doubt = sorted(
                self.measuring.points(),
                key=lambda point: (id(point) not in odd and not point.disturbed, clearness(point)),
            )
            if turn >= self.plan.rounds:
                doubt = [point for point in doubt if id(point) in odd or is_doubtful(point)]
            for again in _groups([(point.task, point.size) for point in doubt]):
                if self.left() <= 0:
                    return
                self.measuring.together(again)

    def _next(self, task: Task, cap: float, *, decided: bool) -> int | None:
        """Return a task's next size, if the reference needs no longer than `cap` for it."""
        while task.sizes:
            size = task.sizes[0]
            predicted, known = self._expected(task, size)
            if predicted > cap or (not decided and is_decided(self.measuring.of(task), size)):
                return None
            task.sizes.pop(0)
            # sizes so close that the last point says it all are passed over
            if known and predicted < _GROWTH * known and len(task.sizes) > 0 and known < cap / 8:
                continue
            return size
        return None

    def _disturbed(self, task: Task, size: int, expected: float) -> bool:
        """Tell whether the reference took far longer than growth explains."""
        point = self.measuring.curves.get(id(task), {}).get(size)
        return (
            point is not None and expected > 0 and point.times.get(REFERENCE, 0.0) > _ODD * expected
        )

    def _expected(self, task: Task, size: int) -> tuple[float, float]:
        """Return the reference's expected seconds for a size, and those of the largest known."""
        known = self.measuring.of(task)
        if not known:
            return 0.0, 0.0
        last = known[-1]
        power = 1.0 if task.problem.unit.startswith(("elements", "matrices")) else 2.5
        return last.times[REFERENCE] * (size / last.size) ** power, last.times[REFERENCE]

    def profile(self, depth: str) -> Profile:
        """Return what was measured."""
        if self.measuring.canary.disturbed:
            self.notes.append(
                f"{self.measuring.canary.disturbed} measurements were disturbed, and repeated"
            )
        points: Points = {}
        for measured in self.measuring.points():
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
