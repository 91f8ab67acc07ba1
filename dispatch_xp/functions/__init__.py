"""The functions of NumPy and SciPy that can be routed, and how their arguments bind.

One file per module of NumPy and SciPy. A function there takes exactly what its namesake takes and
returns the operation it amounts to, or says why the call stays on the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from dispatch_xp.functions import (
    fft,
    numpy_contraction,
    numpy_elementwise,
    numpy_linalg,
    numpy_statistical,
    scipy_linalg,
)
from dispatch_xp.functions.flags import with_checked_flags
from dispatch_xp.functions.function import Function, Request

__all__ = ["FUNCTIONS", "Function", "Request"]

_Table = Mapping[str, tuple[Any, ...]]

# per module, tables of name: (bind, operations...)
_MODULES: dict[str, tuple[_Table, ...]] = {
    "numpy": (
        numpy_contraction.FUNCTIONS,
        numpy_statistical.FUNCTIONS,
        numpy_elementwise.FUNCTIONS,
    ),
    "numpy._core._methods": (numpy_statistical.METHODS,),
    "numpy.linalg": (numpy_linalg.FUNCTIONS,),
    "numpy.fft": (fft.NUMPY,),
    "scipy.linalg": (scipy_linalg.FUNCTIONS,),
    "scipy.fft": (fft.SCIPY,),
}

FUNCTIONS: MappingProxyType[str, Function] = MappingProxyType(
    {
        f"{module}.{name}": Function(
            f"{module}.{name}", tuple(operations), with_checked_flags(bind)
        )
        for module, tables in _MODULES.items()
        for table in tables
        for name, (bind, *operations) in table.items()
    }
)
"""Every function by its path."""
