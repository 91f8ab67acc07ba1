"""backend() is local to the thread and to the asynchronous task."""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import threading

import numpy as np
import pytest
import scipy.fft
import scipy.linalg

import dispatch_xp
from dispatch_xp.state import current

A = np.random.default_rng(0).standard_normal((50, 50))


def active():
    state = current()
    return None if state is None else state.settings.backend


def in_thread(function):
    result = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    return result[0]


def test_other_threads_see_nothing():
    with dispatch_xp.backend("threads"):
        assert active() == "threads"
        assert in_thread(active) is None


def test_a_copied_context_carries_it_along():
    with dispatch_xp.backend("threads"):
        context = contextvars.copy_context()
        assert in_thread(lambda: context.run(active)) == "threads"


def test_tasks_do_not_see_each_other():
    async def task(name, seen):
        with dispatch_xp.backend(name):
            for _ in range(3):
                await asyncio.sleep(0)
                scipy.fft.fft(A)
                seen.append((name, active()))

    async def both():
        seen = []
        await asyncio.gather(task("threads", seen), task("reference", seen))
        return seen

    seen = asyncio.run(both())
    assert len(seen) == 6
    assert all(name == found for name, found in seen)


def test_nesting_restores_the_outer_one():
    with dispatch_xp.backend("threads"):
        with dispatch_xp.backend("reference"):
            assert active() == "reference"
        assert active() == "threads"
    assert active() is None


def test_an_exception_leaves_the_context():
    with pytest.raises(ZeroDivisionError), dispatch_xp.backend("threads"):
        _ = 1 / 0
    assert active() is None


def test_one_context_manager_can_be_entered_again():
    context = dispatch_xp.backend("threads")
    for _ in range(2):
        with context, context:
            assert active() == "threads"
    assert active() is None


def test_equal_configurations_share_what_they_learn():
    with dispatch_xp.backend("threads"):
        first = current()
    with dispatch_xp.backend("threads"):
        assert current() is first
    with dispatch_xp.backend("threads", level=9):
        assert current() is not first


def test_the_recorder_is_found_inside_and_outside():
    with dispatch_xp.backend("reference"), dispatch_xp.record() as inside:
        np.linalg.inv(A)
    with dispatch_xp.record() as outside, dispatch_xp.backend("reference"):
        np.linalg.inv(A)
    with dispatch_xp.record() as alone:
        np.linalg.inv(A)
    for rec in (inside, outside, alone):
        assert [r.function for r in rec.records] == ["numpy.linalg.inv"]
        assert rec.records[0].where.startswith(__file__)
    assert "numpy.linalg.inv" in str(inside.table())
    assert "<td>numpy.linalg.inv</td>" in inside.table()._repr_html_()


def test_an_import_that_is_blocked_is_not_looked_into(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with dispatch_xp.backend("reference"), dispatch_xp.record() as records:
        np.linalg.inv(A)
    assert records.records[0].where.startswith(__file__)


def test_set_backend_holds_for_all_threads_until_it_is_undone():
    dispatch_xp.set_backend("threads")
    try:
        assert active() == "threads"
        assert in_thread(active) == "threads"

        def routed():
            with dispatch_xp.record() as rec:
                scipy.fft.fft2(A)
            return [r.backend for r in rec.records]

        assert in_thread(routed) == ["threads"]
        with dispatch_xp.backend("reference"):
            assert active() == "reference"
    finally:
        dispatch_xp.set_backend(None)
    assert active() is None
    assert in_thread(active) is None


def test_the_workers_of_a_backend_route_nothing_again():
    # they would wait for themselves
    large = np.random.default_rng(0).standard_normal((300, 200))
    wants = (np.exp(large), large.std(axis=1), large.sum(), np.sort(large, axis=0))
    dispatch_xp.set_backend("threads", fallback="raise")
    try:
        gots = in_thread(
            lambda: (np.exp(large), large.std(axis=1), large.sum(), np.sort(large, axis=0))
        )
    finally:
        dispatch_xp.set_backend(None)
    for got, want in zip(gots, wants, strict=True):
        np.testing.assert_allclose(got, want)


def test_set_backend_leaves_other_registered_uarray_backends():
    import uarray

    class Theirs:
        __ua_domain__ = "numpy.scipy.fft"
        calls = 0

        @classmethod
        def __ua_function__(cls, method, args, kwargs):
            cls.calls += 1
            return NotImplemented

    before = uarray.get_state()
    try:
        uarray.register_backend(Theirs)
        dispatch_xp.set_backend("threads")
        dispatch_xp.set_backend(None)
        scipy.fft.fft(A)
        assert Theirs.calls == 1
    finally:
        uarray.set_state(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_uses_no_device_and_gets_the_answer():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    del torch
    with dispatch_xp.backend("torch", fallback="raise"):
        want = np.linalg.inv(A)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with dispatch_xp.record() as rec:
                    got = np.linalg.inv(A)
                reasons = [(r.backend, r.reason.name) for r in rec.records]
                right = np.allclose(got, want) and reasons == [("reference", "FORKED")]
                os.write(write, repr(reasons).encode())
                status = 0 if right else 1
            finally:
                os._exit(status)
        os.close(write)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, os.read(read, 1000)
        os.close(read)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    with dispatch_xp.backend("threads", fallback="raise"):
        want = np.sum(A, axis=0)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if np.array_equal(np.sum(A, axis=0), want) else 1
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0


def test_a_backend_that_is_not_there_is_said_once_and_harmless(monkeypatch):
    from dispatch_xp import context
    from dispatch_xp.backends.interface import Availability
    from dispatch_xp.backends.threads import ThreadsBackend

    monkeypatch.setattr(ThreadsBackend, "probe", lambda self: Availability(False, "one core"))
    monkeypatch.setattr(context, "_states", {})
    monkeypatch.setattr(context, "_told", set())
    said = pytest.warns(dispatch_xp.BackendWarning, match="'threads' is not available: one core")
    with said, dispatch_xp.backend("threads"):
        assert np.linalg.inv(A).shape == (50, 50)
    with dispatch_xp.backend("threads"):
        pass
    monkeypatch.setattr(context, "_states", {})
    forced = dispatch_xp.backend("threads", fallback="raise")
    with pytest.raises(dispatch_xp.BackendUnavailable, match="one core"), forced:
        pass


@pytest.mark.filterwarnings("error")
def test_without_a_profile_auto_stays_on_the_reference_and_says_so_once(monkeypatch):
    from dispatch_xp import context

    monkeypatch.setattr(context, "_states", {})
    monkeypatch.setattr(context, "_told", set())
    said = pytest.warns(dispatch_xp.ProfileWarning, match="calibrate")
    with said, dispatch_xp.backend("auto"), dispatch_xp.record() as rec:
        np.linalg.inv(A)
    assert [(r.backend, r.reason.name) for r in rec.records] == [("reference", "NO_PROFILE")]
    with dispatch_xp.backend("auto"):
        np.linalg.inv(A)
