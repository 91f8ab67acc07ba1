"""What a forked child may use: nothing that its parent had started."""

from __future__ import annotations

import os

from dispatch_xp.backends.interface import Backend

__all__ = ["forked_from_started"]

_started_before_fork: set[str] = set()


def forked_from_started(backend: Backend) -> bool:
    """Whether this process was forked after the backend had been started.

    Neither CUDA nor OpenMP survive a fork: the first fails, the second hangs.
    """
    return backend.name in _started_before_fork


def _after_fork_in_child() -> None:
    from dispatch_xp.backends import registry

    for backend in registry.loaded():
        if backend.started and backend.modules:
            _started_before_fork.add(backend.name)
        backend.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
