"""What is there already isn't copied, and the prediction knows it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dispatch_xp.call import Call
from dispatch_xp.config import Settings
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.policies.cost_model import CostModelPolicy
from dispatch_xp.profile import BackendProfile, Copy, Profile

N = 10**5
NBYTES = 8 * N
IN, OUT = Copy(1e-5, 1e9), Copy(2e-5, 2e9)


def owner(*away, stale=False):
    """What the cost model sees of an array."""
    return SimpleNamespace(_away=dict.fromkeys(away) or None, _stale=stale)


def call(*owners):
    values = np.ones(N)
    names = {1: "exp", 2: "add"}
    arrays = (values,) * len(owners)
    shapes = ((N,),) * len(owners)
    operation = OPERATIONS[names[len(owners)]]
    return Call(operation, values.dtype, shapes, {}, arrays, owners=owners)


@pytest.fixture
def policy(profile_of):
    """The reference takes 100 us, the device 10 us and copies of more than a millisecond."""
    profile = profile_of(
        reference=1e-9, device=1e-10, backends={"device": BackendProfile(copy_in=IN, copy_out=OUT)}
    )
    points = {**profile.points, "add": profile.points["exp"]}
    return CostModelPolicy(Settings(), Profile(profile.machine, points, profile.backends))


def test_plain_arrays_are_copied_both_ways(policy):
    found = policy.predict(
        Call(OPERATIONS["exp"], np.dtype("f8"), ((N,),), {}, (np.ones(N),)), "device"
    )
    assert found.copy_in == pytest.approx(IN.seconds(NBYTES))
    assert found.copy_out == pytest.approx(OUT.seconds(NBYTES))


def test_only_what_is_missing_is_copied_in(policy):
    there = policy.predict(call(owner("device")), "device")
    assert (there.copy_in, there.copy_out) == (0.0, 0.0)
    half = policy.predict(call(owner("device"), owner()), "device")
    assert half.copy_in == pytest.approx(IN.seconds(NBYTES))
    assert half.copy_out == pytest.approx(OUT.seconds(NBYTES) / 2)
    none = policy.predict(call(owner(), None), "device")
    assert none.copy_in == pytest.approx(IN.seconds(2 * NBYTES, 2))
    assert none.copy_out == pytest.approx(OUT.seconds(NBYTES))


def test_the_reference_pays_for_what_is_on_the_device_alone(policy):
    assert policy.predict(call(owner("device")), "reference").copy_in == 0.0
    stale = policy.predict(call(owner("device", stale=True)), "reference")
    assert stale.copy_in == pytest.approx(OUT.seconds(NBYTES))


def test_the_choice_follows_the_values(policy, fake):
    device = fake("device", own_memory=True)
    for owners, chosen in (
        ((owner(),), "reference"),
        ((owner("device"),), "device"),
        ((owner("device", stale=True),), "device"),
        ((owner(),), "reference"),
    ):
        assert policy.choose(call(*owners), [device]).backend == chosen


def test_observations_are_compared_with_the_copies_that_were_made(policy):
    where = call(owner("device"))
    for _ in range(5):
        policy.observe(where, "device", 2 * policy.predict(call(None), "device").run)
    assert policy.predict(where, "device").run == pytest.approx(2e-5)
