"""The tally: what ran where, added up, at next to no cost; the summary at the end of a run."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

import msgspec

from dispatch_xp.decision import REFERENCE
from dispatch_xp.observer import Ended, Observer
from dispatch_xp.table import Table, seconds_text

if TYPE_CHECKING:
    from dispatch_xp.verify import Comparison

__all__ = ["Compared", "Share", "Tally", "Totals", "processes_text"]

_REASONS = 3


class Share(msgspec.Struct):
    """What one backend did.

    Attributes
    ----------
    calls : int
        How many.
    seconds : float
        How long they took, those that were timed.
    saved : float
        By how many seconds the reference was predicted to take longer.
    reasons : dict of str to int
        How many calls, by reason.
    """

    calls: int = 0
    seconds: float = 0.0
    saved: float = 0.0
    reasons: dict[str, int] = {}

    def include(self, other: Share) -> None:
        """Add another's."""
        self.calls += other.calls
        self.seconds += other.seconds
        self.saved += other.saved
        for reason, count in other.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + count


class Compared(msgspec.Struct):
    """How an operation's results compared with the reference's.

    Attributes
    ----------
    calls, mismatches : int
        How many results were compared, and how many differ by more than rounding explains.
    largest : float
        The largest relative difference.
    """

    calls: int = 0
    mismatches: int = 0
    largest: float = 0.0

    def include(self, other: Compared) -> None:
        """Add another's."""
        self.calls += other.calls
        self.mismatches += other.mismatches
        self.largest = max(self.largest, other.largest)


class Totals(msgspec.Struct):
    """What was added up.

    Attributes
    ----------
    shares : dict of str to Share
        By backend.
    comparisons : dict of str to Compared
        By operation, where results were compared.
    processes : int
        How many processes are in it.
    unfinished : int
        How many of them were killed or still running, so that their last calls are missing.
    """

    shares: dict[str, Share] = {}
    comparisons: dict[str, Compared] = {}
    processes: int = 1
    unfinished: int = 0

    def include(self, other: Totals) -> None:
        """Add another process's."""
        self.processes += other.processes
        self.unfinished += other.unfinished
        for name, share in other.shares.items():
            self.shares.setdefault(name, Share()).include(share)
        for name, compared in other.comparisons.items():
            self.comparisons.setdefault(name, Compared()).include(compared)

    def table(self) -> Table:
        """Return a row per backend, those that ran something else than the reference first."""
        rows = []
        for name, share in sorted(self.shares.items(), key=lambda item: item[0] == REFERENCE):
            rows.append(
                (
                    name,
                    str(share.calls),
                    seconds_text(share.seconds) if share.seconds else "-",
                    _saving(share.saved) if share.saved else "-",
                    _reasons(share.reasons),
                )
            )
        return Table(("ran on", "calls", "time", "predicted saving", "why"), tuple(rows))

    def verification(self) -> Table:
        """Return a row per operation whose results were compared with the reference's."""
        rows = [
            (name, str(c.calls), str(c.mismatches), f"{c.largest:.1e}")
            for name, c in sorted(self.comparisons.items())
        ]
        header = ("operation", "compared", "mismatches", "largest relative difference")
        return Table(header, tuple(rows))

    def text(self, seconds: float) -> str:
        """Return the report on a run of so many seconds."""
        return f"{seconds_text(seconds)} in all; calls that were large enough to consider:\n{self}"

    def json(self, seconds: float) -> bytes:
        """Return everything as JSON."""
        whole = {"seconds": seconds, **msgspec.structs.asdict(self)}
        return msgspec.json.format(msgspec.json.encode(whole), indent=1)

    def __str__(self) -> str:
        if not self.shares:
            return "none"
        parts = [str(self.table())]
        if self.comparisons:
            parts.append(str(self.verification()))
        if self.processes > 1:
            parts.append(processes_text(self.processes, self.unfinished))
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        if not self.shares:
            return "<p>no call was large enough to be considered</p>"
        html = self.table()._repr_html_()
        return html + (self.verification()._repr_html_() if self.comparisons else "")


def processes_text(processes: int, unfinished: int) -> str:
    """Say how many processes there were, and how many did not say that they ended."""
    text = f"in {processes} processes"
    if not unfinished:
        return text
    return f"{text}, {unfinished} of them killed or still running: their last calls are missing"


def _saving(seconds: float) -> str:
    return seconds_text(seconds) if seconds >= 0 else f"-{seconds_text(-seconds)}"


def _reasons(reasons: dict[str, int]) -> str:
    """Return the most frequent reasons with their counts."""
    ordered = sorted(reasons.items(), key=lambda item: -item[1])
    parts = [f"{reason} ({count})" for reason, count in ordered[:_REASONS]]
    rest = sum(count for _, count in ordered[_REASONS:])
    return ", ".join([*parts, f"other reasons ({rest})"] if rest else parts)


class Tally(Observer):
    """Adds up what it is told.

    A decision that stands lets calls through without asking anybody: those are not counted.

    Attributes
    ----------
    totals : Totals
        So far.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin from nothing."""
        # in a forked child, a thread that is not there may hold the old one
        self._lock = threading.Lock()
        self.totals = Totals()

    def add(self, ended: Ended) -> None:
        """Add a call."""
        decision, backend, seconds = ended.decision, ended.backend, ended.seconds
        reason = decision.reason.value
        with self._lock:
            share = self.totals.shares.get(backend)
            if share is None:
                share = self.totals.shares[backend] = Share()
            share.calls += 1
            share.reasons[reason] = share.reasons.get(reason, 0) + 1
            if math.isnan(seconds):
                return
            share.seconds += seconds
            if backend != REFERENCE and REFERENCE in decision.predictions:
                share.saved += decision.predictions[REFERENCE].total - seconds

    def compared(self, operation: str, comparison: Comparison) -> None:
        """Add a comparison."""
        with self._lock:
            compared = self.totals.comparisons.setdefault(operation, Compared())
            compared.include(Compared(1, not comparison.matches, comparison.difference))

    def __repr__(self) -> str:
        return str(self.totals)

    def _repr_html_(self) -> str:
        return self.totals._repr_html_()
