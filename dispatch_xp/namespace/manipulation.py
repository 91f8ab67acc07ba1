"""Manipulation functions of the standard. What they return may share memory until it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dispatch_xp.array.array import Array, unwrap, view
from dispatch_xp.array.calls import plain, shaped

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Return the arrays, each broadcast to the shape of all.

    Parameters
    ----------
    *arrays : Array
        Of any dtypes.

    Returns
    -------
    tuple of Array
        As many as `arrays`, each of its own dtype.

    Raises
    ------
    ValueError
        If the shapes don't fit together.
    """
    return tuple(broadcast_to(x, broadcast_shapes(*(a.shape for a in arrays))) for x in arrays)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that arrays of these shapes broadcast to.

    Parameters
    ----------
    *shapes : tuple of int
        The shapes, aligned at the last axis.

    Returns
    -------
    tuple of int
        Along every axis the length that isn't 1, if there is one.

    Raises
    ------
    ValueError
        If an axis has two lengths that aren't 1.
    """
    return tuple(int(n) for n in np.broadcast_shapes(*shapes))


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """Return the array broadcast to a shape.

    Parameters
    ----------
    x : Array
        Of any dtype.
    shape : tuple of int
        The shape of the result.

    Returns
    -------
    Array
        Of the dtype of `x`, whose elements repeat along new axes and along those of length 1.

    Raises
    ------
    ValueError
        If `x` doesn't broadcast to the shape.
    """
    return plain(np.broadcast_to, x, shape)


def concat(arrays: tuple[Array, ...] | list[Array], /, *, axis: int | None = 0) -> Array:
    """Return the arrays one after another along an axis; flattened first if it is None.

    Parameters
    ----------
    arrays : tuple or list of Array
        One at least. Of the same shape but for `axis`.
    axis : int, optional
        The axis. Default: the first.

    Returns
    -------
    Array
        Of the common dtype.

    Raises
    ------
    TypeError
        If `arrays` is neither a tuple nor a list.
    ValueError
        If there is no array, or the shapes don't fit.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return plain(np.concatenate, _checked(arrays, "concat"), axis=axis, **_common(arrays))


