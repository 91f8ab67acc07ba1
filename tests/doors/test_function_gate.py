"""The compiled gate of the functions' doors does what the handler in Python does."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch_xp.decision import Standing
from dispatch_xp.doors import handler as doors
from dispatch_xp.functions import FUNCTIONS
from dispatch_xp.state import CURRENT, PROCESS, QUIET

gates = pytest.importorskip(
    "dispatch_xp._function_gate",
    reason="the compiled part is missing: no C compiler when the package was installed",
    exc_type=ImportError,
)
SOLVE = "scipy.linalg.lu_solve"


class Subclass(np.ndarray):
    """Not an array that the doors look at."""


ARRAYS = st.builds(
    lambda shape, dtype, order: np.zeros(shape, dtype, order),
    st.lists(st.integers(0, 4), max_size=4).map(tuple),
    st.sampled_from(("f8", "f4", "c16", "i8", "?", ">f8", "O", "U3")),
    st.sampled_from("CF"),
)
ARGUMENTS = st.one_of(
    ARRAYS,
    ARRAYS.map(lambda x: x.view(Subclass)),
    ARRAYS.map(lambda x: (x, x)),
    ARRAYS.map(lambda x: [x]),
    st.floats(),
    st.complex_numbers(),
    st.floats().map(np.float64),
    st.integers(),
    st.sampled_from((None, True, "reduced", (0, 1), np.dtype("f4"), np.float32)),
)
KEYWORDS = st.dictionaries(st.sampled_from(("a", "axis", "path", "args", "x y")), ARGUMENTS)


def outcome_of(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        return str(error)


@given(st.lists(ARGUMENTS, max_size=4), KEYWORDS)
def test_the_keys_are_equal(args, kwargs):
    ours, python = gates.key("f", *args, **kwargs), doors.key_of("f", *args, **kwargs)
    assert len(ours) == len(python)
    for mine, theirs in zip(ours, python, strict=True):
        assert mine is theirs or (type(mine) is type(theirs) is tuple and mine == theirs)
    assert outcome_of(hash, ours) == outcome_of(hash, python)


def test_a_key_needs_a_path():
    for arguments in ((), (1,), (b"f",)):
        with pytest.raises(TypeError, match="path"):
            gates.key(*arguments)


@pytest.fixture
def both(monkeypatch):
    """The gate and the handler of a function; what they pass on is noted, and not considered."""
    passed = []

    def considered(state, function, args, kwargs):
        passed.append((state, function.path, args, kwargs))
        return "considered"

    monkeypatch.setattr(doors, "considered", considered)

    def make(path):
        gate = doors.handler(FUNCTIONS[path])
        with monkeypatch.context() as patch:
            patch.setattr(doors, "COMPILED", False)
            handle = doors.handler(FUNCTIONS[path])
        assert type(gate) is gates.Gate
        return gate, handle

    make.passed = passed
    return make


def state_with(limit, path=SOLVE):
    return SimpleNamespace(limits={path: limit}, standing={})


@pytest.mark.parametrize("path", [SOLVE, "numpy.linalg.solve"])
@pytest.mark.parametrize("limit", [-1.0, 0.0, 1, 4.0, 5.5, float("inf")])
def test_they_let_the_same_calls_through(both, path, limit):
    gate, handle = both(path)

    @given(st.lists(ARGUMENTS, max_size=4), KEYWORDS)
    def alike(args, kwargs):
        state = state_with(limit, path)
        token = CURRENT.set(state)
        try:
            want = handle(*args, **kwargs)
            got = gate(*args, **kwargs)
        finally:
            CURRENT.reset(token)
        assert got == want
        if want is not None:
            second, first = both.passed.pop(), both.passed.pop()
            assert second[:2] == first[:2] == (state, path)
            assert all(x is y for x, y in zip(second[2], first[2], strict=True))
            assert list(second[3]) == list(first[3])
        assert both.passed == []

    alike()


def test_the_state_is_the_contexts_then_the_processes(both, monkeypatch):
    gate, _ = both(SOLVE)
    x = np.zeros(5)
    assert gate(x) is None
    monkeypatch.setattr(PROCESS, "default", state_with(5.0))
    assert gate(x) == "considered"
    token = CURRENT.set(state_with(6.0))
    try:
        assert gate(x) is None
        assert gate(b=np.zeros(6)) == "considered"
        CURRENT.set(QUIET)
        assert gate(np.zeros(6)) is None
    finally:
        CURRENT.reset(token)
    assert gate(x) == "considered"


def test_a_limit_that_nobody_asked_for_is_computed(both, monkeypatch):
    gate, _ = both(SOLVE)

    class Computed(dict):
        def __missing__(self, key):
            self[key] = 3.0
            return 3.0

    monkeypatch.setattr(PROCESS, "default", SimpleNamespace(limits=Computed(), standing={}))
    assert gate(np.zeros(2)) is None
    assert PROCESS.default.limits == {SOLVE: 3.0}
    assert gate(np.zeros(3)) == "considered"


def test_a_decision_to_stay_is_counted_down(both, monkeypatch):
    gate, _ = both(SOLVE)
    state = state_with(1.0)
    monkeypatch.setattr(PROCESS, "default", state)
    x, y = np.zeros((3, 2)), np.zeros(3, "f4")
    standing = Standing(3)
    standing.begin()
    state.standing[doors.key_of(SOLVE, x, 2.5, out=y)] = standing
    assert [gate(x + i, 0.5 + i, out=y) for i in range(4)] == [None, None, None, "considered"]
    assert standing.left == 0
    assert standing.end() == 3
    for other in ((x, 2), (x.T, 2.5), (x.astype("f4"), 2.5), (x,)):
        standing.begin()
        assert gate(*other, out=y) == "considered"
    assert standing.left == 3


def test_without_a_limit_nothing_stands(both, monkeypatch):
    gate, _ = both(SOLVE)
    state = state_with(0.0)
    monkeypatch.setattr(PROCESS, "default", state)
    x = np.zeros(3)
    standing = state.standing[doors.key_of(SOLVE, x)] = Standing(3)
    standing.begin()
    assert gate(x) == "considered"


def test_what_has_no_hash_is_considered_and_other_errors_are_told(both, monkeypatch):
    gate, _ = both(SOLVE)
    state = state_with(1.0)
    state.standing["something"] = Standing(1)
    monkeypatch.setattr(PROCESS, "default", state)

    class Broken:
        def __hash__(self):
            raise KeyError("broken")

    assert gate(np.zeros(3), [1]) == "considered"
    with pytest.raises(KeyError, match="broken"):
        gate(np.zeros(3), Broken())
    state.standing[doors.key_of(SOLVE, np.zeros(3))] = object()
    with pytest.raises(AttributeError, match="left"):
        gate(np.zeros(3))
    state.limits[SOLVE] = "small"
    with pytest.raises(TypeError):
        gate(np.zeros(3))
    del state.limits
    with pytest.raises(AttributeError, match="limits"):
        gate(np.zeros(3))


def test_a_gate_needs_a_context_variable():
    with pytest.raises(TypeError, match="ContextVar"):
        gates.Gate("f", print, None, PROCESS, QUIET, False)


def test_nothing_is_held(both, monkeypatch):
    gate, _ = both(SOLVE)
    state = state_with(2.0)
    monkeypatch.setattr(PROCESS, "default", state)
    x, big, numbers = np.zeros(1), np.zeros(7), [1]
    standing = state.standing[doors.key_of(SOLVE, big)] = Standing(255)
    watched = (state, state.limits, state.standing, x, big, big.dtype, numbers, standing, None)

    def work():
        standing.begin()
        for _ in range(200):
            gate(x)
            gate(big)
            gate(big, numbers)
            gates.key("f", big, out=x)
        both.passed.clear()

    work()
    before = [sys.getrefcount(w) for w in watched]
    work()
    after = [sys.getrefcount(w) for w in watched]
    # others hold and drop None and dtypes meanwhile
    assert all(abs(b - a) < 100 for a, b in zip(before, after, strict=True))


def test_a_gate_goes_with_what_it_holds():
    class Watched:
        gone = 0

        def __call__(self, *args):
            return None

        def __del__(self):
            Watched.gone += 1

    handle = Watched()
    handle.gate = gates.Gate("f", handle, CURRENT, PROCESS, QUIET, False)
    del handle
    gc.collect()
    assert Watched.gone == 1


# --- whole doors


class FakeOutcome:
    """Says what was done with it."""

    def __init__(self, done):
        self.done, self.result, self.seen = done, "routed", []

    def __enter__(self):
        self.seen.append("begin")
        return self

    def __exit__(self, kind, error, traceback):
        self.seen.append(kind)

    def finish(self, result):
        self.seen.append("finish")
        return ("finished", result)


def reference_of(*args, **kwargs):
    """The function behind a door."""
    if "fail" in kwargs:
        raise ZeroDivisionError
    return args, kwargs


@pytest.fixture
def door_of(monkeypatch):
    """A door before `reference_of` whose handler returns the given outcome."""

    def make(outcome, active=1):
        monkeypatch.setattr(PROCESS, "default", state_with(0.0))
        passed = []

        def handle(*args, **kwargs):
            passed.append((args, kwargs))
            return outcome

        gate = gates.Gate(SOLVE, handle, CURRENT, PROCESS, QUIET, False)
        return gates.Door(gate, reference_of, [active]), passed

    return make


@pytest.mark.parametrize("active", [0, 1])
def test_a_door_hands_on_what_it_is_given(door_of, active):
    door, passed = door_of(None, active)

    @given(st.lists(ARGUMENTS, max_size=4), KEYWORDS)
    def alike(args, kwargs):
        passed.clear()
        got, named = door(*args, **kwargs)
        assert all(a is b for a, b in zip(got, args, strict=True))
        assert list(named) == list(kwargs)
        assert all(named[k] is kwargs[k] for k in kwargs)
        assert len(passed) == active

    alike()


def test_a_routed_result_is_returned(door_of):
    door, _ = door_of(FakeOutcome(done=True))
    assert door(1, a=2) == "routed"


def test_the_reference_runs_within_the_outcome(door_of):
    outcome = FakeOutcome(done=False)
    door, passed = door_of(outcome)
    assert door(1, a=2) == ("finished", ((1,), {"a": 2}))
    assert outcome.seen == ["begin", "finish", None]
    assert passed == [((1,), {"a": 2})]
    with pytest.raises(ZeroDivisionError):
        door(fail=True)
    assert outcome.seen[3:] == ["begin", ZeroDivisionError]


def test_an_outcome_that_fails_to_finish_is_left_with_its_error(door_of):
    class Failing(FakeOutcome):
        def finish(self, result):
            raise KeyError(result)

    outcome = Failing(done=False)
    door, _ = door_of(outcome)
    with pytest.raises(KeyError):
        door(1)
    assert outcome.seen == ["begin", KeyError]


def test_what_the_handler_raises_is_raised(door_of):
    door, _ = door_of(None)
    assert door() == ((), {})
    door = gates.Door(
        gates.Gate(SOLVE, lambda: 1 / 0, CURRENT, PROCESS, QUIET, False),
        reference_of,
        [1],
    )
    with pytest.raises(ZeroDivisionError):
        door()


def test_a_door_looks_like_its_function(door_of):
    door, _ = door_of(None)
    assert door.__name__ == "reference_of"
    assert door.__code__ is reference_of.__code__
    with pytest.raises(AttributeError, match="nothing"):
        _ = door.nothing


@pytest.mark.parametrize("active", [[], [0, 0], (1,), None])
def test_a_door_needs_its_parts(active):
    gate = gates.Gate(SOLVE, print, CURRENT, PROCESS, QUIET, False)
    with pytest.raises((TypeError, ValueError)):
        gates.Door(gate, reference_of, active)
    with pytest.raises(TypeError):
        gates.Door(print, reference_of, [0])


def test_a_door_holds_nothing(door_of):
    routed, staying = FakeOutcome(done=True), FakeOutcome(done=False)
    doors = door_of(routed), door_of(staying)
    x = np.zeros(7)

    def work():
        for door, passed in doors:
            for _ in range(200):
                door(x, a=x)
            passed.clear()

    work()
    before = [sys.getrefcount(w) for w in (x, routed, staying, reference_of)]
    work()
    after = [sys.getrefcount(w) for w in (x, routed, staying, reference_of)]
    assert all(abs(b - a) < 100 for a, b in zip(before, after, strict=True))


WITHOUT = """
import sys
sys.modules["dispatch_xp._function_gate"] = None
import numpy as np
import dispatch_xp
from dispatch_xp.doors import handler
assert not handler.COMPILED
with dispatch_xp.backend("threads"), dispatch_xp.record() as records:
    x = np.random.default_rng(0).random((400, 500))
    assert np.array_equal(np.sort(x, axis=1)[:, 0], x.min(axis=1))
assert [r.backend for r in records.records if r.function == "numpy.sort"] == ["threads"]
"""


def test_without_the_compiled_part_everything_works():
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT], env=os.environ, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
