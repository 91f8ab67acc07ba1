"""Loops that stay on the reference are timed where somebody wants every call."""

from __future__ import annotations

import math
import signal
import sys
import threading
import warnings
from contextlib import contextmanager
from itertools import count

import numpy as np
import pytest

import dispatch_xp
from dispatch_xp.backends.interface import Availability, Backend
from dispatch_xp.config import load
from dispatch_xp.decision import REFERENCE
from dispatch_xp.doors import INSTALLATION, ufuncs
from dispatch_xp.observer import Observer
from dispatch_xp.policies.fixed import FixedPolicy
from dispatch_xp.reasons import Reason
from dispatch_xp.state import CURRENT, State

loops = pytest.importorskip(
    "dispatch_xp._ufunc_loops",
    reason="the compiled part is missing: no C compiler when the package was installed",
    exc_type=ImportError,
)
D = np.dtype(np.float64).num
X = np.linspace(0.1, 2, 5000)


@pytest.fixture
def reported(monkeypatch):
    """What was reported because nobody could be told."""
    texts = []
    monkeypatch.setattr(sys, "unraisablehook", lambda u: texts.append(str(u.exc_value)))
    return texts


def timed(slot, arrays):
    return None


def test_the_clock_is_told_after_the_loop_in_its_thread(door):
    events = []

    def handle(slot, arrays):
        # an address, since the array itself must not be kept
        events.append(("before", slot, threading.get_ident()))

    def clock(slot):
        events.append(("after", slot, threading.get_ident()))

    want, out = np.exp(X), np.zeros(5000)
    slot = door(np.exp)
    loops.set_handler(handle)
    loops.set_clock(clock)
    np.exp(X, out=out)
    assert events == [(when, slot, threading.get_ident()) for when in ("before", "after")]
    assert out.tobytes() == want.tobytes()
    events.clear()
    other = threading.Thread(target=np.exp, args=(X,))
    other.start()
    other.join()
    assert [(when, thread != threading.get_ident()) for when, _, thread in events] == [
        ("before", True),
        ("after", True),
    ]


def test_the_output_is_complete_when_the_clock_is_told(door):
    sums, out = [], np.zeros(5000)
    door(np.exp)
    loops.set_handler(timed)
    loops.set_clock(lambda slot: sums.append(out.tolist()))
    np.exp(X, out=out)
    assert sums == [out.tolist()]
    assert np.all(out > 1)


def test_only_none_asks_for_the_clock(door):
    told = []
    door(np.exp)
    loops.set_clock(told.append)
    for answer in (True, False, 0, 3, "yes"):
        loops.forget()
        loops.set_handler(lambda slot, arrays, answer=answer: answer)
        np.exp(X)
    assert told == []


def test_without_a_clock_the_loop_runs(door):
    want = np.exp(X)
    door(np.exp)
    loops.set_handler(timed)
    loops.set_clock(print)
    loops.set_clock(None)
    assert np.exp(X).tobytes() == want.tobytes()
    with pytest.raises(TypeError, match="not callable"):
        loops.set_clock(3)


