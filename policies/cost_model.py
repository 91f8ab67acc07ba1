"""The decision: predicted times from the machine profile, corrected by what is observed."""

from __future__ import annotations

import atexit
import math
import os
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from dispatch_xp.backends.interface import Backend
from dispatch_xp.call import IN_PLACE, Call
from dispatch_xp.curve import Curve
from dispatch_xp.decision import REFERENCE, Decision, Prediction, Standing, stay
from dispatch_xp.errors import ProfileError
from dispatch_xp.levels import LEVELS
from dispatch_xp.operations import BLAS
from dispatch_xp.operations.row import Operation
from dispatch_xp.policies import learned
from dispatch_xp.policies.interface import Policy
from dispatch_xp.policies.speeds import Key, Speed, Speeds
from dispatch_xp.policies.thread_pools import ThreadPools
from dispatch_xp.profile import BackendProfile, Profile, default_path, read
from dispatch_xp.quiet_pools import are_quiet
from dispatch_xp.reasons import Reason

if TYPE_CHECKING:
    from dispatch_xp.config import Settings

__all__ = ["CostModelPolicy"]

_OBSERVATIONS = 7
_NEEDED = 3
_LARGEST_CORRECTION = 8.0
_NOTICEABLE = 0.1
_CACHED = 4096
# decisions to wait whose calls are counted while others are made
_WAITING = 32
# the share of what calls would save without a correction that is spent on trying whether it holds
_PROBING = 0.01
# a decision stands for so many seconds of the reference's time, and for so many calls at the most
_STANDS, _STANDS_CALLS = 20e-3, 255


class _Names(dict[np.dtype[Any], str]):
    """The names of dtypes: NumPy makes them up anew each time, which takes a microsecond."""

    def __missing__(self, dtype: np.dtype[Any]) -> str:
        name = self[dtype] = str(dtype.name)
        return name


_NAMES = _Names()


class _Option(msgspec.Struct, frozen=True):
    """A backend that promises enough, once it runs."""

    backend: Backend
    decision: Decision
    total: float
    startup: float
    switch: float


class _Doubt:
    """What would be chosen but for what was learned, and when to try it again.

    A correction is never observed to be gone where nothing runs any more. So a share of what each
    call would save without it is put aside; once that pays for a try, it is made: some calls in a
    row, since the first ones find code and memory cold.
    """

    __slots__ = ("_aside", "_cost", "_gain", "_tries", "decision")

    def __init__(self, decision: Decision, gain: float, cost: float) -> None:
        self.decision = decision
        self._gain = gain
        self._cost = _NEEDED * cost
        self._aside = 0.0
        self._tries = 0

    def is_due(self, calls: int) -> bool:
        """Count so many calls, and say whether the next ones are to be a try."""
        self._aside += calls * _PROBING * self._gain
        if self._aside < self._cost:
            return False
        self._aside = 0.0
        self._tries = _NEEDED
        return True

    def goes_on(self) -> bool:
        """Count one call, and say whether it belongs to the try."""
        if self._tries == 0:
            return False
        self._tries -= 1
        return True


class _Weighed(msgspec.Struct, frozen=True, eq=False):
    """What the predictions say: `options` from the fastest on, and what to do without them."""

    options: tuple[_Option, ...]
    stay: Decision
    standing: Standing
    doubt: _Doubt | None = None
    stands: bool = True


class _Predictor(msgspec.Struct, frozen=True):
    """What predicts the calls of one operation, layout and dtype on a backend here.

    Attributes
    ----------
    speed : Speed
        From the profile.
    correction : float
        From what was observed.
    copies : bool
        Whether anything has to be copied.
    """

    speed: Speed
    correction: float
    copies: bool


class _Kind:
    """Calls of one operation, layout and dtype: dropped when a correction of theirs changes."""

    __slots__ = ("predictors", "weighed")

    def __init__(self) -> None:
        self.predictors: dict[str, _Predictor | None] = {}
        # by what they depend on
        self.weighed: dict[object, _Weighed] = {}


