"""The uarray doors: ours as a backend for others' multimethods, and the other way round."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import uarray

import dispatch_xp

pytestmark = pytest.mark.filterwarnings("ignore:uarray.*deprecated:DeprecationWarning")

A = np.random.default_rng(0).standard_normal((64, 64))


@pytest.fixture
def threads(monkeypatch):
    monkeypatch.setenv("DISPATCH_XP_BACKEND", "threads")
    monkeypatch.setenv("DISPATCH_XP_FALLBACK", "raise")


@pytest.fixture
def ran(monkeypatch):
    """The operations that ran on the threads backend."""
    from dispatch_xp.backends.threads import ThreadsBackend

    names = []
    original = ThreadsBackend.run

    def run(self, call, arrays):
        names.append(call.operation.name)
        return original(self, call, arrays)

    monkeypatch.setattr(ThreadsBackend, "run", run)
    return names


@pytest.mark.usefixtures("threads")
def test_scipy_fft_takes_our_module(ran):
    want = scipy.fft.fft2(A)
    with scipy.fft.set_backend(dispatch_xp.scipy.fft):
        got = scipy.fft.fft2(A)
    assert ran == ["fft.fftn"]
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    scipy.fft.fft2(A)
    assert ran == ["fft.fftn"]


@pytest.mark.usefixtures("threads")
def test_uarray_takes_our_module_for_scipy_fft(ran):
    with uarray.set_backend(dispatch_xp.scipy.fft):
        scipy.fft.dctn(A)
    assert ran == ["fft.dctn"]


def test_uarray_takes_our_module_for_scipy_linalg(monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setenv("DISPATCH_XP_BACKEND", "torch")
    from dispatch_xp.backends.torch import TorchBackend

    names = []
    original = TorchBackend.run

    def run(self, call, arrays):
        names.append(call.operation.name)
        return original(self, call, arrays)

    monkeypatch.setattr(TorchBackend, "run", run)
    want = scipy.linalg.svdvals(A)
    with uarray.set_backend(dispatch_xp.scipy.linalg):
        got = scipy.linalg.svdvals(A)
    assert names == ["linalg.svdvals"]
    np.testing.assert_allclose(got, want, rtol=1e-10)


def test_a_foreign_uarray_backend_is_reached_through_our_multimethods():
    class Theirs:
        __ua_domain__ = "numpy.scipy.linalg"

        @staticmethod
        def __ua_function__(method, args, kwargs):
            return ("theirs", method.__name__, len(args), kwargs)

    dispatch_xp.install()
    with uarray.set_backend(Theirs):
        assert scipy.linalg.inv(A)[:2] == ("theirs", "inv")
        assert scipy.linalg.eigh(A, lower=False)[1] == "eigh"
    assert isinstance(scipy.linalg.inv(A), np.ndarray)


def test_a_foreign_backend_that_declines_leaves_the_call_to_scipy():
    class Declines:
        __ua_domain__ = "numpy.scipy.linalg"

        @staticmethod
        def __ua_function__(method, args, kwargs):
            return NotImplemented

    dispatch_xp.install()
    with uarray.set_backend(Declines):
        np.testing.assert_allclose(scipy.linalg.inv(A) @ A, np.eye(64), atol=1e-8)


@pytest.mark.usefixtures("threads")
def test_a_failure_of_our_backend_does_not_reach_the_caller(monkeypatch):
    monkeypatch.setenv("DISPATCH_XP_FALLBACK", "quiet")
    from dispatch_xp.backends.threads import ThreadsBackend

    def run(self, call, arrays):
        raise MemoryError("full")

    monkeypatch.setattr(ThreadsBackend, "run", run)
    want = scipy.fft.fft2(A)
    with scipy.fft.set_backend(dispatch_xp.scipy.fft):
        got = scipy.fft.fft2(A)
    assert got.tobytes() == want.tobytes()


def test_backend_wins_over_the_configuration_inside_the_protocol(ran, monkeypatch):
    monkeypatch.setenv("DISPATCH_XP_BACKEND", "threads")
    with scipy.fft.set_backend(dispatch_xp.scipy.fft), dispatch_xp.backend("reference"):
        scipy.fft.fft2(A)
    assert ran == []


@pytest.mark.usefixtures("threads")
def test_the_functions_are_there_too(ran):
    got = dispatch_xp.scipy.fft.fft2(A)
    np.testing.assert_allclose(got, scipy.fft.fft2(A), atol=1e-10)
    assert ran == ["fft.fftn"]
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = dispatch_xp.scipy.linalg.nothing_like_it


def test_domains():
    assert dispatch_xp.scipy.fft.__ua_domain__ == "numpy.scipy.fft"
    assert dispatch_xp.scipy.linalg.__ua_domain__ == "numpy.scipy.linalg"


def _in_thread(function):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result(timeout=60)


def test_backend_reaches_scipy_fft_in_the_thread_that_enters_it():
    def compute():
        # of a shape that no test before lets fail
        with dispatch_xp.backend("threads"), dispatch_xp.record() as record:
            scipy.fft.fft2(A[:48])
        return [r.backend for r in record.records]

    assert compute() == ["threads"]
    assert _in_thread(compute) == ["threads"]


def test_a_context_that_skips_is_not_that_of_a_thread_that_has_ended():
    from dispatch_xp.scipy.fft import _DOOR

    # a call that stays is handed on by skipping the door
    with dispatch_xp.record() as record:
        _in_thread(lambda: scipy.fft.fft2(A))
        scipy.fft.fft2(A)
    assert [r.backend for r in record.records] == ["reference"]
    there, here = _in_thread(lambda: uarray.skip_backend(_DOOR)), uarray.skip_backend(_DOOR)
    assert there is not here
    assert uarray.skip_backend(_DOOR) is here


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("set_backend", [scipy.fft.set_backend, uarray.set_backend])
def test_uarrays_own_contexts_hold_in_their_thread(ran, set_backend):
    def compute():
        with set_backend(dispatch_xp.scipy.fft):
            scipy.fft.fft2(A)

    compute()
    _in_thread(compute)
    assert ran == ["fft.fftn"] * 2
    _in_thread(lambda: scipy.fft.fft2(A))
    assert ran == ["fft.fftn"] * 2
