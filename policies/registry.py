"""Which policies there are: ours in a table, third parties' by entry point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch_xp import plugins

if TYPE_CHECKING:
    from dispatch_xp.config import Settings
    from dispatch_xp.policies.interface import Policy

__all__ = ["GROUP", "create", "names"]

GROUP = "dispatch_xp.policies"

_BUILT_IN = {
    "cost-model": "dispatch_xp.policies.cost_model:CostModelPolicy",
    "fixed": "dispatch_xp.policies.fixed:FixedPolicy",
    "random": "dispatch_xp.policies.random:RandomPolicy",
    "reference": "dispatch_xp.policies.reference:ReferencePolicy",
    "threshold": "dispatch_xp.policies.threshold:ThresholdPolicy",
}


def names(*, entry_points: bool = False) -> tuple[str, ...]:
    """Return the names of the policies; third parties' only if asked for (a scan costs 60 ms)."""
    return (*_BUILT_IN, *(plugins.names(GROUP) if entry_points else ()))


def create(name: str, settings: Settings) -> Policy:
    """Return a new policy.

    Raises
    ------
    PluginError
        If no policy has that name, or an entry point doesn't hold a :class:`Policy`.
    """
    # with NumPy, which the names of the policies do not need
    from dispatch_xp.policies.interface import Policy

    return plugins.load(name, GROUP, _BUILT_IN, Policy)(settings)
