"""Yes-or-no arguments: what is neither is the reference's to refuse, also where we ignore it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from dispatch_xp.errors import Unsupported
from dispatch_xp.functions.function import Request
from dispatch_xp.reasons import Reason

__all__ = ["with_checked_flags"]


def with_checked_flags(bind: Callable[..., Request]) -> Callable[..., Request]:
    """Return a bind function that refuses what is no flag where a flag is expected.

    Parameters
    ----------
    bind : callable
        Its flags are the parameters with True or False for a default, and ``keepdims``.
    """
    parameters = list(inspect.signature(bind).parameters.values())
    flags = [p for p in parameters if isinstance(p.default, bool) or p.name == "keepdims"]
    if not flags:
        return bind
    names = frozenset(p.name for p in flags)
    positions = [
        i for i, p in enumerate(parameters) if p.name in names and p.kind is not p.KEYWORD_ONLY
    ]

    @functools.wraps(bind)
    def checked(*args: Any, **kwargs: Any) -> Request:
        for i in positions:
            if i < len(args):
                _check(args[i])
        for name, value in kwargs.items():
            if name in names:
                _check(value)
        return bind(*args, **kwargs)

    return checked


def _check(value: Any) -> None:
    if value is True or value is False or value is np._NoValue:
        return
    if not isinstance(value, (int, np.bool_)) or value not in (0, 1):
        raise Unsupported(Reason.ARGUMENT, f"{value!r:.40} for yes or no")
