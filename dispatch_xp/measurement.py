"""What of a program could be offloaded: calls timed on the reference, and who could take them."""

from __future__ import annotations

import math
import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dispatch_xp.observer import Ended, Observer
from dispatch_xp.recorder import site, text_of
from dispatch_xp.table import Table, seconds_text
from dispatch_xp.tally import processes_text
from dispatch_xp.trace.writer import address, arrays_of

if TYPE_CHECKING:
    from dispatch_xp.backends.interface import Backend
    from dispatch_xp.call import Call

__all__ = ["Group", "Measured", "Measurement"]

_REMEMBERED = 100_000
_ROWS = 12


class Group(msgspec.Struct):
    """Calls that have all but their arrays in common.

    Attributes
    ----------
    operation, dtype : str
        What was computed, in what.
    size : int
        The elements of the largest argument, as the power of ten below.
    where : str
        File and line of the calls.
    takers : list of str
        The backends that could take them, installed or not.
    calls : int
        How many.
    seconds : float
        How long they took.
    """

    operation: str
    dtype: str
    size: int
    where: str
    takers: list[str]
    calls: int = 0
    seconds: float = 0.0


class Measured(msgspec.Struct):
    """What was measured of a program.

    Attributes
    ----------
    groups : list of Group
        Calls that some backend could take.
    others : dict of str to int
        How many other calls there were, by the reason for which no backend could take them.
    others_seconds : float
        How long those took.
    bytes_in, bytes_out : int
        What a device without the host's memory would have to copy for the calls that it could take.
    kept : int
        How much of it at the most could stay there: arguments that were arguments or results of
        such calls before, if nothing has changed them since.
    processes : int
        How many processes are in it.
    unfinished : int
        How many of them were killed or still running, so that their last calls are missing.
    measuring : float
        How many seconds measuring took in the process that reports, which are not the program's.
    """

    groups: list[Group] = []
    others: dict[str, int] = {}
    others_seconds: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0
    kept: int = 0
    processes: int = 1
    unfinished: int = 0
    measuring: float = 0.0

    @property
    def seconds(self) -> float:
        """Seconds inside calls that some backend could take."""
        return sum(group.seconds for group in self.groups)

    @property
    def calls(self) -> int:
        """How many calls some backend could take."""
        return sum(group.calls for group in self.groups)

    def include(self, other: Measured) -> None:
        """Add another process's."""
        known = {_key(group): group for group in self.groups}
        for group in other.groups:
            mine = known.get(_key(group))
            if mine is None:
                self.groups.append(group)
            else:
                mine.calls += group.calls
                mine.seconds += group.seconds
        for reason, count in other.others.items():
            self.others[reason] = self.others.get(reason, 0) + count
        self.others_seconds += other.others_seconds
        self.bytes_in += other.bytes_in
        self.bytes_out += other.bytes_out
        self.kept += other.kept
        self.processes += other.processes
        self.unfinished += other.unfinished

    def table(self, rows: int = _ROWS) -> Table:
        """Return the groups, those with the most time first."""
        ordered = sorted(self.groups, key=lambda group: -group.seconds)
        lines = [
            (
                group.operation,
                group.dtype,
                f"1e{group.size}",
                str(group.calls),
                seconds_text(group.seconds),
                ", ".join(group.takers),
                group.where,
            )
            for group in ordered[:rows]
        ]
        rest = ordered[rows:]
        if rest:
            calls, seconds = sum(g.calls for g in rest), sum(g.seconds for g in rest)
            lines.append((f"{len(rest)} more", "", "", str(calls), seconds_text(seconds), "", ""))
        header = ("operation", "dtype", "elements", "calls", "time", "could run on", "called at")
        return Table(header, tuple(lines))

    def _own(self, seconds: float) -> float:
        """Return how long a run would have taken that was not measured."""
        # of threads, several may measure at a time
        return max(seconds - self.measuring, min(seconds, self.seconds))

    def text(self, seconds: float) -> str:
        """Return the report on a run of so many seconds."""
        seconds = self._own(seconds)
        share = self.seconds / seconds if seconds else 0.0
        several = ""
        if self.processes > 1:
            several = f", {processes_text(self.processes, self.unfinished)}"
        inside = f"{seconds_text(self.seconds)} ({share:.0%}) inside {self.calls} calls"
        lines = [f"{seconds_text(seconds)}, of which {inside} that a backend could take{several}"]
        if self.groups:
            lines.append(str(self.table()))
            lines.append(
                f"a device would copy {_megabytes(self.bytes_in)} in and "
                f"{_megabytes(self.bytes_out)} out; at the most {_megabytes(self.kept)} of it "
                "could stay there"
            )
        if self.others:
            count = sum(self.others.values())
            ordered = sorted(self.others, key=lambda reason: -self.others[reason])[:3]
            reasons = ", ".join(f"{reason} ({self.others[reason]})" for reason in ordered)
            lines.append(
                f"{count} other calls, {seconds_text(self.others_seconds)}, stay anyway: {reasons}"
            )
        return "\n".join(lines)

    def json(self, seconds: float) -> bytes:
        """Return everything as JSON."""
        seconds = self._own(seconds)
        whole = {
            "seconds": seconds,
            "seconds_in_calls": self.seconds,
            "share": self.seconds / seconds if seconds else 0.0,
            **msgspec.structs.asdict(self),
        }
        return msgspec.json.format(msgspec.json.encode(whole), indent=1)


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.3g} MB"