def test_the_loops_warnings_are_the_users_and_the_clocks_are_not(door):
    def clock(slot):
        with np.errstate(all="ignore"):
            np.exp(np.array([1e6]))  # overflows

    door(np.log)
    loops.set_handler(timed)
    loops.set_clock(clock)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.log(-X)
    assert [str(w.message) for w in caught] == ["invalid value encountered in log"]
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="invalid"):
        np.log(-X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.log(X)


def test_an_exception_of_the_clock_is_reported(door, reported):
    def clock(slot):
        raise ValueError("stopped")

    want = np.exp(X)
    door(np.exp)
    loops.set_handler(timed)
    loops.set_clock(clock)
    assert np.exp(X).tobytes() == want.tobytes()
    assert reported == ["stopped"]


def test_an_interrupt_of_the_clock_reaches_the_user(door):
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        pytest.skip("somebody else handles SIGINT")

    def clock(slot):
        raise KeyboardInterrupt

    def compute():
        np.exp(X)
        return sum(range(1000)) + len([None for _ in range(1000)])

    door(np.exp)
    loops.set_handler(timed)
    loops.set_clock(clock)
    with pytest.raises(KeyboardInterrupt):
        compute()


def test_loops_within_the_clock_are_not_offered(door):
    depth = []

    def clock(slot):
        depth.append(np.exp(X)[0])

    door(np.exp)
    loops.set_handler(timed)
    loops.set_clock(clock)
    np.exp(X)
    assert len(depth) == 1


def test_the_arrays_may_be_kept_until_the_clock_is_told_and_no_longer(door, reported):
    kept = []

    def keeps(slot, arrays):
        kept.append(arrays)

    door(np.exp)
    loops.set_handler(keeps)
    loops.set_clock(lambda slot: kept.clear())
    np.exp(X)
    assert reported == []
    loops.set_clock(lambda slot: None)
    np.exp(X)
    kept.clear()
    assert ["kept an array" in text for text in reported] == [True]


# what the door makes of it


class Told(Observer):
    """Keeps what it is told of a call, and looks at the arrays as it is told."""

    def __init__(self, *, exhaustive=True):
        self.exhaustive = exhaustive
        self.calls = []
        self.comparisons = []

    def add(self, ended):
        arrays = [a.tolist() for a in (*ended.call.arrays, *ended.call.destination)]
        told = ended.function, ended.backend, ended.decision.reason, ended.seconds, ended.note
        self.calls.append((*told, arrays))

    def compared(self, operation, comparison):
        self.comparisons.append((operation, comparison.matches))


class Staying(FixedPolicy):
    """Keeps what it observes."""

    def __init__(self, settings):
        super().__init__(settings)
        self.observed = []

    def observe(self, call, backend, seconds):
        self.observed.append((call.operation.name, backend, seconds))


class Failing(Backend):
    """Takes everything and breaks."""

    name = "threads"  # stands in for a configured one

    def probe(self):
        return Availability(True)

    def operations(self):
        return frozenset({"exp"})

    def start(self):
        self.started = True

    def run(self, call, arrays):
        call.destination[0][...] = -1
        raise OSError("gone")


@contextmanager
def active(state):
    """Let a state decide within a ``with`` block."""
    INSTALLATION.install()
    INSTALLATION.ufuncs.enter(state)
    token = CURRENT.set(state)
    try:
        yield
    finally:
        CURRENT.reset(token)
        INSTALLATION.ufuncs.leave(state)


@pytest.fixture
def ticking(monkeypatch):
    """A clock that moves by a second whenever somebody looks."""
    ticks = count(100.0)
    monkeypatch.setattr(ufuncs, "perf_counter", lambda: next(ticks))


@pytest.mark.parametrize(
    ("compute", "function"),
    [
        (lambda: np.exp(X), "numpy.exp"),
        (lambda: X + X, "numpy.add"),
        (lambda: np.ones((60, 60)) @ np.ones((60, 60)), "numpy.matmul"),
    ],
)
def test_a_record_has_the_time_of_the_loop(compute, function, ticking):
    want = compute()
    with dispatch_xp.record() as record:
        got = compute()
    assert got.tobytes() == want.tobytes()
    (call,) = record.records
    assert (call.function, call.backend, call.reason) == (function, REFERENCE, Reason.INACTIVE)
    assert call.seconds == 1.0
    assert call.where.startswith(__file__)


def test_the_observer_sees_operands_and_output_and_the_policy_the_time(ticking):
    settings = load(backend="reference").settings
    observer, policy = Told(), Staying(settings)
    with active(State(settings, policy, (), observer)):
        got = np.exp(X)
    assert policy.observed == [("exp", REFERENCE, 1.0)]
    ((function, backend, _, seconds, note, arrays),) = observer.calls
    assert (function, backend, seconds, note) == ("numpy.exp", REFERENCE, 1.0, "")
    assert arrays == [X.tolist(), got.tolist()]


def test_nothing_is_routed_while_the_observer_is_told():
    class Summing(Told):
        def add(self, ended):
            self.calls.append((ended.function, float(np.sum(ended.call.arrays[0]))))

    observer = Summing()
    with active(State(load().settings, None, (), observer)):
        np.exp(X)
    assert observer.calls == [("numpy.exp", X.sum())]


@pytest.mark.parametrize("exhaustive", [True, False])
def test_what_a_backend_could_not_do_is_timed_on_the_reference(ticking, exhaustive):
    settings = load(backend="threads").settings
    observer, policy = Told(exhaustive=exhaustive), Staying(settings)
    want = np.exp(X)
    with active(State(settings, policy, (Failing(),), observer)):
        got = np.exp(X)
    assert got.tobytes() == want.tobytes()
    ((_, backend, reason, seconds, note, _),) = observer.calls
    assert (backend, reason) == (REFERENCE, Reason.FAILED)
    assert (seconds, note) == (1.0, "threads tried first")
    assert policy.observed == [("exp", REFERENCE, 1.0)]


def test_who_does_not_want_every_call_is_told_without_a_time(ticking):
    settings = load(backend="threads", operations={"exp": {"backend": "reference"}}).settings
    observer = Told(exhaustive=False)
    with active(State(settings, Staying(settings), (), observer)):
        np.exp(X)
    ((_, backend, reason, seconds, *_),) = observer.calls
    assert (backend, reason) == (REFERENCE, Reason.PINNED)
    assert math.isnan(seconds)


def test_a_verified_loop_is_recorded_with_the_time_of_the_original(ticking, started):
    backend = started("torch")
    settings = load(backend="torch", verify=True).settings
    observer = Told()
    with active(State(settings, Staying(settings), (backend,), observer)):
        np.exp(X)
    assert observer.comparisons == [("exp", True)]
    ((_, ran_on, _, seconds, *_),) = observer.calls
    assert (ran_on, seconds) == (REFERENCE, 1.0)


def test_threads_are_timed_apart():
    together = threading.Barrier(8)

    def compute(n):
        with dispatch_xp.record() as record:
            together.wait()
            for _ in range(20):
                np.exp(np.ones(n))
        found[n] = record.records

    found = {}
    threads = [threading.Thread(target=compute, args=(20_000 + i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, records in found.items():
        assert [r.shapes for r in records] == [((n,),)] * 20
        assert all(r.seconds > 0 for r in records)
