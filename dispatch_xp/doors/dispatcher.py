"""Functions beneath NumPy's dispatcher: ``np.sum``, ``np.linalg.solve``, ``np.dot``, ...

The dispatcher object, which users have, holds a reference to the function that it calls. The layout
of that object is private, so the place is looked for, tried out, and left alone if anything is
unexpected.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import FunctionType
from typing import Any

from dispatch_xp.doors.code import stub_code
from dispatch_xp.doors.handler import COMPILED, Handler, compiled
from dispatch_xp.state import ACTIVE

__all__ = ["swap_implementation"]

# signatures of the C functions, which have none to inspect
_LIKE: dict[str, Callable[..., Any]] = {
    "dot": lambda a, b, out=None: None,
    "inner": lambda a, b, /: None,
    "vdot": lambda a, b, /: None,
}


def _door(name: str, implementation: Callable[..., Any], handle: Handler) -> Callable[..., Any]:
    """Return what is to stand in the place of an implementation."""
    if COMPILED and isinstance(handle, compiled.Gate):
        return compiled.Door(handle, implementation, ACTIVE)
    like = _LIKE[name]
    assert isinstance(like, FunctionType)
    like.__code__ = like.__code__.replace(co_name=name, co_qualname=name)
    code = stub_code(like.__code__, handle, implementation)
    return FunctionType(code, {}, name, like.__defaults__)


def _slot(dispatcher: Any, implementation: Any) -> ctypes.c_void_p:
    """Return the pointer within a dispatcher that holds its implementation."""
    words = type(dispatcher).__basicsize__ // ctypes.sizeof(ctypes.c_void_p)
    memory = (ctypes.c_void_p * words).from_address(id(dispatcher))
    found = [i for i in range(words) if memory[i] == id(implementation)]
    if len(found) != 1:
        raise RuntimeError("NumPy's dispatcher has an unknown layout")
    address = id(dispatcher) + found[0] * ctypes.sizeof(ctypes.c_void_p)
    return ctypes.c_void_p.from_address(address)


def swap_implementation(name: str, dispatcher: Any, handle: Handler) -> Callable[[], None]:
    """Put a door before the function beneath NumPy's dispatcher.

    Parameters
    ----------
    name : str
        Of the function.
    dispatcher : object
        The function as users have it.
    handle : callable
        Decides about a call.

    Returns
    -------
    callable
        Takes the door away again.

    Raises
    ------
    RuntimeError
        If this NumPy's dispatcher is laid out in another way.
    """
    implementation = dispatcher._implementation
    door = _door(name, implementation, handle)
    slot = _slot(dispatcher, implementation)
    # the object owned a reference to the old implementation, which we keep for the way back
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(door))
    slot.value = id(door)
    if dispatcher._implementation is not door:
        slot.value = id(implementation)
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(door))
        raise RuntimeError("NumPy's dispatcher does not use what it holds")

    def undo() -> None:
        if dispatcher._implementation is door:
            slot.value = id(implementation)
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(door))

    return undo
