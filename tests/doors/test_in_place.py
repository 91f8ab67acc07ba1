"""Updates in place, ``x += y``, ``np.exp(x, out=x)``: routed, and never computed twice."""

from __future__ import annotations

import signal
import sys
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dispatch_xp
from dispatch_xp.backends.interface import Availability, Backend
from dispatch_xp.config import load
from dispatch_xp.decision import REFERENCE
from dispatch_xp.doors import INSTALLATION
from dispatch_xp.errors import BackendUnavailable
from dispatch_xp.observer import Observer
from dispatch_xp.policies.fixed import FixedPolicy
from dispatch_xp.reasons import Reason
from dispatch_xp.state import CURRENT, State

loops = pytest.importorskip(
    "dispatch_xp._ufunc_loops",
    reason="the compiled part is missing: no C compiler when the package was installed",
    exc_type=ImportError,
)
D = np.dtype(np.float64).num
X = np.linspace(0.1, 2, 3000)
Y = np.linspace(1, 3, 3000)
BACKENDS = {
    "threads": {"name": "threads"},
    "torch": {"name": "torch"},
    "random": {"name": "auto", "policy": "random", "backends": ("threads", "torch")},
}


# what NumPy hands on


@pytest.fixture
def offered(door):
    """The lengths of what was offered of `add` and `exp`, and which inputs were the output."""
    seen = []

    def look(slot, arrays):
        *inputs, output = arrays
        assert output.flags.writeable
        assert not any(a.flags.writeable for a in inputs)
        same = [a.base is output for a in inputs]
        assert same == [a.ctypes.data == output.ctypes.data for a in inputs]
        seen.append((len(output), same))
        return False

    door(np.add, (D, D, D))
    door(np.exp, (D, D))
    loops.set_handler(look)
    return seen


@pytest.fixture
def reported(monkeypatch):
    """What exceptions could not be raised."""
    found = []
    monkeypatch.setattr(sys, "unraisablehook", lambda u: found.append(str(u.exc_value)))
    return found


def doubled(slot, arrays):
    loops.write(arrays[-1], 2 * arrays[0])
    return True


def test_an_input_that_is_the_output_is_a_view_of_it(offered, reported):
    x = X.copy()
    x += Y
    np.add(Y, x, out=x)
    x += x
    x += 1.0
    np.exp(x, out=x)
    np.add(X, Y)
    shown = [[True, False], [False, True], [True, True], [True, False], [True], [False, False]]
    assert offered == [(3000, same) for same in shown]
    assert x.tobytes() == np.exp((Y + (X + Y)) * 2 + 1).tobytes()
    assert reported == []


def _backwards(x):
    view = x[::-1]
    view += Y


def _every_second(x):
    x[::2] += Y[::2]


def _at(x):
    np.add.at(x, [3, 3, 4], 1.0)


@pytest.mark.parametrize(
    ("compute", "lengths"),
    [
        (_backwards, [3000]),
        (_every_second, [1500]),
        (lambda x: np.exp(x[1:], out=x[:-1]), []),
        (lambda x: np.exp(x[::2], out=x[:1500]), []),
        (lambda x: np.add(x[:-1], x[1:], out=x[:-1]), []),
        (lambda x: np.add(x[1:], x[:-1], out=x[1:]), []),
        (lambda x: np.add.accumulate(x, out=x), []),
        (lambda x: np.add(x[:1000], 1.0, out=x[:1000]), []),
        (lambda x: np.add(x[:1], 1.0, out=x[:1]), []),
        (_at, []),
        (lambda x: np.add.reduce(x), []),
        (lambda x: np.add.reduce(x.reshape(3, 1000), axis=0), []),
        (
            lambda x: np.add.reduce(x.reshape(2, 1500), axis=0),
            [1500, 1500],
        ),  # rows added to the result
        (lambda x: np.sum(x.reshape(2, 1500), axis=0), []),
        (lambda x: x.reshape(2, 1500).sum(axis=0), []),
        (lambda x: np.add(x, x.reshape(2, 1500)[:, :1500].ravel(), out=x), [3000]),
    ],
)
def test_what_is_offered(offered, compute, lengths):
    ours, theirs = X.copy(), X.copy()
    compute(ours)
    loops.set_handler(None)
    compute(theirs)
    assert [n for n, same in offered if any(same)] == lengths
    assert ours.tobytes() == theirs.tobytes()


