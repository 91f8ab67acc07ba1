"""A size per operation, as NVBLAS has it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dispatch_xp.backends.interface import Backend
from dispatch_xp.call import Call
from dispatch_xp.decision import Decision, stay
from dispatch_xp.operations.row import Operation
from dispatch_xp.policies.interface import Policy
from dispatch_xp.reasons import Reason

__all__ = ["ThresholdPolicy"]

DEFAULT = 1_000_000


class ThresholdPolicy(Policy):
    """Chooses the first candidate for calls whose largest argument reaches a threshold."""

    name = "threshold"

    def threshold(self, operation: str) -> int:
        """Return an operation's threshold in elements of the largest argument."""
        table = self.settings.thresholds
        return table.get(operation, table.get("default", DEFAULT))

    def choose(self, call: Call, candidates: Sequence[Backend]) -> Decision:
        """Compare the size."""
        size = max(math.prod(shape) for shape in call.shapes)
        threshold = self.threshold(call.operation.name)
        if size < threshold or not candidates:
            return stay(Reason.BELOW_THRESHOLD, f"{size} < {threshold} elements")
        return Decision(candidates[0].name, Reason.THRESHOLD, f"{size} >= {threshold} elements")

    def limit(self, operation: Operation, backends: Sequence[Backend]) -> float:
        """Return the threshold itself."""
        return float(self.threshold(operation.name))
