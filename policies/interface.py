"""What a policy has to offer: a pure choice, and perhaps a memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from dispatch_xp.backends.interface import Backend
from dispatch_xp.call import Call
from dispatch_xp.decision import Decision
from dispatch_xp.operations.row import Operation

if TYPE_CHECKING:
    from dispatch_xp.config import Settings

__all__ = ["Policy"]


class Policy(ABC):
    """Chooses one candidate for a call.

    A third party's policy subclasses this and names the class in the entry-point group
    ``dispatch_xp.policies``.

    Parameters
    ----------
    settings : Settings
        The effective configuration.
    """

    name: ClassVar[str]
    """How users call it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @abstractmethod
    def choose(self, call: Call, candidates: Sequence[Backend]) -> Decision:
        """Choose where a call runs.

        Parameters
        ----------
        call : Call
            The call, without its arrays where only a prediction is asked for.
        candidates : sequence of Backend
            The backends that are available, take the call and have room for it, in the order of the
            configuration. The reference is always possible and not among them.
        """

    def limit(self, operation: Operation, backends: Sequence[Backend]) -> float:
        """Return the size below which a call of `operation` is never worth a look.

        Parameters
        ----------
        operation : Operation
            The operation.
        backends : sequence of Backend
            The available backends that have it.

        Returns
        -------
        float
            Elements of the largest argument; infinity if no size is worth a look.
        """
        return 0.0

    def observe(self, call: Call, backend: str, seconds: float) -> None:
        """Learn how long a call took on a backend, the reference included."""
