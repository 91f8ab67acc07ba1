"""Calibration measures what a call really costs, in bounded time, and changes nothing."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from dispatch_xp.backends import Backend, registry
from dispatch_xp.backends.interface import Availability
from dispatch_xp.calibration import Interrupted, Progress, calibrate
from dispatch_xp.calibration.canary import Canary
from dispatch_xp.calibration.plan import DEPTHS, tasks
from dispatch_xp.config import Settings
from dispatch_xp.decision import REFERENCE
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.profile import read, write
from dispatch_xp.state import ACTIVE, CURRENT


class Fake(Backend):
    """NumPy's ``exp`` under another name."""

    name = "fake"
    started = False
    failing = ""
    started_times = 0

    def probe(self):
        return Availability(True, description="a fake")

    def operations(self):
        return frozenset({"exp"})

    def start(self):
        self.started = True
        type(self).started_times += 1

    def run(self, call, arrays):
        if self.failing == "always" or (self.failing == "large" and arrays[0].size > 5_000):
            raise RuntimeError("the device is lost")
        if self.failing == "quickly":
            return (np.full(call.shapes[0], np.nan),)
        return (np.exp(arrays[0]),)


class Device(Fake):
    """The same with memory of its own, and copies that take a while."""

    name = "device"
    shares_host_memory = False

    def copy_in(self, array, dtype):
        total = array.astype(dtype)
        for _ in range(10):
            total = total.copy()
        return total

    def copy_out(self, value):
        for _ in range(10):
            value = value.copy()
        return value


@pytest.fixture
def use(monkeypatch):
    """Make a backend findable by name, and return the settings that name it."""
    # small sizes only, and no deadline that a busy machine could miss
    small = replace(DEPTHS["quick"], seconds=600.0, caps=(0.2e-3, 2e-3))
    monkeypatch.setitem(DEPTHS, "quick", small)

    def register(*kinds, **attributes):
        for kind in kinds:
            backend = kind()
            for name, value in attributes.items():
                setattr(backend, name, value)
            monkeypatch.setitem(registry._instances, kind.name, backend)
        return Settings(backends=tuple(kind.name for kind in kinds))

    return register


def exp_curves(profile, dtype="float64"):
    return profile.points["exp"]["vector"][dtype]


def test_the_reference_and_every_backend_are_measured(use):
    profile = calibrate(use(Fake), operations=["exp"])
    for dtype in ("float64", "float32"):
        found = exp_curves(profile, dtype)
        assert found.keys() == {REFERENCE, "fake"}
        for points in found.values():
            assert len(points) >= 3
            assert all(p.seconds > 0 and p.elements == p.work for p in points)
            assert all(a.work < b.work for a, b in pairwise(points))
    figures = profile.backends["fake"]
    assert (figures.description, figures.startup) == ("a fake", 0.0)
    assert figures.copy_in is None
    assert figures.copy_out is None


def test_what_is_measured_can_be_written_and_read(use, tmp_path):
    profile = calibrate(use(Fake), operations=["exp"])
    path = tmp_path / "profile.json"
    write(profile, path)
    assert read(path).points == profile.points


def test_a_failing_point_is_dropped_and_noted(use):
    profile = calibrate(use(Fake, failing="large"), operations=["exp"])
    found = exp_curves(profile)
    assert max(p.elements for p in found["fake"]) <= 5_000
    assert max(p.elements for p in found[REFERENCE]) > 5_000
    assert any("the device is lost" in note for note in profile.notes)


@pytest.mark.parametrize("failing", ["always", "quickly"])
def test_a_failed_call_is_never_a_fast_call(use, failing):
    profile = calibrate(use(Fake, failing=failing), operations=["exp"])
    assert exp_curves(profile).keys() == {REFERENCE}
    assert profile.notes


def test_copies_are_left_out_of_the_curve_of_a_device_and_measured_apart(use):
    profile = calibrate(use(Fake, Device), operations=["exp"], dtypes=["float64"])
    found = exp_curves(profile)
    copies = profile.backends["device"]
    assert copies.copy_in.bytes_per_second > 0
    assert copies.copy_out.bytes_per_second > 0
    n = max({p.elements for p in found["fake"]} & {p.elements for p in found["device"]})
    run = next(p.seconds for p in found["device"] if p.elements == n)
    both = copies.copy_in.seconds(8 * n) + copies.copy_out.seconds(8 * n)
    # twenty copies against one exponential: with them in it, the curve would be far above
    assert run < both


