"""How a function of the namespace calls NumPy's: values unwrapped, results wrapped, pins kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatch_xp.array.array import Array, pin_of, share, taken, unwrap, wrap
from dispatch_xp.array.device import CPU
from dispatch_xp.array.placed import call, moved
from dispatch_xp.array.routed import Routed, pinned
from dispatch_xp.residency import ACTIVE

__all__ = ["apply", "apply_each", "plain", "plain_each", "shaped"]


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
    if type(x) is Array and x._pin is None and not arguments and not ACTIVE[0]:
        return taken(entry(x._host, **options))
    pin = pin_of((x, arguments))
    return taken(_called(entry, pin, x, arguments, options), pin)


def apply_each(entry: Routed, x: Any, *arguments: Any, **options: Any) -> tuple[Array, ...]:
    """Call a routed function of several results; as :func:`apply`."""
    pin = pin_of((x, arguments))
    results = _called(entry, pin, x, arguments, options)
    return tuple(taken(result, pin) for result in results)


def _called(
    entry: Routed, pin: str | None, x: Any, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    if pin != CPU and (ACTIVE[0] or pin is not None):
        return call(entry, (x if type(x) is Array else _array(x), *arguments), options, pin)
    with pinned(pin):
        return entry(_array(x), *(unwrap(a) for a in arguments), **options)


def plain(function: Callable[..., Any], x: Any, *arguments: Any, **options: Any) -> Array:
    """Call a function of NumPy that no backend has; its result may look at `x`'s memory."""
    pin = pin_of((x, arguments, options))
    with pinned(pin):
        result = function(_array(x), *(unwrap(a) for a in arguments), **unwrap(options))
    return _looking(x, np.asarray(result), pin)


def plain_each(
    function: Callable[..., Any], x: Any, *arguments: Any, **options: Any
) -> tuple[Array, ...]:
    """Call a function of NumPy with several results that no backend has; as :func:`plain`."""
    pin = pin_of((x, arguments, options))
    with pinned(pin):
        results = function(_array(x), *(unwrap(a) for a in arguments), **unwrap(options))
    return tuple(_looking(x, np.asarray(result), pin) for result in results)


def shaped(
    function: Callable[..., Any], there: Callable[[Any], Any], x: Any, *arguments: Any
) -> Array:
    """Call a function of NumPy that gives `x` another shape or order.

    Parameters
    ----------
    function : callable
        Of NumPy, called with `x` and the arguments.
    there : callable
        Does the same to a backend's own array, whichever library it is of.
    x : Array
        Left where it is.
    *arguments
        The rest.

    Returns
    -------
    Array
        Which may look at `x`'s memory.
    """
    if type(x) is Array and x._away is not None:
        resident = moved(x, there)
        if resident is not None:
            return taken(resident, x._pin)
    return plain(function, x, *arguments)


def _looking(x: Any, result: Any, pin: str | None) -> Array:
    """Return an array over memory that may be `x`'s."""
    array = wrap(result, pin)
    share(x, array)
    # rows that are repeated in memory, and what else can't be written by itself
    array._shared |= array._memory.base is not None
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
