"""Stacks of matrices: measured in a few orders, predicted in between.

A stack of small matrices runs at another rate than one of large ones with the same flops, since
each matrix has a cost of its own that does not depend on its order.
"""

from __future__ import annotations

import math

__all__ = ["ORDERS", "beside", "nearest"]

# the curve's name, the order of its matrices, and the numbers of them to measure
ORDERS: tuple[tuple[str, int, tuple[int, ...]], ...] = (
    ("stack8", 8, (16, 64, 256, 1024, 4096, 16384)),
    ("stack32", 32, (4, 16, 64, 256, 1024, 4096)),
    ("stack128", 128, (2, 8, 32, 128, 512)),
)
_FIRST, _STEP = 8.0, math.log(4.0)


def _place(order: float) -> float:
    """Return where an order is between the measured ones, which are a step of 1 apart."""
    return min(max(math.log(max(order, 1.0) / _FIRST) / _STEP, 0.0), len(ORDERS) - 1.0)


def nearest(order: float) -> str:
    """Return the curve whose matrices are nearest to an order, in the logarithm."""
    return ORDERS[round(_place(order))][0]


def beside(order: float) -> tuple[str, float] | None:
    """Return the curve on the other side of an order, and its share of the prediction.

    None where the nearest curve alone predicts: at a measured order, and beyond all of them.
    """
    place = _place(order)
    near = round(place)
    share = abs(place - near)
    if share == 0.0:
        return None
    return ORDERS[near + (1 if place > near else -1)][0], share
