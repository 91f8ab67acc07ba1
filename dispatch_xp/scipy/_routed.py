"""The functions of SciPy's modules, routed without a ``with`` block around them."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from dispatch_xp.functions import FUNCTIONS

__all__ = ["routed"]


def routed(module: str, name: str) -> Any:
    """Return a function of a SciPy module that routes its calls.

    Raises
    ------
    AttributeError
        If it is not one that can be routed.
    """
    if f"{module}.{name}" not in FUNCTIONS:
        raise AttributeError(f"module 'dispatch_xp.{module}' has no attribute {name!r}")
    function = getattr(importlib.import_module(module), name)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        from dispatch_xp.context import backend
        from dispatch_xp.state import current

        if current() is not None:
            return function(*args, **kwargs)
        with backend():
            return function(*args, **kwargs)

    return call
