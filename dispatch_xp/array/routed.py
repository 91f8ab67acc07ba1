"""Calling a function of NumPy for an :class:`~dispatch_xp.Array`: routed, whatever is active.

Where no ``backend()`` is, the configuration decides: an ``Array`` asks to be routed.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from dispatch_xp.array.core import core
from dispatch_xp.context import default_state, tell_problem
from dispatch_xp.doors import INSTALLATION
from dispatch_xp.doors.handler import handler
from dispatch_xp.functions import FUNCTIONS
from dispatch_xp.state import State, quiet

__all__ = ["LIMITS", "Routed", "configured", "pinned", "routed"]


class _Limits:
    """The sizes below which the core runs a function without asking.

    They are the smallest that any active state wants, the configuration's among them; 0 until that
    has been read.
    """

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._states: list[State] = []
        self.configured: State | None = None

    def add(self, path: str) -> None:
        """Add an entry of the core's, in its order; an empty path is one to ask always."""
        self._paths.append(path)

    def refresh(self, states: list[State]) -> None:
        """Tell the core what these active states want."""
        self._states = states
        limits = np.zeros(len(self._paths))
        if self.configured is not None:
            for position, path in enumerate(self._paths):
                if path:
                    wanted = (state.limits[path] for state in (self.configured, *states))
                    limits[position] = min(wanted)
        core.set_limits(limits)

    def read(self) -> State:
        """Return the state of the configuration, read once in a process."""
        if self.configured is None:
            self.configured = default_state()
            self.refresh(self._states)
        return self.configured

    def forget(self) -> None:
        """Read the configuration anew when it is needed next."""
        self.configured = None
        self.refresh(self._states)


LIMITS = _Limits()
INSTALLATION.ufuncs.watchers.append(LIMITS.refresh)


def configured() -> State:
    """Return the state of the configuration, for calls where nothing else is active."""
    state = LIMITS.read()
    tell_problem(state)
    return state


def pinned(pin: str | None) -> AbstractContextManager[None]:
    """Return a context in which nothing is routed, if there is a pin to the host."""
    return nullcontext() if pin is None else quiet()


class Routed:
    """A function of NumPy that runs where the policy says.

    Parameters
    ----------
    path : str
        Where users find it, such as ``"numpy.linalg.svd"``.

    Attributes
    ----------
    function : Function
        Its row in the table of functions.
    handle : callable
        What a door calls first.
    reference : callable
        The function itself.
    """

    __slots__ = ("function", "handle", "reference")

    def __init__(self, path: str) -> None:
        module, _, name = path.rpartition(".")
        self.reference: Any = getattr(import_module(module), name)
        self.function = FUNCTIONS[path]
        self.handle = handler(self.function, configured)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it with ndarrays; what comes back is what NumPy returns."""
        outcome = self.handle(*args, **kwargs)
        if outcome is None:
            return self.reference(*args, **kwargs)
        if outcome.done:
            return outcome.result
        with outcome:
            return outcome.finish(self.reference(*args, **kwargs))


def routed(function: Any) -> Any:
    """Return a function of NumPy in its routed form, or the function itself where it has none."""
    try:
        path = _PATHS.get(function)
    except TypeError:  # something that can't be hashed
        return function
    return function if path is None else _entry(path)


@cache
def _entry(path: str) -> Routed:
    return Routed(path)


def _find() -> dict[Any, str]:
    """Return the paths of NumPy's public functions, by the functions."""
    found = {}
    for path in FUNCTIONS:
        module, _, name = path.rpartition(".")
        if module in ("numpy", "numpy.linalg", "numpy.fft"):
            function = getattr(import_module(module), name, None)
            if function is not None:
                found[function] = path
    return found


_PATHS = _find()
