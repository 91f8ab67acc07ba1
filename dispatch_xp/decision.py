"""A decision: the backend chosen for a call, in numbers and with one reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from dispatch_xp.reasons import Reason

__all__ = ["REFERENCE", "Decision", "Prediction", "stay"]

REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Prediction:
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


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy chose for a call.

    Attributes
    ----------
    backend : str
        The chosen backend.
    reason : Reason
        Why.
    detail : str
        The particulars, for a reader.
    predictions : mapping of str to Prediction
        The predicted times, where the policy predicts.
    required_speedup : float
        What a backend had to promise over the reference.
    """

    backend: str
    reason: Reason
    detail: str = ""
    predictions: Mapping[str, Prediction] = field(default_factory=lambda: MappingProxyType({}))
    required_speedup: float = 1.0


def stay(reason: Reason, detail: str = "") -> Decision:
    """Return the decision to stay on the reference."""
    return Decision(REFERENCE, reason, detail)
