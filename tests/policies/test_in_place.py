"""What the cost model charges an update in place: the backend's result is copied by the host."""

from __future__ import annotations

import numpy as np
import pytest

from dispatch_xp.call import Call
from dispatch_xp.config import Settings
from dispatch_xp.curve import Point
from dispatch_xp.decision import REFERENCE
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.policies.cost_model import CostModelPolicy
from dispatch_xp.profile import BackendProfile, Copy, Machine, Profile
from dispatch_xp.reasons import Reason
from dispatch_xp.trace.record import Record

N = 10**5
# nanoseconds an element: a copy takes one, an addition as long, an exponential ten times as long
SECONDS = {"square": (1, 0.6), "add": (1.0, 0.6), "exp": (10, 5.2)}


def policy_of(seconds=None, level=5, **figures):
    points = {
        name: {
            "vector": {
                dtype: {
                    REFERENCE: [Point(float(n), n * theirs * 1e-9, n) for n in (1000, 10**6)],
                    "fast": [Point(float(n), n * ours * 1e-9, n) for n in (1000, 10**6)],
                }
                for dtype in ("float64", "complex128")
            }
        }
        for name, (theirs, ours) in (seconds or SECONDS).items()
    }
    backends = {REFERENCE: BackendProfile(), "fast": BackendProfile(**figures)}
    return CostModelPolicy(Settings(level=level), Profile(Machine("fake", "", 2), points, backends))


def call_of(name, n=N, dtype="float64", *, in_place=True):
    values = np.broadcast_to(np.ones((), dtype), (n,))
    inputs = (values,) * (2 if name == "add" else 1)
    shapes = tuple(a.shape for a in inputs)
    return Call(OPERATIONS[name], np.dtype(dtype), shapes, arrays=inputs, in_place=in_place)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_backend_is_charged_a_copy_and_the_reference_is_not(dtype):
    policy = policy_of()
    call, plain = call_of("exp", dtype=dtype), call_of("exp", dtype=dtype, in_place=False)
    assert policy.predict(call, REFERENCE) == policy.predict(plain, REFERENCE)
    fast = policy.predict(call, "fast")
    assert fast.run == pytest.approx(N * 5.2e-9)
    assert fast.copy_out == pytest.approx(N * 1e-9)
    assert policy.predict(plain, "fast").total == pytest.approx(N * 5.2e-9)


def test_a_device_is_charged_both_copies():
    copy = Copy(1e-5, 1e9)
    policy = policy_of(copy_in=copy, copy_out=copy)
    fast = policy.predict(call_of("exp"), "fast")
    assert fast.copy_in == pytest.approx(copy.seconds(8 * N))
    assert fast.copy_out == pytest.approx(copy.seconds(8 * N) + N * 1e-9)


@pytest.mark.parametrize("level", [1, 5, 10])
def test_what_waits_for_memory_stays_in_place(fake, level):
    policy, fast = policy_of(level=level), fake("fast")
    decision = policy.choose(call_of("add"), [fast])
    assert decision.predictions["fast"].total > decision.predictions[REFERENCE].total
    assert (decision.backend, decision.reason) == (REFERENCE, Reason.NOT_FASTER)


def test_what_computes_and_what_has_memory_of_its_own_is_routed(fake):
    policy, fast = policy_of(), fake("fast")
    assert policy.choose(call_of("exp"), [fast]).backend == "fast"
    assert policy.choose(call_of("add", in_place=False), [fast]).backend == "fast"


def test_without_a_figure_for_the_copy_nothing_is_predicted(fake):
    policy = policy_of({"exp": SECONDS["exp"]})
    assert policy.predict(call_of("exp"), "fast") is None
    decision = policy.choose(call_of("exp"), [fake("fast")])
    assert (decision.backend, decision.reason) == (REFERENCE, Reason.NO_CURVE)
    assert policy.choose(call_of("exp", in_place=False), [fake("fast")]).backend == "fast"


def test_what_is_observed_has_the_copy_inside(fake):
    policy, call = policy_of(), call_of("exp")
    for _ in range(7):
        policy.observe(call, "fast", N * 6.2e-9)
    assert policy.predict(call, "fast").total == pytest.approx(N * 6.2e-9)
    for _ in range(7):
        policy.observe(call, "fast", 2 * N * 6.2e-9)
    assert policy.predict(call, "fast").run == pytest.approx(2 * N * 5.2e-9)


def test_what_is_learned_in_place_is_learned_of_that_alone(fake):
    policy = policy_of()
    for _ in range(7):
        policy.observe(call_of("exp"), REFERENCE, N * 5e-9)
    assert policy.predict(call_of("exp"), REFERENCE).run == pytest.approx(N * 5e-9)
    assert policy.predict(call_of("exp", in_place=False), REFERENCE).run == pytest.approx(N * 1e-8)
    assert policy.choose(call_of("exp"), [fake("fast")]).backend == REFERENCE
    assert policy.choose(call_of("exp", in_place=False), [fake("fast")]).backend == "fast"


def test_a_trace_says_so_and_an_estimate_charges_it():
    record = Record(1, 1, 0.0, 1e-3, "numpy.exp", "", REFERENCE, "inactive")
    record.operation, record.dtype = "exp", "float64"
    record.shapes, record.itemsizes, record.in_place = [[N]], [8], True
    policy = policy_of()
    assert policy.predict(record.call(), "fast") == policy.predict(call_of("exp"), "fast")
