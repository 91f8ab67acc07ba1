"""What every door of a function does first: is anything active, and is the call large enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatch_xp.functions.function import Function
from dispatch_xp.router import Outcome, consider
from dispatch_xp.state import CURRENT, PROCESS, QUIET

__all__ = ["Handler", "handler"]

Handler = Callable[..., Outcome | None]


def handler(function: Function, *, anywhere: bool = False) -> Handler:
    """Return what a door calls with the user's arguments.

    Parameters
    ----------
    function : Function
        The function behind the door.
    anywhere : bool
        Whether arrays may come by keyword or within a tuple, and not by position alone.

    Returns
    -------
    callable
        Returns None if the call passes straight through, else the router's
        :class:`~dispatch_xp.router.Outcome`.
    """
    path = function.path
    get = CURRENT.get
    process, quiet, ndarray = PROCESS, QUIET, np.ndarray

    def handle(*args: Any, **kwargs: Any) -> Outcome | None:
        state = get()
        if state is None:
            state = process.default
            if state is None:
                return None
        elif state is quiet:
            return None
        limit = state.limits[path]
        for x in args:
            if type(x) is ndarray and x.size >= limit:
                return consider(state, function, args, kwargs)
        if limit == 0.0 or (anywhere and _hidden(args, kwargs, limit)):
            return consider(state, function, args, kwargs)
        return None

    return handle


def _hidden(args: tuple[Any, ...], kwargs: dict[str, Any], limit: float) -> bool:
    """Whether a large array came by keyword or within a tuple."""
    values = (*args, *kwargs.values())
    inside = (x for value in values if type(value) is tuple for x in value)
    return any(type(x) is np.ndarray and x.size >= limit for x in (*kwargs.values(), *inside))
