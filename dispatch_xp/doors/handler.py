"""What every door of a function does first: is anything active, and is the call large enough.

Compiled where there was a compiler, in ``_function_gate.c``; what that leaves comes here.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatch_xp.functions.function import Function
from dispatch_xp.router import Outcome, consider
from dispatch_xp.state import CURRENT, PROCESS, QUIET, State

if TYPE_CHECKING:
    from dispatch_xp import _function_gate as compiled
else:
    try:
        compiled = import_module("dispatch_xp._function_gate")
    except ImportError:  # no compiler when the package was installed
        compiled = None

__all__ = ["COMPILED", "Handler", "compiled", "considered", "handler", "key_of"]

COMPILED = compiled is not None
"""Whether a small call needs no Python."""

_REMEMBERED = 4096
_WITH_TUPLES = frozenset({"scipy.linalg.lu_solve", "scipy.linalg.cho_solve"})

Handler = Callable[..., Outcome | None]


def handler(function: Function, fallback: Callable[[], State] | None = None) -> Handler:
    """Return what a door calls with the user's arguments.

    Parameters
    ----------
    function : Function
        The function behind the door.
    fallback : callable, optional
        The state where nothing is active; without it such a call passes straight through.

    Returns
    -------
    callable
        Returns None if the call passes straight through, else the router's
        :class:`~dispatch_xp.router.Outcome`.
    """
    path = function.path
    get = CURRENT.get
    process, quiet, ndarray = PROCESS, QUIET, np.ndarray
    tuples = path in _WITH_TUPLES
    never = float("inf")

    def handle(*args: Any, **kwargs: Any) -> Outcome | None:
        state = get()
        if state is None:
            state = process.default
            if state is None:
                if fallback is None:
                    return None
                state = fallback()
        elif state is quiet:
            return None
        limit = state.limits[path]
        if limit == never:
            return None
        for x in args:
            if type(x) is ndarray and x.size >= limit:
                break
        else:
            for x in kwargs.values():
                if type(x) is ndarray and x.size >= limit:
                    break
            else:
                if limit > 0.0 and not (tuples and _within(args, kwargs) >= limit):
                    return None
        return considered(state, function, args, kwargs)

    if not COMPILED or fallback is not None:
        return handle
    return compiled.Gate(path, handle, CURRENT, PROCESS, QUIET, tuples)


def considered(
    state: State, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Outcome | None:
    """Consider a call that is large enough, unless the decision to stay stands.

    Parameters
    ----------
    state : State
        The active state.
    function : Function
        The function behind the door.
    args, kwargs
        The user's arguments.

    Returns
    -------
    Outcome or None
        As from :func:`handler`.
    """
    if state.exhaustive:
        return consider(state, function, args, kwargs)
    try:
        seen = state.standing.get(key := _key(function.path, *args, **kwargs))
    except TypeError:  # a list, which may hold anything
        return consider(state, function, args, kwargs)
    if seen is not None and seen.left > 0:
        seen.left -= 1
        return None
    outcome = consider(state, function, args, kwargs)
    standing = outcome.decision.standing
    if standing is not None and not outcome.done:
        standing.begin()
        if len(state.standing) >= _REMEMBERED:
            state.standing.clear()
        state.standing[key] = standing
    return outcome


def key_of(path: str, /, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """Return what a decision depends on: arrays by shape and dtype, numbers by type, the rest.

    Parameters
    ----------
    path : str
        Of the function.
    *args, **kwargs
        The user's arguments.
    """
    parts: list[Any] = [path]
    for x in args:
        kind = type(x)
        if kind is np.ndarray:
            parts += (x.shape, x.dtype)
        else:
            parts.append(kind if kind is float or kind is complex else x)
    for name, x in kwargs.items():
        parts.append(name)
        kind = type(x)
        if kind is np.ndarray:
            parts += (x.shape, x.dtype)
        else:
            parts.append(kind if kind is float or kind is complex else x)
    return tuple(parts)


_key = compiled.key if COMPILED else key_of


def _within(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the size of the largest array within a tuple."""
    tuples = (value for value in (*args, *kwargs.values()) if type(value) is tuple)
    return max((x.size for t in tuples for x in t if type(x) is np.ndarray), default=0)
