"""Route NumPy and SciPy calls to the fastest backend of this machine.

>>> import dispatch_xp
>>> with dispatch_xp.backend("auto"):
...     ...  # unmodified NumPy and SciPy code
Ellipsis
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dispatch_xp.context import backend, record, set_backend
    from dispatch_xp.errors import (
        BackendError,
        BackendUnavailable,
        BackendWarning,
        ConfigError,
        DispatchError,
        DispatchWarning,
        PluginError,
        ProfileError,
        ProfileWarning,
        Unsupported,
    )
    from dispatch_xp.explanation import explain
    from dispatch_xp.surface import install, uninstall

__all__ = [
    "BackendError",
    "BackendUnavailable",
    "BackendWarning",
    "ConfigError",
    "DispatchError",
    "DispatchWarning",
    "PluginError",
    "ProfileError",
    "ProfileWarning",
    "Unsupported",
    "__version__",
    "backend",
    "explain",
    "install",
    "record",
    "set_backend",
    "uninstall",
]

_HOME = {
    "backend": "context",
    "record": "context",
    "set_backend": "context",
    "explain": "explanation",
    "install": "surface",
    "uninstall": "surface",
}
_SUBMODULES = ("backends", "doors", "operations", "policies", "scipy")


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name == "__version__":
        from importlib.metadata import version

        return version("dispatch-xp")
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    home = _HOME.get(name, "errors" if name in __all__ else None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
