"""Yes-or-no arguments: what is neither is the reference's to refuse, also where we ignore it."""

from __future__ import annotations

import functools
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
    # `inspect.signature` takes five milliseconds for all of them
    function: Any = bind
    code, defaults = function.__code__, function.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    by_name = dict(zip(reversed(positional), reversed(defaults), strict=False))
    by_name |= function.__kwdefaults__ or {}
    names = {name for name, default in by_name.items() if isinstance(default, bool)}
    if "keepdims" in by_name:
        names.add("keepdims")
    if not names:
        return bind
    positions = [i for i, name in enumerate(positional) if name in names]

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
