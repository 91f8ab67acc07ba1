"""Which backends there are: ours in a table, third parties' by entry point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch_xp import plugins

if TYPE_CHECKING:
    from dispatch_xp.backends.interface import Backend

__all__ = ["GROUP", "get", "loaded", "names"]

GROUP = "dispatch_xp.backends"

_BUILT_IN = {
    "threads": "dispatch_xp.backends.threads:ThreadsBackend",
    "torch": "dispatch_xp.backends.torch:TorchBackend",
    "torch-cuda": "dispatch_xp.backends.torch:TorchCudaBackend",
    "torch-mps": "dispatch_xp.backends.torch:TorchMpsBackend",
    "torch-xpu": "dispatch_xp.backends.torch:TorchXpuBackend",
    "cupy": "dispatch_xp.backends.cupy:CupyBackend",
    "dpnp": "dispatch_xp.backends.dpnp:DpnpBackend",
}

_instances: dict[str, Backend] = {}


def names(*, entry_points: bool = False) -> tuple[str, ...]:
    """Return the names of the backends; third parties' only if asked for (a scan costs 60 ms)."""
    return (*_BUILT_IN, *(plugins.names(GROUP) if entry_points else ()))


def get(name: str) -> Backend:
    """Return the backend of that name; there is one of each in a process.

    Raises
    ------
    PluginError
        If no backend has that name, or an entry point doesn't hold a :class:`Backend`.
    """
    backend = _instances.get(name)
    if backend is None:
        # with NumPy, which the names of the backends do not need
        from dispatch_xp.backends.interface import Backend

        kind = plugins.load(name, GROUP, _BUILT_IN, Backend)
        backend = _instances.setdefault(name, kind())
    return backend


def loaded() -> tuple[Backend, ...]:
    """Return the backends that something has asked for in this process."""
    return tuple(_instances.values())
