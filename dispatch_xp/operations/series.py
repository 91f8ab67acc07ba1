"""Layouts that differ in a length: measured in a few, predicted in between.

A stack of small matrices runs at another rate than one of large ones with the same flops, and many
short rows at another than a few long ones: each has a cost of its own, whatever its length.
"""

from __future__ import annotations

import math
from bisect import bisect_right

__all__ = ["COLUMNS", "ROWS", "STACKED", "STACKS", "Series"]

_REMEMBERED = 1024


class Series:
    """The layouts of one kind, by a length.

    Parameters
    ----------
    kind : str
        What their names begin with.
    lengths : tuple of int
        The measured ones, ascending.

    Attributes
    ----------
    layouts : dict
        The length of each layout.
    middle : str
        The layout that stands for the others where there is little time to measure.
    """

    def __init__(self, kind: str, lengths: tuple[int, ...]) -> None:
        self.layouts = {f"{kind}{length}": length for length in lengths}
        self._names = tuple(self.layouts)
        self.middle = self._names[len(lengths) // 2]
        self._logarithms = tuple(math.log(length) for length in lengths)
        self._known: dict[float, tuple[str, tuple[str, float] | None]] = {}

    def nearest(self, length: float) -> str:
        """Return the layout whose length is nearest, in the logarithm."""
        return (self._known.get(length) or self._found(length))[0]

    def beside(self, length: float) -> tuple[str, float] | None:
        """Return the layout on the other side of a length, and its share of the prediction.

        None where the nearest one alone predicts: at a measured length, and beyond all of them.
        """
        return (self._known.get(length) or self._found(length))[1]

    def _found(self, length: float) -> tuple[str, tuple[str, float] | None]:
        x, known = math.log(max(length, 1.0)), self._logarithms
        i = min(max(bisect_right(known, x), 1), len(known) - 1)
        # counted in measured lengths, and no further than their ends
        place = i - 1 + (x - known[i - 1]) / (known[i] - known[i - 1])
        place = min(max(place, 0.0), len(known) - 1.0)
        near = round(place)
        share = abs(place - near)
        other = self._names[near + (1 if place > near else -1)] if share >= 1e-9 else ""
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        found = self._known[length] = self._names[near], (other, share) if other else None
        return found


STACKS = Series("stack", (8, 32, 128))
"""Stacks of matrices, by the order of one."""
STACKED = (2, 8, 32, 128, 512, 2048, 8192)
"""How many matrices a measured stack has."""
ROWS = Series("rows", (16, 256, 4096))
"""What is done row by row, by the length of one."""
COLUMNS = Series("columns", (16, 256, 4096))
"""What is done along another axis than the last, by the number of columns."""