class CostModelPolicy(Policy):
    """Chooses the smallest predicted time, if it is small enough.

    A backend is chosen if the reference is predicted to take `required_speedup` times as long,
    which the level decides. Starting a backend that isn't running, and changing to it from another
    thread pool, are bought the way skis are: once the savings that were missed without it reach
    what it costs (times the level's factor, for a start).

    Parameters
    ----------
    settings : Settings
        The effective configuration.
    profile : Profile, optional
        Instead of the one that the configuration names.

    Attributes
    ----------
    problem : str
        Why there is no usable profile; empty if there is one.
    """

    name = "cost-model"

    def __init__(self, settings: Settings, profile: Profile | None = None) -> None:
        super().__init__(settings)
        self.level = LEVELS[settings.level]
        self.problem = self.detail = ""
        self.profile = profile
        self._lock = threading.Lock()
        self._ratios: dict[tuple[Key, str], deque[float]] = {}
        self._corrections: dict[tuple[Key, str], float] = {}
        # each by itself, so that a correction drops no others
        self._kinds: dict[Key, _Kind] = {}
        self._missed: dict[str, float] = {}
        # what each call misses that passes while a decision to wait for a start stands, by backend
        self._waiting: dict[Standing, tuple[tuple[str, float], ...]] = {}
        self._probed: set[tuple[Key, str]] = set()
        self._learned: set[tuple[Key, str]] = set()
        self._pools = ThreadPools()
        if profile is None:
            self._load(Path(settings.profile) if settings.profile else default_path())
        self._speeds = Speeds(self.profile) if self.profile is not None else None
        quiet = are_quiet(os.environ)
        measured = self.profile.backends if self.profile is not None else {}
        self._backends = {name: found.with_pools(quiet=quiet) for name, found in measured.items()}
        # the backends for which it matters whether the arguments are in page-locked memory
        self._tells_memory_apart = frozenset(
            name for name, found in measured.items() if found.page_locked_in is not None
        )

    def _load(self, path: Path) -> None:
        if not path.exists():
            self.problem = f"there is no machine profile at {path}: run `dispatch-xp calibrate`"
            self.detail = "run `dispatch-xp calibrate`"
            return
        try:
            self.profile = read(path)
        except ProfileError as error:
            self.problem = self.detail = str(error)
            return
        self._corrections = learned.read(path, self.profile.created)
        atexit.register(self._remember, path, os.getpid())

    def _remember(self, path: Path, process: int) -> None:
        """Keep what was learned here; a forked child leaves that to its parent."""
        if self._learned and os.getpid() == process and self.profile is not None:
            mine = {key: self._corrections[key] for key in self._learned}
            learned.write(path, self.profile.created, mine)

    def choose(self, call: Call, candidates: Sequence[Backend]) -> Decision:
        """Choose by the predicted times."""
        if self.profile is None:
            return stay(Reason.NO_PROFILE, self.detail)
        key = (call.operation.name, call.layout, _NAMES[call.dtype])
        kind = self._kinds.get(key) or self._kinds.setdefault(key, _Kind())
        work = call.workload
        # everything that a prediction depends on
        what = (
            work.work,
            work.flops,
            work.bytes_in,
            work.bytes_out,
            len(call.shapes),
            call.whereabouts,
            self._page_locked(call, candidates) if self._tells_memory_apart else (),
            *candidates,
        )
        weighed = kind.weighed.get(what)
        if weighed is None:
            weighed = self._weigh(call, key, kind, candidates)
            if len(kind.weighed) >= _CACHED:
                kind.weighed.clear()
            kind.weighed[what] = weighed
        if weighed.doubt is not None and call.arrays:
            calls = 1 if weighed.options else 1 + weighed.standing.end()
            with self._lock:
                if weighed.doubt.is_due(calls):
                    self._probed.add((key, weighed.doubt.decision.backend))
                if weighed.doubt.goes_on():
                    return weighed.doubt.decision
        if not weighed.options:
            return weighed.stay
        first = weighed.options[0]
        if first.backend.started and (
            first.switch == 0.0 or self._pools.awake == first.backend.name
        ):
            return first.decision
        return self._bought(call, weighed)

    def _page_locked(self, call: Call, candidates: Sequence[Backend]) -> tuple[Any, ...]:
        """Return what each running backend finds in page-locked memory, where that has figures."""
        return tuple(
            call.find_page_locked(backend) if backend.started else None
            for backend in candidates
            if backend.name in self._tells_memory_apart
        )

    def _weigh(self, call: Call, key: Key, kind: _Kind, candidates: Sequence[Backend]) -> _Weighed:
        """Return the backends that are predicted to be enough faster."""
        predictions = {}
        # as in `predict`, by hand: calling it for each backend takes half a microsecond
        work, beside, known = call.workload, call.beside, kind.predictors
        for name in (REFERENCE, *[backend.name for backend in candidates]):
            predictor = known[name] if name in known else self._predictor(key, kind, name)
            if predictor is not None:
                run = predictor.speed.seconds(work, beside) * predictor.correction
                copies = predictor.copies or call.owners
                predictions[name] = self._copied(call, name, run) if copies else Prediction(run)
        required = self.level.speedup
        found = MappingProxyType(predictions)
        if REFERENCE not in predictions or len(predictions) < 2:
            standing = Standing(_STANDS_CALLS)
            stays = Decision(REFERENCE, Reason.NO_CURVE, " ".join(key), found, required, standing)
            return _Weighed((), stays, standing)
        reference = predictions[REFERENCE].total
        # where a decision stands nobody looks at the arguments' memory
        stands = not self._depends_on_memory(call, candidates, predictions)
        calls = int(min(_STANDS / reference, _STANDS_CALLS)) if reference and stands else 0
        standing = Standing(calls)
        stays = Decision(REFERENCE, Reason.NOT_FASTER, "", found, required, standing)
        options = []
        for backend in candidates:
            name = backend.name
            prediction = predictions.get(name)
            total = 0.0 if prediction is None else prediction.total
            # nothing to do is nothing to gain
            if reference >= required * total > 0:
                decision = Decision(name, Reason.FASTEST, "", found, required)
                figures = self._figures(name)
                options.append(_Option(backend, decision, total, figures.startup, figures.switch))
        if len(options) > 1:
            options.sort(key=lambda option: option.total)
        chosen = options[0].backend.name if options else REFERENCE
        doubt = self._doubt(key, chosen, predictions, candidates)
        return _Weighed(tuple(options), stays, standing, doubt, stands)

    def _depends_on_memory(
        self, call: Call, candidates: Sequence[Backend], predictions: Mapping[str, Prediction]
    ) -> bool:
        """Whether some backend would be chosen if all arguments were in page-locked memory."""
        if not self._tells_memory_apart or call.owners:
            return False
        reference = predictions[REFERENCE].total
        for backend in candidates:
            copy = self._figures(backend.name).page_locked_in
            if backend.started and copy is not None and backend.name in predictions:
                found = predictions[backend.name]
                total = found.run + copy.seconds(*call.missing(backend.name)) + found.copy_out
                if reference >= self.level.speedup * total:
                    return True
        return False

    def _doubt(
        self,
        key: Key,
        chosen: str,
        predictions: Mapping[str, Prediction],
        candidates: Sequence[Backend],
    ) -> _Doubt | None:
        """Return what the profile alone would choose, if that is something else."""
        if not self._corrections:
            return None
        corrections = {name: self._correction(key, name) for name in predictions}
        if all(correction == 1.0 for correction in corrections.values()):
            return None
        plain = {
            name: prediction.total - prediction.run * (1 - 1 / corrections[name])
            for name, prediction in predictions.items()
        }
        best = min((name for name in plain if name != REFERENCE), key=plain.__getitem__)
        if plain[REFERENCE] < self.level.speedup * plain[best]:
            best = REFERENCE
        running = {REFERENCE, *(backend.name for backend in candidates if backend.started)}
        gain = predictions[chosen].total - plain[best]
        if best == chosen or best not in running or gain <= 0:
            return None
        # a correction stops at a limit, so a try may cost more than is known
        total = predictions[chosen].total
        cost = max(predictions[best].total - total, total)
        detail = f"observed to take {corrections[best]:.2g} times as long as was measured"
        decision = Decision(
            best, Reason.PROBE, detail, MappingProxyType(dict(predictions)), self.level.speedup
        )
        return _Doubt(decision, gain, cost)

    def _bought(self, call: Call, weighed: _Weighed) -> Decision:
        """Return the fastest option that runs already, or whose start or change is repaid now."""
        ready: _Option | None = None
        waiting: list[tuple[_Option, float, float]] = []
        for option in weighed.options:
            startup = 0.0 if _runs(option.backend) else option.startup
            price = self.level.startup_factor * startup
            price += self._pools.price(option.backend.name, option.switch)
            if price == 0.0:
                ready = option
                break
            waiting.append((option, startup, price))
        predictions = weighed.stay.predictions
        meanwhile = predictions[REFERENCE].total if ready is None else ready.total
        calls = 1
        if call.arrays:
            calls += weighed.standing.end()
            self._count_waiting(weighed.standing)
        for option, _, price in waiting:
            saving = calls * (meanwhile - option.total)
            if self._repaid(option.backend.name, saving, price, call):
                return option.decision
        if ready is not None:
            return ready.decision
        savings = tuple((o.backend.name, meanwhile - o.total) for o, start, _ in waiting if start)
        if savings and call.arrays:
            with self._lock:
                self._waiting[weighed.standing] = savings
        return self._waits(weighed, *waiting[0])

    def _count_waiting(self, asked: Standing) -> None:
        """Count the savings that were missed by calls like others, which nobody may make again."""
        with self._lock:
            self._waiting.pop(asked, None)
            for standing, savings in self._waiting.items():
                if gone := standing.count():
                    for name, saving in savings:
                        self._missed[name] = self._missed.get(name, 0.0) + gone * max(saving, 0.0)
            if len(self._waiting) >= _WAITING:
                del self._waiting[next(iter(self._waiting))]

    def _repaid(self, name: str, saving: float, price: float, call: Call) -> bool:
        """Count savings that are missed without a backend, and say whether that is its price."""
        with self._lock:
            missed = self._missed.get(name, 0.0) + max(saving, 0.0)
            repaid = missed >= price
            # a question about a call misses nothing
            if call.arrays:
                self._missed[name] = 0.0 if repaid else missed
            return repaid

    def _waits(self, weighed: _Weighed, option: _Option, startup: float, price: float) -> Decision:
        """Return the decision to stay until a start or a change is repaid."""
        name, stays = option.backend.name, weighed.stay
        predictions: Mapping[str, Prediction] = {
            **stays.predictions,
            name: msgspec.structs.replace(stays.predictions[name], startup=startup + option.switch),
        }
        missed = self._missed.get(name, 0.0)
        reference = stays.predictions[REFERENCE].total
        saving = reference - option.total
        # an eager level waits for backends that save nothing: such a wait has no end to foresee
        to_go = max(price - missed, 0.0) / saving if saving > 0 else math.inf
        if weighed.stands:
            weighed.standing.calls = int(min(_STANDS / reference, _STANDS_CALLS, to_go))
        return Decision(
            REFERENCE,
            Reason.NOT_STARTED if startup else Reason.SWITCH,
            f"{name} missed {missed:.3g} s of the {price:.3g} s that it takes",
            MappingProxyType(predictions),
            stays.required_speedup,
            weighed.standing,
        )

    def predict(self, call: Call, backend: str) -> Prediction | None:
        """Return the predicted time of a call on a backend, or None without figures for it."""
        if self.profile is None:
            return None
        key = (call.operation.name, call.layout, _NAMES[call.dtype])
        predictor = self._predictor(key, self._kinds.get(key) or _Kind(), backend)
        if predictor is None:
            return None
        run = predictor.speed.seconds(call.workload, call.beside) * predictor.correction
        copies = predictor.copies or call.owners
        return self._copied(call, backend, run) if copies else Prediction(run)

    def _predictor(self, key: Key, kind: _Kind, backend: str) -> _Predictor | None:
        """Return what predicts a kind of calls on a backend, if anything does."""
        if backend in kind.predictors:
            return kind.predictors[backend]
        assert self._speeds is not None
        speed, figures = self._speeds.of(key, backend), self._figures(backend)
        copies = figures.copy_in is not None or figures.copy_out is not None
        if key[1] == IN_PLACE and backend != REFERENCE:
            # its copy is never free: without a figure for it nothing is predicted
            speed = None if self._copying(key[2]) is None else speed
            copies = True
        predictor = None
        if speed is not None:
            predictor = _Predictor(speed, self._correction(key, backend), copies)
        kind.predictors[backend] = predictor
        return predictor

    def _copied(self, call: Call, backend: str, run: float) -> Prediction:
        return Prediction(run, self._copy_in(call, backend), self._copy_out(call, backend))

    def _copy_in(self, call: Call, backend: str) -> float:
        """Return what it takes to bring there the arguments that are elsewhere."""
        seconds = 0.0
        figures = self._figures(backend)
        if figures.copy_in is not None:
            nbytes, count = call.missing(backend)
            if figures.page_locked_in is not None:
                fast, of_these = call.page_locked(backend)
                seconds = figures.page_locked_in.seconds(fast, of_these)
                nbytes, count = nbytes - fast, count - of_these
            seconds += figures.copy_in.seconds(nbytes, count)
        for array, where in zip(call.arrays, call.whereabouts, strict=False):
            # from one device to another, or for the reference, by way of the host
            if backend not in where and "" not in where:
                source = self._figures(next(iter(where))).copy_out
                seconds += source.seconds(array.nbytes) if source is not None else 0.0
        return seconds

    def _copy_out(self, call: Call, backend: str) -> float:
        """Return what it takes to bring the results back.

        Those of an `Array` stay, and who looks at them is not known. Where the arguments are there
        already, the result is taken for one more step of a chain and not charged; where none is,
        for a call by itself.

        A result that replaces an argument is then copied there, by the host.
        """
        copying = self._copying(_NAMES[call.dtype]) if call.in_place else None
        seconds = 0.0 if copying is None else copying.curve.seconds(call.workload.flops)
        figures = self._figures(backend)
        if figures.copy_out is None:
            return seconds
        results = len(call.operation.outputs(call.shapes, call.options))
        out = figures.copy_out.seconds(call.workload.bytes_out, results)
        if call.owners:
            nbytes, _ = call.missing(backend)
            out *= nbytes / max(call.workload.bytes_in, 1)
        return seconds + out

    def _copying(self, dtype: str) -> Speed | None:
        """Return what predicts a copy on the host: squares, which wait for memory as a copy does.

        They are measured with fresh memory for the result, and so is the reference's own curve:
        what that costs is on both sides when the two are compared, and in place on neither.
        """
        assert self._speeds is not None
        return self._speeds.of(("square", "vector", dtype), REFERENCE)

    def _correction(self, key: Key, backend: str) -> float:
        """Return the factor by which calls take longer than was measured.

        What slows the reference down, such as another program, slows the others too: a backend that
        was not observed yet shares half of it, in the logarithm. Without that, every backend would
        look fast on a busy machine until it has been tried.
        """
        own = self._corrections.get((key, backend))
        if own is not None:
            return own
        return math.sqrt(self._corrections.get((key, REFERENCE), 1.0))

    def _figures(self, backend: str) -> BackendProfile:
        return self._backends.get(backend, _NOTHING)

    def limit(self, operation: Operation, backends: Sequence[Backend]) -> float:
        """Return half the smallest size at which some backend is predicted to be chosen."""
        if self.profile is None:
            return math.inf
        smallest = math.inf
        names = [backend.name for backend in backends]
        for key in self.profile.curves.of(operation.name):
            curves = self.profile.curves[key]
            for backend in names:
                if backend in curves and REFERENCE in curves:
                    found = self._crossing(curves[REFERENCE], curves[backend], backend)
                    smallest = min(smallest, found)
        return smallest / 2

    def _crossing(self, reference: Curve, curve: Curve, backend: str) -> float:
        """Return the elements of the smallest measured problem that the backend wins."""
        figures = self._figures(backend)
        # mostly the same problems were measured
        same = {point.work: point.seconds for point in reference.points}
        for point in curve.points:
            seconds = point.seconds
            if figures.copy_in is not None and figures.copy_out is not None:
                copies = (figures.copy_in, figures.page_locked_in)
                seconds += min(copy.fixed for copy in copies if copy is not None)
                seconds += figures.copy_out.fixed
            expected = same.get(point.work) or reference.seconds(point.work)
            if expected >= self.level.speedup * seconds:
                return self._between(reference, curve, point.elements)
        return math.inf

    def _between(self, reference: Curve, curve: Curve, elements: int) -> float:
        """Return where the crossing may lie at the earliest: at the next smaller point."""
        smaller = [p.elements for p in curve.points if p.elements < elements]
        return float(smaller[-1]) if smaller else float(elements)

    def observe(self, call: Call, backend: str, seconds: float) -> None:
        """Correct the predictions by the last observed / predicted times: their median."""
        if self.profile is None:
            return
        key = (call.operation.name, call.layout, _NAMES[call.dtype])
        kind = self._kinds.get(key) or self._kinds.setdefault(key, _Kind())
        predictor = self._predictor(key, kind, backend)
        if predictor is None:
            self._changed(call, key, backend, seconds, seconds)
            return
        predicted = predictor.speed.seconds(call.workload, call.beside)
        if backend != REFERENCE and (predictor.copies or call.owners):
            predicted += self._copy_in(call, backend)
            if not call.owners:
                predicted += self._copy_out(call, backend)
        switch = self._changed(call, key, backend, seconds, seconds - predicted)
        with self._lock:
            mine = (key, backend)
            ratios = self._ratios.get(mine)
            if ratios is None:
                ratios = self._ratios[mine] = deque(maxlen=_OBSERVATIONS)
            if mine in self._probed:
                # what was seen before may be long ago
                self._probed.discard(mine)
                ratios.clear()
            # a change of pools explains so much that the operation is not to blame for
            excess = min(max(seconds - predicted, 0.0), switch)
            ratios.append((seconds - excess) / predicted)
            if len(ratios) < _NEEDED:
                return
            # the first calls find code and memory cold, and would have a backend left for good: few
            # are read at their lower end, enough of them at the median
            count = len(ratios)
            ratio = sorted(ratios)[count // 2 if count == _OBSERVATIONS else (count - 1) // 3]
            ratio = min(max(ratio, 1 / _LARGEST_CORRECTION), _LARGEST_CORRECTION)
            known = self._corrections.get(mine, 1.0)
            if abs(math.log(ratio / known)) > _NOTICEABLE:
                self._corrections[mine] = ratio
                self._learned.add(mine)
                forgotten = self._kinds.pop(key, None)
                for weighed in list(forgotten.weighed.values()) if forgotten else ():
                    weighed.standing.withdraw()

    def _changed(self, call: Call, key: Key, backend: str, seconds: float, excess: float) -> float:
        """Note whose threads are awake and what that gained; return what a change may have cost."""
        # what runs without a pool leaves the other pools at rest
        if backend == REFERENCE and call.operation.name not in BLAS:
            return 0.0
        changed = self._pools.wake(backend)
        switch = self._figures(backend).switch
        if switch == 0.0 or (not changed and self._pools.has_paid(switch, excess)):
            return 0.0
        reference = self._predictor(key, self._kinds.get(key) or _Kind(), REFERENCE)
        if reference is not None:
            expected = reference.speed.seconds(call.workload, call.beside)
            expected *= reference.correction
            self._pools.gain(backend, expected - seconds, switch)
        return switch if changed else 0.0


_NOTHING = BackendProfile()


def _runs(backend: Backend) -> bool:
    """Whether starting the backend costs nothing any more."""
    return backend.started or (
        bool(backend.modules) and all(module in sys.modules for module in backend.modules)
    )
