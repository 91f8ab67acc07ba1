"""One named backend, wherever it takes the call."""

from __future__ import annotations

from collections.abc import Sequence

from dispatch_xp.backends.interface import Backend
from dispatch_xp.call import Call
from dispatch_xp.decision import REFERENCE, Decision, stay
from dispatch_xp.operations.row import Operation
from dispatch_xp.policies.interface import Policy
from dispatch_xp.reasons import Reason

__all__ = ["FixedPolicy"]


class FixedPolicy(Policy):
    """Chooses the backend that the configuration names.

    With ``backend = "auto"`` that is the first of ``backends`` that takes the call.
    """

    name = "fixed"

    def choose(self, call: Call, candidates: Sequence[Backend]) -> Decision:
        """Choose the named backend if it is a candidate."""
        wanted = self.settings.backend
        for backend in candidates:
            if wanted in ("auto", backend.name):
                return Decision(backend.name, Reason.FIXED)
        return stay(Reason.FIXED if wanted == REFERENCE else Reason.NO_BACKEND)

    def limit(self, operation: Operation, backends: Sequence[Backend]) -> float:
        """Every size counts, unless the reference is named."""
        return float("inf") if self.settings.backend == REFERENCE else 0.0
