"""The cost model: predicted times decide, a start has to be repaid, and observations correct."""

from __future__ import annotations

import math
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch_xp.call import Call
from dispatch_xp.config import Settings
from dispatch_xp.curve import Point
from dispatch_xp.decision import Standing
from dispatch_xp.levels import LEVELS
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.policies.cost_model import CostModelPolicy
from dispatch_xp.profile import BackendProfile, Copy, Machine, Profile, this_machine, write
from dispatch_xp.reasons import Reason

EXP = OPERATIONS["exp"]
N = 10**5


def policy_of(profile, level=5):
    return CostModelPolicy(Settings(level=level), profile)


# --- without figures


def test_without_a_profile_everything_stays_and_the_problem_says_what_to_do(exp, fake, tmp_path):
    path = tmp_path / "nowhere.json"
    policy = CostModelPolicy(Settings(profile=str(path)))
    decision = policy.choose(exp(10**6), [fake("fast")])
    assert (decision.backend, decision.reason) == ("reference", Reason.NO_PROFILE)
    assert str(path) in policy.problem
    assert "calibrate" in policy.problem
    assert policy.limit(EXP, [fake("fast")]) == math.inf
    policy.observe(exp(10), "reference", 1.0)


def test_an_unusable_profile_is_a_problem_and_no_error(exp, fake, tmp_path):
    path = tmp_path / "profile.json"
    path.write_text("{")
    policy = CostModelPolicy(Settings(profile=str(path)))
    assert "damaged" in policy.problem
    assert policy.choose(exp(10**6), [fake("fast")]).reason is Reason.NO_PROFILE


def test_the_configured_profile_is_read(exp, fake, tmp_path, profile_of):
    path = tmp_path / "profile.json"
    found = profile_of(reference=1e-8, fast=1e-9)
    write(Profile(this_machine(), found.points, found.backends), path)
    policy = CostModelPolicy(Settings(profile=str(path)))
    assert not policy.problem
    assert policy.choose(exp(N), [fake("fast")]).backend == "fast"


@pytest.mark.parametrize("rates", [{"fast": 1e-9}, {"reference": 1e-8}, {}])
def test_a_comparison_needs_both_sides(exp, fake, profile_of, rates):
    decision = policy_of(profile_of(**rates)).choose(exp(N), [fake("fast")])
    assert (decision.backend, decision.reason) == ("reference", Reason.NO_CURVE)


def test_another_dtype_s_curve_says_nothing(exp, fake, profile_of):
    policy = policy_of(profile_of("float32", reference=1e-8, fast=1e-9))
    assert policy.choose(exp(N, "float64"), [fake("fast")]).reason is Reason.NO_CURVE
    assert policy.choose(exp(N, "float32"), [fake("fast")]).backend == "fast"


def two_layouts(first, second):
    def curve(names):
        return {name: [Point(1e6, seconds, 1000)] for name, seconds in names.items()}

    points = {"matmul": {"stack8": {"float64": curve(first)}, "matrix": {"float64": curve(second)}}}
    return Profile(Machine("fake", "fake", 2), points, {})


@pytest.mark.parametrize(
    ("own", "chosen"),
    [
        ({}, "fast"),
        ({"reference": 1.0}, "reference"),
        ({"fast": 1e-9}, "reference"),
        ({"reference": 1e-9, "fast": 1.0}, "reference"),
    ],
)
def test_another_layout_stands_in_only_if_nothing_was_measured(fake, own, chosen):
    profile = two_layouts(own, {"reference": 1.0, "fast": 0.1})
    call = Call(OPERATIONS["matmul"], np.dtype("float64"), ((4, 9, 9), (4, 9, 9)))
    assert call.layout == "stack8"
    assert policy_of(profile).choose(call, [fake("fast")]).backend == chosen


# --- the comparison


