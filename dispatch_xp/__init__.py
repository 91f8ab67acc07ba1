"""Route NumPy and SciPy calls to the fastest backend of this machine.

>>> import dispatch_xp
>>> with dispatch_xp.backend("auto"):
...     ...  # unmodified NumPy and SciPy code
Ellipsis
"""

from __future__ import annotations

import atexit
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dispatch_xp.chapters import CHAPTERS

if TYPE_CHECKING:
    from dispatch_xp.array import Array
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
        TraceError,
        Unsupported,
    )
    from dispatch_xp.explanation import explain
    from dispatch_xp.namespace.constants import *  # noqa: F403
    from dispatch_xp.namespace.creation import *  # noqa: F403
    from dispatch_xp.namespace.data_types import *  # noqa: F403
    from dispatch_xp.namespace.elementwise import *  # noqa: F403
    from dispatch_xp.namespace.indexing import *  # noqa: F403
    from dispatch_xp.namespace.inspection import __array_namespace_info__
    from dispatch_xp.namespace.linear_algebra import *  # noqa: F403
    from dispatch_xp.namespace.manipulation import *  # noqa: F403
    from dispatch_xp.namespace.searching import *  # noqa: F403
    from dispatch_xp.namespace.sets import *  # noqa: F403
    from dispatch_xp.namespace.sorting import *  # noqa: F403
    from dispatch_xp.namespace.statistical import *  # noqa: F403
    from dispatch_xp.namespace.utility import *  # noqa: F403
    from dispatch_xp.surface import install, uninstall

__all__ = [
    "Array",
    "BackendError",
    "BackendUnavailable",
    "BackendWarning",
    "ConfigError",
    "DispatchError",
    "DispatchWarning",
    "PluginError",
    "ProfileError",
    "ProfileWarning",
    "TraceError",
    "Unsupported",
    "__array_api_version__",
    "__array_namespace_info__",
    "__version__",  # noqa: F405
    "backend",
    "explain",
    "install",
    "record",
    "set_backend",
    "uninstall",
]

__array_api_version__ = "2025.12"

_HOME = {
    "Array": "array",
    "backend": "context",
    "record": "context",
    "set_backend": "context",
    "explain": "explanation",
    "install": "surface",
    "uninstall": "surface",
}
_HOME |= {
    name: f"namespace.{chapter}" for chapter, names in CHAPTERS.items() for name in names.split()
}
_ERRORS = frozenset(name for name in __all__ if name.endswith(("Error", "Warning"))) | {
    "BackendUnavailable",
    "Unsupported",
}
_SUBMODULES = ("backends", "doors", "fft", "linalg", "operations", "plot", "policies", "scipy")


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name == "__version__":
        from importlib.metadata import version

        return version("dispatch-xp")
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    home = _HOME.get(name, "errors" if name in _ERRORS else None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *__all__, *_SUBMODULES})


def load_ipython_extension(shell: Any) -> None:
    """Add ``%%dispatch`` to a notebook: what ``%load_ext dispatch_xp`` calls."""
    from dispatch_xp.notebook import DispatchMagics

    shell.register_magics(DispatchMagics)


def _leave_devices() -> None:
    """Free device memory while its libraries are there."""
    residency = sys.modules.get("dispatch_xp.residency")
    if residency is not None:
        residency.LEDGER.close()


# here, so that it runs after what users register once they have imported this
atexit.register(_leave_devices)
