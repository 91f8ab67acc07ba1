"""Backends: the libraries and devices that can run operations.

The interface is in :mod:`dispatch_xp.backends.interface`; one file per backend beside it. Nothing
heavy is imported before a backend is started.
"""

if __name__ != "dispatch_xp.backends":
    raise ImportError("import dispatch_xp.backends, not the folder it lives in")

from typing import TYPE_CHECKING, Any

from dispatch_xp.backends.registry import get, names

if TYPE_CHECKING:
    from dispatch_xp.backends.interface import Availability, Backend, Memory

__all__ = ["Availability", "Backend", "Memory", "get", "names"]


def __getattr__(name: str) -> Any:
    """Import the interface, and NumPy with it, when it is first asked for; names need neither."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dispatch_xp.backends import interface

    value = globals()[name] = getattr(interface, name)
    return value
