"""Thread counts of BLAS are compared side by side, in bounded time, and left as they were."""

from __future__ import annotations

import math
from itertools import groupby
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
import scipy.linalg
from threadpoolctl import ThreadpoolController

from dispatch_xp import calibration
from dispatch_xp.blas_threads import overall, per_size
from dispatch_xp.calibration import blas_threads
from dispatch_xp.calibration.blas_threads import (
    Matrices,
    Pool,
    candidates,
    compare,
    measure,
    pools,
)
from dispatch_xp.calibration.plan import DEPTHS
from dispatch_xp.config import Settings
from dispatch_xp.profile import read, write


class Library:
    """Counts threads, and remembers what it was set to."""

    def __init__(self, threads, stuck=False):
        self.num_threads = threads
        self.stuck = stuck
        self.set = []

    def set_num_threads(self, count):
        self.set.append(count)
        if not self.stuck:
            self.num_threads = count


class Machine:
    """Operations take as long as `seconds(name, size, threads)` says, by a clock of its own."""

    def __init__(self, seconds, threads=8, names=("one", "other"), libraries=1, **how):
        self.seconds = seconds
        self.now = 0.0
        self.calls = []
        self.libraries = [Library(threads, **how) for _ in range(libraries)]
        operations = {name: lambda m, name=name: (name, len(m.general)) for name in names}
        self.pool = Pool(("numpy",), self.libraries, operations, "fake 1", "FAKE_NUM_THREADS")

    def timed(self, run):
        name, size = run()
        threads = self.libraries[0].num_threads
        took = self.seconds(name, size, threads)
        self.calls.append((name, size, threads))
        self.now += 2 * took
        return took

    def sleep(self, seconds):
        self.now += seconds

    def compare(self, seconds=10.0, rounds=3):
        how = {"timed": self.timed, "clock": lambda: self.now, "sleep": self.sleep}
        with (
            patch.object(blas_threads, "physical_cores", lambda: None),
            patch.object(Matrices, "of", lambda size: Matrices(range(size), None)),
        ):
            return compare(self.pool, seconds, rounds, **how)


def collide(name, size, threads):
    """Each thread costs something to wake, and takes its part of the work."""
    return threads * 2e-5 + (size / 64) ** 3 * 1e-5 / threads


def test_it_finds_what_is_faster_and_where():
    machine = Machine(collide)
    found = machine.compare()
    assert found.counts == (1, 2, 4, 8)
    for timing in found.timings:
        expected = [collide(timing.operation, timing.size, n) for n in found.counts]
        assert timing.seconds == pytest.approx(expected)
    sizes = sorted({timing.size for timing in found.timings})
    fastest = {n: min(found.counts, key=lambda count, n=n: collide("", n, count)) for n in sizes}
    assert fastest[64] == 1
    assert fastest[sizes[-1]] == 8
    ranges = per_size(found)
    assert ranges[0].smallest == 64
    assert ranges[0].choice.threads == 1
    assert ranges[-1].choice.threads == 8
    assert ranges[-1].largest == sizes[-1]


def test_the_counts_are_compared_in_rounds_and_the_shortest_time_counts():
    def seconds(name, size, threads):
        # all but one wait for another program
        return (1e-3, 2e-3)[machine.calls.count((name, size, threads)) != 2]

    machine = Machine(seconds, threads=4, names=("one",))
    found = machine.compare(rounds=4)
    assert {s for timing in found.timings for s in timing.seconds} == {1e-3}
    for timing in found.timings:
        asked = [n for name, size, n in machine.calls if size == timing.size]
        # the lowest count and the present one to see how long it takes, then round by round; the
        # smallest are what wakes the cores before each
        assert asked[:2] == [1, 4]
        assert asked[2:] == [*([1] if timing.size == 64 else []), 1, 2, 4] * 4
    rounds = [n for n, _ in groupby(n for _, _, n in machine.calls[2 * len(found.timings) :])]
    assert rounds == [1, 2, 4] * 4


@pytest.mark.parametrize("seconds", [0.3, 2.0, 8.0, 60.0])
@pytest.mark.parametrize("slow", [1e-5, 1e-3])
def test_the_time_is_bounded_and_more_of_it_buys_larger_sizes(seconds, slow):
    def cubic(name, size, threads):
        return slow * (size / 64) ** 3 / threads

    machine = Machine(cubic)
    found = machine.compare(seconds)
    assert machine.now <= seconds + 0.05
    more = Machine(cubic).compare(seconds * 100)
    largest = max((timing.size for timing in found.timings), default=0)
    assert largest <= max(timing.size for timing in more.timings)
    assert len(found.timings) <= len(more.timings)
    assert len(more.timings) > 2


