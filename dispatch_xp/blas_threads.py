"""How many threads suit a BLAS library: what was timed, and what follows from it."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence

import msgspec

__all__ = [
    "Advice",
    "BlasThreads",
    "Choice",
    "SizeRange",
    "Timing",
    "advice",
    "overall",
    "per_operation",
    "per_size",
]

# times as fast from which a difference is one; a part of the points is less certain than all
_MARGIN, _PART = 1.05, 1.20


class Timing(msgspec.Struct, frozen=True, array_like=True):
    """One operation of one size.

    Attributes
    ----------
    operation : str
        The function, or several called in turn.
    size : int
        The order of its matrices.
    seconds : tuple of float
        The shortest time with each of the thread counts.
    """

    operation: str
    size: int
    seconds: tuple[float, ...]


class BlasThreads(msgspec.Struct, frozen=True):
    """Thread counts of one BLAS library, or of two that are called in turn, compared.

    Attributes
    ----------
    users : tuple of str
        Whose library it is: ``"numpy"``, ``"scipy"``, or both.
    library : str
        Name and version.
    threads : int
        How many it had, before and afterwards.
    variable : str
        Which variable sets the number before Python starts; empty if that isn't known.
    counts : tuple of int
        The numbers that were compared, ascending.
    timings : tuple of Timing
        Empty if there was nothing to compare.
    in_turn : bool
        Whether the users have a library each, and were called in turn.
    load : str
        How busy other programs kept the machine; empty if they did not.
    """

    users: tuple[str, ...]
    library: str
    threads: int
    variable: str = ""
    counts: tuple[int, ...] = ()
    timings: tuple[Timing, ...] = ()
    in_turn: bool = False
    load: str = ""

    def __post_init__(self) -> None:
        times = [seconds for timing in self.timings for seconds in timing.seconds]
        whole = all(len(timing.seconds) == len(self.counts) for timing in self.timings)
        if not whole or not all(0 < seconds < math.inf for seconds in times):
            raise ValueError(f"not a comparison of {len(self.counts)} thread counts")
        if self.timings and self.threads not in self.counts:
            raise ValueError(f"nothing was compared with the {self.threads} threads it has")


class Choice(msgspec.Struct, frozen=True):
    """A thread count, and how many times as fast it is as another one."""

    threads: int
    than: int
    gain: float


class SizeRange(msgspec.Struct, frozen=True):
    """Neighbouring sizes for which the same thread count is best."""

    smallest: int
    largest: int
    choice: Choice


class Advice(msgspec.Struct, frozen=True):
    """What to set a variable to, for all the libraries that obey it.

    Attributes
    ----------
    variable : str
        Its name.
    choice : Choice
        For programs that call one of the libraries at a time.
    in_turn : Choice or None
        For programs that call both in turn, where that is another number.
    """

    variable: str
    choice: Choice
    in_turn: Choice | None = None


def overall(found: BlasThreads) -> Choice | None:
    """Return the best count of all; the present one unless another is clearly faster.

    Operations and sizes are compared by geometric mean, so that each counts the same. None if
    nothing was compared.
    """
    return _best(_points([found]), found.threads, _MARGIN) if found.timings else None


def per_size(found: BlasThreads) -> list[SizeRange]:
    """Return where it depends on the size, ascending; nothing if it does not.

    Sizes at which no count is clearly faster than another are left out.
    """
    present = found.threads
    points: dict[int, list[_Point]] = {}
    for timing in sorted(found.timings, key=lambda timing: timing.size):
        points.setdefault(timing.size, []).append((found.counts, timing.seconds))
    best = {size: _best(points[size], present, _PART).threads for size in points}
    elsewhere = [size for size in best if best[size] != present]
    ranges: list[list[int]] = []
    for size, count in best.items():
        if count == present and elsewhere:
            # it has to be clearly faster than what is best at the nearest of the other sizes
            _, near = min((abs(math.log(other / size)), other) for other in elsewhere)
            if _gain(points[size], present, best[near]) < _PART:
                continue
        if ranges and best[ranges[-1][0]] == count:
            ranges[-1].append(size)
        else:
            ranges.append([size])
    made = []
    for place, sizes in enumerate(ranges if len(ranges) > 1 else ()):
        count = best[sizes[0]]
        mine = [point for size in sizes for point in points[size]]
        # what it would be else: the present number, or what is best at the sizes next to these
        beside = (*ranges[:place][-1:], *ranges[place + 1 :][:1])
        others = [best[near[0]] for near in beside] if count == present else [present]
        gain, than = max((_gain(mine, count, other), other) for other in others)
        made.append(SizeRange(sizes[0], sizes[-1], Choice(count, than, gain)))
    return made


def per_operation(found: BlasThreads) -> dict[str, Choice]:
    """Return the operations for which another count than the overall one is clearly faster."""
    chosen = overall(found)
    if chosen is None:
        return {}
    points: dict[str, list[_Point]] = {}
    for timing in found.timings:
        points.setdefault(timing.operation, []).append((found.counts, timing.seconds))
    different = {}
    for operation, mine in points.items():
        threads = _best(mine, found.threads, _PART).threads
        gain = _gain(mine, threads, chosen.threads)
        if gain >= _PART:
            different[operation] = Choice(threads, chosen.threads, gain)
    return different


def advice(every: Iterable[BlasThreads]) -> list[Advice]:
    """Return what to set each variable to; one variable may set several libraries."""
    compared = [found for found in every if found.timings and found.variable]
    made = []
    for variable in dict.fromkeys(found.variable for found in compared):
        mine = [found for found in compared if found.variable == variable]
        alone = [found for found in mine if not found.in_turn]
        if not alone:
            continue
        present = max(found.threads for found in alone)
        choice = _best(_points(alone), present, _MARGIN)
        turns = [turn for found in mine if found.in_turn and (turn := overall(found))]
        other = next((turn for turn in turns if turn.threads != choice.threads), None)
        made.append(Advice(variable, choice, other))
    return made


_Point = tuple[tuple[int, ...], tuple[float, ...]]


def _points(every: Iterable[BlasThreads]) -> list[_Point]:
    """Return the times of each operation and size, with the counts that they belong to."""
    return [(found.counts, timing.seconds) for found in every for timing in found.timings]


def _best(points: Sequence[_Point], present: int, margin: float) -> Choice:
    """Return the fewest threads that are about as fast as the best, unless the present ones are."""
    counts = sorted({count for compared, _ in points for count in compared})
    gains = {count: _gain(points, count, present) for count in counts}
    enough = max(margin, max(gains.values()) / margin)
    threads = next((count for count, gain in gains.items() if gain >= enough), present)
    return Choice(threads, present, gains[threads])


def _gain(points: Sequence[_Point], threads: int, than: int) -> float:
    """Return how many times as fast one count is as another, by geometric mean."""
    logs = [math.log(_seconds(point, than) / _seconds(point, threads)) for point in points]
    return math.exp(sum(logs) / len(logs))


def _seconds(point: _Point, threads: int) -> float:
    """Return the time with a count; where a library has fewer threads, with all of them."""
    counts, seconds = point
    return seconds[max(bisect_right(counts, threads) - 1, 0)]
