"""What the settings do to a call: pins, precision, verification, memory limits."""

from __future__ import annotations

import numpy as np
import pytest

import dispatch_xp
from dispatch_xp import context
from dispatch_xp.backends import registry
from dispatch_xp.backends.interface import Availability, Backend, Memory
from dispatch_xp.reasons import Reason

A = np.random.default_rng(0).standard_normal((30, 30))


class Device(Backend):
    """NumPy behind a memory of its own."""

    name = "threads"  # stands in for a configured one
    shares_host_memory = False
    factor = 1.0
    free = 10**12
    total = 10**12

    def __init__(self):
        self.copied_in = 0
        self.copied_out = 0
        self.seen = []

    def probe(self):
        return Availability(True)

    def operations(self):
        return frozenset({"linalg.inv", "linalg.eigh", "sum"})

    def start(self):
        self.started = True

    def copy_in(self, array, dtype):
        self.copied_in += 1
        return array.astype(dtype, copy=True)

    def copy_out(self, value):
        self.copied_out += 1
        return value.copy()

    def run(self, call, arrays):
        self.seen.append((call.operation.name, arrays[0].dtype.name))
        if call.operation.name == "linalg.eigh":
            w, v = np.linalg.eigh(arrays[0], "L" if call.options["lower"] else "U")
            return w, -v * self.factor
        if call.operation.name == "sum":
            return (np.add.reduce(arrays[0], axis=call.options["axis"]),)
        return (np.linalg.inv(arrays[0]) * self.factor,)

    def memory(self):
        return Memory(self.free, self.total)


@pytest.fixture
def device(monkeypatch):
    backend = Device()
    monkeypatch.setattr(registry, "_instances", {"threads": backend})
    monkeypatch.setattr(context, "_states", {})
    return backend


def run(function, **settings):
    with dispatch_xp.backend("threads", fallback="raise", **settings), dispatch_xp.record() as rec:
        result = function()
    return result, rec


def test_arguments_and_results_are_copied_once_each(device):
    got, rec = run(lambda: np.linalg.inv(A))
    assert (device.copied_in, device.copied_out) == (1, 1)
    assert [r.backend for r in rec.records] == ["threads"]
    np.testing.assert_allclose(got, np.linalg.inv(A))


def test_single_precision_is_computed_in_double_unless_native_is_asked_for(device):
    single = A.astype(np.float32)
    got, _ = run(lambda: np.linalg.inv(single))
    assert device.seen == [("linalg.inv", "float64")]
    assert got.dtype == np.float32
    native, _ = run(lambda: np.linalg.inv(single), precision="native")
    assert device.seen[-1] == ("linalg.inv", "float32")
    assert native.dtype == np.float32


def test_an_operation_pinned_to_the_reference_stays(device):
    pins = {"linalg.inv": {"backend": "reference"}}
    _, rec = run(lambda: np.linalg.inv(A), operations=pins)
    assert [(r.backend, r.reason) for r in rec.records] == [("reference", Reason.PINNED)]
    assert device.seen == []


def test_an_operation_pinned_to_a_backend_goes_there_whatever_the_policy(device):
    pins = {"linalg.inv": {"backend": "threads"}}
    with (
        dispatch_xp.backend("auto", policy="reference", operations=pins),
        dispatch_xp.record() as rec,
    ):
        np.linalg.inv(A)
        np.linalg.eigh(A)
    assert [(r.backend, r.reason) for r in rec.records] == [
        ("threads", Reason.PINNED),
        ("reference", Reason.REFERENCE_POLICY),
    ]


def test_verify_returns_the_reference_and_records_the_difference(device):
    want = np.linalg.inv(A)
    got, rec = run(lambda: np.linalg.inv(A), verify=True)
    assert got.tobytes() == want.tobytes()
    assert [(name, c.backend, c.matches) for name, c in rec.comparisons] == [
        ("linalg.inv", "threads", True)
    ]
    assert rec.mismatches == []


def test_verify_finds_a_wrong_result(device):
    device.factor = 1.001
    want = np.linalg.inv(A)
    got, rec = run(lambda: np.linalg.inv(A), verify=True)
    assert got.tobytes() == want.tobytes()
    ((name, comparison),) = rec.mismatches
    assert name == "linalg.inv"
    assert comparison.difference == pytest.approx(0.001, rel=0.01)


def test_verify_does_not_mind_a_sign_that_is_not_defined(device):
    symmetric = A + A.T
    _, rec = run(lambda: np.linalg.eigh(symmetric), verify=True)
    assert [c.matches for _, c in rec.comparisons] == [True]
    device.factor = 1.001
    _, rec = run(lambda: np.linalg.eigh(symmetric), verify=True)
    assert [c.matches for _, c in rec.comparisons] == [False]


def test_a_call_that_does_not_fit_stays(device):
    device.total, device.free = 10**6, 0.35 * 10**6
    _, rec = run(lambda: np.linalg.inv(A))
    assert [r.backend for r in rec.records] == ["threads"]
    # level 5 leaves 30% free, level 1 half
    _, rec = run(lambda: np.linalg.inv(A), level=1)
    assert [r.reason for r in rec.records] == [Reason.MEMORY]
    _, rec = run(lambda: np.linalg.inv(A), limits={"device_memory": "10 kB"})
    assert [r.reason for r in rec.records] == [Reason.MEMORY]
    assert "MB may be used" in rec.records[0].detail
