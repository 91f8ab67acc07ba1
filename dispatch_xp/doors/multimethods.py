"""uarray: multimethods for ``scipy.linalg``, and our backends for its domain and ``scipy.fft``'s.

SciPy has multimethods for ``scipy.fft`` only. While the doors are installed, the functions of
``scipy.linalg`` are multimethods of the domain ``numpy.scipy.linalg`` too, so that any uarray
backend of that domain is reached.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import uarray

from dispatch_xp.doors.handler import handler
from dispatch_xp.functions import FUNCTIONS
from dispatch_xp.router import consider
from dispatch_xp.state import CURRENT, PROCESS, QUIET, State

__all__ = ["LINALG_DOMAIN", "PerThread", "UarrayBackend", "multimethod"]

LINALG_DOMAIN = "numpy.scipy.linalg"


def _arrays(*args: Any, **kwargs: Any) -> tuple[uarray.Dispatchable, ...]:
    """Return the arguments that a backend may want to convert: the arrays among the positional."""
    return tuple(
        uarray.Dispatchable(x, np.ndarray) for x in args if hasattr(x, "shape") and x is not None
    )


def _replaced(
    args: tuple[Any, ...], kwargs: dict[str, Any], dispatchables: tuple[Any, ...]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    values = iter(dispatchables)
    return tuple(next(values) if hasattr(x, "shape") else x for x in args), kwargs


def multimethod(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a uarray multimethod in the domain ``numpy.scipy.linalg``.

    Parameters
    ----------
    function : callable
        The function of ``scipy.linalg``, which runs where no backend takes the call.
    """
    method: Callable[..., Any] = uarray.create_multimethod(
        _replaced, domain=LINALG_DOMAIN, default=function
    )(_arrays)
    method.__name__ = function.__name__
    return method


class PerThread(threading.local):
    """Where uarray keeps a backend's context managers, its attribute ``__ua_cache__``.

    A context holds the lists of the thread that made it. In another thread it would do nothing
    there, and change what the first thread is just reading.
    """

    def __init__(self) -> None:
        self._contexts: dict[Any, Any] = {}

    def __getitem__(self, key: Any) -> Any:
        return self._contexts[key]

    def __setitem__(self, key: Any, context: Any) -> None:
        self._contexts[key] = context


class UarrayBackend:
    """A uarray backend that routes: what ``uarray.set_backend`` and ``scipy.fft`` take.

    Parameters
    ----------
    domain : str
        ``"numpy.scipy.fft"`` or ``"numpy.scipy.linalg"``.
    module : str
        Where the functions of the domain live.
    default : callable
        Returns the state for calls made where no ``backend()`` is active, or None to take none.
    """

    def __init__(
        self, domain: str, module: str, default: Callable[[], State | None] | None = None
    ) -> None:
        self.__ua_domain__ = domain
        self.__ua_cache__ = PerThread()
        self._default = default
        prefix = f"{module}."
        self._functions = {
            path.removeprefix(prefix): (function, handler(function))
            for path, function in FUNCTIONS.items()
            if path.startswith(prefix)
        }

    def __ua_function__(self, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = self._functions.get(method.__name__)
        if found is None:
            return NotImplemented
        function, handle = found
        state = CURRENT.get()
        if state is None and self._default is not None and PROCESS.default is None:
            # set through uarray alone: routed by the configuration
            state = self._default()
            if state is None:
                return NotImplemented
            outcome = consider(state, function, args, kwargs)
        elif state is QUIET:
            return NotImplemented
        else:
            handled = handle(*args, **kwargs)
            if handled is None:
                return NotImplemented
            outcome = handled
        if outcome.done:
            return outcome.result
        with outcome, uarray.skip_backend(self):
            return outcome.finish(method(*args, **kwargs))
