"""Between two points the rate is log-log linear, outside it levels off; it is always positive."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch_xp.curve import Curve, Point

positive = st.floats(1e-6, 1e15)
seconds = st.floats(1e-9, 1e5)
points = st.lists(
    st.builds(Point, positive, seconds, st.integers(1, 10**9)), min_size=1, max_size=8
)
# neighbouring floats may have the same logarithm: no curve goes through both points
apart = points.filter(lambda found: len({p.work for p in found}) == len(_logarithms(found)))


def _logarithms(found):
    return {math.log(p.work) for p in found}


def rate_of(curve, work):
    return work / curve.seconds(work)


@given(points, st.floats(1e-18, 1e18))
def test_every_prediction_is_positive_and_finite(measured, work):
    assert 0 < Curve(measured).seconds(work) < math.inf


@given(points)
def test_nothing_takes_no_time(measured):
    assert Curve(measured).seconds(0.0) == 0.0
    assert Curve(measured).seconds(0.0, 0.0) == 0.0


@given(apart)
def test_the_measured_points_come_back(measured):
    curve = Curve(measured)
    for point in curve.points:
        assert curve.seconds(point.work) == pytest.approx(point.seconds, rel=1e-6)


@given(points, st.floats(1.0, 1e6))
def test_the_rate_goes_on_half_as_steeply_beyond_the_largest_for_a_while(measured, factor):
    curve = Curve(measured)
    last = curve.points[-1].work
    grown = rate_of(curve, last * factor) / rate_of(curve, last)
    # at the most the fifth root of 16 times the work
    assert 16**-0.2 / (1 + 1e-6) <= grown <= 16**0.2 * (1 + 1e-6)
    assert rate_of(curve, last * max(factor, 16.0)) == pytest.approx(rate_of(curve, last * 16.0))
    if len(curve.points) == 1:
        assert grown == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("rates", "factor", "grown"),
    [
        ((1.0, 1.0), 100.0, 1.0),
        ((1.0, 10**0.2), 10.0, 10**0.1),
        ((1.0, 10**0.2), 1e4, 16**0.1),
        ((10**0.2, 1.0), 10.0, 10**-0.1),
        ((1.0, 10.0), 10.0, 10**0.2),
    ],
)
def test_how_the_rate_goes_on(rates, factor, grown):
    works = (100.0, 1000.0)
    curve = Curve(Point(w, w / r, 1) for w, r in zip(works, rates, strict=True))
    assert rate_of(curve, 1000.0 * factor) / rate_of(curve, 1000.0) == pytest.approx(grown)


@given(points, st.floats(1.0, 1e3))
def test_less_work_than_was_measured_takes_no_longer_and_not_much_less(measured, factor):
    curve = Curve(measured)
    first = curve.points[0]
    seconds = curve.seconds(first.work / factor)
    assert seconds <= first.seconds * (1 + 1e-6)
    assert seconds >= first.seconds / factor * (1 - 1e-6)


def test_an_overhead_stays_below_the_smallest():
    curve = Curve([Point(10.0, 1e-6, 10), Point(100.0, 1e-6, 100), Point(1000.0, 1e-5, 1000)])
    assert curve.seconds(1.0) == pytest.approx(1e-6)
    assert curve.seconds(1e4) == pytest.approx(1e-4)


@given(points, st.floats(0, 1), st.floats(0, 1))
def test_the_rate_is_monotone_between_neighbours(measured, one, other):
    curve = Curve(measured)
    for a, b in zip(curve.points, curve.points[1:], strict=False):
        low, high = sorted((one, other))
        at = [a.work * (b.work / a.work) ** share for share in (low, high)]
        rates = [rate_of(curve, work) for work in at]
        ends = (rate_of(curve, a.work), rate_of(curve, b.work))
        rising = ends[0] <= ends[1]
        slack = 1 + 1e-6
        assert rates[0] <= rates[1] * slack if rising else rates[1] <= rates[0] * slack
        assert all(min(ends) / slack <= rate <= max(ends) * slack for rate in rates)


@given(apart, positive, st.floats(1e-3, 1e3))
def test_what_there_is_to_do_takes_in_proportion_but_for_what_a_call_takes_by_itself(
    measured, work, times
):
    curve = Curve(measured)
    once = curve.seconds(work)
    assert curve.seconds(work, work) == once
    found = curve.seconds(work, times * work)
    fastest = max(point.work / point.seconds for point in curve.points)
    least, most = sorted((once, times * once))
    bound = times * work / fastest
    assert least * (1 - 1e-6) <= found <= max(most, bound) * (1 + 1e-6)
    assert found >= bound * (1 - 1e-6)
    assert curve.seconds(work, 2 * times * work) >= found


def test_an_overhead_is_taken_once():
    # 1 ms a call, and 1e9 a second
    curve = Curve(Point(work, 1e-3 + work / 1e9, 1) for work in (1e3, 1e9, 1e12))
    assert curve.seconds(1e3, 1e6) == pytest.approx(2e-3, rel=1e-3)
    assert curve.seconds(1e9, 4e9) == pytest.approx(4.0, rel=1e-3)


def test_nothing_is_faster_than_the_fastest_that_was_measured():
    # the second takes no longer than the first: what its work takes is not to be seen
    curve = Curve([Point(1e3, 1e-3, 1), Point(1e5, 1e-3, 1), Point(1e9, 1.0, 1)])
    assert curve.seconds(1e5, 1e8) == pytest.approx(0.1)


def test_one_point_says_nothing_of_an_overhead():
    assert Curve([Point(1e3, 1e-3, 1)]).seconds(1e3, 4e3) == pytest.approx(4e-3)


@given(points)
def test_the_order_of_the_points_does_not_matter(measured):
    there, back = Curve(measured), Curve(reversed(measured))
    assert [(p.work, p.seconds) for p in there.points] == [(p.work, p.seconds) for p in back.points]


def test_of_two_measurements_of_the_same_work_the_faster_counts():
    curve = Curve([Point(10.0, 2.0, 1), Point(10.0, 1.0, 1)])
    assert curve.seconds(10.0) == pytest.approx(1.0)


def test_works_that_a_logarithm_cannot_tell_apart():
    work = 1e15
    curve = Curve([Point(work, 1.0, 1), Point(math.nextafter(work, 2e15), 2.0, 1)])
    assert 0 < rate_of(curve, work) < math.inf


@pytest.mark.parametrize(
    "point", [Point(0.0, 1.0, 1), Point(1.0, 0.0, 1), Point(1.0, -1.0, 1), Point(1e308, 1e-308, 1)]
)
def test_what_is_no_measurement_is_refused(point):
    with pytest.raises(ValueError, match="not a measurement"):
        Curve([point])
    with pytest.raises(ValueError, match="at least one"):
        Curve([])
