"""A decision: the backend chosen for a call, in numbers and with one reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from dispatch_xp.reasons import Reason

__all__ = ["REFERENCE", "Decision", "Prediction", "Standing", "stay"]

REFERENCE = "reference"
_NOT_PREDICTED: Mapping[str, Prediction] = MappingProxyType({})


# made for each decision: msgspec's are made three times as fast as a dataclass's
class Prediction(msgspec.Struct, frozen=True, gc=False):
    """The predicted time of a call on one backend, in seconds.

    Attributes
    ----------
    startup : float
        What starting the backend still costs, 0 once it runs. Shown, and weighed over many calls,
        not charged to one.
    copy_in, run, copy_out : float
        Moving the arguments there, computing, moving the results back.
    """

    run: float
    copy_in: float = 0.0
    copy_out: float = 0.0
    startup: float = 0.0

    @property
    def total(self) -> float:
        """Seconds for the call, start-up not included."""
        return self.copy_in + self.run + self.copy_out


class Standing:
    """How long a decision to stay stands: so many calls like it are not decided again.

    A decision costs more than its own instructions. After a call that filled the caches with data
    everything that it touches has to come from memory, which takes ten times as long.

    Parameters
    ----------
    calls : int
        How many calls to let through.

    Attributes
    ----------
    left : int
        How many of them are left. Threads may lose each other's counts.
    """

    __slots__ = ("_granted", "_handed_over", "calls", "left")

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.left = self._granted = 0
        self._handed_over = False

    def begin(self) -> None:
        """Let calls through from now on."""
        self.left = self._granted = self.calls
        self._handed_over = False

    def hand_over(self) -> int:
        """Leave the counting to somebody else; return how many calls may go through."""
        self.left, self._granted = 0, self.calls
        self._handed_over = True
        return self.calls

    def end(self) -> int:
        """Let no more through; return how many went that were not counted yet."""
        gone = self._granted - self.left
        self.left = self._granted = 0
        return gone

    def count(self) -> int:
        """Return how many went that were not counted yet, and let the rest through.

        What was handed over is not known before it is used up, and counted at the end.
        """
        if self._handed_over:
            return 0
        gone = self._granted - self.left
        self._granted = self.left
        return gone

    def withdraw(self) -> None:
        """Never let a call through again."""
        self._granted -= self.left
        self.calls = self.left = 0


class Decision(msgspec.Struct, frozen=True, eq=False):
    """What a policy chose for a call.

    Attributes
    ----------
    backend : str
        The chosen backend.
    reason : Reason
        Why.
    detail : str
        The particulars, unless the predictions say them.
    predictions : mapping of str to Prediction
        The predicted times, where the policy predicts.
    required_speedup : float
        What a backend had to promise over the reference.
    standing : Standing or None
        For a decision to stay: for how many calls it stands. None: decide again every time.
    """

    backend: str
    reason: Reason
    detail: str = ""
    predictions: Mapping[str, Prediction] = _NOT_PREDICTED
    required_speedup: float = 1.0
    standing: Standing | None = None

    @property
    def why(self) -> str:
        """The particulars, for a reader."""
        return self.detail or self._promise()

    def ended(self, reason: Reason, detail: str) -> Decision:
        """Return what became of it where the reference had to finish."""
        return Decision(REFERENCE, reason, detail, self.predictions, self.required_speedup)

    def _promise(self) -> str:
        """Say how much faster a backend is predicted to be: the chosen one, or the best."""
        seconds = {name: prediction.total for name, prediction in self.predictions.items()}
        reference = seconds.pop(REFERENCE, None)
        if reference is None or not seconds:
            return ""
        name = self.backend if self.backend in seconds else min(seconds, key=seconds.__getitem__)
        speedup = reference / seconds[name] if seconds[name] > 0 else 1.0
        return f"{name} {speedup:.2f} times as fast, {self.required_speedup:g} required"


def stay(reason: Reason, detail: str = "") -> Decision:
    """Return the decision to stay on the reference."""
    return Decision(REFERENCE, reason, detail)