@given(
    level=st.sampled_from(sorted(LEVELS)),
    reference=st.floats(1e-9, 1e-6),
    rates=st.lists(st.floats(1e-9, 1e-6), min_size=1, max_size=4),
    n=st.integers(1, 10**7),
)
def test_the_fastest_is_chosen_if_it_is_fast_enough(level, reference, rates, n):
    from dispatch_xp.backends.interface import Backend

    names = [f"backend{i}" for i in range(len(rates))]
    curves = {
        name: [Point(1e3, 1e3 * rate, 1000)]
        for name, rate in zip(("reference", *names), (reference, *rates), strict=True)
    }
    profile = Profile(Machine("fake", "fake", 2), {"exp": {"vector": {"float64": curves}}}, {})
    candidates = [
        type(name, (Backend,), {"name": name, "started": True, **dict.fromkeys(ABSTRACT, None)})()
        for name in names
    ]
    call = Call(EXP, np.dtype("float64"), ((n,),))
    decision = policy_of(profile, level).choose(call, candidates)
    totals = {name: p.total for name, p in decision.predictions.items()}
    assert totals.keys() == {"reference", *names}
    best = min(names, key=totals.__getitem__)
    required = LEVELS[level].speedup
    assert decision.required_speedup == required
    if totals["reference"] >= required * totals[best]:
        assert totals[decision.backend] == totals[best]
        assert decision.reason is Reason.FASTEST
    else:
        assert (decision.backend, decision.reason) == ("reference", Reason.NOT_FASTER)


ABSTRACT = ("probe", "operations", "start", "run")


def test_copies_count_for_a_backend_with_memory_of_its_own(exp, fake, profile_of):
    gpu = {"gpu": BackendProfile("", 0.0, 0.0, Copy(1e-6, 8e8), Copy(2e-6, 8e8))}
    policy = policy_of(profile_of(reference=1e-8, gpu=1e-9, backends=gpu))
    decision = policy.choose(exp(N), [fake("gpu", own_memory=True)])
    predicted = decision.predictions["gpu"]
    assert predicted.copy_in == pytest.approx(1e-6 + N * 8 / 8e8)
    assert predicted.copy_out == pytest.approx(2e-6 + N * 8 / 8e8)
    assert predicted.total == pytest.approx(1e-9 * N + predicted.copy_in + predicted.copy_out)
    assert decision.backend == "reference"


def test_the_same_question_gets_the_same_answer_from_memory(exp, fake, profile_of):
    policy = policy_of(profile_of(reference=1e-8, fast=1e-9))
    candidates = [fake("fast")]
    assert policy.choose(exp(N), candidates) is policy.choose(exp(N), list(candidates))
    assert policy.choose(exp(N), []) is not policy.choose(exp(N), candidates)


def test_what_is_remembered_is_bounded(exp, fake, profile_of):
    from dispatch_xp.policies import cost_model

    policy = policy_of(profile_of(reference=1e-8, fast=1e-9))
    candidates = [fake("fast")]
    for n in range(1, cost_model._CACHED + 100):
        policy.choose(exp(n), candidates)
    assert sum(len(kind.weighed) for kind in policy._kinds.values()) <= cost_model._CACHED


# --- the limit


def test_the_limit_is_below_the_crossing_and_finite_only_if_there_is_one(fake, profile_of):
    rates = {"reference": [1e-5, 1e-4, 1e-3], "fast": [1e-4, 1.1e-4, 2e-4]}
    curves = {
        name: [Point(float(n), s, n) for n, s in zip((10**3, 10**4, 10**5), seconds, strict=True)]
        for name, seconds in rates.items()
    }
    profile = Profile(Machine("fake", "fake", 2), {"exp": {"vector": {"float64": curves}}}, {})
    policy = policy_of(profile)
    limit = policy.limit(EXP, [fake("fast")])
    assert 0 < limit < 10**5
    for n in range(1000, 10**5, 500):
        call = Call(EXP, np.dtype("float64"), ((n,),))
        assert n >= limit or policy.choose(call, [fake("fast")]).backend == "reference"
    slow = policy_of(profile_of(reference=1e-9, slow=1e-8))
    assert slow.limit(EXP, [fake("slow")]) == math.inf
    assert policy.limit(OPERATIONS["sin"], [fake("fast")]) == math.inf
    assert policy.limit(EXP, []) == math.inf


