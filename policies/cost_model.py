"""The decision: predicted times from the machine profile, corrected by what is observed."""

from __future__ import annotations

import math
import sys
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING

from dispatch_xp.backends.interface import Backend
from dispatch_xp.call import Call
from dispatch_xp.curve import Curve
from dispatch_xp.decision import REFERENCE, Decision, Prediction, stay
from dispatch_xp.errors import ProfileError
from dispatch_xp.levels import LEVELS
from dispatch_xp.operations.row import Operation
from dispatch_xp.policies.interface import Policy
from dispatch_xp.profile import BackendProfile, Profile, default_path, read
from dispatch_xp.reasons import Reason

if TYPE_CHECKING:
    from dispatch_xp.config import Settings

__all__ = ["CostModelPolicy"]

_OBSERVATIONS = 7
_NEEDED = 3
_LARGEST_CORRECTION = 8.0
_NOTICEABLE = 0.1
_CACHED = 4096
_Key = tuple[str, str, str]


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
        self._ratios: dict[tuple[_Key, str], deque[float]] = {}
        self._corrections: dict[tuple[_Key, str], float] = {}
        self._versions: dict[_Key, int] = {}
        self._cache: dict[object, tuple[int, Decision]] = {}
        self._missed: dict[str, float] = {}
        self._last = REFERENCE
        if profile is None:
            self._load(Path(settings.profile) if settings.profile else default_path())

    def _load(self, path: Path) -> None:
        if not path.exists():
            self.problem = f"there is no machine profile at {path}: run `dispatch-xp calibrate`"
            self.detail = "run `dispatch-xp calibrate`"
            return
        try:
            self.profile = read(path)
        except ProfileError as error:
            self.problem = self.detail = str(error)

    def choose(self, call: Call, candidates: Sequence[Backend]) -> Decision:
        """Choose by the predicted times."""
        if self.profile is None:
            return stay(Reason.NO_PROFILE, self.detail)
        key = (call.operation.name, call.layout, call.dtype.name)
        version = self._versions.get(key, 0)
        names = tuple(backend.name for backend in candidates)
        cache_key = (call.signature, names)
        cached = self._cache.get(cache_key)
        if cached is not None and cached[0] == version:
            decision = cached[1]
        else:
            decision = self._predicted(call, key, names)
            if len(self._cache) >= _CACHED:
                self._cache.clear()
            self._cache[cache_key] = (version, decision)
        if decision.backend == REFERENCE:
            return decision
        backend = next(b for b in candidates if b.name == decision.backend)
        return self._bought(call, decision, backend)

    def _predicted(self, call: Call, key: _Key, names: tuple[str, ...]) -> Decision:
        """Return the choice among backends that already run."""
        predictions = {}
        for name in (REFERENCE, *names):
            prediction = self.predict(call, name)
            if prediction is not None:
                predictions[name] = prediction
        required = self.level.speedup
        found = MappingProxyType(predictions)
        if REFERENCE not in predictions or len(predictions) < 2:
            return Decision(REFERENCE, Reason.NO_CURVE, " ".join(key), found, required)
        reference = predictions[REFERENCE].total
        best = min((n for n in predictions if n != REFERENCE), key=lambda n: predictions[n].total)
        speedup = reference / predictions[best].total
        detail = f"{best} {speedup:.2f} times as fast, {required:g} required"
        if speedup < required:
            return Decision(REFERENCE, Reason.NOT_FASTER, detail, found, required)
        return Decision(best, Reason.FASTEST, detail, found, required)

    def _bought(self, call: Call, decision: Decision, backend: Backend) -> Decision:
        """Return the decision, or stay as long as a start or a change isn't repaid."""
        name = backend.name
        figures = self._figures(name)
        startup = 0.0 if _runs(backend) else figures.startup
        price = self.level.startup_factor * startup
        if self._last != name:
            price += figures.switch
        if price == 0.0:
            return decision
        saving = decision.predictions[REFERENCE].total - decision.predictions[name].total
        with self._lock:
            missed = self._missed.get(name, 0.0) + max(saving, 0.0)
            if call.arrays:
                self._missed[name] = missed
            if missed >= price:
                if call.arrays:
                    self._missed[name] = 0.0
                return decision
        predictions = dict(decision.predictions)
        predictions[name] = replace(predictions[name], startup=startup + figures.switch)
        return Decision(
            REFERENCE,
            Reason.NOT_STARTED if startup else Reason.SWITCH,
            f"{name} missed {missed:.3g} s of the {price:.3g} s that it takes",
            MappingProxyType(predictions),
            decision.required_speedup,
        )

    def predict(self, call: Call, backend: str) -> Prediction | None:
        """Return the predicted time of a call on a backend, or None without figures for it."""
        if self.profile is None:
            return None
        key = (call.operation.name, call.layout, call.dtype.name)
        curve = self.profile.curves.get(key, {}).get(backend)
        if curve is None:
            return None
        work = call.workload
        run = curve.seconds(work.work, work.flops) * self._corrections.get((key, backend), 1.0)
        figures = self._figures(backend)
        copy_in = copy_out = 0.0
        if figures.copy_in is not None:
            copy_in = figures.copy_in.seconds(work.bytes_in, len(call.shapes))
        if figures.copy_out is not None:
            results = len(call.operation.outputs(call.shapes, call.options))
            copy_out = figures.copy_out.seconds(work.bytes_out, results)
        return Prediction(run=run, copy_in=copy_in, copy_out=copy_out)

    def _figures(self, backend: str) -> BackendProfile:
        assert self.profile is not None
        return self.profile.backends.get(backend, _NOTHING)

    def limit(self, operation: Operation, backends: Sequence[Backend]) -> float:
        """Return half the smallest size at which some backend is predicted to be chosen."""
        if self.profile is None:
            return math.inf
        smallest = math.inf
        names = [backend.name for backend in backends]
        for (name, _, _), curves in self.profile.curves.items():
            if name != operation.name or REFERENCE not in curves:
                continue
            for backend in names:
                if backend in curves:
                    found = self._crossing(curves[REFERENCE], curves[backend], backend)
                    smallest = min(smallest, found)
        return smallest / 2

    def _crossing(self, reference: Curve, curve: Curve, backend: str) -> float:
        """Return the elements of the smallest measured problem that the backend wins."""
        figures = self._figures(backend)
        for point in curve.points:
            seconds = point.seconds
            if figures.copy_in is not None and figures.copy_out is not None:
                seconds += figures.copy_in.fixed + figures.copy_out.fixed
            if reference.seconds(point.work) >= self.level.speedup * seconds:
                return self._between(reference, curve, point.elements)
        return math.inf

    def _between(self, reference: Curve, curve: Curve, elements: int) -> float:
        """Return where the crossing may lie at the earliest: at the next smaller point."""
        smaller = [p.elements for p in curve.points if p.elements < elements]
        return float(smaller[-1]) if smaller else float(elements)

    def observe(self, call: Call, backend: str, seconds: float) -> None:
        """Correct the predictions by the median of the last observed / predicted times."""
        self._last = backend
        if self.profile is None:
            return
        key = (call.operation.name, call.layout, call.dtype.name)
        curve = self.profile.curves.get(key, {}).get(backend)
        if curve is None:
            return
        work = call.workload
        predicted = curve.seconds(work.work, work.flops)
        figures = self._figures(backend)
        if figures.copy_in is not None and figures.copy_out is not None:
            predicted += figures.copy_in.seconds(work.bytes_in, len(call.shapes))
            predicted += figures.copy_out.seconds(work.bytes_out)
        with self._lock:
            ratios = self._ratios.setdefault((key, backend), deque(maxlen=_OBSERVATIONS))
            ratios.append(seconds / predicted)
            if len(ratios) < _NEEDED:
                return
            ratio = median(ratios)
            ratio = min(max(ratio, 1 / _LARGEST_CORRECTION), _LARGEST_CORRECTION)
            known = self._corrections.get((key, backend), 1.0)
            if abs(math.log(ratio / known)) > _NOTICEABLE:
                self._corrections[key, backend] = ratio
                self._versions[key] = self._versions.get(key, 0) + 1


_NOTHING = BackendProfile()


def _runs(backend: Backend) -> bool:
    """Whether starting the backend costs nothing any more."""
    return backend.started or (
        bool(backend.modules) and all(module in sys.modules for module in backend.modules)
    )