def test_an_output_of_another_dtype_is_not_the_input(door):
    same = []

    def look(slot, arrays):
        same.append(arrays[0].base is arrays[-1])
        return False

    door(np.absolute, (np.dtype(np.complex128).num, D))
    loops.set_handler(look)
    z = X * (1 + 1j)
    np.absolute(z, out=z.real)
    assert not any(same)
    assert z.real.tobytes() == np.abs(X * (1 + 1j)).tobytes()


def test_what_the_handler_writes_replaces_the_input(door):
    slot = door(np.exp, (D, D))
    loops.set_handler(doubled)
    _, handled = loops.counters(slot)
    x = X.copy()
    assert np.exp(x, out=x) is x
    assert x.tobytes() == (2 * X).tobytes()
    assert loops.counters(slot)[1] == handled + 1


@pytest.mark.parametrize("answer", [False, None, 0, 3, "no"])
def test_what_is_written_is_not_computed_on_whatever_the_handler_says(door, answer):
    def written(slot, arrays):
        doubled(slot, arrays)
        return answer

    told = []
    door(np.exp, (D, D))
    loops.set_handler(written)
    loops.set_clock(told.append)
    x = X.copy()
    for n in (2, 4):
        np.exp(x, out=x)
        assert x.tobytes() == (n * X).tobytes()
    loops.set_clock(None)
    assert told == []


def test_what_is_written_is_not_computed_on_whatever_the_handler_raises(door, reported):
    def written(slot, arrays):
        doubled(slot, arrays)
        raise ValueError("too late")

    door(np.exp, (D, D))
    loops.set_handler(written)
    x = X.copy()
    np.exp(x, out=x)
    assert x.tobytes() == (2 * X).tobytes()
    assert reported == ["too late"]
    # and the next loop is another one
    loops.set_handler(lambda slot, arrays: False)
    np.exp(x, out=x)
    assert x.tobytes() == np.exp(2 * X).tobytes()


@pytest.mark.parametrize("late", [False, True])
def test_an_interrupt_finds_the_update_made_once(door, late):
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        pytest.skip("somebody else handles SIGINT")

    def interrupted(slot, arrays):
        if late:
            doubled(slot, arrays)
        raise KeyboardInterrupt

    def compute():
        np.exp(x, out=x)
        return sum(range(1000)) + len([None for _ in range(1000)])

    door(np.exp, (D, D))
    loops.set_handler(interrupted)
    x = X.copy()
    with pytest.raises(KeyboardInterrupt):
        compute()
    loops.set_handler(None)
    assert x.tobytes() == (2 * X if late else np.exp(X)).tobytes()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (X[:-1], "could not broadcast"),
        (X * 1j, "does not go into"),
        (["a"], "does not go into"),
    ],
)
def test_what_does_not_fit_leaves_the_input_to_the_original(door, reported, value, said):
    def unfit(slot, arrays):
        loops.write(arrays[-1], value)
        return True

    x, want = X.copy(), np.exp(X)
    door(np.exp, (D, D))
    loops.set_handler(unfit)
    np.exp(x, out=x)
    assert x.tobytes() == want.tobytes()
    assert [said in text for text in reported] == [True]


@pytest.mark.parametrize("operand", [0, -1])
def test_an_array_that_was_kept_is_reported(door, reported, operand):
    kept = []

    def keeps(slot, arrays):
        kept.append(arrays[operand])
        return False

    door(np.exp, (D, D))
    loops.set_handler(keeps)
    x = X.copy()
    np.exp(x, out=x)
    kept.clear()
    assert ["kept an array" in text for text in reported] == [True]


def test_an_answer_for_a_loop_in_place_says_nothing_of_others(door):
    asked = []

    def often(slot, arrays):
        asked.append(arrays[0].base is arrays[-1])
        return 100

    door(np.exp, (D, D))
    loops.set_handler(often)
    x = X.copy()
    for _ in range(3):
        np.exp(x, out=x)
        np.exp(X)
        x[:] = X
    # where the two share a place each asks anew; neither answers for the other
    assert asked in ([True, False], [True, False] * 3)


# what the door makes of it


@contextmanager
def active(backend, observer=None, **given):
    """Let a backend take everything within a ``with`` block."""
    settings = load(backend=backend.name, **given).settings
    state = State(settings, FixedPolicy(settings), (backend,), observer)
    INSTALLATION.install()
    INSTALLATION.ufuncs.enter(state)
    token = CURRENT.set(state)
    try:
        yield
    finally:
        CURRENT.reset(token)
        INSTALLATION.ufuncs.leave(state)


