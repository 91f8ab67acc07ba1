"""Policies: each chooses one candidate for a call.

The interface is in :mod:`dispatch_xp.policies.interface`; one file per policy beside it.
"""

if __name__ != "dispatch_xp.policies":
    raise ImportError("import dispatch_xp.policies, not the folder it lives in")

from dispatch_xp.policies.interface import Policy
from dispatch_xp.policies.registry import create, names

__all__ = ["Policy", "create", "names"]
