"""The policies that don't predict: fixed, reference, threshold, random."""

from __future__ import annotations

import math
import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch_xp import policies
from dispatch_xp.call import Call
from dispatch_xp.config import Settings
from dispatch_xp.levels import LEVELS
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.reasons import Reason

EXP = OPERATIONS["exp"]


@pytest.fixture
def two(fake):
    return [fake("first"), fake("second")]


def test_the_reference_policy_keeps_everything(exp, two):
    policy = policies.create("reference", Settings())
    decision = policy.choose(exp(10**6), two)
    assert (decision.backend, decision.reason) == ("reference", Reason.REFERENCE_POLICY)
    assert policy.limit(EXP, two) == math.inf


@pytest.mark.parametrize("name", ["first", "second"])
def test_fixed_takes_the_named_backend_at_any_size(exp, two, name):
    policy = policies.create("fixed", Settings(backend=name))
    decision = policy.choose(exp(1), two)
    assert (decision.backend, decision.reason) == (name, Reason.FIXED)
    assert policy.limit(EXP, two) == 0


def test_fixed_stays_if_the_named_backend_does_not_take_the_call(exp, two):
    policy = policies.create("fixed", Settings(backend="third"))
    decision = policy.choose(exp(1), two)
    assert (decision.backend, decision.reason) == ("reference", Reason.NO_BACKEND)


def test_fixed_takes_the_reference_for_a_name_too(exp, two):
    policy = policies.create("fixed", Settings(backend="reference"))
    decision = policy.choose(exp(1), two)
    assert (decision.backend, decision.reason) == ("reference", Reason.FIXED)
    assert policy.limit(EXP, two) == math.inf


def test_fixed_without_a_name_takes_the_first_candidate(exp, two):
    policy = policies.create("fixed", Settings())
    assert policy.choose(exp(1), two).backend == "first"
    assert policy.choose(exp(1), []).backend == "reference"


@given(n=st.integers(1, 10**7), own=st.integers(0, 10**7), default=st.integers(0, 10**7))
def test_threshold_compares_the_largest_argument(n, own, default):
    class Candidate:
        name = "first"

    def chosen(thresholds):
        policy = policies.create("threshold", Settings(thresholds=thresholds))
        call = Call(OPERATIONS["add"], np.dtype("float64"), ((n,), (1,)))
        limit = policy.limit(OPERATIONS["add"], [Candidate()])
        decision = policy.choose(call, [Candidate()])
        assert (decision.backend == "first") == (n >= limit)
        return decision.backend

    assert chosen({"add": own, "default": default}) == ("first" if n >= own else "reference")
    assert chosen({"exp": own, "default": default}) == ("first" if n >= default else "reference")


def test_threshold_stays_without_a_candidate(exp):
    assert policies.create("threshold", Settings()).choose(exp(10**8), []).backend == "reference"


def test_random_draws_everything_about_equally_often(exp, two):
    policy = policies.create("random", Settings(seed=1))
    call = exp(1)
    drawn = Counter(policy.choose(call, two).backend for _ in range(3000))
    assert drawn.keys() == {"first", "second", "reference"}
    assert all(800 < count < 1200 for count in drawn.values())


def test_random_repeats_itself_from_the_same_seed(exp, two):
    call = exp(1)

    def sequence(seed):
        policy = policies.create("random", Settings(seed=seed))
        return [policy.choose(call, two).backend for _ in range(50)]

    assert sequence(3) == sequence(3)
    assert sequence(3) != sequence(4)


def test_random_can_be_asked_from_many_threads(exp, two):
    policy = policies.create("random", Settings())
    call = exp(1)
    drawn = []

    def draw():
        drawn.extend(policy.choose(call, two).backend for _ in range(500))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == 2000


def test_the_levels_go_from_cautious_to_eager():
    assert list(LEVELS) == list(range(1, 11))
    for cautious, eager in zip(LEVELS.values(), list(LEVELS.values())[1:], strict=False):
        assert cautious.speedup > eager.speedup
        assert cautious.memory_free > eager.memory_free
        assert cautious.startup_factor > eager.startup_factor
        assert cautious.others_load < eager.others_load
    five = LEVELS[5]
    assert (five.speedup, five.memory_free, five.startup_factor, five.others_load) == (
        1.3,
        0.30,
        2.0,
        0.59,
    )
