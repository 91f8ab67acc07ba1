"""A backend that fails costs time and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import snapshot

import dispatch_xp
from dispatch_xp.backends import Availability, Backend, registry
from dispatch_xp.reasons import Reason

A = np.random.default_rng(0).standard_normal((8, 8))
WANT = np.linalg.inv(A)


class Failing(Backend):
    """Runs one operation, and fails where and how it is told to."""

    name = "failing"

    def __init__(self):
        self.phase = ""
        self.error: BaseException = RuntimeError("the device is gone")
        self.times = 10**9
        self.attempts = 0
        self.released = 0

    def probe(self):
        return Availability(True)

    def operations(self):
        return frozenset({"linalg.inv", "linalg.det"})

    def start(self):
        self._fail("start")
        self.started = True

    def copy_in(self, array, dtype):
        self._fail("copy in")
        return super().copy_in(array, dtype).copy()

    def run(self, call, arrays):
        # a backend that spoils its own copies on the way
        arrays[0][:] = 0
        self._fail("run")
        return (WANT.copy(),)

    def copy_out(self, value):
        self._fail("copy out")
        return super().copy_out(value)

    def release(self):
        self.released += 1

    def _fail(self, phase):
        if phase == self.phase:
            self.attempts += 1
            if self.attempts <= self.times:
                raise self.error


@pytest.fixture
def failing(monkeypatch):
    backend = Failing()
    backend.phase = "run"
    monkeypatch.setitem(registry._instances, "failing", backend)
    monkeypatch.setitem(registry._BUILT_IN, "failing", f"{__name__}:Failing")
    return backend


def call(fallback="quiet"):
    before = snapshot(A)
    with dispatch_xp.backend("failing", fallback=fallback), dispatch_xp.record() as rec:
        result = np.linalg.inv(A)
    np.testing.assert_array_equal(result, WANT)
    assert snapshot(A) == before
    return rec.records[-1]


PHASES = ["start", "copy in", "run", "copy out"]
ERRORS = [RuntimeError("gone"), ValueError("odd"), OSError(5, "io"), KeyError("k"), MemoryError()]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("phase", PHASES)
def test_the_reference_answers_and_the_record_says_why(failing, phase, error):
    failing.phase, failing.error = phase, error
    record = call()
    assert (record.backend, record.reason) == ("reference", Reason.FAILED)
    assert type(error).__name__ in record.detail
    assert phase in record.detail or phase == "start"


@pytest.mark.parametrize("phase", PHASES)
def test_warn_warns(failing, phase):
    failing.phase = phase
    with pytest.warns(dispatch_xp.BackendWarning, match="failing failed"):
        call("warn")


@pytest.mark.parametrize("phase", PHASES)
def test_raise_raises(failing, phase):
    failing.phase = phase
    before = snapshot(A)
    with pytest.raises(dispatch_xp.BackendError, match=r"numpy\.linalg\.inv on failing"):
        call("raise")
    assert snapshot(A) == before


def test_it_works_when_it_works(failing):
    failing.phase = ""
    assert call("raise").backend == "failing"


def test_a_backend_that_cannot_start_is_given_up(failing):
    failing.phase, failing.error = "start", dispatch_xp.BackendUnavailable("no device")
    assert call().reason is Reason.FAILED
    failing.phase = ""
    record = call()
    assert (record.reason, record.backend) == (Reason.SUSPENDED, "reference")
    assert "no device" in record.detail


def test_what_failed_is_left_alone(failing):
    assert call().reason is Reason.FAILED
    assert call().reason is Reason.SUSPENDED
    assert failing.attempts == 1


def test_three_failures_suspend_the_backend(failing):
    with dispatch_xp.backend("failing"), dispatch_xp.record() as rec:
        for n in (3, 4, 5, 6):
            np.linalg.det(np.eye(n) * 2)
    assert [r.reason for r in rec.records] == [Reason.FAILED] * 3 + [Reason.SUSPENDED]
    assert failing.attempts == 3


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)], ids=repr)
@pytest.mark.parametrize("phase", PHASES)
def test_interrupts_pass_through(failing, phase, error):
    failing.phase, failing.error = phase, error
    with pytest.raises(type(error)):
        call()
    from dispatch_xp.state import CURRENT

    assert CURRENT.get() is None


class OutOfMemoryError(RuntimeError):
    """As PyTorch and CuPy call it."""


@pytest.mark.parametrize("error", [MemoryError(), OutOfMemoryError()], ids=lambda e: repr(e))
@pytest.mark.parametrize("phase", ["copy in", "run", "copy out"])
def test_out_of_memory_frees_and_tries_once_more(failing, phase, error):
    failing.phase, failing.error, failing.times = phase, error, 1
    assert call("raise").backend == "failing"
    assert (failing.released, failing.attempts) == (1, 2)


def test_out_of_memory_twice_goes_to_the_reference(failing):
    failing.error = MemoryError()
    assert call().reason is Reason.FAILED
    assert (failing.released, failing.attempts) == (1, 2)


def test_a_result_that_is_not_finite_is_computed_again(failing, monkeypatch):
    failing.phase = ""
    monkeypatch.setattr(failing, "run", lambda call, arrays: (np.full((8, 8), np.nan),))
    assert call().reason is Reason.NON_FINITE_RESULT


def test_an_error_of_linear_algebra_is_the_references_to_raise(failing):
    failing.error = np.linalg.LinAlgError("not ours")
    record = call()
    assert (record.reason, record.backend) == (Reason.LINALG_ERROR, "reference")
    assert call().reason is Reason.LINALG_ERROR


def test_the_call_after_a_failure_is_routed_again(failing):
    failing.times = 1
    call()
    with dispatch_xp.backend("failing"), dispatch_xp.record() as rec:
        np.linalg.inv(np.eye(8)[:, ::-1] * 2.0 + 0)
    assert rec.records[0].reason in (Reason.SUSPENDED, Reason.FIXED)
