"""Lengths of transforms: large prime factors take more steps, up to those of a detour."""

from __future__ import annotations

import math

import pytest

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
    assert 4 < burden(prime) / math.log2(prime) < 5


def test_one_point_is_nothing():
    assert burden(1) == 0.0
