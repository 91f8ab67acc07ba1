"""From times with several thread counts to one number, or to none."""

from __future__ import annotations

import json
from itertools import pairwise

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dispatch_xp.blas_threads import (
    Advice,
    BlasThreads,
    Choice,
    SizeRange,
    Timing,
    advice,
    overall,
    per_operation,
    per_size,
)
from dispatch_xp.errors import ProfileError
from dispatch_xp.profile import Profile, merged, read, this_machine, write

SVD, SOLVE = "numpy.linalg.svd", "numpy.linalg.solve"


def compared(*rows, counts=(1, 2), threads=None, users=("numpy",), variable="A", in_turn=False):
    timings = tuple(Timing(*row) for row in rows)
    there = threads or counts[-1]
    return BlasThreads(users, "blas 1", there, variable, counts, timings, in_turn)


def ratio(gain, operation=SVD, size=256):
    """One thread is so many times as fast as two."""
    return (operation, size, (1.0, gain))


@pytest.mark.parametrize(
    ("rows", "threads", "gain"),
    [
        ([ratio(2.0)], 1, 2.0),
        ([ratio(1.04)], 2, 1.0),
        ([ratio(0.5)], 2, 1.0),
        # by geometric mean: neither the sum of the times nor the mean of the ratios
        ([ratio(4.0), ratio(0.25, SOLVE)], 2, 1.0),
        ([ratio(4.0), ratio(0.5, SOLVE)], 1, 2**0.5),
        ([(SVD, 64, (1e-6, 4e-6)), (SVD, 1024, (2.0, 1.0))], 1, 2**0.5),
    ],
)
def test_overall(rows, threads, gain):
    choice = overall(compared(*rows))
    assert choice == Choice(threads, 2, pytest.approx(gain))


def test_of_counts_that_are_about_as_fast_the_fewest():
    found = compared((SVD, 256, (3.0, 1.02, 1.0, 2.0)), counts=(1, 2, 4, 8))
    assert overall(found) == Choice(2, 8, pytest.approx(2.0 / 1.02))
    # and the present ones if they are among them
    found = compared((SVD, 256, (3.0, 1.0, 1.02, 1.03)), counts=(1, 2, 4, 8))
    assert overall(found) == Choice(8, 8, 1.0)


seconds = st.floats(1e-6, 1e2)


@given(rows=st.lists(st.tuples(seconds, seconds, seconds), min_size=1, max_size=6))
@example(rows=[(2.0, 1.0, 2.0), (1.0, 1.0, 1.0), (2.0, 1.0, 1.0), (0.5, 1.0, 1.0)])
def test_what_is_chosen_is_never_slower(rows):
    found = compared(*[(SVD, 2**i, row) for i, row in enumerate(rows)], counts=(1, 2, 4))
    choice = overall(found)
    assert choice.threads in found.counts
    assert choice.gain == 1.0 if choice.threads == 4 else choice.gain >= 1.05
    ranges = per_size(found)
    assert len(ranges) != 1
    assert [r.smallest for r in ranges] == sorted(r.smallest for r in ranges)
    for each in ranges:
        assert each.smallest <= each.largest
        assert each.choice.threads != each.choice.than
        assert each.choice.gain > 0.999
    for one, next_one in pairwise(ranges):
        assert one.largest < next_one.smallest
        assert one.choice.threads != next_one.choice.threads


def test_sizes():
    rows = [ratio(1.3, SVD, 128), ratio(1.5, SOLVE, 128), ratio(1.4, SVD, 256)]
    large = [ratio(1 / 1.6, SVD, 512), ratio(1 / 1.6, SVD, 1024)]
    assert per_size(compared(*large, *rows)) == [
        SizeRange(128, 256, Choice(1, 2, pytest.approx((1.3 * 1.5 * 1.4) ** (1 / 3)))),
        SizeRange(512, 1024, Choice(2, 1, pytest.approx(1.6))),
    ]
    assert per_size(compared(*rows)) == []
    assert per_size(compared(*large)) == []


def test_sizes_without_a_difference_are_left_out():
    found = compared(
        ratio(1.0, size=64), ratio(2.0, size=128), ratio(0.97, size=256), ratio(0.5, size=512)
    )
    assert [(r.smallest, r.largest) for r in per_size(found)] == [(128, 128), (512, 512)]
    assert per_size(compared(ratio(1.0, size=64), ratio(2.0, size=128))) == []


