"""The numbers that come round again."""

from __future__ import annotations

import numpy as np
import pytest

from dispatch_xp.calibration.numbers import Recycled

AROUND = 1_000_003


@pytest.mark.parametrize("size", [5, (3, 4), (0,), (2, 1, 3)])
def test_shapes(size):
    shape = (size,) if isinstance(size, int) else size
    for found in (Recycled(1).standard_normal(size), Recycled(1).uniform(0.0, 1.0, size)):
        assert found.shape == shape
        assert found.dtype == np.float64
        assert found.flags.owndata or found.base.flags.owndata
        assert found.flags.writeable


def test_a_seed_gives_the_same_and_another_one_others():
    first, again, other = (Recycled(seed).standard_normal(100) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert not np.isin(first, other).all()


def test_nothing_is_given_twice_in_a_row():
    numbers = Recycled(3)
    a, b = numbers.standard_normal((20, 20)), numbers.standard_normal((20, 20))
    assert not np.isin(a, b).any()


def test_who_writes_changes_no_others():
    wanted = Recycled(4).standard_normal(50)
    found = Recycled(4).standard_normal(50)
    found[:] = 0.0
    np.testing.assert_array_equal(Recycled(4).standard_normal(50), wanted)


def test_they_come_round_again():
    found = Recycled(5).standard_normal(2 * AROUND + 10)
    np.testing.assert_array_equal(found[:AROUND], found[AROUND : 2 * AROUND])
    np.testing.assert_array_equal(found[:10], found[-10:])


def test_no_row_of_a_large_matrix_is_another_one():
    a = Recycled(6).standard_normal((2048, 1024))
    assert len(np.unique(a[:, 0])) == len(np.unique(a.sum(axis=1))) == 2048


def test_distributions():
    normal = Recycled(9).standard_normal(200_000)
    assert abs(normal.mean()) < 0.02
    assert abs(normal.std() - 1) < 0.02
    uniform = Recycled(9).uniform(-0.5, 1.5, 200_000)
    assert -0.5 <= uniform.min() < -0.49
    assert 1.49 < uniform.max() < 1.5
    assert abs(uniform.mean() - 0.5) < 0.02
    assert set(Recycled(9).integers(0, 2, 100)) == {0, 1}