def test_a_slow_operation_does_not_keep_the_others_from_larger_sizes():
    def seconds(name, size, threads):
        return (1e-5 if name == "one" else 2e-3) * (size / 64) ** 3

    found = Machine(seconds).compare(8.0)
    largest = {t.operation: t.size for t in found.timings}
    assert largest["one"] > largest["other"]


def test_what_becomes_slow_without_a_warning_ends_it():
    machine = Machine(lambda name, size, threads: 10.0 if len(machine.calls) > 8 else 1e-4)
    found = machine.compare(2.0)
    # one measurement that nobody could foresee
    assert machine.now <= 2.0 + 2 * 10.0 + 0.1
    assert all(math.isfinite(s) for timing in found.timings for s in timing.seconds)


def test_a_round_that_was_cut_does_not_favour_the_counts_it_reached():
    calls = []

    def seconds(name, size, threads):
        calls.append((size, threads))
        # the second round is quick until it comes to two threads
        second = calls.count((64, 1)) > 4
        return (0.5e-3 if threads == 1 else 1.0) if second else 1e-3

    found = Machine(seconds, names=("one",)).compare(1.0, rounds=2)
    assert calls.count((64, 1)) == 5
    assert all(timing.seconds == (1e-3,) * 4 for timing in found.timings)


def test_no_time_is_no_comparison():
    machine = Machine(collide)
    found = machine.compare(0.0)
    assert found.timings == ()
    assert machine.calls == []
    assert overall(found) is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("after", [0, 5, 30])
def test_the_counts_are_restored_whatever_happens(error, after):
    def seconds(name, size, threads):
        if len(machine.calls) == after:
            raise error
        return 1e-3

    machine = Machine(seconds, libraries=2)
    machine.libraries[1].num_threads = 3
    machine.pool = Pool(("numpy",), machine.libraries, machine.pool.operations)
    with pytest.raises(error):
        machine.compare()
    assert [library.num_threads for library in machine.libraries] == [8, 3]
    assert set(machine.libraries[1].set) <= {1, 2, 3}


def test_one_thread_leaves_nothing_to_choose():
    machine = Machine(collide, threads=1)
    found = machine.compare()
    assert (found.threads, found.counts, found.timings) == (1, (1,), ())
    assert machine.calls == []


def test_a_count_that_cannot_be_set_is_not_measured():
    machine = Machine(collide, stuck=True)
    found = machine.compare()
    assert (found.threads, found.counts, found.timings) == (8, (8,), ())


@pytest.mark.parametrize(
    ("threads", "physical", "counts"),
    [
        (1, None, [1]),
        (2, None, [1, 2]),
        (6, None, [1, 2, 4, 6]),
        (12, 6, [1, 2, 4, 6, 8, 12]),
        (4, 16, [1, 2, 4]),
    ],
)
def test_candidates(threads, physical, counts):
    assert candidates(threads, physical) == counts


# --- the machine that this is


def fake_library(path, threads=4, **attributes):
    usual = {"user_api": "blas", "internal_api": "openblas", "version": "1", "filepath": path}
    return SimpleNamespace(**{**usual, "num_threads": threads, **attributes})


NUMPY = np.__file__.replace("__init__.py", "libs/libopenblas.so")
SCIPY = scipy.__path__[0] + ".libs/libopenblas.so"


@pytest.mark.parametrize(
    ("libraries", "users"),
    [
        ([], []),
        ([fake_library(NUMPY), fake_library(SCIPY)], [("numpy",), ("scipy",), ("numpy", "scipy")]),
        # a distribution's, which both are linked to
        ([fake_library("/usr/lib/libopenblas.so")], [("numpy", "scipy")]),
        ([fake_library("/usr/lib/libblis.so"), fake_library(SCIPY)],
         [("numpy",), ("scipy",), ("numpy", "scipy")]),
        # another package's
        ([fake_library(NUMPY), fake_library(SCIPY), fake_library("/usr/lib/libmkl_rt.so")],
         [("numpy",), ("scipy",), ("numpy", "scipy")]),
        ([fake_library(NUMPY), fake_library("/usr/lib/libgomp.so", user_api="openmp")],
         [("numpy",)]),
        ([fake_library(NUMPY, None)], []),
    ],
)  # fmt: skip
def test_whose_library_it_is(monkeypatch, libraries, users):
    monkeypatch.setattr(
        "threadpoolctl.ThreadpoolController", lambda: SimpleNamespace(lib_controllers=libraries)
    )
    assert [pool.users for pool in pools()] == users


