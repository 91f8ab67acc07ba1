"""Set functions of the standard."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dispatch_xp.array.array import Array, host
from dispatch_xp.array.calls import plain, plain_each

__all__ = [
    "isin",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueAllResult(NamedTuple):
    """What :func:`unique_all` returns."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """What :func:`unique_counts` returns."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """What :func:`unique_inverse` returns."""

    values: Array
    inverse_indices: Array


def isin(x1: Array | int, x2: Array | int, /, *, invert: bool = False) -> Array:
    """Return whether each element of `x1` is among those of `x2`, as bool."""
    return plain(np.isin, _array(x1), host(x2), invert=invert)


def unique_all(x: Array, /) -> tuple[Array, Array, Array, Array]:
    """Return the different elements, their first positions, their numbers and how often each is."""
    return UniqueAllResult(*_unique(x, "index", "inverse", "counts"))


def unique_counts(x: Array, /) -> tuple[Array, Array]:
    """Return the different elements and how often each is."""
    return UniqueCountsResult(*_unique(x, "counts"))


def unique_inverse(x: Array, /) -> tuple[Array, Array]:
    """Return the different elements and, for each element, the number of its own."""
    return UniqueInverseResult(*_unique(x, "inverse"))


def unique_values(x: Array, /) -> Array:
    """Return the different elements, sorted; every NaN is different."""
    return _unique(x)[0]


def _array(x: Any) -> Any:
    return x if isinstance(x, Array) else np.asarray(host(x))


def _unique(x: Array, *wanted: str) -> tuple[Array, ...]:
    def find(values: Any) -> tuple[Any, ...]:
        asked: dict[str, Any] = {f"return_{name}": True for name in wanted}
        found = np.unique(values, equal_nan=False, **asked)
        parts = list(found) if wanted else [found]
        if "inverse" in wanted:
            place = 1 + wanted.index("inverse")
            parts[place] = parts[place].reshape(values.shape)
        return tuple(parts)

    return plain_each(find, x)
