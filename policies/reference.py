"""Everything stays on the reference."""

from __future__ import annotations

from collections.abc import Sequence

from dispatch_xp.backends.interface import Backend
from dispatch_xp.call import Call
from dispatch_xp.decision import Decision, stay
from dispatch_xp.operations.row import Operation
from dispatch_xp.policies.interface import Policy
from dispatch_xp.reasons import Reason

__all__ = ["ReferencePolicy"]


class ReferencePolicy(Policy):
    """Keeps every call on the reference."""

    name = "reference"

    def choose(self, call: Call, candidates: Sequence[Backend]) -> Decision:
        """Stay."""
        return stay(Reason.REFERENCE_POLICY)

    def limit(self, operation: Operation, backends: Sequence[Backend]) -> float:
        """No size is worth a look."""
        return float("inf")
