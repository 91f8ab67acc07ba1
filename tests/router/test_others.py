"""A device that other programs keep busy is left to them, by what the level goes along with."""

from __future__ import annotations

import numpy as np
import pytest

import dispatch_xp
from dispatch_xp import context, explain
from dispatch_xp.array.device import backend_of
from dispatch_xp.array.routed import LIMITS
from dispatch_xp.backends import registry
from dispatch_xp.backends.interface import Availability, Backend
from dispatch_xp.backends.threads import ThreadsBackend
from dispatch_xp.levels import LEVELS
from dispatch_xp.reasons import Reason
from dispatch_xp.residency import LEDGER

A = np.random.default_rng(0).standard_normal((30, 30))


class Device(Backend):
    """NumPy behind a memory of its own, beside programs that keep it busy."""

    name = "cupy"  # stands in for a configured one
    shares_host_memory = False
    device_name = "cuda:0"

    def __init__(self):
        self.load = 0.0
        self.waits = []
        self.runs = 0

    def probe(self):
        return Availability(True, description="a fake")

    def operations(self):
        return frozenset({"linalg.inv", "exp"})

    def start(self):
        self.started = True

    def copy_in(self, array, dtype):
        return array.astype(dtype, copy=True)

    def copy_out(self, value):
        return value.copy()

    def run(self, call, arrays):
        self.runs += 1
        function = {"linalg.inv": np.linalg.inv, "exp": np.exp}[call.operation.name]
        return (function(arrays[0]),)

    def others_load(self, wait=0.0):
        self.waits.append(wait)
        return self.load


class Host(ThreadsBackend):
    """One that shares the host's memory, where there is nobody to ask."""

    def others_load(self, wait=0.0):
        raise AssertionError("a backend on the host's memory was asked")


@pytest.fixture
def device(monkeypatch):
    backend = Device()
    monkeypatch.setattr(registry, "_instances", {"cupy": backend, "threads": Host()})
    monkeypatch.setattr(context, "_states", {})
    monkeypatch.setenv("DISPATCH_XP_BACKENDS", "cupy")
    forget_devices()
    yield backend
    LEDGER.give_back("cupy", LEDGER.used("cupy"))
    forget_devices()


def forget_devices():
    LIMITS.forget()
    backend_of.cache_clear()


def auto(**settings):
    given = {"policy": "threshold", "thresholds": {"default": 1}, "fallback": "raise", **settings}
    return dispatch_xp.backend("auto", **given)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("started", [False, True])
def test_above_the_level_s_limit_the_device_is_left_alone(device, level, started):
    limit = LEVELS[level].others_load
    device.started = started
    with auto(level=level), dispatch_xp.record() as rec:
        for device.load in (0.0, limit, limit + 0.01, None):
            np.linalg.inv(A)
    found = [r.reason for r in rec.records]
    assert found == [Reason.THRESHOLD, Reason.THRESHOLD, Reason.BUSY, Reason.THRESHOLD]
    busy = rec.records[2]
    assert busy.backend == "reference"
    assert busy.detail == (
        f"cupy: {limit + 0.01:.0%} used by others, {limit:.0%} allowed at level {level}"
    )


def test_a_busy_device_is_not_started(device):
    device.load = 0.9
    with auto():
        np.linalg.inv(A)
    assert not device.started


def test_the_other_backends_go_on(device, monkeypatch):
    device.load = 0.9
    with auto(backends=("cupy", "threads")), dispatch_xp.record() as rec:
        np.exp(np.ones(200_000))
    assert [(r.backend, r.reason) for r in rec.records] == [("threads", Reason.THRESHOLD)]


def test_no_call_waits_for_the_answer(device):
    with auto():
        np.linalg.inv(A)
    assert device.waits == [0.0]


def test_who_names_the_backend_gets_it(device):
    device.load = 1.0
    pins = {"linalg.inv": {"backend": "cupy"}}
    with dispatch_xp.backend("cupy"), dispatch_xp.record() as named:
        np.linalg.inv(A)
    with auto(policy="reference", operations=pins), dispatch_xp.record() as pinned:
        np.linalg.inv(A)
    assert [r.reason for r in named.records] == [Reason.FIXED]
    assert [r.reason for r in pinned.records] == [Reason.PINNED]
    assert device.runs == 2


def test_an_array_that_is_pinned_there_stays_there(device):
    device.load = 1.0
    with auto():
        x = dispatch_xp.asarray(A).to_device("cuda:0")
        y = dispatch_xp.linalg.inv(x)
    assert device.runs == 1
    assert y.residency == ("cuda:0",)
    np.testing.assert_allclose(np.asarray(y), np.linalg.inv(A))


def test_what_is_there_alone_is_worked_on_there(device):
    with auto():
        x = dispatch_xp.linalg.inv(dispatch_xp.asarray(A))
        assert x.residency == ("cuda:0",)
        device.load = 1.0
        y = dispatch_xp.linalg.inv(x)
        assert y.residency == ("cuda:0",)
        assert device.runs == 2
        np.testing.assert_allclose(np.asarray(y), A)
        # now the host has it too, and nothing has to be copied to leave
        z = dispatch_xp.linalg.inv(y)
    assert z.residency == ("cpu",)
    assert device.runs == 2


def test_the_explanation_has_both_numbers_and_waits_for_them(device, monkeypatch):
    monkeypatch.setenv("DISPATCH_XP_POLICY", "threshold")
    device.load = 0.72
    found = explain("linalg.inv", (3000, 3000))
    assert found.reason is Reason.BUSY
    assert "cupy: 72% used by others, 59% allowed at level 5" in str(found)
    assert min(device.waits) > 0


def test_the_explanation_of_another_choice_has_them_too(device, monkeypatch):
    monkeypatch.setenv("DISPATCH_XP_POLICY", "threshold")
    monkeypatch.setenv("DISPATCH_XP_BACKENDS", "cupy,threads")
    device.load = 0.72
    found = explain("exp", (10**7,))
    assert found.backend == "threads"
    assert found.others["cupy"] == "72% used by others, 59% allowed at level 5"
