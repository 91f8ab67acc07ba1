"""A speed curve: measured times over the work, read in between by log-log interpolation."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from math import exp, inf, log
from typing import Annotated

import msgspec

__all__ = ["Curve", "Point"]

# how the rate goes on beyond the largest point: with a power of the work, and up to so many times
# its work, in the logarithm
_STEEPEST, _FURTHER = 0.4, log(16.0)


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

    __slots__ = ("_fastest", "_fixed", "_rates", "_works", "points")

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
        # found when first needed
        self._works: list[float] = []
        self._rates: list[float] = []
        self._fastest = self._fixed = 0.0

    def _take_logarithms(self) -> None:
        rates: dict[float, float] = {}
        for point in self.points:
            # of neighbouring floats the logarithms may be the same
            work, rate = log(point.work), log(point.work / point.seconds)
            rates[work] = max(rate, rates.get(work, rate))
        self._fastest = exp(max(rates.values()))
        # the part of the smallest problem's time that its work does not explain
        first = self.points[0]
        self._fixed = max(first.seconds - first.work / self._fastest, 0.0)
        # another thread may do the same: what it looks at last is set last
        self._rates = list(rates.values())
        self._works = list(rates)

    def rate(self, work: float) -> float:
        """Return the rate at a work, in units of work per second."""
        if not self._works:
            self._take_logarithms()
        works, rates = self._works, self._rates
        x = log(work if work > 1e-300 else 1e-300)
        i = bisect_right(works, x)
        if i == 0:
            if len(works) == 1:
                return exp(rates[0])
            slope = (rates[1] - rates[0]) / (works[1] - works[0])
            return exp(rates[0] + min(max(slope, 0.0), 1.0) * (x - works[0]))
        if i == len(works):
            if i == 1:
                return exp(rates[0])
            slope = (rates[-1] - rates[-2]) / (works[-1] - works[-2])
            steep = min(max(slope, -_STEEPEST), _STEEPEST) / 2
            return exp(rates[-1] + steep * min(x - works[-1], _FURTHER))
        share = (x - works[i - 1]) / (works[i] - works[i - 1])
        return exp(rates[i - 1] + share * (rates[i] - rates[i - 1]))

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
        seconds = work / self.rate(work)
        if flops is None or flops == work:
            return seconds
        fixed = min(self._fixed, seconds)
        return max(fixed + (seconds - fixed) * flops / work, flops / self._fastest)
