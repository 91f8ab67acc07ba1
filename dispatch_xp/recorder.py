"""The recorder: what ran where, how long it took, and why."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from os.path import dirname
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from dispatch_xp.decision import Prediction
from dispatch_xp.observer import Ended, Observer
from dispatch_xp.reasons import Reason
from dispatch_xp.table import Table, seconds_text

if TYPE_CHECKING:
    from dispatch_xp.verify import Comparison

__all__ = ["Record", "Recorder", "caller", "site", "text_of"]


@dataclass(frozen=True, slots=True)
class Record:
    """One call.

    Attributes
    ----------
    function : str
        What was called.
    operation : str
        What it amounted to; empty if the arguments could not be bound.
    shapes : tuple of tuple of int
        Of the array arguments.
    dtype : str
        What it was computed in.
    backend : str
        Where it ran in the end.
    reason : Reason
        Why there.
    detail : str
        The particulars.
    seconds : float
        How long it took, everything included.
    predictions : mapping of str to Prediction
        What the policy predicted, by backend.
    where : str
        File and line of the call, outside of NumPy and SciPy.
    """

    function: str
    operation: str
    shapes: tuple[tuple[int, ...], ...]
    dtype: str
    backend: str
    reason: Reason
    detail: str
    seconds: float
    predictions: Mapping[str, Prediction] = field(default_factory=lambda: MappingProxyType({}))
    where: str = ""


def caller() -> str:
    """Return file and line of the call that is being made, outside of NumPy and SciPy."""
    return text_of(site())


def text_of(where: tuple[str, int]) -> str:
    """Return a site as a reader knows it; empty for none."""
    name, line = where
    return f"{name}:{line}" if name else ""


def site() -> tuple[str, int]:
    """Return what `caller` returns, in two parts: nothing has to be formatted."""
    frame: FrameType | None = sys._getframe(1)
    # an import that is blocked leaves None there
    inside = _inside(sys.modules.get("scipy") is not None)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(inside):
            return name, frame.f_lineno
        frame = frame.f_back
    return "", 0


@cache
def _inside(scipy: bool) -> tuple[str, ...]:
    """Return how the names of the files begin that are not the program's."""
    # what a module calls as it is imported is the importing line's
    folders = (dirname(__file__), dirname(np.__file__), "<dispatch_xp", "<frozen importlib")
    return (*folders, dirname(str(sys.modules["scipy"].__file__))) if scipy else folders


class Recorder(Observer):
    """Keeps a record of every call.

    Attributes
    ----------
    records : list of Record
        In the order in which the calls ended.
    comparisons : list of (str, Comparison)
        With ``verify=True``: the operation and how the results differed.
    """

    exhaustive = True

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.comparisons: list[tuple[str, Comparison]] = []
        self._lock = threading.Lock()

    def add(self, ended: Ended) -> None:
        """Add a call that has ended."""
        call, decision = ended.call, ended.decision
        detail = "; ".join(part for part in (decision.why, ended.note) if part)
        record = Record(
            function=ended.function,
            operation=call.operation.name if call is not None else "",
            shapes=call.shapes if call is not None else (),
            dtype=call.dtype.name if call is not None else "",
            backend=ended.backend,
            reason=decision.reason,
            detail=detail,
            seconds=ended.seconds,
            predictions=decision.predictions,
            where=caller(),
        )
        with self._lock:
            self.records.append(record)

    def compared(self, operation: str, comparison: Comparison) -> None:
        """Add a comparison."""
        with self._lock:
            self.comparisons.append((operation, comparison))

    @property
    def mismatches(self) -> list[tuple[str, Comparison]]:
        """The comparisons that rounding doesn't explain."""
        return [(name, c) for name, c in self.comparisons if not c.matches]

    def table(self) -> Table:
        """Return the calls, grouped by function, dtype, backend and reason."""
        groups: dict[tuple[str, str, str, str], list[Record]] = {}
        for record in self.records:
            reason = str(record.reason) + (f" ({record.detail})" if record.detail else "")
            key = (record.function, record.dtype, record.backend, reason)
            groups.setdefault(key, []).append(record)
        rows = []
        for (function, dtype, backend, reason), records in groups.items():
            total = sum(r.seconds for r in records)
            predicted = [p.total for r in records if (p := r.predictions.get(backend)) is not None]
            rows.append(
                (
                    function,
                    dtype,
                    backend,
                    str(len(records)),
                    seconds_text(total),
                    seconds_text(sum(predicted)) if len(predicted) == len(records) else "",
                    reason,
                    records[0].where,
                )
            )
        header = (
            "function", "dtype", "ran on", "calls", "time", "predicted", "why", "first called at",
        )  # fmt: skip
        return Table(header, tuple(rows))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.records)} calls>"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()