# --- starting a backend


@pytest.fixture
def startable(profile_of):
    """A backend that saves 0.9 of every second and takes as long to start as said."""

    def make(startup, level=5, **more):
        figures = {"slow-start": BackendProfile("", startup)}
        return policy_of(profile_of(reference=1e-5, backends=figures, **more), level)

    return make


SAVING = (1e-5 - 1e-6) * N


@pytest.mark.parametrize("level", sorted(LEVELS))
@pytest.mark.parametrize("startup", [0.13, 1.01, 4.3])
def test_a_start_is_bought_once_the_missed_savings_reach_its_price(
    exp, fake, startable, level, startup
):
    policy = startable(startup, level, **{"slow-start": 1e-6})
    candidate = fake("slow-start", started=False, modules=("no_such_module",))
    needed = math.ceil(LEVELS[level].startup_factor * startup / SAVING - 1e-9)
    for _ in range(needed - 1):
        decision = policy.choose(exp(N), [candidate])
        assert (decision.backend, decision.reason) == ("reference", Reason.NOT_STARTED)
    assert policy.choose(exp(N), [candidate]).backend == "slow-start"


@given(
    level=st.sampled_from(sorted(LEVELS)),
    startup=st.floats(1e-3, 10),
    sizes=st.lists(st.integers(1, 10**6), min_size=1, max_size=40),
)
def test_the_rule_never_wastes_more_than_it_risks(level, startup, sizes):
    from dispatch_xp.backends.interface import Backend

    curves = {name: [Point(1e3, s, 1000)] for name, s in (("reference", 1e-2), ("later", 1e-3))}
    profile = Profile(
        Machine("fake", "fake", 2),
        {"exp": {"vector": {"float64": curves}}},
        {"later": BackendProfile("", startup)},
    )
    policy = policy_of(profile, level)
    body = {"name": "later", "modules": ("no_such_module",), **dict.fromkeys(ABSTRACT, None)}
    later = type("later", (Backend,), body)()
    price = LEVELS[level].startup_factor * startup
    missed = 0.0
    for n in sizes:
        call = Call(EXP, np.dtype("float64"), ((n,),), {}, (np.broadcast_to(1.0, (n,)),))
        decision = policy.choose(call, [later])
        missed += (1e-5 - 1e-6) * n
        if decision.backend == "later":
            assert missed >= price * (1 - 1e-9)
            return
        # nothing that repays the start by now was let go
        assert missed < price * (1 + 1e-9)


def test_a_question_misses_nothing(exp, fake, startable):
    policy = startable(1.0, **{"slow-start": 1e-6})
    candidate = fake("slow-start", started=False, modules=("no_such_module",))
    for _ in range(100):
        decision = policy.choose(exp(N, arrays=False), [candidate])
        assert decision.reason is Reason.NOT_STARTED
    assert decision.predictions["slow-start"].startup == 1.0
    assert policy.choose(exp(N), [candidate]).reason is Reason.NOT_STARTED


def test_what_is_imported_already_costs_nothing(exp, fake, startable):
    policy = startable(1e9, **{"slow-start": 1e-6})
    assert policy.choose(exp(N), [fake("slow-start", started=True)]).backend == "slow-start"
    assert "math" in sys.modules
    loaded = fake("slow-start", started=False, modules=("math", "sys"))
    assert policy.choose(exp(N), [loaded]).backend == "slow-start"
    half = fake("slow-start", started=False, modules=("math", "no_such_module"))
    assert policy.choose(exp(N), [half]).reason is Reason.NOT_STARTED


