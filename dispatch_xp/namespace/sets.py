"""Set functions of the standard."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dispatch_xp.array.array import Array, host, operand
from dispatch_xp.array.calls import plain, plain_each

__all__ = [
    "isin",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueAllResult(NamedTuple):
    """What :func:`unique_all` returns.

    Attributes
    ----------
    values, indices, inverse_indices, counts : Array
        `inverse_indices` in the shape of the array, the others with one axis.
    """

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """What :func:`unique_counts` returns.

    Attributes
    ----------
    values, counts : Array
        With one axis, and of the same length.
    """

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """What :func:`unique_inverse` returns.

    Attributes
    ----------
    values, inverse_indices : Array
        `inverse_indices` in the shape of the array, `values` with one axis.
    """

    values: Array
    inverse_indices: Array


def isin(x1: Array | int, x2: Array | int, /, *, invert: bool = False) -> Array:
    """Return whether each element of `x1` is among those of `x2`, as bool.

    Parameters
    ----------
    x1 : Array or int
        Of integer dtype, any shape; other dtypes are compared by value, NaN is never found.
    x2 : Array or int
        What to look in, of any shape.
    invert : bool, optional
        Whether to return if it is not. Default: no.

    Returns
    -------
    Array
        Of dtype bool and the shape of `x1`.

    Raises
    ------
    TypeError
        If an argument is neither an Array nor a number.
    """
    return plain(np.isin, _array(x1), operand(x2), invert=invert)


def unique_all(x: Array, /) -> tuple[Array, Array, Array, Array]:
    """Return the different elements, their first positions, their numbers and how often each is.

    Parameters
    ----------
    x : Array
        Of any dtype; flattened.

    Returns
    -------
    UniqueAllResult
        ``values``, sorted, of the dtype of `x`; ``indices`` of the first of each in the flattened
        `x`; ``inverse_indices``, of the shape of `x`, so that each element is the value of that
        number; ``counts``. NaN differs from NaN, -0.0 doesn't from 0.0.
    """
    return UniqueAllResult(*_unique(x, "index", "inverse", "counts"))


def unique_counts(x: Array, /) -> tuple[Array, Array]:
    """Return the different elements and how often each is.

    Parameters
    ----------
    x : Array
        Of any dtype; flattened.

    Returns
    -------
    UniqueCountsResult
        ``values``, sorted, of the dtype of `x`, and their ``counts``. NaN differs from NaN, -0.0
        doesn't from 0.0.
    """
    return UniqueCountsResult(*_unique(x, "counts"))


def unique_inverse(x: Array, /) -> tuple[Array, Array]:
    """Return the different elements and, for each element, the number of its own.

    Parameters
    ----------
    x : Array
        Of any dtype; flattened.

    Returns
    -------
    UniqueInverseResult
        ``values``, sorted, of the dtype of `x`, and ``inverse_indices``, of the shape of `x`, so
        that each element is the value of that number. NaN differs from NaN, -0.0 doesn't from 0.0.
    """
    return UniqueInverseResult(*_unique(x, "inverse"))


def unique_values(x: Array, /) -> Array:
    """Return the different elements, sorted; every NaN is different.

    Parameters
    ----------
    x : Array
        Of any dtype; flattened.

    Returns
    -------
    Array
        With one axis and the dtype of `x`. Of -0.0 and 0.0 there is one only.
    """
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
