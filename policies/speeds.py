"""Which measured curves predict a call, by the operation's layouts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from dispatch_xp.curve import Curve
from dispatch_xp.decision import REFERENCE
from dispatch_xp.operations import OPERATIONS, Workload
from dispatch_xp.profile import Profile

__all__ = ["Key", "Speed", "Speeds"]

Key = tuple[str, str, str]
"""Operation, layout and dtype."""


class Speed(msgspec.Struct, frozen=True):
    """What predicts the calls of one operation, layout and dtype on a backend.

    Attributes
    ----------
    curve : Curve
        Of the layout.
    others : mapping
        The curves of the operation's other layouts, where a call may be between two.
    """

    curve: Curve
    others: Mapping[str, Curve]

    def seconds(self, work: Workload, beside: tuple[str, float] | None) -> float:
        """Return the measured time of a call: between two layouts, between those of both.

        Parameters
        ----------
        work : Workload
            Of the call.
        beside : tuple or None
            :attr:`dispatch_xp.call.Call.beside` of the call.
        """
        seconds = self.curve.seconds(work.work, work.flops)
        if beside is not None and beside[0] in self.others:
            layout, share = beside
            seconds *= (self.others[layout].seconds(work.work, work.flops) / seconds) ** share
        return seconds


class Speeds:
    """The curves of a profile.

    Parameters
    ----------
    profile : Profile
        Of some machine.
    """

    def __init__(self, profile: Profile) -> None:
        self._curves = profile.curves
        self._stand_ins: dict[Key, Mapping[str, Curve]] = {}

    def of(self, key: Key, backend: str) -> Speed | None:
        """Return what predicts a kind of calls on a backend, if anything does."""
        curve = self._curve(key, backend)
        return None if curve is None else Speed(curve, self._others(key, backend))

    def _curve(self, key: Key, backend: str) -> Curve | None:
        """Return the curve that predicts a layout on a backend.

        Another layout of the operation has to do where nothing was measured in the layout itself;
        where one side was, the two could not be compared.
        """
        own = self._curves.get(key)
        if own:
            return own.get(backend)
        stand_in = self._stand_ins.get(key)
        if stand_in is None:
            others = {
                layout: found for layout, found in self._layouts(key).items() if REFERENCE in found
            }
            # one stack, or another library's, is more like it than a single matrix
            kind = key[1].partition("-")[0].rstrip("0123456789")
            like = (found for layout, found in others.items() if layout.startswith(kind))
            stand_in = next(like, next(iter(others.values()), _NO_CURVES))
            self._stand_ins[key] = stand_in
        return stand_in.get(backend)

    def _others(self, key: Key, backend: str) -> Mapping[str, Curve]:
        """Return a backend's curves of the layouts that a call may be near to, by layout."""
        if OPERATIONS[key[0]].beside is None:
            return _NO_CURVES
        return {
            layout: found[backend]
            for layout, found in self._layouts(key).items()
            if layout != key[1] and backend in found
        }

    def _layouts(self, key: Key) -> dict[str, Mapping[str, Curve]]:
        """Return the curves of an operation in a dtype, by layout and backend."""
        return {
            known[1]: self._curves[known] for known in self._curves.of(key[0]) if known[2] == key[2]
        }


_NO_CURVES: Mapping[str, Curve] = MappingProxyType({})
