"""A random candidate for each call: for tests."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dispatch_xp.backends.interface import Backend
from dispatch_xp.call import Call
from dispatch_xp.decision import Decision, stay
from dispatch_xp.policies.interface import Policy
from dispatch_xp.reasons import Reason

if TYPE_CHECKING:
    from dispatch_xp.config import Settings

__all__ = ["RandomPolicy"]


class RandomPolicy(Policy):
    """Draws uniformly among the candidates and the reference, from the configured seed."""

    name = "random"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._generator = random.Random(settings.seed)
        self._lock = threading.Lock()

    def choose(self, call: Call, candidates: Sequence[Backend]) -> Decision:
        """Draw."""
        with self._lock:
            drawn = self._generator.randrange(len(candidates) + 1)
        if drawn == len(candidates):
            return stay(Reason.RANDOM)
        return Decision(candidates[drawn].name, Reason.RANDOM)