class PageLocking(Device):
    """Copies of page-locked memory are made once, others ten times."""

    def __init__(self):
        self.given = []

    def page_locked(self, nbytes):
        self.given.append(np.empty(nbytes, np.uint8))
        return self.given[-1]

    def is_page_locked(self, array, dtype):
        return any(np.shares_memory(array, x) for x in self.given)

    def copy_in(self, array, dtype):
        if self.is_page_locked(array, dtype):
            return array.copy()
        return super().copy_in(array, dtype)


def test_copies_from_page_locked_memory_are_measured_apart(use):
    figures = calibrate(use(PageLocking), operations=["exp"], seconds=1e-9).backends["device"]
    assert figures.page_locked_in.bytes_per_second > 2 * figures.copy_in.bytes_per_second


def test_a_backend_without_page_locked_memory_has_no_figures_for_it(use):
    profile = calibrate(use(Fake, Device), operations=["exp"], seconds=1e-9)
    assert [f.page_locked_in for f in profile.backends.values()] == [None, None]
    assert not any("page-locked" in note for note in profile.notes)


@pytest.mark.parametrize("failure", ["gives", "knows"])
def test_page_locked_memory_that_fails_is_a_note(use, failure):
    class Poor(PageLocking):
        def page_locked(self, nbytes):
            if failure == "gives":
                raise MemoryError("no more of it")
            return super().page_locked(nbytes)

        def is_page_locked(self, array, dtype):
            return False

    profile = calibrate(use(Poor), operations=["exp"], seconds=1e-9)
    assert profile.backends["device"].copy_in is not None
    assert profile.backends["device"].page_locked_in is None
    said = {"gives": "no more of it", "knows": "does not recognise its own"}[failure]
    assert any("page-locked memory" in note and said in note for note in profile.notes)


def test_an_unavailable_backend_is_a_note(use):
    class Missing(Fake):
        name = "missing"

        def probe(self):
            return Availability(False, "it is not installed")

    profile = calibrate(use(Missing, Fake), operations=["exp"])
    assert profile.backends.keys() == {"fake"}
    assert any("it is not installed" in note for note in profile.notes)


@pytest.mark.parametrize(("load", "noted"), [(0.8, True), (0.1, False), (None, False)])
def test_a_device_that_others_keep_busy_is_noted(use, load, noted):
    class Shared(Device):
        def others_load(self, wait):
            assert not self.started
            assert wait > 0
            return load

    profile = calibrate(use(Shared), operations=["exp"], seconds=1e-9)
    busy = [note for note in profile.notes if note.startswith("device: other programs")]
    assert busy == (["device: other programs kept it busy: 80%"] if noted else [])


def test_a_backend_that_does_not_start_is_a_note(use):
    class Broken(Fake):
        name = "broken"

        def start(self):
            raise RuntimeError("no driver")

    profile = calibrate(use(Broken, Fake), operations=["exp"])
    assert profile.backends.keys() == {"fake"}
    assert any("no driver" in note for note in profile.notes)


def test_a_start_that_cannot_be_timed_apart_is_not_free(use):
    class Heavy(Fake):
        name = "heavy"  # unknown to a fresh process
        modules = ("no_such_module",)

        def start(self):
            sum(range(10**6))
            super().start()

    profile = calibrate(use(Heavy), operations=["exp"])
    assert profile.backends["heavy"].startup > 0
    assert any(note.startswith("heavy: ") for note in profile.notes)


def test_a_reference_that_fails_does_not_end_the_run(use, monkeypatch):
    def singular(*arguments, **keywords):
        raise np.linalg.LinAlgError("Singular matrix")

    class Inverse(Fake):
        def operations(self):
            return frozenset({"exp", "linalg.inv"})

    from dispatch_xp.calibration import plan

    resolve = plan.resolve
    monkeypatch.setattr(
        plan, "resolve", lambda path: singular if path.endswith(".inv") else resolve(path)
    )
    profile = calibrate(use(Inverse), operations=["linalg.inv", "exp"])
    assert profile.points.keys() == {"exp"}
    assert any("Singular matrix" in note for note in profile.notes)


