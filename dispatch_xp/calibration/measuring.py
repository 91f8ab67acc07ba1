"""Measuring points: the reference and every backend in turn, while nobody is in the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from dispatch_xp.backends.interface import Backend
from dispatch_xp.calibration.canary import Canary
from dispatch_xp.calibration.plan import Case, Task
from dispatch_xp.calibration.spinning import USERS_OF_BLAS
from dispatch_xp.calibration.timing import on_backend, on_device, on_reference
from dispatch_xp.config import Settings
from dispatch_xp.decision import REFERENCE
from dispatch_xp.operations import BLAS, Workload

__all__ = ["Measured", "Measuring", "pool_of"]

_BUDGET = 2e-3
_TOGETHER_BYTES = 512 * 2**20
# how often what is disturbed is measured again at once, and the wait before
_PATIENCE, _WAIT = 1, 20e-3


@dataclass(slots=True)
class Measured:
    """A point that was measured: it is measured again in later rounds."""

    task: Task
    size: int
    key: tuple[str, str, str]
    workload: Workload
    elements: int
    times: dict[str, float] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    disturbed: set[str] = field(default_factory=set)


class Measuring:
    """Measures points, each backend in turn on several of them: their threads collide.

    Parameters
    ----------
    settings : Settings
        The effective configuration.
    left : callable
        Returns the seconds that are left.
    tell : callable
        Told what is measured, before it is.
    notes : list of str
        Told what was in the way.

    Attributes
    ----------
    backends : list of Backend
        Those that are measured: started.
    curves : dict
        Points by the identity of their task, and their size.
    spins : dict
        For how many seconds after a call whose threads spin.
    canary : Canary
        Tells a quiet machine from a disturbed one.
    """

    def __init__(
        self,
        settings: Settings,
        left: Callable[[], float],
        tell: Callable[[str], object],
        notes: list[str],
    ) -> None:
        self._settings = settings
        self._left = left
        self._tell = tell
        self._notes = notes
        self.backends: list[Backend] = []
        self.curves: dict[int, dict[int, Measured]] = {}
        self.spins: dict[str, float] = {}
        self.canary = Canary()
        # when whose threads were last at work
        self._awake: dict[str, float] = {}

    def together(self, wave: Sequence[tuple[Task, int]]) -> None:
        """Measure several points, each backend in turn on all of them: their threads collide."""
        made: list[tuple[Case, Measured]] = []
        held = 0
        for position, (task, size) in enumerate(wave):
            if self._left() <= 0:
                return
            self._tell(task.label)
            case = self._case(task, size)
            if case is not None:
                made.append((case, self._point(task, size, case)))
                held += case.call.workload.bytes_in
            if held > _TOGETHER_BYTES or position == len(wave) - 1:
                if any(pool_of(case) for case, _ in made):
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

    def _point(self, task: Task, size: int, case: Case) -> Measured:
        call = case.call
        key = (call.operation.name, call.layout, call.dtype.name)
        new = Measured(task, size, key, call.workload, case.elements)
        return self.curves.setdefault(id(task), {}).setdefault(size, new)

    def points(self) -> Iterator[Measured]:
        """Yield every point."""
        for curve in self.curves.values():
            yield from curve.values()

    def of(self, task: Task) -> list[Measured]:
        """Return the points of a curve that have a reference, ascending."""
        known = self.curves.get(id(task), {})
        return [known[size] for size in sorted(known) if REFERENCE in known[size].times]

    def _measure(self, made: Sequence[tuple[Case, Measured]]) -> None:
        """Measure everything once, then again what was disturbed.

        A disturbance outlasts a point, so that the others come first.
        """
        again = self._round(made, None)
        for _ in range(_PATIENCE):
            if not again or self._left() <= 0:
                return
            time.sleep(_WAIT)
            again = self._round(made, again)

    def _round(
        self, made: Sequence[tuple[Case, Measured]], only: set[tuple[int, str]] | None
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
        for case, point in sorted(made, key=lambda pair: pool_of(pair[0])):
            if self._left() <= 0:
                return disturbed
            if only is not None and (id(point), REFERENCE) not in only:
                continue
            pool = pool_of(case)
            self._rest(pool)
            try:
                measure = partial(on_reference, case, _BUDGET)
                if not self._once(point, REFERENCE, pool or REFERENCE, measure):
                    disturbed.add((id(point), REFERENCE))
            except Exception as error:  # the reference's own: there is nothing to compare with
                self._drop(point.task, point.size, str(error))
                self.curves[id(point.task)].pop(point.size, None)
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
                if known and self._left() > 0 and not self._on(backend, case, point):
                    disturbed.add((id(point), backend.name))
                self._awake[backend.name] = time.perf_counter()
        return disturbed

    def _rest(self, pool: str) -> None:
        """Wait until the threads of the other pools no longer spin."""
        rested = max(
            (
                at + self.spins.get(other, 0.0)
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
        self._notes.append(f"{task.label} {size}: {why}")

    def _on(self, backend: Backend, case: Case, point: Measured) -> bool:
        """Measure a backend; return whether the machine was quiet."""
        how = on_backend if backend.shares_host_memory else on_device
        measure = partial(how, case, backend, self._settings, _BUDGET)
        try:
            return self._once(point, backend.name, backend.name, measure)
        except Exception as failure:  # a failed call is never a fast call
            point.times.pop(backend.name, None)
            point.failed.add(backend.name)
            self._notes.append(f"{point.task.label} {point.size} on {backend.name}: {failure}")
            return True

    def _once(self, point: Measured, name: str, kind: str, measure: Callable[[], float]) -> bool:
        """Measure, keep the shortest time, and return whether the machine was quiet around it."""
        before = self.canary.sing()
        seconds = measure()
        quiet = self.canary.is_quiet(kind, before, self.canary.sing())
        point.times[name] = min(seconds, point.times.get(name, seconds))
        (point.disturbed.discard if quiet else point.disturbed.add)(name)
        return quiet


def pool_of(case: Case) -> str:
    """Return whose BLAS the reference runs on; NumPy and SciPy bring one each, and they collide."""
    if case.call.operation.name not in BLAS:
        return ""
    return case.function.path.partition(".")[0]
