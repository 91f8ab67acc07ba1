"""What each level would save, from a trace and a machine profile."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dispatch_xp.backends import Backend
from dispatch_xp.backends.interface import Availability
from dispatch_xp.call import Call
from dispatch_xp.config import Settings
from dispatch_xp.decision import REFERENCE
from dispatch_xp.levels import LEVELS
from dispatch_xp.policies.cost_model import CostModelPolicy
from dispatch_xp.profile import BackendProfile, Profile
from dispatch_xp.table import Table, seconds_text
from dispatch_xp.trace.record import End, Header, Record

__all__ = ["AtLevel", "Estimate", "estimate"]


@dataclass(slots=True)
class AtLevel:
    """What a level would do.

    Attributes
    ----------
    level : int
        From 1 to 10.
    offloaded : dict of str to int
        How many calls would run on each backend.
    startup : float
        Seconds for starting backends and changing between thread pools.
    seconds : float
        What all calls with figures would take, starts and changes included.
    """

    level: int
    offloaded: dict[str, int] = field(default_factory=dict)
    startup: float = 0.0
    seconds: float = 0.0


@dataclass(slots=True)
class Estimate:
    """What a trace and a profile say together.

    Attributes
    ----------
    machine : str
        Of the profile.
    backends : dict of str to str
        What the profile has figures of, and what they are.
    calls : int
        All calls of the trace.
    measured : float
        How long they took where the trace was written.
    covered : float
        How long those took of which the profile has figures.
    reference : float
        What those would take on the reference of the profile's machine.
    levels : list of AtLevel
        From 1 to 10.
    without : dict of str to float
        Seconds of the other calls, as measured, by operation and dtype.
    """

    machine: str
    backends: dict[str, str]
    calls: int = 0
    measured: float = 0.0
    covered: float = 0.0
    reference: float = 0.0
    levels: list[AtLevel] = field(default_factory=list)
    without: dict[str, float] = field(default_factory=dict)

    def table(self) -> Table:
        """Return a row per level."""
        rows = []
        for at in self.levels:
            saved = self.reference - at.seconds
            share = saved / self.reference if self.reference else 0.0
            places = ", ".join(f"{name} {count}" for name, count in at.offloaded.items())
            rows.append(
                (
                    str(at.level),
                    f"{LEVELS[at.level].speedup:g}",
                    places or "-",
                    seconds_text(at.startup) if at.startup else "-",
                    seconds_text(at.seconds),
                    f"{seconds_text(saved)} ({share:.0%})" if saved > 0 else "-",
                )
            )
        header = ("level", "required", "calls on", "start-up", "calls take", "saved")
        return Table(header, tuple(rows))

    def __str__(self) -> str:
        known = "; ".join(f"{name}: {what}" for name, what in self.backends.items())
        lines = [
            f"trace: {self.calls} calls, {seconds_text(self.measured)}",
            f"profile: {self.machine}; {known}",
        ]
        if self.without:
            ordered = sorted(self.without, key=lambda name: -self.without[name])
            listed = ", ".join(f"{name} {seconds_text(self.without[name])}" for name in ordered[:6])
            more = f" and {len(ordered) - 6} more" if len(ordered) > 6 else ""
            lines.append(f"no figures, counted nowhere below: {listed}{more}")
        covered = seconds_text(self.covered)
        lines.append(
            f"the others took {covered}; predicted there on the reference: "
            f"{seconds_text(self.reference)}"
        )
        return "\n".join([*lines, str(self.table())])

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


class _Simulated(Backend):
    """A backend of the profile's machine: chosen, started, never run."""

    def __init__(self, name: str, figures: BackendProfile) -> None:
        self.name = name  # type: ignore[misc]
        self.shares_host_memory = figures.copy_in is None  # type: ignore[misc]
        self.started = False
        self._real = _installed(name)

    def probe(self) -> Availability:
        return Availability(True)

    def operations(self) -> frozenset[str]:
        return self._real.operations() if self._real is not None else frozenset()

    def refuses(self, call: Call) -> str:
        return self._real.refuses(call) if self._real is not None else ""

    def start(self) -> None:
        self.started = True

    def run(self, call: Call, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        raise NotImplementedError


def _installed(name: str) -> Backend | None:
    """Return a backend that says which calls it takes; its library need not be there."""
    from dispatch_xp import backends

    return backends.get(name) if name in backends.names() else None


def estimate(
    records: Iterable[Header | Record | End],
    profile: Profile,
    backends: Iterable[str] | None = None,
) -> Estimate:
    """Predict what each level would save.

    Both sides are predicted, from the profile: what the reference would take, and what the chosen
    backends would, with copies, starts and changes between thread pools.

    Parameters
    ----------
    records : iterable
        A trace.
    profile : Profile
        Of this machine, or of another.
    backends : iterable of str, optional
        Which backends may be chosen; all of the profile's if not given.

    Returns
    -------
    Estimate
        Prints as a table, also in a notebook.
    """
    # as `dispatch-xp run` starts programs
    quiet = {name: found.with_pools(quiet=True) for name, found in profile.backends.items()}
    profile = msgspec.structs.replace(profile, backends=quiet)
    wanted = set(profile.backends) if backends is None else set(backends)
    figures = {name: f for name, f in profile.backends.items() if name in wanted - {REFERENCE}}
    known = {name: f.description for name, f in figures.items()}
    cpu = f"{profile.machine.cpu}, {profile.machine.cores} cores"
    result = Estimate(cpu, known)
    simulations = [_Simulation(level, profile, figures) for level in LEVELS]
    calls: dict[tuple[Any, ...], Call | None] = {}
    for record in records:
        if not isinstance(record, Record):
            continue
        seconds = record.seconds or 0.0
        result.calls += 1
        result.measured += seconds
        call = _call_of(record, calls)
        reference = simulations[0].reference(call) if call is not None else None
        if call is None or reference is None:
            name = f"{record.operation or record.function} {record.dtype}".strip()
            result.without[name] = result.without.get(name, 0.0) + seconds
            continue
        result.covered += seconds
        result.reference += reference
        for simulation in simulations:
            simulation.add(call, reference)
    result.levels = [simulation.at for simulation in simulations]
    return result


def _call_of(record: Record, calls: dict[tuple[Any, ...], Call | None]) -> Call | None:
    key = (
        record.operation,
        record.dtype,
        tuple(map(tuple, record.shapes)),
        tuple(record.itemsizes),
        record.options,
        record.in_place,
        record.library,
    )
    if key not in calls:
        calls[key] = record.call()
    return calls[key]


class _Simulation:
    """A level's policy on the profile's machine, from its start on."""

    def __init__(self, level: int, profile: Profile, figures: dict[str, BackendProfile]) -> None:
        self._policy = CostModelPolicy(Settings(level=level), profile)
        self._backends = [_Simulated(name, f) for name, f in figures.items()]
        self._figures = figures
        self._last = REFERENCE
        self.at = AtLevel(level)

    def reference(self, call: Call) -> float | None:
        """Return the reference's predicted time."""
        prediction = self._policy.predict(call, REFERENCE)
        return None if prediction is None else prediction.total

    def add(self, call: Call, reference: float) -> None:
        """Add a call, where the policy would run it."""
        candidates = [
            b
            for b in self._backends
            if call.operation.name in b.operations() and not b.refuses(call)
        ]
        decision = self._policy.choose(call, candidates)
        name = decision.backend
        seconds = reference
        if name != REFERENCE:
            seconds = decision.predictions[name].total
            self.at.offloaded[name] = self.at.offloaded.get(name, 0) + 1
            backend = next(b for b in self._backends if b.name == name)
            paid = 0.0 if backend.started else self._figures[name].startup
            backend.start()
            if self._last != name:
                paid += self._figures[name].switch
            self.at.startup += paid
            self.at.seconds += paid
        self.at.seconds += seconds
        self._policy.observe(call, name, seconds)
        self._last = name
