"""Constants of the standard."""

from __future__ import annotations

import math

__all__ = ["e", "inf", "nan", "newaxis", "pi"]

e = math.e
"""Euler's number."""

inf = math.inf
"""Positive infinity."""

nan = math.nan
"""Not a number."""

newaxis = None
"""In an index: a new axis of length 1."""

pi = math.pi
"""The circumference of a circle over its diameter."""
