"""A speed curve: measured times over the work, read in between by log-log interpolation."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from math import exp, inf, log
from typing import Annotated

import msgspec

__all__ = ["Curve", "Point"]

# how the rate goes on beyond the largest point: with a power of the work, and up to so many times
# its work, in the logarithm
_STEEPEST, _FURTHER = 0.4, log(16.0)
# less work is none
_LEAST = 1e-300


# what a file may hold: of such numbers the rate is one too
_Positive = Annotated[float, msgspec.Meta(ge=1e-100, le=1e100)]


# the collector need not look at what refers to nothing, and a profile has ten thousand
class Point(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One measurement.

    Attributes
    ----------
    work : float
        As in :attr:`dispatch_xp.operations.Workload.work`.
    seconds : float
        The shortest time seen.
    elements : int
        Of the largest argument.
    """

    work: _Positive
    seconds: _Positive
    elements: int


class Curve:
    """The rate of an operation on a backend, as a function of the work.

    Between two points the logarithm of the rate is linear in the logarithm of the work. Beyond the
    largest it goes on half as steeply for a while, since rates level off, and then stays what it
    is; below the smallest it falls on as it does between the first two, down to a constant time: a
    call's overhead does not shrink with its work.

    Parameters
    ----------
    points : iterable of Point
        At least one; of several with the same work the fastest counts.
    """

    __slots__ = ("_ends", "_fastest", "_fixed", "_lines", "points")

    def __init__(self, points: Iterable[Point]) -> None:
        fastest: dict[float, Point] = {}
        for point in points:
            work = point.work
            positive = work > 0 and point.seconds > 0
            if not (positive and 0 < work / point.seconds < inf):
                raise ValueError(f"not a measurement: {point}")
            known = fastest.get(work)
            if known is None or point.seconds < known.seconds:
                fastest[work] = point
        if not fastest:
            raise ValueError("a curve needs at least one point")
        self.points = tuple(fastest[work] for work in sorted(fastest))
        # found when first needed: where lines end, and each by a point on it and its slope
        self._ends: list[float] = []
        self._lines: list[tuple[float, float, float]] = []
        self._fastest = self._fixed = 0.0

    def _take_logarithms(self) -> None:
        """Find the lines of log(seconds) over log(work)."""
        times: dict[float, float] = {}
        for point in self.points:
            # of neighbouring floats the logarithms may be the same
            x, y = log(point.work), log(point.seconds)
            times[x] = min(y, times.get(x, y))
        known = list(times.items())
        between = [(x, y, (other - y) / (end - x)) for (x, y), (end, other) in pairwise(known)]
        # the slope of the rate is one less that of the time
        before = min(max(between[0][2], 0.0), 1.0) if between else 1.0
        steep = min(max(1.0 - between[-1][2], -_STEEPEST), _STEEPEST) / 2 if between else 0.0
        x, y = known[-1]
        end, after = x + _FURTHER, 1.0 - steep
        self._lines = [
            (*known[0], before),
            *between,
            (x, y, after),
            (end, y + after * _FURTHER, 1.0),
        ]
        self._fastest = max(point.work / point.seconds for point in self.points)
        # the part of the smallest problem's time that its work does not explain
        first = self.points[0]
        self._fixed = max(first.seconds - first.work / self._fastest, 0.0)
        # another thread may do the same: what it looks at is set last
        self._ends = [*times, end]

    def seconds(self, work: float, flops: float | None = None) -> float:
        """Return the predicted time.

        Parameters
        ----------
        work : float
            Where to read the rate.
        flops : float, optional
            What there is to do at that rate; `work` if not given. What a call takes without any
            work is taken once, however much there is.
        """
        if not self._ends:
            self._take_logarithms()
        if work < _LEAST:
            return 0.0
        at = log(work)
        x, y, slope = self._lines[bisect_right(self._ends, at)]
        seconds = exp(y + slope * (at - x))
        if flops is None or flops == work:
            return seconds
        fixed = min(self._fixed, seconds)
        return max(fixed + (seconds - fixed) * flops / work, flops / self._fastest)
