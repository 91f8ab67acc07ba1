"""Thread pools that give way: what to set before the libraries load.

OpenBLAS and OpenMP wait for the next call by spinning. NumPy, SciPy and PyTorch bring a pool each,
so that the one that waits takes the cores from the one that works.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

__all__ = ["VARIABLES", "are_quiet", "as_they_come", "make_quiet", "missing"]

# OpenBLAS's threads spin for two to the power of this many ticks of the processor's clock; as
# NumPy's wheels are built it is a tenth of a second, this is 0.3 to 0.5 ms. Calls that follow each
# other closely still find them awake; with less, programs of SciPy alone were slower.
VARIABLES: Mapping[str, str] = {"OMP_WAIT_POLICY": "PASSIVE", "OPENBLAS_THREAD_TIMEOUT": "20"}

# the longest that is quiet
_SHORT = 20


def missing(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that nobody has set to something else."""
    return {name: value for name, value in VARIABLES.items() if name not in environ}


def are_quiet(environ: Mapping[str, str]) -> bool:
    """Whether the pools give way that load in such an environment."""
    timeout = environ.get("OPENBLAS_THREAD_TIMEOUT", "")
    passive = environ.get("OMP_WAIT_POLICY", "").upper() == "PASSIVE"
    return passive and timeout.isdecimal() and int(timeout) <= _SHORT


_made: dict[str, str] = {}


def make_quiet() -> None:
    """Make the pools of this process give way, unless NumPy is loaded: then it is too late."""
    if "numpy" not in sys.modules:
        _made.update(missing(os.environ))
        os.environ.update(_made)


def as_they_come(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what :func:`make_quiet` has set: the user's own."""
    return {name: value for name, value in environ.items() if _made.get(name) != value}