def test_sizes_with_more_counts():
    found = compared(
        (SVD, 64, (1.0, 2.0, 4.0)),
        (SVD, 256, (4.0, 1.0, 2.0)),
        (SVD, 1024, (16.0, 4.0, 1.0)),
        counts=(1, 4, 16),
    )
    assert [r.choice for r in per_size(found)] == [
        Choice(1, 16, pytest.approx(4.0)),
        Choice(4, 16, pytest.approx(2.0)),
        # the present count is compared with its neighbour
        Choice(16, 4, pytest.approx(4.0)),
    ]


def test_operations_that_differ():
    found = compared(ratio(3.0), ratio(0.5, SOLVE), ratio(2.0, "numpy.matmul"))
    assert overall(found).threads == 1
    assert per_operation(found) == {SOLVE: Choice(2, 1, pytest.approx(2.0))}
    assert per_operation(compared(ratio(3.0), ratio(0.95, SOLVE))) == {}
    assert per_operation(compared(counts=(1,))) == {}


def test_a_variable_sets_all_the_libraries_that_obey_it():
    numpy = compared(ratio(2.0))
    scipy = compared(ratio(1 / 1.5), users=("scipy",))
    (made,) = advice([numpy, scipy])
    assert made == Advice("A", Choice(1, 2, pytest.approx((2.0 / 1.5) ** 0.5)))
    apart = advice([numpy, compared(ratio(0.5), users=("scipy",), variable="B")])
    assert [(a.variable, a.choice.threads) for a in apart] == [("A", 1), ("B", 2)]
    assert advice([compared(ratio(2.0), variable="")]) == []
    assert advice([compared(counts=(1,))]) == []
    assert advice([]) == []


def test_libraries_with_different_numbers_of_threads():
    numpy = compared((SVD, 64, (1.0, 2.0, 2.0)), counts=(1, 2, 4))
    # four threads are two for this one
    scipy = compared((SVD, 64, (1.0, 3.0)), users=("scipy",))
    (made,) = advice([numpy, scipy])
    assert made.choice == Choice(1, 4, pytest.approx(6.0**0.5))


def test_in_turn_is_said_where_it_is_another_number():
    alone = [compared(ratio(0.5)), compared(ratio(0.5), users=("scipy",))]
    turn = compared(ratio(9.0), users=("numpy", "scipy"), in_turn=True)
    (made,) = advice([*alone, turn])
    assert made.choice.threads == 2
    assert made.in_turn == Choice(1, 2, pytest.approx(9.0))
    (made,) = advice([compared(ratio(3.0)), turn])
    assert made.in_turn is None


# --- in the machine profile


@pytest.fixture
def path(tmp_path):
    return tmp_path / "profile.json"


def test_it_is_kept(path):
    found = (compared(ratio(2.0)), compared(counts=(1,), users=("scipy",)))
    write(Profile(this_machine(), {}, blas_threads=found), path)
    assert read(path).blas_threads == found
    write(Profile(this_machine(), {}, blas_threads=()), path)
    assert read(path).blas_threads == ()


def test_a_profile_of_before_is_read(path):
    content = msgspec.to_builtins(Profile(this_machine(), {}))
    del content["blas_threads"]
    path.write_text(json.dumps(content))
    assert read(path).blas_threads is None


@pytest.mark.parametrize(
    "row",
    [
        [SVD, 64, [1.0]],
        [SVD, 64, [1.0, 0.0]],
        [SVD, 64, [1.0, -1.0]],
        [SVD, 64, [1.0, "soon"]],
        [SVD, 64],
    ],
)
def test_what_cannot_be_is_damaged(path, row):
    content = msgspec.to_builtins(Profile(this_machine(), {}, blas_threads=(compared(ratio(2.0)),)))
    content["blas_threads"][0]["timings"] = [row]
    path.write_text(json.dumps(content))
    with pytest.raises(ProfileError, match="damaged"):
        read(path)


def test_the_present_count_has_to_be_among_those_compared():
    with pytest.raises(ValueError, match="nothing was compared with the 3 threads"):
        compared(ratio(2.0), threads=3)


def test_a_part_replaces_it_only_if_it_was_compared():
    one, other = (compared(ratio(2.0)),), (compared(ratio(3.0)),)
    old, new = (Profile(this_machine(), {}, blas_threads=found) for found in (one, other))
    without = Profile(this_machine(), {})
    assert merged(old, new).blas_threads == other
    assert merged(old, without).blas_threads == one
    assert merged(without, new).blas_threads == other
    assert merged(old, Profile(this_machine(), {}, blas_threads=())).blas_threads == ()