class Half(Backend):
    """Takes everything, and ends in the middle of it by what it is given, if anything."""

    name = "threads"  # stands in for a configured one

    def __init__(self, error=None, *, finite=True):
        # a class: an error that is kept keeps its frames, and the loop's memory
        self._error = error
        self._finite = finite
        self.tried = 0

    def probe(self):
        return Availability(True)

    def operations(self):
        return frozenset({"exp", "add", "multiply"})

    def start(self):
        self.started = True

    def run(self, call, arrays):
        self.tried += 1
        assert call.in_place
        assert call.destination is None
        assert not any(a.flags.writeable for a in arrays)
        result = np.empty(arrays[0].shape, arrays[0].dtype)
        result[: len(result) // 2] = -1
        if self._error is not None:
            raise self._error("in the middle")
        result[:] = 7 if self._finite else np.inf
        return (result,)


class Told(Observer):
    """Keeps what it is told, and raises what it is given."""

    def __init__(self, error=None, *, exhaustive=False):
        self.exhaustive = exhaustive
        self._error = error
        self.calls = []

    def add(self, ended):
        told = ended.function, ended.backend, ended.decision.reason
        self.calls.append((*told, ended.result.copy(), np.isfinite(ended.seconds)))
        if self._error is not None:
            raise self._error


@pytest.mark.parametrize(
    "error", [OSError, MemoryError, np.linalg.LinAlgError, FloatingPointError, BackendUnavailable]
)
@pytest.mark.parametrize("exhaustive", [False, True])
@pytest.mark.parametrize("function", [np.exp, np.add, np.multiply])
def test_a_backend_that_fails_in_the_middle_has_changed_nothing(function, error, exhaustive):
    x, more = X.copy(), () if function is np.exp else (Y,)
    want = function(X, *more)
    backend, observer = Half(error), Told(exhaustive=exhaustive)
    with active(backend, observer):
        assert function(x, *more, out=x) is x
    assert backend.tried
    assert x.tobytes() == want.tobytes()
    ((path, ran_on, reason, output, timed),) = observer.calls
    assert (path, ran_on, timed) == (f"numpy.{function.__name__}", REFERENCE, True)
    assert reason in (Reason.FAILED, Reason.LINALG_ERROR)
    assert output.tobytes() == want.tobytes()


def test_a_result_that_is_not_finite_is_not_taken():
    x, observer = X.copy(), Told()
    with active(Half(finite=False), observer):
        np.exp(x, out=x)
    assert x.tobytes() == np.exp(X).tobytes()
    assert [(ran_on, reason) for _, ran_on, reason, *_ in observer.calls] == [
        (REFERENCE, Reason.NON_FINITE_RESULT)
    ]


def test_an_observer_that_fails_does_not_make_it_twice(reported):
    x = X.copy()
    with active(Half(), Told(ValueError("told"))):
        np.exp(x, out=x)
    assert (x == 7).all()
    assert reported == ["told"]


def test_an_observer_that_fails_does_not_fold_a_reduction_twice(started, reported):
    with active(started("threads"), Told(ValueError("told"))):
        total = np.add.reduce(X)
    assert total == pytest.approx(X.sum())
    assert reported == ["told"]


def test_who_is_told_sees_the_result():
    x, observer = X.copy(), Told()
    with active(Half(), observer):
        np.add(Y, x, out=x)
    ((path, ran_on, _, output, timed),) = observer.calls
    assert (path, ran_on, timed) == ("numpy.add", "threads", True)
    assert (output == 7).all()


def test_without_a_backend_a_record_has_it_with_its_time():
    x = X.copy()
    with dispatch_xp.record() as record:
        x += Y
        np.exp(x, out=x)
    assert x.tobytes() == np.exp(X + Y).tobytes()
    assert [(r.function, r.backend) for r in record.records] == [
        ("numpy.add", REFERENCE),
        ("numpy.exp", REFERENCE),
    ]
    assert all(r.seconds > 0 and r.where.startswith(__file__) for r in record.records)


@pytest.mark.parametrize("backend", ["threads", "torch"])
def test_verify_compares_and_the_reference_writes(started, backend):
    started(backend)
    x = X.copy()
    with dispatch_xp.backend(backend, verify=True), dispatch_xp.record() as record:
        np.exp(x, out=x)
    assert x.tobytes() == np.exp(X).tobytes()
    assert [(name, c.matches) for name, c in record.comparisons] == [("exp", True)]


@pytest.mark.parametrize("backend", ["threads", "torch"])
@pytest.mark.parametrize(
    ("function", "compute"),
    [
        ("numpy.exp", lambda x: np.exp(x, out=x)),
        ("numpy.add", lambda x: np.add(x, Y[: len(x)], out=x)),
        ("numpy.subtract", lambda x: np.subtract(Y[: len(x)], x, out=x)),
        ("numpy.multiply", lambda x: np.multiply(x, x, out=x)),
        ("numpy.divide", lambda x: np.divide(x, 3.0, out=x)),
        ("numpy.add", lambda x: np.add(x, Y[: len(x)], out=x, where=np.arange(len(x)) < 1400)),
    ],
)
@pytest.mark.parametrize("step", [1, 2, -1])
def test_it_is_routed(started, backend, function, compute, step):
    started(backend)
    ours, theirs = X.copy(), X.copy()
    compute(theirs[::step])
    with dispatch_xp.backend(backend, fallback="raise"), dispatch_xp.record() as record:
        compute(ours[::step])
    np.testing.assert_allclose(ours, theirs, rtol=1e-15)
    assert {(r.function, r.backend) for r in record.records} == {(function, backend)}


def test_a_call_that_numpy_refuses_is_refused(started):
    started("threads")
    x = X.copy()
    x.flags.writeable = False
    with dispatch_xp.backend("threads"), pytest.raises(ValueError, match="read-only"):
        np.exp(x, out=x)
    integers = np.arange(3000)
    with dispatch_xp.backend("threads"), pytest.raises(TypeError, match="same_kind"):
        integers += 0.5
    assert x.tobytes() == X.tobytes()
    assert integers.tolist() == list(range(3000))


def test_errors_that_the_user_asked_for_come_from_the_reference(started):
    started("threads")
    ours, theirs = X * 1e3, X * 1e3
    for x, scope in ((theirs, np.errstate()), (ours, dispatch_xp.backend("threads"))):
        with scope, np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
            np.exp(x, out=x)
    assert ours.tobytes() == theirs.tobytes()


def observed(compute, x):
    """Return the result of an update in place, its error and its warnings."""
    error = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            compute(x)
        except Exception as raised:
            error = (type(raised), str(raised))
    return error, [(w.category, str(w.message), w.filename, w.lineno) for w in caught]


UNARY = ("exp", "sin", "sqrt", "negative", "square", "reciprocal", "conjugate", "positive")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "hypot")
FORMS = ("first", "second", "both", "scalar", "row")


