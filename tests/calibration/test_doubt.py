"""What is worth measuring: where another point may change a decision."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch_xp.calibration import doubt
from dispatch_xp.calibration.measuring import Measured
from dispatch_xp.decision import REFERENCE
from dispatch_xp.levels import LEVELS

REQUIRED = LEVELS[5].speedup


def point(size, **speedups):
    """A point where the reference takes a second per 1000 and backends so many times less."""
    times = {REFERENCE: size / 1000.0}
    times |= {name: size / 1000.0 / speedup for name, speedup in speedups.items()}
    return Measured(None, size, ("exp", "vector", "float64"), None, size, times)


@pytest.mark.parametrize(
    ("speedups", "size", "decided"),
    [
        # far below, and not rising
        ((0.1, 0.1), 10_000, True),
        ((0.4, 0.3), 10_000, True),
        # rising, to 1.2 and to 0.63
        ((0.1, 0.35), 10_000, False),
        ((0.1, 0.25), 10_000, True),
        ((0.1, 0.25), 100_000, False),
        # near, above and below
        ((1.2, 1.2), 10_000, False),
        ((1.5, 1.6), 10_000, False),
        # far above
        ((2.5, 3.0), 10_000, True),
        # falling, to 1.35
        ((4.5, 2.5), 10_000, False),
        # falling so steeply that it passes through
        ((100.0, 2.0), 10_000, False),
    ],
)
def test_a_larger_problem_is_decided_where_the_trend_leaves_no_doubt(speedups, size, decided):
    points = [point(100, fast=speedups[0]), point(1000, fast=speedups[1])]
    assert doubt.is_decided(points, size) is decided
    # one more that is clear changes nothing, one that is not everything
    clear = [point(n, fast=s, slow=0.01) for n, s in zip((100, 1000), speedups, strict=True)]
    assert doubt.is_decided(clear, size) is decided
    unclear = [point(n, fast=s, near=1.3) for n, s in zip((100, 1000), speedups, strict=True)]
    assert not doubt.is_decided(unclear, size)


def test_without_two_points_nothing_is_decided():
    failed = point(1000, fast=9.0)
    del failed.times[REFERENCE]
    new = point(1000, fast=9.0, new=0.1)
    for points in ([], [point(100, fast=9.0)], [point(100, fast=9.0), failed]):
        assert not doubt.is_decided(points, 10_000)
    assert not doubt.is_decided([point(100, fast=9.0), new], 10_000)


@given(st.floats(0.01, 100.0))
def test_a_point_is_clear_by_its_distance_from_what_is_required(speedup):
    found = doubt.clearness(point(100, one=speedup, other=1000.0))
    assert found == pytest.approx(abs(math.log(speedup / REQUIRED)), abs=1e-9)
    assert doubt.is_doubtful(point(100, one=speedup)) == (found < math.log(1.5))


def test_what_was_not_measured_is_not_in_doubt():
    assert doubt.clearness(point(100)) == math.inf
    lost = point(100, one=1.3)
    lost.times.clear()
    assert not doubt.is_doubtful(lost)


def test_a_bump_is_a_point_that_took_longer_than_a_larger_one():
    small, middle, large = point(100, one=1.0), point(1000, one=0.01), point(10_000, one=1.0)
    assert doubt.bumps([small, middle, large]) == {id(middle)}
    assert doubt.bumps([small, large]) == set()