def test_the_progress_only_grows_and_names_what_is_measured(use):
    told: list[Progress] = []
    calibrate(use(Fake), operations=["exp"], progress=told.append)
    shares = [step.share for step in told]
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
    assert all(step.seconds_left >= 0 for step in told)
    assert any("exp" in step.label for step in told)


def test_nothing_is_routed_meanwhile_and_everything_is_as_before(use):
    import dispatch_xp

    settings = use(Fake)
    before = np.geterr(), list(warnings.filters)
    with dispatch_xp.backend("reference"), dispatch_xp.record() as recorded:
        state, active = CURRENT.get(), ACTIVE[0]
        calibrate(settings, operations=["exp"])
        assert CURRENT.get() is state
        assert ACTIVE[0] == active
        assert not recorded.records
    assert (np.geterr(), list(warnings.filters)) == before


def test_the_arguments_are_the_same_every_time():
    (task,) = tasks(["linalg.svd"], ["float64"], ["matrix"])
    one, other = task.case(16), task.case(16)
    assert one.arguments[0] is not other.arguments[0]
    assert np.array_equal(one.arguments[0], other.arguments[0])


def test_a_deadline_that_has_passed_ends_the_run(use):
    profile = calibrate(use(Fake), operations=["exp"], seconds=1e-9)
    assert profile.points == {}
    assert profile.backends.keys() == {"fake"}


# --- the plan


def test_every_operation_that_can_be_routed_is_planned():
    planned = {task.operation.name for task in tasks(None, DEPTHS["quick"].dtypes)}
    assert planned == {name for name, row in OPERATIONS.items() if row.problems}


@pytest.mark.parametrize("depth", sorted(DEPTHS))
def test_a_task_measures_the_curve_that_predicts_its_calls(depth):
    for task in tasks(None, DEPTHS[depth].dtypes):
        call = task.case(task.problem.sizes[0]).call
        assert (call.operation, call.layout, call.dtype) == (
            task.operation,
            task.problem.layout,
            task.dtype,
        ), task.label


def test_no_curve_is_planned_twice():
    keys = [
        (task.operation.name, task.problem.layout, task.dtype.name)
        for task in tasks(None, DEPTHS["full"].dtypes)
    ]
    assert len(keys) == len(set(keys))


def test_single_precision_of_linear_algebra_is_measured_where_it_is_computed():
    # numpy.linalg computes it in double
    (single,) = tasks(["linalg.solve"], ["float32"], ["matrix"])
    assert single.function == "scipy.linalg.solve"
    assert single.case(16).call.dtype == np.float32


def test_an_operation_without_floating_point_is_measured_in_what_it_has():
    (task,) = tasks(["logical_and"], ["float64"])
    assert task.dtype == np.bool_
    (task,) = tasks(["bitwise_and"], ["float64"])
    assert task.dtype == np.int64


def test_quick_promises_less_than_a_minute_and_default_less_than_five():
    assert DEPTHS["quick"].seconds < 60
    assert DEPTHS["default"].seconds < 300
    assert DEPTHS["quick"].rounds >= 2
    assert DEPTHS["default"].rounds >= 3


def test_calibration_imports_no_backend_library():
    code = "import sys, dispatch_xp.calibration; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(p or "." for p in sys.path), "PATH": ""},
    )
    assert done.stdout.strip() == "False"


def test_the_rates_of_calibrated_shapes_come_back(use):
    """A curve is read at ``work`` and multiplied by the flops: the measured time has to result."""
    from dispatch_xp.policies.cost_model import CostModelPolicy

    class Product(Fake):
        def operations(self):
            return frozenset({"matmul"})

        def run(self, call, arrays):
            return (np.matmul(*arrays),)

    profile = calibrate(use(Product), operations=["matmul"], dtypes=["float64"])
    policy = CostModelPolicy(Settings(), profile)
    for task in tasks(["matmul"], ["float64"], refined=False):
        call = task.case(task.problem.sizes[1]).call
        points = profile.points["matmul"][task.problem.layout]["float64"][REFERENCE]
        (point,) = [p for p in points if math.isclose(p.work, call.workload.work)]
        expected = point.seconds * call.workload.flops / call.workload.work
        assert policy.predict(call, REFERENCE).total == pytest.approx(expected)


