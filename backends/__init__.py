"""Backends: the libraries and devices that can run operations.

The interface is in :mod:`dispatch_xp.backends.interface`; one file per backend beside it. Nothing
heavy is imported before a backend is started.
"""

if __name__ != "dispatch_xp.backends":
    raise ImportError("import dispatch_xp.backends, not the folder it lives in")

from dispatch_xp.backends.interface import Availability, Backend, Memory
from dispatch_xp.backends.registry import get, names

__all__ = ["Availability", "Backend", "Memory", "get", "names"]
