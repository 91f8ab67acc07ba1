"""Policies: each chooses one candidate for a call.

The interface is in :mod:`dispatch_xp.policies.interface`; one file per policy beside it.
"""

if __name__ != "dispatch_xp.policies":
    raise ImportError("import dispatch_xp.policies, not the folder it lives in")

from typing import TYPE_CHECKING, Any

from dispatch_xp.policies.registry import create, names

if TYPE_CHECKING:
    from dispatch_xp.policies.interface import Policy

__all__ = ["Policy", "create", "names"]


def __getattr__(name: str) -> Any:
    """Import the interface, and NumPy with it, when it is first asked for; names need neither."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dispatch_xp.policies import interface

    value = globals()[name] = getattr(interface, name)
    return value