def test_until_then_the_next_best_that_runs_is_chosen(exp, fake, startable):
    policy = startable(1.0, **{"slow-start": 1e-6, "ready": 2e-6})
    ready = fake("ready")
    later = fake("slow-start", started=False, modules=("no_such_module",))
    found = [policy.choose(exp(N), [ready, later]).backend for _ in range(40)]
    # less is missed against it than against the reference: 0.1 s a call, of 2 s
    assert found.count("slow-start") == 1 + found[::-1].index("ready")
    assert found.index("slow-start") == pytest.approx(2.0 / 0.1, abs=1)
    assert set(found[: found.index("slow-start")]) == {"ready"}


# --- thread pools


def test_a_change_of_pools_has_to_be_repaid_and_is_not_charged_again(exp, fake, profile_of):
    figures = {"pool": BackendProfile("", 0.0, 2.5 * SAVING)}
    policy = policy_of(profile_of(reference=1e-5, pool=1e-6, backends=figures))
    pool = fake("pool")
    policy.observe(exp(N), "reference", 1e-5 * N)
    for _ in range(2):
        assert policy.choose(exp(N), [pool]).reason is Reason.SWITCH
    assert policy.choose(exp(N), [pool]).backend == "pool"
    policy.observe(exp(N), "pool", 1e-6 * N)
    assert policy.choose(exp(N), [pool]).backend == "pool"
    # what the reference runs without a pool leaves the others at rest
    policy.observe(exp(N), "reference", 1e-5 * N)
    assert policy.choose(exp(N), [pool]).backend == "pool"
    matmul = Call(OPERATIONS["matmul"], np.dtype("f8"), ((9, 9), (9, 9)))
    policy.observe(matmul, "reference", 1e-5)
    assert policy.choose(exp(N), [pool]).reason is Reason.SWITCH


def woken(policy):
    """The reference's BLAS has run."""
    policy.observe(Call(OPERATIONS["matmul"], np.dtype("f8"), ((9, 9), (9, 9))), "reference", 1e-5)


def test_what_a_change_costs_is_not_the_operation_s(exp, profile_of):
    figures = {"pool": BackendProfile("", 0.0, 0.1)}
    policy = policy_of(profile_of(reference=1e-5, pool=1e-6, backends=figures))
    before = policy.predict(exp(N), "pool").run
    for seconds in (0.1, 0.15, 0.2) * 4:
        woken(policy)
        policy.observe(exp(N), "pool", seconds)
    assert policy.predict(exp(N), "pool").run == before
    for _ in range(12):
        woken(policy)
        policy.observe(exp(N), "pool", 0.1 + 0.3)
    assert policy.predict(exp(N), "pool").run == pytest.approx(3 * before)


def waits(policy, call, pool):
    """How many calls stay until a change is made."""
    for count in range(10**6):
        if policy.choose(call, [pool]).backend == "pool":
            return count
    raise AssertionError("never")


def test_a_change_that_does_not_repay_itself_becomes_dearer_and_cheaper_again(
    exp, fake, profile_of
):
    switch = 4.4 * SAVING
    figures = {"pool": BackendProfile("", 0.0, switch)}
    policy = policy_of(profile_of(reference=1e-5, pool=1e-6, backends=figures))
    pool, call = fake("pool"), exp(N)

    def change(calls):
        """Wait for a change, make so many calls there, and lose the pool; return the wait."""
        waited = waits(policy, call, pool)
        for i in range(calls):
            policy.observe(call, "pool", 1e-6 * N + (0.0 if i else switch))
        woken(policy)
        return waited

    assert [change(1) for _ in range(3)] == [4, 8, 17]
    assert [change(10) for _ in range(4)] == [35, 17, 8, 4]
    assert change(10) == 4


# --- decisions that stand


def test_a_decision_to_stay_stands_for_calls_that_are_short(exp, fake, profile_of):
    policy = policy_of(profile_of(reference=1e-9, slow=1e-9))
    short = policy.choose(exp(N), [fake("slow")]).standing
    longer = policy.choose(exp(10**8), [fake("slow")]).standing
    assert short.calls > 100
    assert longer.calls == 0


