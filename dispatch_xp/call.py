"""A call: an operation with its arguments, whichever door it came through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from dispatch_xp.operations.row import Operation, Shapes, Workload

if TYPE_CHECKING:
    from dispatch_xp.backends.interface import Backend
    from dispatch_xp.residency import Holder

__all__ = ["IN_PLACE", "Call", "Whereabouts", "stand_in"]

IN_PLACE = "in-place"
"""The layout of calls whose result belongs in an argument's memory: they are predicted as others of
the operation, and what is learned about them is their own."""

Whereabouts = frozenset[str]

# dtype.name is computed by NumPy anew each time
_NAMES = {char: np.dtype(char).name for char in "?bhilqBHILQfdFD"}
_ON_HOST = frozenset({""})
_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """An operation with its arguments, in the operation's own terms.

    Attributes
    ----------
    operation : Operation
        The row of the operation table.
    dtype : numpy.dtype
        What it is computed in; the arrays are converted to it on the way in.
    shapes : tuple of tuple of int
        One shape per array.
    options : mapping
        Everything that is not an array, by the operation's own names.
    arrays : tuple of ndarray
        The arguments as the user gave them, never written to; empty where only a prediction is
        asked for.
    destination : tuple of ndarray or None
        Where the results have to be written, if the caller has the memory already.
    owners : tuple
        Per argument the :class:`~dispatch_xp.Array` whose values it has, or None; empty if there is
        none. Of a stale one the argument has shape and dtype, not the numbers.
    in_place : bool
        Whether the result replaces an argument, as in ``x += y``: a backend makes it elsewhere, and
        it is copied once it is complete.
    library : str
        Whose function the reference is, where NumPy's and SciPy's differ in speed: the speed curves
        of ``"numpy"`` are apart from SciPy's. Empty if there is one function only, or SciPy's.
    """

    operation: Operation
    dtype: np.dtype[Any]
    shapes: Shapes
    options: Mapping[str, Any] = field(default_factory=lambda: _NO_OPTIONS)
    arrays: tuple[npt.NDArray[Any], ...] = ()
    destination: tuple[npt.NDArray[Any], ...] | None = None
    owners: tuple[Holder | None, ...] = ()
    in_place: bool = False
    library: str = ""
    _whereabouts: tuple[Whereabouts, ...] | None = field(init=False, default=None)
    _workload: Workload | None = field(init=False, default=None)
    _layout: str = field(init=False, default="")
    _beside: tuple[str, float] | Literal[False] | None = field(init=False, default=False)
    _page_locked: Mapping[str, tuple[int, int]] | None = field(init=False, default=None)

    @property
    def workload(self) -> Workload:
        """What the call costs on any machine; computed when first asked for."""
        if self._workload is None:
            itemsizes = tuple(a.dtype.itemsize for a in self.arrays) or None
            workload = self.operation.workload(self.shapes, self.dtype, self.options, itemsizes)
            object.__setattr__(self, "_workload", workload)
            return workload
        return self._workload

    @property
    def whereabouts(self) -> tuple[Whereabouts, ...]:
        """Where the arguments are, when first asked: per argument the backends, and the host.

        The host is named by an empty string. Empty if all arguments are there and nowhere else.
        """
        if not self.owners:
            return ()
        if self._whereabouts is None:
            found = tuple(_whereabouts(owner) for owner in self.owners)
            object.__setattr__(self, "_whereabouts", found)
            return found
        return self._whereabouts

    def missing(self, backend: str) -> tuple[int, int]:
        """Return the bytes of the arguments that are not on a backend, and how many they are."""
        if not self.owners:
            return self.workload.bytes_in, len(self.shapes)
        missing = [
            array.nbytes
            for array, where in zip(self.arrays, self.whereabouts, strict=True)
            if backend not in where
        ]
        return sum(missing), len(missing)

    def is_only_on(self, backend: str) -> bool:
        """Whether an argument's values are on a backend and not on the host."""
        return any(backend in where and "" not in where for where in self.whereabouts)

    def find_page_locked(self, backend: Backend) -> tuple[int, int]:
        """Ask a backend which arguments it copies from page-locked memory; return as `page_locked`.

        The memory of an `Array` is copied before a device gets it, so it is not asked about.
        """
        owners = self.owners or (None,) * len(self.arrays)
        found = [
            array.nbytes
            for array, owner in zip(self.arrays, owners, strict=True)
            if owner is None and backend.is_page_locked(array, self.dtype)
        ]
        known = sum(found), len(found)
        object.__setattr__(self, "_page_locked", {**(self._page_locked or {}), backend.name: known})
        return known

    def page_locked(self, backend: str) -> tuple[int, int]:
        """Return the bytes of the arguments in page-locked memory, and how many they are.

        Those that :meth:`find_page_locked` has found.
        """
        return (self._page_locked or {}).get(backend, (0, 0))

    @property
    def layout(self) -> str:
        """Which speed curve predicts the call; found when first asked for."""
        if not self._layout:
            own = self.operation.layout
            layout = IN_PLACE if self.in_place else own(self.shapes, self.options)
            if self.library:
                layout = f"{layout}-{self.library}"
            object.__setattr__(self, "_layout", layout)
            return layout
        return self._layout

    @property
    def beside(self) -> tuple[str, float] | None:
        """The layout that the call is near to besides its own, and its share; or None."""
        if self._beside is False:
            find = self.operation.beside
            beside = None if find is None else find(self.shapes, self.options)
            object.__setattr__(self, "_beside", beside)
            return beside
        return self._beside

    @property
    def curve(self) -> tuple[str, str, str]:
        """Under which operation, layout and dtype its times are measured and learned."""
        return (self.operation.name, self.layout, _NAMES.get(self.dtype.char) or self.dtype.name)

    @property
    def signature(self) -> tuple[Any, ...]:
        """What two calls share that a backend can't tell apart: a key for what is remembered."""
        return (
            self.operation.name,
            self.dtype.char,
            self.shapes,
            tuple(self.options.items()),
            self.in_place,
            self.library,
        )


def _whereabouts(owner: Holder | None) -> Whereabouts:
    if owner is None or owner._away is None:
        return _ON_HOST
    return frozenset(owner._away) if owner._stale else _ON_HOST | frozenset(owner._away)


def stand_in(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an array of a shape that has the memory of one element.

    All ones: neither triangular nor singular at a glance, where binding takes one.
    """
    return np.broadcast_to(np.ones((), dtype=dtype), shape)
