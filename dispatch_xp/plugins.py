"""Finding backends and policies by name: our own table first, entry points only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from dispatch_xp.errors import PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["load", "names"]

T = TypeVar("T")


@cache
def scanned(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group, found once in a process."""
    # takes 20 ms to import
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=group)}


def names(group: str) -> tuple[str, ...]:
    """Return the names that installed packages offer in an entry-point group."""
    return tuple(scanned(group))


def load(
    name: str, group: str, built_in: Mapping[str, str], base: Callable[..., T]
) -> Callable[..., T]:
    """Return the class of a name.

    Parameters
    ----------
    name : str
        What the user asked for.
    group : str
        The entry-point group to search if `name` isn't built in.
    built_in : mapping of str to str
        Our own classes as ``"module:Class"``.
    base : type
        What the class has to derive from.

    Raises
    ------
    PluginError
        If there is no such name, its import fails, or it is something else than a `base`.
    """
    if name in built_in:
        module, _, attribute = built_in[name].partition(":")
        found: Any = getattr(import_module(module), attribute)
    elif name in scanned(group):
        point = scanned(group)[name]
        try:
            found = point.load()
        except Exception as error:
            raise PluginError(
                f"entry point {name!r} of {group} ({point.value}) cannot be imported: {error!r}"
            ) from error
    else:
        known = ", ".join((*built_in, *names(group)))
        raise PluginError(f"{name!r} is not in {group}; there are: {known}")
    kind: Any = base
    if not (isinstance(found, type) and issubclass(found, kind)):
        raise PluginError(
            f"{name!r} of {group} has to be a subclass of {kind.__module__}.{kind.__qualname__}, "
            f"not {found!r}"
        )
    loaded: Callable[..., T] = found
    return loaded
