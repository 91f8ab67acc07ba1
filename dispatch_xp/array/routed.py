"""Calling a function of NumPy for an :class:`~dispatch_xp.Array`: routed, whatever is active.

Where no ``backend()`` is, the configuration decides: an ``Array`` asks to be routed.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from dispatch_xp.context import default_state, tell_problem
from dispatch_xp.doors.handler import handler
from dispatch_xp.functions import FUNCTIONS
from dispatch_xp.state import State

__all__ = ["Routed", "configured", "routed"]


@cache
def configured() -> State:
    """Return the state of the configuration, read once in a process."""
    state = default_state()
    tell_problem(state)
    return state


class Routed:
    """A function of NumPy that runs where the policy says.

    Parameters
    ----------
    path : str
        Where users find it, such as ``"numpy.linalg.svd"``.

    Attributes
    ----------
    handle : callable
        What a door calls first.
    reference : callable
        The function itself.
    """

    __slots__ = ("handle", "reference")

    def __init__(self, path: str) -> None:
        module, _, name = path.rpartition(".")
        self.reference: Any = getattr(import_module(module), name)
        self.handle = handler(FUNCTIONS[path], configured)

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