def test_a_correction_withdraws_what_stands(exp, fake, profile_of):
    policy = policy_of(profile_of(reference=1e-9, other=1e-9))
    standing = policy.choose(exp(N), [fake("other")]).standing
    standing.begin()
    observe_often(policy, exp(N), "reference", 1e-8 * N)
    assert (standing.calls, standing.left) == (0, 0)


@pytest.mark.parametrize("late", [1.0e-9, 1.05e-9])
def test_waiting_for_a_backend_that_saves_nothing_never_counts_below_zero(
    exp, fake, profile_of, late
):
    figures = {"late": BackendProfile("", 1.0, 0.0)}
    policy = policy_of(profile_of(reference=1e-9, late=late, backends=figures), level=10)
    decision = policy.choose(exp(N), [fake("late", started=False)])
    assert decision.reason is Reason.NOT_STARTED
    assert decision.standing.calls > 0


def test_calls_that_stood_count_as_missed(exp, fake, profile_of):
    figures = {"late": BackendProfile("", 20 * SAVING, 0.0)}
    policy = policy_of(profile_of(reference=1e-5, late=1e-6, backends=figures), level=10)
    late = fake("late", started=False)
    call = exp(100)
    per_call = 9e-6 * 100
    first = policy.choose(call, [late])
    asked = 1
    while (decision := policy.choose(call, [late])).backend == "reference":
        asked += 1
        decision.standing.begin()
        decision.standing.left = 0  # they all went through
    price = LEVELS[10].startup_factor * 20 * SAVING
    assert first.reason is Reason.NOT_STARTED
    assert asked < price / per_call / 5


def test_calls_that_stood_count_though_nobody_asks_again(exp, fake, profile_of):
    figures = {"late": BackendProfile("", 20 * SAVING, 0.0)}
    policy = policy_of(profile_of(reference=1e-5, late=1e-6, backends=figures), level=10)
    late = fake("late", started=False)
    price, missed = LEVELS[10].startup_factor * 20 * SAVING, 0.0
    for n in range(100, 4000):
        decision = policy.choose(exp(n), [late])
        missed += 9e-6 * n
        if decision.backend == "late":
            break
        decision.standing.begin()
        # two of them go through
        decision.standing.left -= 2
        missed += 2 * 9e-6 * n
        assert missed <= price + 3 * 9e-6 * n
    assert decision.backend == "late"


def test_what_passed_is_counted_once():
    standing = Standing(10)
    standing.begin()
    standing.left -= 3
    assert (standing.count(), standing.count()) == (3, 0)
    standing.left -= 2
    assert (standing.end(), standing.end()) == (2, 0)
    standing.begin()
    standing.left -= 4
    standing.withdraw()
    assert (standing.count(), standing.left) == (4, 0)
    # somebody else's count is known when it is used up
    standing = Standing(10)
    standing.hand_over()
    assert (standing.count(), standing.end()) == (0, 10)


# --- observations


def observe_often(policy, call, backend, seconds, times=12):
    for _ in range(times):
        policy.observe(call, backend, seconds)


def test_a_backend_slower_than_predicted_is_left(exp, fake, profile_of):
    policy = policy_of(profile_of(reference=1e-8, fast=2e-9))
    candidates = [fake("fast")]
    assert policy.choose(exp(N), candidates).backend == "fast"
    observe_often(policy, exp(N), "fast", 1e-8 * N)
    assert policy.choose(exp(N), candidates).backend == "reference"


def test_a_busy_machine_does_not_make_untried_backends_look_fast(exp, fake, profile_of):
    policy = policy_of(profile_of(reference=1e-9, other=1e-9))
    observe_often(policy, exp(N), "reference", 1.6e-9 * N)
    decision = policy.choose(exp(N), [fake("other")])
    assert decision.backend == "reference"
    predicted = {name: p.run for name, p in decision.predictions.items()}
    assert math.isclose(predicted["other"], math.sqrt(1.6) * 1e-9 * N)


