"""How a function of the namespace calls NumPy's: values unwrapped, results wrapped, pins kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatch_xp.array.array import Array, pin_of, unwrap, wrap
from dispatch_xp.array.routed import Routed, pinned

__all__ = ["apply", "apply_each", "plain", "plain_each"]


def apply(entry: Routed, x: Any, *arguments: Any, **options: Any) -> Array:
    """Call a routed function; its result is memory of its own.

    Parameters
    ----------
    entry : Routed
        The function.
    x : Array
        The first argument; any of the others may be one too.
    *arguments, **options
        As the function takes them.

    Returns
    -------
    Array
    """
    if type(x) is Array and x._pin is None and not arguments:
        result = entry(x._host, **options)
        return wrap(result if type(result) is np.ndarray else np.asarray(result))
    pin = pin_of((x, arguments))
    return wrap(np.asarray(_called(entry, pin, x, arguments, options)), pin)


def apply_each(entry: Routed, x: Any, *arguments: Any, **options: Any) -> tuple[Array, ...]:
    """Call a routed function of several results; as :func:`apply`."""
    pin = pin_of((x, arguments))
    results = _called(entry, pin, x, arguments, options)
    return tuple(wrap(np.asarray(result), pin) for result in results)


def _called(
    entry: Routed, pin: str | None, x: Any, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    with pinned(pin):
        return entry(_array(x), *(unwrap(a) for a in arguments), **options)


def plain(function: Callable[..., Any], x: Any, *arguments: Any, **options: Any) -> Array:
    """Call a function of NumPy that no backend has; its result may look at `x`'s memory."""
    pin = pin_of((x, arguments))
    with pinned(pin):
        result = function(_array(x), *(unwrap(a) for a in arguments), **unwrap(options))
    return _looking(x, np.asarray(result), pin)


def plain_each(
    function: Callable[..., Any], x: Any, *arguments: Any, **options: Any
) -> tuple[Array, ...]:
    """Call a function of NumPy with several results that no backend has; as :func:`plain`."""
    pin = pin_of((x, arguments))
    with pinned(pin):
        results = function(_array(x), *(unwrap(a) for a in arguments), **unwrap(options))
    return tuple(_looking(x, np.asarray(result), pin) for result in results)


def _looking(x: Any, result: Any, pin: str | None) -> Array:
    """Return an array over memory that may be `x`'s."""
    array = wrap(result, pin)
    for source in x if isinstance(x, (tuple, list)) else (x,):
        if type(source) is Array and np.may_share_memory(result, source._host):
            source._shared = array._shared = True
    # rows that are repeated in memory, and what else can't be written by itself
    array._shared |= result.base is not None
    return array


def _array(x: Any) -> Any:
    """Return the values of the first argument.

    Raises
    ------
    TypeError
        If it is neither an array nor a list of them.
    """
    if type(x) is Array:
        return x._host
    if isinstance(x, (np.ndarray, np.generic)):
        return np.asarray(x)
    if isinstance(x, (tuple, list)):
        return [_array(a) for a in x]
    raise TypeError(f"an Array is needed here, not {type(x).__name__}")
