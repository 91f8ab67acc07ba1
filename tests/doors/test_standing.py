"""Decisions that stand: what stays is not asked about again, and what changes is."""

from __future__ import annotations

import numpy as np
import pytest

import dispatch_xp
from dispatch_xp.curve import Point
from dispatch_xp.doors import ufuncs
from dispatch_xp.policies.cost_model import CostModelPolicy
from dispatch_xp.profile import Profile, this_machine, write

SIZES = (10**3, 10**4, 10**5)
A = np.linspace(0.0, 1.0, 10**4)


@pytest.fixture
def profile(tmp_path, monkeypatch):
    """A machine where threads win small sums and maxima of none: the limits are low."""

    def curve(small, large):
        return [Point(float(n), small if n < 10**4 else large, n) for n in SIZES]

    points = {
        name: {
            "vector": {
                "float64": {"reference": curve(1e-3, 1e-5), "threads": curve(1e-4, 1e-4)},
            }
        }
        for name in ("sum", "exp")
    }
    path = tmp_path / "profile.json"
    write(Profile(this_machine(), points, {}), path)
    monkeypatch.setenv("DISPATCH_XP_PROFILE", str(path))
    return path


@pytest.fixture
def asked(monkeypatch):
    """The operations that the policy was asked about."""
    names = []
    choose = CostModelPolicy.choose

    def counted(self, call, candidates):
        names.append(call.operation.name)
        return choose(self, call, candidates)

    monkeypatch.setattr(CostModelPolicy, "choose", counted)
    return names


def test_a_function_that_stays_is_not_asked_about_again(profile, asked):
    with dispatch_xp.backend("auto", backends=["threads"]):
        for _ in range(50):
            np.sum(A)
    assert asked == ["sum"]


@pytest.mark.parametrize(
    "other",
    [
        lambda: np.sum(A[:-1]),
        lambda: np.sum(A, keepdims=True),
        lambda: np.sum(A.reshape(100, 100), axis=0),
        lambda: np.sum(A.astype("f4")),
    ],
)
def test_another_call_is_asked_about(profile, asked, other):
    with dispatch_xp.backend("auto", backends=["threads"]):
        np.sum(A)
        other()
        other()
    assert asked == ["sum", "sum"] or asked == ["sum"] * 3


def test_a_recorder_sees_every_call(profile):
    with dispatch_xp.backend("auto", backends=["threads"]), dispatch_xp.record() as record:
        for _ in range(5):
            np.sum(A)
    assert len(record.records) == 5


@pytest.mark.skipif(bool(ufuncs.PROBLEM), reason=ufuncs.PROBLEM)
def test_a_loop_that_stays_is_not_offered_again(profile, asked):
    auto = dispatch_xp.backend("auto", backends=["threads"])
    for _ in range(3):
        with auto:
            for _ in range(10):
                np.exp(A)
    assert asked == ["exp"]


@pytest.mark.skipif(bool(ufuncs.PROBLEM), reason=ufuncs.PROBLEM)
def test_a_reduction_that_stays_is_not_offered_again(profile, asked):
    with dispatch_xp.backend("auto", backends=["threads"]):
        for _ in range(10):
            np.add.reduce(A)
            np.sum(A)
    # each by its own door, once
    assert asked == ["sum", "sum"]


def test_a_forced_backend_does_not_take_over_what_stood(profile):
    with dispatch_xp.backend("auto", backends=["threads"]):
        np.exp(A)
        np.sum(A)
        with dispatch_xp.backend("threads"), dispatch_xp.record() as record:
            np.exp(A)
            np.sum(A)
        with dispatch_xp.record() as outside:
            np.sum(A)
    assert {r.backend for r in record.records} == {"threads"}
    assert {r.backend for r in outside.records} == {"reference"}