def test_a_reference_slower_than_predicted_is_left(exp, fake, profile_of):
    policy = policy_of(profile_of(reference=1e-9, other=2e-9))
    candidates = [fake("other")]
    assert policy.choose(exp(N), candidates).backend == "reference"
    observe_often(policy, exp(N), "reference", 1e-8 * N)
    assert policy.choose(exp(N), candidates).backend == "other"


def test_first_calls_may_be_slow(exp, fake, profile_of):
    """Code and memory are cold: the calls after them are what the curve is about."""
    policy = policy_of(profile_of(reference=1e-8, fast=2e-9))
    for seconds in (5e-3, 2e-3, 2.4e-4, 2.1e-4, 2e-4, 2e-4, 2e-4, 2e-4, 2e-4):
        assert policy.choose(exp(N), [fake("fast")]).backend == "fast"
        policy.observe(exp(N), "fast", seconds)
    run = policy.choose(exp(N), [fake("fast")]).predictions["fast"].run
    assert math.isclose(run, 2e-4, rel_tol=0.1)


def test_one_slow_call_changes_nothing(exp, fake, profile_of):
    policy = policy_of(profile_of(reference=1e-8, fast=2e-9))
    candidates = [fake("fast")]
    observe_often(policy, exp(N), "fast", 2e-9 * N)
    policy.observe(exp(N), "fast", 100.0)
    assert policy.choose(exp(N), candidates).backend == "fast"


@given(st.lists(st.floats(1e-12, 1e6), min_size=1, max_size=30))
def test_a_correction_is_bounded_whatever_is_observed(observed):
    curves = {name: [Point(1e3, 1e-3, 1000)] for name in ("reference", "other")}
    profile = Profile(Machine("fake", "fake", 2), {"exp": {"vector": {"float64": curves}}}, {})
    policy = policy_of(profile)
    call = Call(EXP, np.dtype("float64"), ((1000,),))
    for seconds in observed:
        policy.observe(call, "other", seconds)
    total = policy.predict(call, "other").total
    assert 1e-3 / 8.001 <= total <= 1e-3 * 8.001


def test_a_correction_leaves_other_operations_and_dtypes_alone(fake, profile_of, exp):
    points = {
        name: {
            "vector": {
                dtype: {"reference": [Point(1e3, 1e-5, 1000)], "fast": [Point(1e3, 2e-6, 1000)]}
                for dtype in ("float64", "float32")
            }
        }
        for name in ("exp", "sin")
    }
    policy = policy_of(Profile(Machine("fake", "fake", 2), points, {}))
    candidates = [fake("fast")]
    sin = Call(OPERATIONS["sin"], np.dtype("float64"), ((N,),))
    before = policy.choose(sin, candidates), policy.choose(exp(N, "float32"), candidates)
    assert policy.choose(exp(N), candidates).backend == "fast"
    observe_often(policy, exp(N), "fast", 1.0)
    assert policy.choose(exp(N), candidates).backend == "reference"
    after = policy.choose(sin, candidates), policy.choose(exp(N, "float32"), candidates)
    # not even looked at again
    assert all(a is b for a, b in zip(before, after, strict=True))


def test_an_observation_without_a_curve_is_ignored(exp, profile_of):
    policy = policy_of(profile_of(reference=1e-8))
    policy.observe(exp(N), "unknown", 1.0)
    policy.observe(Call(OPERATIONS["sin"], np.dtype("float64"), ((3,),)), "reference", 1.0)


def test_choosing_and_observing_from_many_threads(exp, fake, profile_of):
    policy = policy_of(profile_of(reference=1e-8, fast=2e-9))
    candidates = [fake("fast")]
    errors = []

    def work(seed):
        generator = np.random.default_rng(seed)
        try:
            for n in generator.integers(1, 10**6, 300):
                call = exp(int(n))
                policy.observe(call, policy.choose(call, candidates).backend, 1e-8 * n)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_a_higher_level_never_takes_a_call_back(exp, fake, profile_of):
    for fast in np.geomspace(2e-9, 2e-8, 15):
        profile = profile_of(reference=1e-8, fast=float(fast))
        taken = [
            policy_of(profile, level).choose(exp(N), [fake("fast")]).backend == "fast"
            for level in sorted(LEVELS)
        ]
        assert all(a <= b for a, b in pairwise(taken))