def _key(group: Group) -> tuple[Any, ...]:
    return (group.operation, group.dtype, group.size, group.where, *group.takers)


class _Known(NamedTuple):
    """What calls from one line have in common that a backend can't tell apart."""

    group: Group
    bytes_in: int
    bytes_out: int


class Measurement(Observer):
    """Takes note of every call, and asks all backends, installed or not, who could take it.

    Attributes
    ----------
    totals : Measured
        So far.
    """

    exhaustive = True
    passive = True

    def __init__(self) -> None:
        from dispatch_xp import backends

        self._backends: list[Backend] = [backends.get(name) for name in backends.names()]
        self.reset()

    def reset(self) -> None:
        """Begin from nothing."""
        # in a forked child, a thread that is not there may hold the old one
        self._lock = threading.Lock()
        self.totals = Measured()
        self._groups: dict[tuple[Any, ...], Group] = {}
        self._known: dict[tuple[Any, ...], _Known | None] = {}
        # by address: the bytes there, and whether a call has written them
        self._seen: dict[int, tuple[int, bool]] = {}

    def add(self, ended: Ended) -> None:
        """Add a call."""
        began = perf_counter()
        try:
            self._add(ended)
        finally:
            with self._lock:
                self.totals.measuring += ended.deciding + perf_counter() - began

    def _add(self, ended: Ended) -> None:
        call = ended.call
        spent = 0.0 if math.isnan(ended.seconds) else ended.seconds
        where = site()
        with self._lock:
            known = self._find(call, where) if call is not None else None
            if call is None or known is None:
                reason = (
                    ended.decision.reason.value if call is None else "no backend takes this call"
                )
                self.totals.others[reason] = self.totals.others.get(reason, 0) + 1
                self.totals.others_seconds += spent
                return
            known.group.calls += 1
            known.group.seconds += spent
            self.totals.bytes_in += known.bytes_in
            self.totals.bytes_out += known.bytes_out
            self._copies(call, ended.result)

    def _find(self, call: Call, where: tuple[str, int]) -> _Known | None:
        """Return what is known of calls like this one; None if no backend takes them."""
        key = (*call.signature, *[a.dtype for a in call.arrays], where)
        try:
            return self._known[key]
        except KeyError:
            pass
        except TypeError:  # an option that can't be a key
            return self._look(call, where)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        known = self._known[key] = self._look(call, where)
        return known

    def _look(self, call: Call, where: tuple[str, int]) -> _Known | None:
        takers = self._ask(call)
        if not takers:
            return None
        largest = max((math.prod(shape) for shape in call.shapes), default=0)
        size = math.floor(math.log10(largest)) if largest else 0
        group = Group(call.operation.name, call.dtype.name, size, text_of(where), takers)
        known = self._groups.setdefault(_key(group), group)
        if known is group:
            self.totals.groups.append(group)
        return _Known(known, call.workload.bytes_in, call.workload.bytes_out)

    def _ask(self, call: Call) -> list[str]:
        name = call.operation.name
        return [b.name for b in self._backends if name in b.operations() and not b.refuses(call)]

    def _copies(self, call: Call, result: Any) -> None:
        totals, seen = self.totals, self._seen
        if len(seen) > _REMEMBERED:
            seen.clear()
        for array in call.arrays:
            place, nbytes = address(array), array.nbytes
            before, written = seen.get(place, (0, False))
            if before == nbytes:
                # neither this copy in, nor the one that brought the result back
                totals.kept += nbytes * (2 if written else 1)
            seen[place] = (nbytes, False)
        for array in arrays_of(call, result):
            seen[address(array)] = (array.nbytes, True)