@pytest.mark.parametrize(
    ("attributes", "variable"),
    [
        ({}, "OPENBLAS_NUM_THREADS"),
        ({"threading_layer": "openmp"}, "OMP_NUM_THREADS"),
        ({"internal_api": "mkl"}, "MKL_NUM_THREADS"),
        ({"internal_api": "something new"}, ""),
    ],
)
def test_which_variable_sets_it(monkeypatch, attributes, variable):
    library = fake_library(NUMPY, **attributes)
    monkeypatch.setattr(
        "threadpoolctl.ThreadpoolController", lambda: SimpleNamespace(lib_controllers=[library])
    )
    assert [pool.variable for pool in pools()] == [variable]


@pytest.fixture
def two_threads():
    """Give every BLAS library two threads, also where the tests run with one; return the counts."""
    control = ThreadpoolController().select(user_api="blas")
    with control.limit(limits=2):
        counts = [library.num_threads for library in control.lib_controllers]
        if counts != [2] * len(counts) or not counts:
            pytest.skip("no BLAS library whose threads can be set")
        yield lambda: [library.num_threads for library in control.lib_controllers] == counts


def test_this_machine_is_compared_and_left_as_it_was(two_threads):
    told = []
    found = measure(2.0, 1, tell=told.append)
    assert two_threads()
    assert {user for each in found for user in each.users} == {"numpy", "scipy"}
    for each in found:
        assert each.threads == 2
        assert each.counts == (1, 2)
        assert all(timing.operation.startswith(each.users) for timing in each.timings)
    assert any(each.timings for each in found)
    assert any("1 thread" in label for label in told)
    assert any("2 threads" in label for label in told)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_this_machine_is_left_as_it_was_by_what_stops_it(two_threads, error):
    def stop(label):
        if "1 thread" in label:
            assert not two_threads()
            raise error

    with pytest.raises(error):
        measure(2.0, 1, tell=stop)
    assert two_threads()


# --- as a part of a calibration


@pytest.fixture
def measured(monkeypatch):
    """Stand in for the comparison, and return what it was asked."""
    asked = []
    result = Machine(collide).compare()

    def stand_in(seconds, rounds, *, load, tell):
        asked.append(seconds)
        tell("comparing")
        return (result,)

    monkeypatch.setattr(blas_threads, "measure", stand_in)
    return asked


@pytest.mark.parametrize("depth", sorted(DEPTHS))
def test_it_is_a_small_part_of_the_time(measured, depth):
    calibration.calibrate(
        Settings(backends=()), depth, operations=["exp"], blas=True
    )  # no backend: nothing else takes long
    assert measured == [DEPTHS[depth].blas_seconds]
    assert measured[0] <= DEPTHS[depth].seconds / 20


def test_a_deadline_of_the_caller_holds_for_it_too(measured):
    calibration.calibrate(Settings(backends=()), operations=["exp"], blas=True, seconds=2.0)
    assert measured == [pytest.approx(0.1)]


@pytest.mark.parametrize(
    ("narrowed", "count"),
    [
        ({}, 1),
        ({"operations": ["exp"]}, 0),
        ({"dtypes": ["float64"]}, 0),
        ({"layouts": ["vector"]}, 0),
        ({"backends": ["threads"]}, 0),
        ({"operations": ["exp"], "blas": True}, 1),
        ({"blas": False}, 0),
    ],
)
def test_only_a_whole_calibration_compares_unless_told(measured, narrowed, count):
    profile = calibration.calibrate(Settings(backends=()), seconds=1e-6, **narrowed)
    assert len(measured) == count
    assert (profile.blas_threads is not None) == bool(count)


def test_what_is_known_is_not_compared_again_and_can_be_written(measured, tmp_path):
    first = calibration.calibrate(Settings(backends=()), operations=["exp"], blas=True)
    write(first, tmp_path / "profile.json")
    known = read(tmp_path / "profile.json")
    assert known.blas_threads == first.blas_threads
    again = calibration.calibrate(Settings(backends=()), operations=["exp"], blas=True, known=known)
    assert len(measured) == 1
    assert again.blas_threads == first.blas_threads


def test_a_failure_is_a_note(monkeypatch):
    def fail(seconds, rounds, *, load, tell):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(blas_threads, "measure", fail)
    profile = calibration.calibrate(Settings(backends=()), operations=["exp"], blas=True)
    assert profile.blas_threads is None
    assert any("SVD did not converge" in note for note in profile.notes)


def test_an_interrupt_leaves_it_to_the_next_time(two_threads):
    def stop(step):
        if "1 thread" in step.label:
            raise KeyboardInterrupt

    with pytest.raises(calibration.Interrupted) as stopped:
        calibration.calibrate(Settings(backends=()), operations=["exp"], blas=True, progress=stop)
    assert stopped.value.profile.blas_threads is None
    assert two_threads()