# --- a machine that changes


def drive(policy, call, backend, times, calls):
    """Make calls that take the given seconds; return where they ran."""
    ran = []
    for _ in range(calls):
        chosen = policy.choose(call, [backend]).backend
        policy.observe(call, chosen, times[chosen])
        ran.append(chosen)
    return ran


def test_a_backend_that_slows_down_is_left_and_comes_back(exp, fake, profile_of):
    policy = policy_of(profile_of(reference=1e-8, fast=2e-9))
    call, fast = exp(N), fake("fast")
    well = {"reference": 1e-3, "fast": 2e-4}
    assert drive(policy, call, fast, well, 20) == ["fast"] * 20
    slow = {"reference": 1e-3, "fast": 2e-3}
    ran = drive(policy, call, fast, slow, 4000)
    assert "fast" not in ran[5:20]
    # what the tries cost is less than a hundredth of what the backend would save
    tries = ran[5:].count("fast")
    assert 0 < tries * (slow["fast"] - slow["reference"]) <= 0.011 * 4000 * (1e-3 - 2e-4)
    ran = drive(policy, call, fast, well, 1000)
    assert ran[-500:] == ["fast"] * 500


def test_a_try_is_not_judged_by_its_first_call(exp, fake, profile_of):
    """Cold again, since nothing ran there meanwhile."""
    policy = policy_of(profile_of(reference=1e-8, fast=2e-9))
    call, fast = exp(N), fake("fast")
    drive(policy, call, fast, {"reference": 1e-3, "fast": 2e-3}, 5)
    ran, cold = [], True
    for _ in range(1000):
        chosen = policy.choose(call, [fast]).backend
        seconds = 1e-3 if chosen == "reference" else 2e-3 if cold else 2e-4
        cold = chosen == "reference"
        policy.observe(call, chosen, seconds)
        ran.append(chosen)
    assert ran[0] == "reference"
    assert ran[-500:] == ["fast"] * 500


def test_a_reference_that_was_slow_for_a_while_is_tried_again(exp, fake, profile_of):
    policy = policy_of(profile_of(reference=1e-9, fast=1e-9))
    call, fast = exp(N), fake("fast")
    assert set(drive(policy, call, fast, {"reference": 1e-4, "fast": 1e-4}, 20)) == {"reference"}
    drive(policy, call, fast, {"reference": 8e-4, "fast": 1e-4}, 20)
    assert drive(policy, call, fast, {"reference": 8e-4, "fast": 1e-4}, 20) == ["fast"] * 20
    ran = drive(policy, call, fast, {"reference": 2e-5, "fast": 1e-4}, 5000)
    assert ran[-100:] == ["reference"] * 100


def test_a_try_says_why(exp, fake, profile_of):
    policy = policy_of(profile_of(reference=1e-8, fast=2e-9))
    call, fast = exp(N), fake("fast")
    for _ in range(7):
        policy.observe(call, "fast", 2e-3)
    decisions = [policy.choose(call, [fast]) for _ in range(1000)]
    tried = [d for d in decisions if d.reason is Reason.PROBE]
    assert tried
    assert "8 times as long as was measured" in tried[0].detail
    assert len(tried) < 20


def test_an_unstarted_backend_is_not_started_for_a_try(exp, fake, profile_of):
    policy = policy_of(profile_of(reference=1e-8, fast=2e-9))
    call = exp(N)
    for _ in range(7):
        policy.observe(call, "fast", 2e-3)
    assert {policy.choose(call, [fake("fast", started=False)]).backend for _ in range(1000)} == {
        "reference"
    }
