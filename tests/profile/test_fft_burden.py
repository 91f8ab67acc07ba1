"""Lengths of transforms: large prime factors take more steps, up to those of a detour."""

from __future__ import annotations

import math

import pytest

from dispatch_xp.operations import OPERATIONS
from dispatch_xp.operations.fft import burden


@pytest.mark.parametrize("k", range(1, 20))
def test_powers_of_two_are_the_convention(k):
    assert burden(2**k) == pytest.approx(k)


def test_small_factors_are_a_little_more():
    assert burden(3) == pytest.approx(1.5)
    assert 1.0 < burden(1000) / math.log2(1000) < 1.2
    assert burden(7 * 11) == pytest.approx(1.1 * 18 / 2)


@pytest.mark.parametrize("prime", [1009, 10007, 83117, 499979])
def test_a_large_prime_takes_no_more_than_the_detour(prime):
    assert burden(prime) == 5 * math.log2(2 * prime)
    assert burden(prime, real=True) == 7.5 * math.log2(2 * prime)


def test_a_large_factor_of_a_real_transform_takes_less():
    assert burden(1024, real=True) == burden(1024)
    assert burden(30, real=True) == burden(30)
    assert burden(7 * 11, real=True) == pytest.approx(burden(7 * 11) * 0.8 / 1.1)
    assert burden(2 * 131, real=True) == pytest.approx((2 + 0.8 * 131) / 2)


@pytest.mark.parametrize(
    ("name", "options", "ratio"),
    [
        # against the complex transform of the same shape, along a prime and along a power of two
        ("fft.rfft", {"axis": 1}, 0.5 * 7.5 / 5),
        ("fft.rfft", {"axis": 0}, 0.5),
        ("fft.dct", {"axis": 1, "type": 2}, 0.5 * 7.5 / 5),
    ],
)
def test_real_transforms_along_a_prime(name, options, ratio):
    shapes = ((64, 10007),)
    complex_flops = OPERATIONS["fft.fft"].flops(shapes, {"axis": options["axis"]})
    assert OPERATIONS[name].flops(shapes, options) == pytest.approx(ratio * complex_flops)


def test_one_point_is_nothing():
    assert burden(1) == 0.0
