"""Numbers to compute with, made once: a calibration needs some billions of them."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Recycled"]

# prime, so that no row of a large matrix is another one's
_LENGTH = 1_000_003


@cache
def _normal() -> npt.NDArray[np.float64]:
    return np.random.default_rng(0).standard_normal(_LENGTH)


@cache
def _uniform() -> npt.NDArray[np.float64]:
    return np.random.default_rng(1).random(_LENGTH)


class Recycled(np.random.Generator):
    """A generator whose normal and uniform numbers come round again after a million.

    Parameters
    ----------
    seed : int
        Where to begin.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self._at = int(self.integers(_LENGTH))

    def standard_normal(self, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return normal numbers in float64."""
        return self._next(_normal(), size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Return numbers between two others."""
        found = self._next(_uniform(), size)
        found *= high - low
        found += low
        return found

    def _next(self, numbers: npt.NDArray[np.float64], size: Any) -> npt.NDArray[np.float64]:
        shape = (size,) if isinstance(size, int) else tuple(size)
        found = np.empty(math.prod(shape))
        filled = 0
        while filled < found.size:
            taken = numbers[self._at : self._at + found.size - filled]
            found[filled : filled + taken.size] = taken
            filled += taken.size
            self._at = (self._at + taken.size) % _LENGTH
        return found.reshape(shape)
