"""What lies in page-locked memory is copied faster, and the prediction knows it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dispatch_xp.call import Call
from dispatch_xp.config import Settings
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.policies.cost_model import CostModelPolicy
from dispatch_xp.profile import BackendProfile, Copy, Profile
from dispatch_xp.reasons import Reason

N = 10**5
NBYTES = 8 * N
IN, OUT, LOCKED = Copy(1e-5, 5e9), Copy(1e-5, 5e10), Copy(2e-6, 5e10)
PLAIN = np.ones(N)
SPECIAL = np.ones(N)


def device(fake, name="device", *, started=True):
    """A device that takes `SPECIAL` for page-locked, and says what it was asked about."""
    backend = fake(name, own_memory=True, started=started)
    backend.asked = []

    def is_page_locked(array, dtype):
        backend.asked.append(array)
        return array is SPECIAL

    backend.is_page_locked = is_page_locked
    return backend


def call(*arrays, owners=()):
    name = {1: "exp", 2: "add"}[len(arrays)]
    shapes = tuple(x.shape for x in arrays)
    return Call(OPERATIONS[name], np.dtype("f8"), shapes, {}, arrays, owners=owners)


def policy_of(profile_of, locked=LOCKED, **rates):
    """The reference takes 150 us, the device 10 us; copies in 170 us or 18, out 26 us."""
    figures = BackendProfile(copy_in=IN, copy_out=OUT, page_locked_in=locked)
    rates = {"reference": 1.5e-9, "device": 1e-10, **rates}
    profile = profile_of(**rates, backends={"device": figures})
    points = {**profile.points, "add": profile.points["exp"]}
    return CostModelPolicy(Settings(), Profile(profile.machine, points, profile.backends))


def copy_in(policy, backend, *arrays, owners=()):
    made = call(*arrays, owners=owners)
    policy.choose(made, [backend])
    return policy.predict(made, "device").copy_in


def test_each_argument_is_charged_for_where_it_is(fake, profile_of):
    policy, backend = policy_of(profile_of), device(fake)
    assert copy_in(policy, backend, PLAIN) == pytest.approx(IN.seconds(NBYTES))
    assert copy_in(policy, backend, SPECIAL) == pytest.approx(LOCKED.seconds(NBYTES))
    assert copy_in(policy, backend, SPECIAL, PLAIN) == pytest.approx(
        IN.seconds(NBYTES) + LOCKED.seconds(NBYTES)
    )
    assert copy_in(policy, backend, SPECIAL, SPECIAL) == pytest.approx(
        LOCKED.seconds(2 * NBYTES, 2)
    )


def test_results_arrive_in_ordinary_memory(fake, profile_of):
    policy, made = policy_of(profile_of), call(SPECIAL)
    policy.choose(made, [device(fake)])
    assert policy.predict(made, "device").copy_out == pytest.approx(OUT.seconds(NBYTES))


def test_the_choice_follows_the_memory_call_by_call(fake, profile_of):
    policy, backend = policy_of(profile_of), device(fake)
    chosen = [policy.choose(call(x), [backend]).backend for x in (PLAIN, SPECIAL, PLAIN, SPECIAL)]
    assert chosen == ["reference", "device", "reference", "device"]


def test_a_question_without_arrays_is_about_ordinary_memory(fake, profile_of, exp):
    policy, backend = policy_of(profile_of), device(fake)
    assert policy.choose(exp(N, arrays=False), [backend]).backend == "reference"
    assert backend.asked == []


def test_nobody_asks_where_the_answer_changes_nothing(fake, profile_of):
    unmeasured = device(fake)
    policy_of(profile_of, locked=None).choose(call(SPECIAL), [unmeasured])
    policy = policy_of(profile_of, host=1e-10)
    resting, host = device(fake, started=False), device(fake, "host")
    policy.choose(call(SPECIAL), [resting, host])
    assert unmeasured.asked == resting.asked == host.asked == []


def test_a_start_is_noticed(fake, profile_of):
    policy, backend = policy_of(profile_of), device(fake, started=False)
    assert policy.choose(call(SPECIAL), [backend]).backend == "reference"
    backend.started = True
    assert policy.choose(call(SPECIAL), [backend]).backend == "device"


def test_an_array_s_own_memory_is_copied_before_and_not_asked_about(fake, profile_of):
    policy, backend = policy_of(profile_of), device(fake)
    owner = SimpleNamespace(_away=None, _stale=False)
    found = copy_in(policy, backend, SPECIAL, PLAIN, owners=(owner, None))
    assert found == pytest.approx(IN.seconds(2 * NBYTES, 2))
    assert [x is PLAIN for x in backend.asked] == [True]
    found = copy_in(policy, backend, PLAIN, SPECIAL, owners=(owner, None))
    assert found == pytest.approx(IN.seconds(NBYTES) + LOCKED.seconds(NBYTES))


def test_what_is_there_already_costs_nothing_beside_it(fake, profile_of):
    policy, backend = policy_of(profile_of), device(fake)
    there = SimpleNamespace(_away={"device": None}, _stale=True)
    found = copy_in(policy, backend, PLAIN, SPECIAL, owners=(there, None))
    assert found == pytest.approx(LOCKED.seconds(NBYTES))


def test_observations_are_compared_with_the_copies_that_were_made(fake, profile_of):
    policy, backend = policy_of(profile_of), device(fake)
    for _ in range(5):
        made = call(SPECIAL)
        policy.choose(made, [backend])
        expected = policy.predict(made, "device").total
        policy.observe(made, "device", expected)
    assert policy.predict(call(PLAIN), "device").run == pytest.approx(1e-5)


def test_a_decision_that_depends_on_the_memory_does_not_stand(fake, profile_of):
    policy, backend = policy_of(profile_of), device(fake)
    decision = policy.choose(call(PLAIN), [backend])
    assert decision.reason is Reason.NOT_FASTER
    assert decision.standing.calls == 0


def test_other_decisions_stand_as_ever(fake, profile_of):
    slow = {"device": 1.4e-9}
    for policy in (policy_of(profile_of, **slow), policy_of(profile_of, locked=None)):
        assert policy.choose(call(PLAIN), [device(fake)]).standing.calls > 0
    # nothing in page-locked memory can be known to it before it runs
    resting = device(fake, started=False)
    assert policy_of(profile_of).choose(call(PLAIN), [resting]).standing.calls > 0


def test_a_wait_for_something_else_does_not_stand_either(fake, profile_of):
    policy, backend = policy_of(profile_of, pool=1.1e-9), device(fake)
    figures = {**policy.profile.backends, "pool": BackendProfile(switch=1.0)}
    policy = CostModelPolicy(
        Settings(), Profile(policy.profile.machine, policy.profile.points, figures)
    )
    decision = policy.choose(call(PLAIN), [backend, fake("pool")])
    assert decision.reason is Reason.SWITCH
    assert decision.standing.calls == 0
    assert policy.choose(call(SPECIAL), [backend, fake("pool")]).backend == "device"


def test_the_smallest_size_counts_on_the_faster_copy(fake, profile_of):
    # at a thousand elements the reference takes 1.5 us, a copy's fixed part 10 us or none
    sizes = {"sizes": (1000, 2000, 5000, 10**4, 10**5)}
    backend = device(fake)
    limits = []
    for locked in (None, Copy(0.0, 1e12)):
        figures = BackendProfile(copy_in=IN, copy_out=Copy(0.0, 1e12), page_locked_in=locked)
        profile = profile_of(reference=1.5e-9, device=1e-10, backends={"device": figures}, **sizes)
        limits.append(CostModelPolicy(Settings(), profile).limit(OPERATIONS["exp"], [backend]))
    assert limits[1] < limits[0]
