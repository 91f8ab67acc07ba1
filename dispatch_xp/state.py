"""What is active where: one immutable state in one context variable.

A context variable makes ``backend()`` local to the thread and to the asynchronous task. The doors
read :data:`ACTIVE` first, a count for the whole process: while it is zero they do nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dispatch_xp import residency
from dispatch_xp.decision import Standing
from dispatch_xp.functions import FUNCTIONS
from dispatch_xp.functions.function import Function
from dispatch_xp.health import Health
from dispatch_xp.operations import OPERATIONS, Operation

if TYPE_CHECKING:
    from dispatch_xp.backends.interface import Backend
    from dispatch_xp.config import Settings
    from dispatch_xp.observer import Observer
    from dispatch_xp.policies.interface import Policy

__all__ = ["ACTIVE", "CURRENT", "PROCESS", "QUIET", "Process", "State", "current", "quiet"]

ACTIVE = [0]
"""How many contexts are active in the process."""


class _Limits(dict[str, float]):
    """The smallest size worth a look, per function; computed when first asked for."""

    def __init__(self, compute: Callable[[str], float]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, key: str) -> float:
        limit = self[key] = self._compute(key)
        return limit


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Everything that decides where a call runs.

    Attributes
    ----------
    settings : Settings
        The effective configuration.
    policy : Policy or None
        Chooses; None where calls are only recorded.
    backends : tuple of Backend
        The available backends, in the order of the configuration.
    observer : Observer or None
        Told of calls.
    health : Health
        What failed, and for how long it is left alone.
    limits : dict
        Elements of the largest argument, by the function's path: a smaller call never gets as far
        as a :class:`~dispatch_xp.call.Call`.
    standing : dict
        Decisions to stay that stand for a while, by what the doors see of a call.
    remote : bool
        Whether a backend has memory of its own, so that an array may stay there.
    exhaustive : bool
        Whether the observer wants every call: none is too small, and no decision stands.
    """

    settings: Settings
    policy: Policy | None
    backends: tuple[Backend, ...] = ()
    observer: Observer | None = None
    health: Health = field(default_factory=Health)
    limits: dict[str, float] = field(init=False)
    standing: dict[object, Standing] = field(init=False, default_factory=dict)
    remote: bool = field(init=False)
    exhaustive: bool = field(init=False)
    _having: dict[str, tuple[Backend, ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        exhaustive = self.observer is not None and self.observer.exhaustive
        object.__setattr__(self, "exhaustive", exhaustive)
        object.__setattr__(self, "limits", _Limits(self._function_limit))
        remote = any(not backend.shares_host_memory for backend in self.backends)
        object.__setattr__(self, "remote", remote)
        if remote:
            residency.ACTIVE[0] = True

    def having(self, operation: str) -> tuple[Backend, ...]:
        """Return the available backends that have an operation."""
        found = self._having.get(operation)
        if found is None:
            found = tuple(b for b in self.backends if operation in b.operations())
            self._having[operation] = found
        return found

    def operation_limit(self, operation: Operation) -> float:
        """Return the size below which calls of an operation pass straight through."""
        if self.policy is None:
            return float("inf")
        if operation.name in self.settings.operations:
            return 0.0
        backends = self.having(operation.name)
        return self.policy.limit(operation, backends) if backends else float("inf")

    def _function_limit(self, path: str) -> float:
        if self.exhaustive:
            return 0.0
        function: Function = FUNCTIONS[path]
        return min(self.operation_limit(OPERATIONS[name]) for name in function.operations)


QUIET: Any = object()
"""The state inside a call: nothing is routed again."""

CURRENT: ContextVar[Any] = ContextVar("dispatch_xp", default=None)
"""The state of this context: None where nothing was said, :data:`QUIET` inside a call."""


@contextmanager
def quiet() -> Iterator[None]:
    """Route nothing within a ``with`` block."""
    token = CURRENT.set(QUIET)
    try:
        yield
    finally:
        CURRENT.reset(token)


class Process:
    """What holds for the whole process: the state of contexts where nothing was said."""

    def __init__(self) -> None:
        self.default: State | None = None
        self.lock = threading.Lock()

    def enter(self) -> None:
        """Count one more active context."""
        with self.lock:
            ACTIVE[0] += 1

    def leave(self) -> None:
        """Count one active context less."""
        with self.lock:
            ACTIVE[0] -= 1


PROCESS = Process()


def current() -> State | None:
    """Return the state that calls made here see, or None if nothing is active."""
    state = CURRENT.get()
    if state is None:
        return PROCESS.default
    return None if state is QUIET else state
