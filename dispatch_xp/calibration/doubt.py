"""Where another measurement would change a decision."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dispatch_xp.calibration.measuring import Measured
from dispatch_xp.config import Settings
from dispatch_xp.decision import REFERENCE
from dispatch_xp.levels import LEVELS

__all__ = ["bumps", "clearness", "is_decided", "is_doubtful"]

# speed-ups within this logarithm of what is required are in doubt
_DOUBTFUL = math.log(1.5)
# times a larger problem's seconds from which a point was disturbed
_BUMP = 1.3


def _margins(point: Measured) -> dict[str, float]:
    """Return how far each backend is above what the default level requires, in the logarithm."""
    reference = point.times.get(REFERENCE)
    if not reference:
        return {}
    required = math.log(LEVELS[Settings().level].speedup)
    return {
        name: math.log(reference / seconds) - required
        for name, seconds in point.times.items()
        if name != REFERENCE and seconds > 0
    }


def clearness(point: Measured) -> float:
    """Return how far the nearest backend is from what the default level requires."""
    return min(map(abs, _margins(point).values()), default=math.inf)


def is_doubtful(point: Measured) -> bool:
    """Return whether measuring a point again may change what is decided there."""
    return clearness(point) < _DOUBTFUL


def is_decided(points: Sequence[Measured], size: int) -> bool:
    """Return whether the points of a curve leave no doubt about a larger problem.

    Parameters
    ----------
    points : sequence of Measured
        Ascending.
    size : int
        Of the larger problem. Each backend is expected to gain on the reference, from the largest
        point to there, as it does between the last two.
    """
    known = [point for point in points if REFERENCE in point.times]
    if len(known) < 2:
        return False
    before, last = known[-2:]
    further = math.log(size / last.size) / math.log(last.size / before.size)
    earlier, now = _margins(before), _margins(last)
    for name, margin in now.items():
        if name not in earlier:
            return False
        then = margin + further * (margin - earlier[name])
        if min(abs(margin), abs(then)) < _DOUBTFUL or (margin < 0) != (then < 0):
            return False
    return True


def bumps(points: Iterable[Measured]) -> set[int]:
    """Return the points, by identity, where a larger problem took less time, on any backend."""
    curves: dict[tuple[int, str], list[Measured]] = {}
    for point in points:
        for name in point.times:
            curves.setdefault((id(point.task), name), []).append(point)
    found = set()
    for (_, name), curve in curves.items():
        least = math.inf
        for point in sorted(curve, key=lambda p: -p.size):
            if point.times[name] > _BUMP * least:
                found.add(id(point))
            least = min(least, point.times[name])
    return found