@st.composite
def updates(draw):
    """A function of memory that updates a part of it in place, and the memory."""
    char = draw(st.sampled_from("fdFD"))
    function = draw(st.sampled_from(UNARY + BINARY))
    if char in "FD" and function in ("maximum", "hypot"):
        function = "add"
    ufunc = getattr(np, function)
    form = draw(st.sampled_from(FORMS if function in BINARY else ("alone",)))
    step = draw(st.sampled_from([1, 2, 3, -1, -2]))
    offset = draw(st.integers(0, 3))
    rows = draw(st.sampled_from([(), (3,)])) or (() if form != "row" else (3,))
    n = draw(st.sampled_from([1023, 1024, 1500, 2999]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    lowest = draw(st.sampled_from([0.1, 0.1, 0.1, -1.0, 0.0]))

    def numbers(*shape):
        values = rng.uniform(lowest, 2, shape)
        return (values + 1j * rng.uniform(0.1, 1, shape) if char in "FD" else values).astype(char)

    memory = numbers(*rows, abs(step) * n + offset)
    if lowest == 0.0:
        memory[..., 5 * abs(step) + offset] = 0
    other, row = numbers(*rows, n), numbers(n)
    scalar = memory.dtype.type(draw(st.sampled_from([2, 0.5, 0])))

    def compute(memory):
        x = memory[..., offset:][..., ::step]
        operands = {
            "alone": (x,),
            "first": (x, other),
            "second": (other, x),
            "both": (x, x),
            "scalar": (x, scalar),
            "row": (x, row),
        }
        assert ufunc(*operands[form], out=x) is x

    return compute, memory


@pytest.mark.parametrize("backend", BACKENDS)
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(update=updates())
def test_the_references_answer(started, backend, update):
    for name in BACKENDS[backend].get("backends", (backend,)):
        started(name)
    compute, memory = update
    theirs, ours = memory.copy(), memory.copy()
    want = observed(compute, theirs)
    with dispatch_xp.backend(**BACKENDS[backend], fallback="raise"):
        got = observed(compute, ours)
    assert got == want
    eps = np.finfo(memory.dtype).eps
    np.testing.assert_allclose(ours, theirs, rtol=16 * eps, atol=16 * eps)