def expand_dims(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """Return the array with axes of length 1 put in, where they will be in the result.

    Parameters
    ----------
    x : Array
        Of any dtype.
    axis : int or tuple of int
        Where; negative ones count from the last axis of the result.

    Returns
    -------
    Array
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        If an axis is named twice.
    numpy.exceptions.AxisError
        If the result has no such axis.
    """
    return _reshaped(np.expand_dims, x, axis)


def flip(x: Array, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return the array with the order of elements reversed along the axes.

    Parameters
    ----------
    x : Array
        Of any dtype.
    axis : int or tuple of int, optional
        The axes. Default: all.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.

    Raises
    ------
    ValueError
        If an axis is named twice.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return plain(np.flip, x, axis)


def moveaxis(
    x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /
) -> Array:
    """Return the array with axes moved to other places; the rest keep their order.

    Parameters
    ----------
    x : Array
        Of any dtype.
    source : int or tuple of int
        The axes to move.
    destination : int or tuple of int
        Where each of them will be in the result.

    Returns
    -------
    Array
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        If the two differ in number, or name an axis twice.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return plain(np.moveaxis, x, source, destination)


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """Return the array with its axes in another order.

    Parameters
    ----------
    x : Array
        Of any dtype.
    axes : tuple of int
        Every axis once: axis i of the result is axis ``axes[i]`` of `x`.

    Returns
    -------
    Array
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        If an axis is missing or named twice.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return shaped(np.transpose, lambda v: _permuted(v, axes), x, axes)


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Return the array with each element repeated, along an axis or flattened.

    Parameters
    ----------
    x : Array
        Of any dtype.
    repeats : int or Array
        How often, not negative: for all elements, or for each along the axis, of integer dtype.
    axis : int, optional
        The axis. Default: `x` is flattened.

    Returns
    -------
    Array
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        If `repeats` is negative, or is not as long as the axis.
    TypeError
        If `repeats` is a floating Array.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return plain(np.repeat, x, repeats, axis=axis)


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """Return the elements in another shape; -1 once stands for what is left.

    Parameters
    ----------
    x : Array
        Of any dtype.
    shape : tuple of int
        The shape, of as many elements as `x`. They are taken and put with the last axis changing
        fastest.
    copy : bool, optional
        True: always copy. False: never. None, the default: only if it has to be.

    Returns
    -------
    Array
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        If the number of elements isn't right, or ``copy=False`` and it can't be done without.
    """
    if copy is False:
        return plain(_reshaped_without_a_copy, x, shape)
    result = _reshaped(np.reshape, x, shape)
    if copy and result._away is None:
        result._own()
    return result


def roll(
    x: Array, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None
) -> Array:
    """Return the array with its elements moved along the axes, and put back in at the start.

    Parameters
    ----------
    x : Array
        Of any dtype.
    shift : int or tuple of int
        By how many places, to the end; negative to the start. A tuple has one for each axis.
    axis : int or tuple of int, optional
        The axes. Default: the elements are moved as if `x` were flattened.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.

    Raises
    ------
    ValueError
        If `shift` and `axis` have different lengths.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return plain(np.roll, x, shift, axis)


def squeeze(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """Return the array without the named axes, which have to be of length 1.

    Parameters
    ----------
    x : Array
        Of any dtype.
    axis : int or tuple of int
        The axes.

    Returns
    -------
    Array
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        If an axis is longer or shorter than 1, or named twice.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return _reshaped(np.squeeze, x, axis)


def stack(arrays: tuple[Array, ...] | list[Array], /, *, axis: int = 0) -> Array:
    """Return the arrays side by side along a new axis.

    Parameters
    ----------
    arrays : tuple or list of Array
        One at least, all of one shape.
    axis : int, optional
        Where the new axis will be in the result. Default: it is the first.

    Returns
    -------
    Array
        Of the common dtype; along the new axis as long as `arrays`.

    Raises
    ------
    TypeError
        If `arrays` is neither a tuple nor a list.
    ValueError
        If there is no array, or the shapes differ.
    numpy.exceptions.AxisError
        If the result has no such axis.
    """
    return plain(np.stack, _checked(arrays, "stack"), axis=axis, **_common(arrays))


def tile(x: Array, repetitions: tuple[int, ...], /) -> Array:
    """Return the array repeated as a whole, so often along each axis.

    Parameters
    ----------
    x : Array
        Of any dtype.
    repetitions : tuple of int
        How often along each of the last axes; more than `x` has are put before its first.

    Returns
    -------
    Array
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        If a number is negative.
    """
    return plain(np.tile, x, repetitions)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the parts of the array along an axis.

    Parameters
    ----------
    x : Array
        Of any dtype, with one axis at least.
    axis : int, optional
        The axis, which the parts don't have. Default: the first.

    Returns
    -------
    tuple of Array
        As many as the axis is long, of the dtype of `x`.

    Raises
    ------
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    rows = np.moveaxis(unwrap(x), axis, 0)
    return tuple(view(x, row) for row in _rows(rows))


def _reshaped(function: Callable[..., Any], x: Array, how: Any) -> Array:
    """Call a function of NumPy that changes the shape alone, or do on a device what it does."""

    def there(value: Any) -> Any:
        # of the shape, with no memory to speak of
        outline = np.broadcast_to(np.empty((), bool), value.shape)
        return value.reshape(function(outline, how).shape)

    return shaped(function, there, x, how)


def _permuted(value: Any, axes: tuple[int, ...]) -> Any:
    if len(axes) != value.ndim:
        raise ValueError("every axis once")
    return value.permute(*axes) if hasattr(value, "permute") else value.transpose(axes)


def _checked(arrays: Any, name: str) -> list[Array]:
    if not isinstance(arrays, (tuple, list)):
        raise TypeError(f"{name}() takes a tuple or list of Array, not {type(arrays).__name__}")
    for x in arrays:
        if not isinstance(x, (Array, np.ndarray)):
            raise TypeError(f"{name}() takes arrays, not {type(x).__name__}")
    return list(arrays)


def _common(arrays: Sequence[Array]) -> dict[str, Any]:
    """Say the dtype, so that no library's own idea of it counts."""
    return {"dtype": np.result_type(*(unwrap(x).dtype for x in arrays))} if arrays else {}


def _rows(values: Any) -> list[Any]:
    return [values[i, ...] for i in range(len(values))]


def _reshaped_without_a_copy(x: Any, shape: tuple[int, ...]) -> Any:
    result = x.view()
    try:
        result.shape = shape
    except AttributeError as error:
        raise ValueError(f"shape {x.shape} can't become {shape} without a copy") from error
    return result
