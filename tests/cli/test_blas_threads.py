"""The commands say which number of BLAS threads is faster, and how to set it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from dispatch_xp import calibration
from dispatch_xp.blas_threads import BlasThreads, Timing
from dispatch_xp.calibration import Progress
from dispatch_xp.cli.blas_threads import sentences
from dispatch_xp.curve import Point
from dispatch_xp.profile import Profile, read, this_machine, write

VARIABLE = "OPENBLAS_NUM_THREADS"
POINTS = {"exp": {"vector": {"float64": {"reference": [Point(1e3, 8e-6, 1000)]}}}}


def compared(*gains, users=("numpy",), sizes=(64, 128, 256, 512), in_turn=False, **how):
    """One thread is so many times as fast as two, size by size."""
    timings = tuple(Timing("svd", n, (1.0, g)) for n, g in zip(sizes, gains, strict=False))
    return BlasThreads(users, "openblas 1", 2, VARIABLE, (1, 2), timings, in_turn, **how)


def test_one_thread_is_better():
    assert sentences([compared(1.4, 1.4)], {}) == [
        "NumPy (openblas 1): one thread is 1.4 times as fast as 2 overall",
        "set OPENBLAS_NUM_THREADS=1 before Python starts; `dispatch-xp run` passes it on",
        "with another number, calibrate again: the speed curves are those of 2 threads",
    ]


def test_the_present_number_is_fine():
    assert sentences([compared(0.5), compared(1.03, users=("scipy",))], {}) == [
        "NumPy (openblas 1): 2 threads, as now; no other number is faster overall",
        "SciPy (openblas 1): 2 threads, as now; no other number is faster overall",
        "the present number is fine",
    ]


def test_where_it_depends_on_the_size():
    said = sentences([compared(1.4, 1.4, 1.0, 1 / 1.6)], {})
    assert said[1] == (
        "  one thread is 1.4 times as fast as 2 up to n = 128, "
        "2 threads are 1.6 times as fast as 1 from n = 512"
    )
    said = sentences([compared(1.4, 1 / 1.5, 1.4)], {})
    assert "2 threads are 1.5 times as fast as 1 at n = 128" in said[1]
    said = sentences([compared(1.4, 1 / 1.5, 1 / 1.5, 1.4)], {})
    assert "2 threads are 1.5 times as fast as 1 from n = 128 to 256" in said[1]


def test_where_an_operation_differs():
    timings = (Timing("svd", 64, (1.0, 9.0)), Timing("eigh", 64, (2.0, 1.0)))
    found = BlasThreads(("scipy",), "openblas 1", 2, VARIABLE, (1, 2), timings)
    assert "  eigh: 2 threads are 2.0 times as fast as 1" in sentences([found], {})


def test_both_in_turn():
    turn = compared(12.0, users=("numpy", "scipy"), in_turn=True)
    said = sentences([compared(0.5), compared(0.5, users=("scipy",)), turn], {})
    assert (
        "NumPy and SciPy in turn (openblas 1): one thread is 12 times as fast as 2 overall" in said
    )
    both = "before Python starts for a program that calls both in turn"
    assert said[-3:] == [
        "the present number is fine for a program that calls one of them",
        f"set {VARIABLE}=1 {both}; `dispatch-xp run` passes it on",
        "with another number, calibrate again: the speed curves are those of 2 threads",
    ]


def test_it_is_set_already():
    assert f"{VARIABLE}=1 is set, the best" in sentences([compared(1.4)], {VARIABLE: "1"})
    assert any(line.startswith("set ") for line in sentences([compared(1.4)], {VARIABLE: "2"}))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([], "no BLAS library was found whose threads can be counted: nothing to choose"),
        ([BlasThreads(("numpy",), "blas 1", 1, VARIABLE, (1,))],
         "NumPy (blas 1): one thread, nothing to choose"),
        ([BlasThreads(("numpy", "scipy"), "blas 1", 4, VARIABLE, (4,))],
         "NumPy and SciPy (blas 1): 4 threads, and the number can't be changed from Python"),
        ([BlasThreads(("numpy",), "blas 1", 4, VARIABLE, (1, 2, 4))],
         "NumPy (blas 1): there was no time to compare"),
    ],
)  # fmt: skip
def test_nothing_to_choose(found, said):
    assert sentences(found, {}) == [said]


def test_of_two_with_one_thread_each_nothing_is_said_twice():
    each = [BlasThreads((user,), "blas 1", 1, VARIABLE, (1,)) for user in ("numpy", "scipy")]
    turn = BlasThreads(("numpy", "scipy"), "blas 1", 1, VARIABLE, (1,), in_turn=True)
    assert sentences([*each, turn], {}) == [
        "NumPy (blas 1): one thread, nothing to choose",
        "SciPy (blas 1): one thread, nothing to choose",
    ]


def test_a_busy_machine_is_named():
    said = sentences([compared(1.4, load="a load of 4.0 on 2 cores")], {})
    assert "the machine was busy (a load of 4.0 on 2 cores)" in said[-1]


# --- the commands


@pytest.fixture
def asked(monkeypatch):
    """Stand in for the measuring; the list of what it was asked."""
    calls = []

    def stand_in(settings, depth, *, progress, blas, **how):
        progress(Progress(0.5, 1.0, "exp"))
        calls.append(blas)
        found = (compared(1.4),) if blas else None
        return Profile(this_machine(), POINTS, blas_threads=found)

    monkeypatch.setattr(calibration, "calibrate", stand_in)
    return calls


@pytest.mark.parametrize("narrowed", [("--operations", "exp"), ("--dtypes", "float64"),
                                      ("--backends", "threads")])  # fmt: skip
def test_a_part_compares_only_what_never_was(call, asked, narrowed):
    first = call("calibrate", *narrowed, "--output", "p.json").output
    second = call("calibrate", *narrowed, "--output", "p.json").output
    call("calibrate", "--output", "p.json")
    assert asked == [True, False, True]
    said = "NumPy (openblas 1): one thread is 1.4 times as fast as 2 overall"
    assert said in first
    assert said in second
    assert read(Path("p.json")).blas_threads == (compared(1.4),)


def test_status(call, monkeypatch, tmp_path):
    path = tmp_path / "profile.json"
    monkeypatch.setenv("DISPATCH_XP_PROFILE", str(path))
    monkeypatch.setenv(VARIABLE, "2")
    assert "number of BLAS threads" not in call("status").output
    write(Profile(this_machine(), POINTS), path)
    assert "not compared yet: `dispatch-xp calibrate` does" in call("status").output
    found = (compared(1.4),)
    write(Profile(this_machine(), POINTS, blas_threads=found), path)
    text = call("status").output
    assert f"set {VARIABLE}=1 before Python starts" in text
    report = json.loads(call("status", "--json").output)["profile"]["blas_threads"]
    assert msgspec.convert(report["measured"], tuple[BlasThreads, ...]) == found
    assert all(line in text for line in report["advice"])


def test_run_passes_the_variable_on(program):
    code = f"import os; print('it is', os.environ['{VARIABLE}'])"
    said = program("run", "-q", "-c", code, **{VARIABLE: "3"}).stdout
    assert "it is 3" in said
