"""The compiled part of the array where it is there, the same in Python where it isn't."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dispatch_xp import _array_core as core
else:
    try:
        core = import_module("dispatch_xp._array_core")
    except ImportError:  # no compiler when the package was installed
        core = import_module("dispatch_xp.array.core_python")

__all__ = ["COMPILED", "core"]

COMPILED = core.__name__.endswith("._array_core")
"""Whether small arrays go straight to NumPy."""