@pytest.mark.parametrize(
    ("operation", "quick", "more"),
    [
        ("matmul", {"matrix", "vector", "stack32"}, {"stack8", "stack128"}),
        (
            "sum",
            {"vector", "rows256", "columns256"},
            {"rows16", "rows4096", "columns16", "columns4096"},
        ),
        ("sort", {"vector", "rows256"}, {"rows16", "rows4096"}),
        ("fft.fft", {"single", "rows"}, {"single-numpy", "rows-numpy"}),
        ("exp", {"vector"}, set()),
    ],
)
def test_a_quick_calibration_measures_one_of_every_series(operation, quick, more):
    def layouts(**how):
        return {task.problem.layout for task in tasks([operation], ["float64"], **how)}

    assert layouts(refined=DEPTHS["quick"].refined) == quick
    assert layouts(refined=DEPTHS["default"].refined) == layouts() == quick | more
    for layout in more:
        assert layouts(layouts=[layout], refined=False) == {layout}


def test_the_canary_knows_what_is_usual_next_to_what():
    canary = Canary(tolerance=1.5)
    for _ in range(10):
        assert canary.is_quiet("alone", 1.0, 1.1)
        assert canary.is_quiet("spinning", 2.0, 2.1)
    assert not canary.is_quiet("alone", 1.0, 2.0)
    assert canary.is_quiet("spinning", 2.0, 2.2)
    assert canary.disturbed == 1
    assert canary.sing() > 0


def test_the_canary_knows_a_quiet_machine_that_seldom_is():
    canary = Canary(tolerance=1.3)
    for i in range(100):
        quiet = canary.is_quiet("alone", 1.0 if i % 4 == 0 else 1.5)
    assert canary.is_quiet("alone", 1.01)
    assert not quiet


def test_only_what_was_disturbed_is_measured_again(use, monkeypatch):
    settings = use(Fake)
    counts = Counter()

    def is_quiet(self, kind, *seconds):
        counts[kind] += 1
        return kind != "fake"

    monkeypatch.setattr(Canary, "is_quiet", is_quiet)
    calibrate(settings, "quick", operations=["exp"], dtypes=["float64"])
    assert counts[REFERENCE] >= 3
    # each point once more at once, in every round
    assert counts["fake"] == 2 * counts[REFERENCE]


def test_a_disturbed_point_is_measured_again(use, monkeypatch):
    settings = use(Fake)
    songs = iter([1.0] * 16 + [9.0] * 4)
    monkeypatch.setattr(Canary, "sing", lambda self: next(songs, 1.0))
    profile = calibrate(settings, "quick", operations=["exp"], dtypes=["float64"], seconds=20)
    assert any("measurements were disturbed, and repeated" in note for note in profile.notes)


def test_what_is_known_is_not_measured_again(use):
    settings = use(Fake)
    how = {"dtypes": ["float64"], "seconds": 5}
    first = calibrate(settings, "quick", operations=["exp"], **how)
    key = ("exp", "vector", "float64")
    labels = []
    second = calibrate(
        settings,
        "quick",
        operations=["exp"],
        known=first,
        progress=lambda step: labels.append(step.label),
        **how,
    )
    assert second.points["exp"] == first.points["exp"]
    assert not any(label.startswith("exp") for label in labels)
    assert key in second.curves


def test_an_interrupt_brings_what_was_measured(use):
    settings = use(Fake)

    def stop(step):
        if step.label.startswith("exp (vector, float32"):
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        calibrate(
            settings,
            "quick",
            operations=["exp"],
            dtypes=["float64", "float32"],
            progress=stop,
        )
    assert stopped.value.profile.curves.keys() <= {("exp", "vector", "float64")}
    assert CURRENT.get() is None
