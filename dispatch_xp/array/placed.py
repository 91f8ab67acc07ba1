"""Calls on arrays that may be on a device: where the values are counts, and results stay there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from dispatch_xp.array.core import core
from dispatch_xp.array.device import backend_of
from dispatch_xp.array.routed import LIMITS, Routed, configured
from dispatch_xp.context import state_of
from dispatch_xp.doors.handler import considered
from dispatch_xp.errors import BackendError, BackendUnavailable
from dispatch_xp.functions.function import Function, Request
from dispatch_xp.residency import ACTIVE, Resident, value_on
from dispatch_xp.router import Outcome, consider, make_room
from dispatch_xp.state import CURRENT, PROCESS, QUIET, State, quiet

if TYPE_CHECKING:
    from dispatch_xp.array.array import Array

Core = core.Core

__all__ = ["call", "host", "moved", "place"]


def call(entry: Routed, args: tuple[Any, ...], kwargs: dict[str, Any], pin: str | None) -> Any:
    """Call a function of NumPy with arrays that may be on a device, or pinned to one.

    Parameters
    ----------
    entry : Routed
        The function.
    args, kwargs
        Its arguments, each `Array` as it is.
    pin : str or None
        The device to run on, where it takes the call.

    Returns
    -------
    object
        What NumPy returns, with a :class:`~dispatch_xp.residency.Resident` for what stayed on a
        device.
    """
    state = _state(pin)
    if state is None:
        return entry.reference(*host(args), **host(kwargs))
    if pin is None:
        size = _size_here(args)
        if 0 <= size < state.limits[entry.function.path]:
            given = [x._memory if isinstance(x, Core) else x for x in args]
            return entry.reference(*given, **host(kwargs))
    token = CURRENT.set(state)
    try:
        if not state.remote or state.settings.verify:
            return entry(*host(args), **host(kwargs))
        outcome = _considered(state, entry.function, args, kwargs)
        if outcome is not None and outcome.done:
            return outcome.result
        args, kwargs = host(args), host(kwargs)
        if outcome is None:
            return entry.reference(*args, **kwargs)
        with outcome:
            return outcome.finish(entry.reference(*args, **kwargs))
    finally:
        CURRENT.reset(token)


def _size_here(args: tuple[Any, ...]) -> int:
    """Return the elements of the largest array, or -1 if one is elsewhere, or in a list."""
    size = 0
    for x in args:
        if isinstance(x, Core):
            if x._away is not None:
                return -1
            size = max(size, x._memory.size)
        elif isinstance(x, (tuple, list)):
            return -1
        elif isinstance(x, np.ndarray):
            size = max(size, x.size)
    return size


def _state(pin: str | None) -> State | None:
    """Return the state to route by; None inside a call that is routed already."""
    state = CURRENT.get()
    if state is QUIET:
        return None
    if state is None:
        # a pin asks no policy, so nobody is told of what the policy lacks
        state = PROCESS.default or (configured() if pin is None else LIMITS.read())
    if pin is None:
        return state  # type: ignore[no-any-return]
    pinned = _pinned_state(pin, state)
    return pinned if state.observer is None else replace(pinned, observer=state.observer)


@cache
def _pinned_state(pin: str, state: State) -> State:
    name = backend_of(pin).name
    return state_of(msgspec.structs.replace(state.settings, backend=name, operations={}))


def _considered(
    state: State, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Outcome | None:
    arrays = {id(x._memory): x for x in _within((args, kwargs))}
    given, named = memory(args), memory(kwargs)

    def bind(*args_: Any, **kwargs_: Any) -> Request:
        request = function.bind(*args_, **kwargs_)
        return _owned(request, arrays, lambda: function.bind(*host(args), **host(kwargs)))

    bound = Function(function.path, function.operations, bind)
    if any(x._away is not None for x in arrays.values()):
        return consider(state, bound, given, named)
    limit = state.limits[function.path]
    if not any(x.size >= limit for x in arrays.values()):
        return None
    return considered(state, bound, given, named)


def _owned(request: Request, arrays: dict[int, Array], again: Callable[[], Request]) -> Request:
    """Return a request whose arguments know which `Array` they are of."""
    stale = [x for x in arrays.values() if x._stale]
    if stale and not _are_all_there(request.call.arrays, stale):
        # it has made other arrays of them, by their memory
        request = again()
        arrays = {id(x._memory): x for x in arrays.values()}
        stale = []
    owners = tuple(arrays.get(id(a)) for a in request.call.arrays)
    if not any(owner is not None for owner in owners):
        return request
    finish = request.finish

    def on_host(results: tuple[Any, ...]) -> Any:
        # `finish` may look at the arguments too; those that were stale had no numbers to look at
        return (again().finish if stale else finish)(results)

    def finished(results: tuple[Any, ...]) -> Any:
        if request.out is not None:
            results = tuple(r.on_host() if type(r) is Resident else r for r in results)
        if not any(type(r) is Resident for r in results):
            return on_host(results)
        try:
            return finish(results)
        except (AttributeError, TypeError):
            # it looks at the numbers
            return on_host(tuple(r.on_host() for r in results))

    return replace(request, call=replace(request.call, owners=owners), finish=finished)


def _are_all_there(arguments: tuple[Any, ...], stale: list[Array]) -> bool:
    """Whether every stale array is an argument, and no other argument looks at its memory."""
    memories = [x._memory for x in stale]
    for m in memories:
        if not any(a is m for a in arguments):
            return False
    return not any(
        all(a is not m for m in memories) and any(np.may_share_memory(a, m) for m in memories)
        for a in arguments
    )


def _within(value: Any) -> Iterator[Array]:
    if isinstance(value, Core):
        yield value  # type: ignore[misc]
    elif isinstance(value, dict):
        for x in value.values():
            yield from _within(x)
    elif isinstance(value, (tuple, list)):
        for x in value:
            yield from _within(x)


def memory(value: Any) -> Any:
    """Return a value with the memory of every `Array` in it, whether it has the numbers or not."""
    return _replaced(value, "_memory")


def host(value: Any) -> Any:
    """Return a value with the numbers of every `Array` in it, brought to the host if need be."""
    return _replaced(value, "_host")


def _replaced(value: Any, field: str) -> Any:
    if isinstance(value, Core):
        return getattr(value, field)
    if type(value) in (tuple, list):
        return type(value)(_replaced(x, field) for x in value)
    if type(value) is dict:
        return {key: _replaced(x, field) for key, x in value.items()}
    return value


def place(array: Array, device: str) -> None:
    """Copy an array's values to a device, if they are not there.

    Raises
    ------
    ValueError
        If the device is not available, or can't start.
    BackendError
        If the values can't be copied there; with ``fallback = "raise"`` or without.
    """
    backend = backend_of(device)
    if array.size == 0:
        return
    ACTIVE[0] = True
    state = CURRENT.get()
    if state is None or state is QUIET:
        state = PROCESS.default or LIMITS.read()
    try:
        with quiet():
            if not backend.started:
                backend.start()
            if array._away is None or backend.name not in array._away:
                make_room(state, backend, array._memory.nbytes)
            value_on(backend, array)
    except BackendUnavailable as error:
        raise ValueError(f"device {device!r} is not available here: {error}") from error
    except Exception as error:
        raise BackendError(
            f"an array of shape {array.shape} and dtype {array.dtype} can't be copied to "
            f"{device!r}: {type(error).__name__}: {error}"
        ) from error


def moved(array: Array, function: Callable[[Any], Any]) -> Resident | None:
    """Return an array's values in another shape or order, where they are.

    Parameters
    ----------
    array : Array
        Not pinned to the host.
    function : callable
        Takes a backend's own array and returns one that may look at its memory.

    Returns
    -------
    Resident or None
        None if the values are on the host alone, or the backend can't do it.
    """
    if array._away is None:
        return None
    resident = next(iter(array._away.values()))
    try:
        with quiet():
            return Resident(resident.backend, function(resident.value))
    except Exception:
        # the host does it, and says what is wrong
        return None
