"""Tests of other projects that fail when they are routed, and are right to: why."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DIFFERENCES", "Difference"]


class Difference(NamedTuple):
    """Tests that may fail."""

    suite: str
    policies: tuple[str, ...]
    tests: str
    """What is looked for in a test's class and name: a regular expression."""
    reason: str
    largest: float | None = None
    """How far apart the numbers may be, absolutely or relatively; None if it is no matter of it."""


DIFFERENCES = ()
