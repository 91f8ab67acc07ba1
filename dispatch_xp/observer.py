"""Who is told what ran where: the recorder, the tally of a run, the writer of a trace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dispatch_xp.call import Call
    from dispatch_xp.decision import Decision
    from dispatch_xp.verify import Comparison

__all__ = ["Both", "Ended", "Observer", "beside"]


class Ended(NamedTuple):
    """A call that has ended.

    Attributes
    ----------
    function : str
        What was called.
    call : Call or None
        What it amounted to; None if the arguments could not be bound.
    decision : Decision
        Where it was to run, and why.
    backend : str
        Where it ran in the end.
    seconds : float
        How long it took, everything included; NaN where nobody timed it.
    note : str
        What else a reader should know.
    result : object
        What the caller got.
    deciding : float
        The seconds that went by before it began.
    """

    function: str
    call: Call | None
    decision: Decision
    backend: str
    seconds: float
    note: str = ""
    result: Any = None
    deciding: float = 0.0


class Observer(ABC):
    """Is told of calls when they have ended."""

    exhaustive: bool = False
    """Whether it wants every call, also those that are too small to be considered. That costs each
    of them what a decision costs."""

    passive: bool = False
    """Whether it wants everything on the reference, whatever the program itself asks for."""

    @abstractmethod
    def add(self, ended: Ended) -> None:
        """Take note of a call. Its arrays are not to be kept: their memory may be a loop's."""

    def compared(self, operation: str, comparison: Comparison) -> None:
        """Take note of a backend's result compared with the reference's."""


class Both(Observer):
    """Tells two observers.

    Parameters
    ----------
    first, second : Observer
        In the order in which they are told.
    """

    def __init__(self, first: Observer, second: Observer) -> None:
        self._observers = (first, second)
        self.exhaustive = first.exhaustive or second.exhaustive
        self.passive = first.passive or second.passive

    def add(self, ended: Ended) -> None:
        """Tell both."""
        for observer in self._observers:
            observer.add(ended)

    def compared(self, operation: str, comparison: Comparison) -> None:
        """Tell both."""
        for observer in self._observers:
            observer.compared(operation, comparison)


def beside(outer: Observer | None, inner: Observer) -> Observer:
    """Return who is told where an inner observer joins an outer one."""
    return inner if outer is None else Both(outer, inner)
