"""The levels, from 1 (cautious) to 10 (eager)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["LEVELS", "Level"]


@dataclass(frozen=True, slots=True)
class Level:
    """How eager the choice of a backend is.

    Attributes
    ----------
    speedup : float
        How many times faster than the reference a backend has to be predicted.
    memory_free : float
        The share of a device's memory that is always left free.
    startup_factor : float
        A device is started once the savings missed without it reach this multiple of what its
        start costs.
    others_load : float
        The load of the device by other programs above which it is left alone.
    """

    speedup: float
    memory_free: float
    startup_factor: float
    others_load: float


LEVELS: Mapping[int, Level] = MappingProxyType(
    {
        1: Level(3.0, 0.50, 3.0, 0.30),
        2: Level(2.5, 0.45, 2.75, 0.37),
        3: Level(2.0, 0.40, 2.5, 0.44),
        4: Level(1.6, 0.35, 2.25, 0.52),
        5: Level(1.3, 0.30, 2.0, 0.59),
        6: Level(1.2, 0.25, 1.75, 0.66),
        7: Level(1.1, 0.20, 1.5, 0.73),
        8: Level(1.05, 0.15, 1.25, 0.81),
        9: Level(1.0, 0.10, 1.0, 0.88),
        10: Level(0.9, 0.05, 0.75, 0.95),
    }
)
"""The published table of the project whose profile the tests use."""
