"""Reductions that reach a loop directly, ``np.add.reduce(x)``: what arrives, what is made of it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dispatch_xp
from dispatch_xp.reasons import Reason

loops = pytest.importorskip(
    "dispatch_xp._ufunc_loops",
    reason="the compiled part is missing: no C compiler when the package was installed",
    exc_type=ImportError,
)
D = np.dtype(np.float64).num
X = np.arange(1.0, 21.0)
M = np.arange(1.0, 25.0).reshape(4, 6)
UFUNCS = (np.add, np.multiply, np.maximum, np.minimum)


# what NumPy hands on


@pytest.fixture
def door():
    """Install the loops of add and maximum, limited for reductions only."""
    slots = [loops.install(ufunc, (D, D, D)) for ufunc in (np.add, np.maximum)]
    never = np.full(max(slots) + 1, np.inf)

    def limit(reductions, others=np.inf):
        own, every = never.copy(), never.copy()
        own[slots], every[slots] = reductions, others
        loops.set_limits(every, own)

    limit(0.0)
    yield limit
    loops.set_handler(None)
    for slot in slots:
        loops.uninstall(slot)


@pytest.fixture
def offered(door):
    """The lengths of what was reduced, and the numbers that it is folded into."""
    seen = []

    def look(slot, arrays):
        x, number = arrays
        assert number.shape == ()
        assert number.flags.writeable
        assert not x.flags.writeable
        seen.append((len(x), float(number)))
        return False

    loops.set_handler(look)
    return seen


@pytest.mark.parametrize(
    ("reduce", "of_add", "of_maximum"),
    [
        (lambda u: u.reduce(X), [(20, 0.0)], [(19, 1.0)]),
        (lambda u: u.reduce(X, initial=5.0), [(20, 5.0)], [(20, 5.0)]),
        (lambda u: u.reduce(X, initial=None), [(19, 1.0)], [(19, 1.0)]),
        (lambda u: u.reduce(X[::2]), [(10, 0.0)], [(9, 1.0)]),
        (lambda u: u.reduce(X[::-1]), [(20, 0.0)], [(19, 20.0)]),
        (
            lambda u: u.reduce(X, where=X != 11, initial=1.0),
            [(10, 1.0), (9, 56.0)],
            [(10, 1.0), (9, 10.0)],
        ),
        (lambda u: u.reduce(M, axis=0), [], []),
        (lambda u: u.reduce(M[:2], axis=1), [(6, 0.0)] * 2, [(5, 1.0), (5, 7.0)]),
        (lambda u: u.reduce(M[:2], axis=1, keepdims=True), [(6, 0.0)] * 2, [(5, 1.0), (5, 7.0)]),
        (lambda u: u.reduce(M, axis=None), [(24, 0.0)], [(23, 1.0)]),
        (lambda u: u.reduce(np.asfortranarray(M), axis=None), [(24, 0.0)], [(23, 1.0)]),
        (lambda u: u.reduce(X, out=np.empty(())), [(20, 0.0)], [(19, 1.0)]),
        (lambda u: u.reduceat(X, [0, 10]), [(9, 1.0), (9, 11.0)], [(9, 1.0), (9, 11.0)]),
        (lambda u: u.accumulate(X), [], []),
        (lambda u: u.reduce(X[:1]), [], []),
        (lambda u: u(X, X), [], []),
    ],
)
def test_what_arrives(offered, reduce, of_add, of_maximum):
    want = [reduce(np.add), reduce(np.maximum)]
    offered.clear()
    got = [np.array(reduce(np.add))]
    # a mask's stretches may begin elsewhere in another version, but not say something else
    assert offered == of_add
    offered.clear()
    got.append(np.array(reduce(np.maximum)))
    assert offered == of_maximum
    np.testing.assert_array_equal(got[0], want[0])
    np.testing.assert_array_equal(got[1], want[1])


def test_a_cast_operand_arrives_in_chunks_with_the_result_so_far(offered):
    assert np.add.reduce(np.ones(20_000, "f4"), dtype="f8") == 20_000
    lengths, numbers = zip(*offered, strict=True)
    assert sum(lengths) == 20_000
    assert list(numbers) == [float(sum(lengths[:i])) for i in range(len(lengths))]


def test_the_handler_writes_the_number(door):
    def handle(slot, arrays):
        x, number = arrays
        number[...] = number - len(x)
        return True

    loops.set_handler(handle)
    assert np.add.reduce(X, initial=5.0) == -15
    assert np.add.reduce(M, axis=1).tolist() == [-6.0] * 4


def test_reductions_have_limits_of_their_own(door):
    kinds = []
    loops.set_handler(lambda slot, arrays: kinds.append(len(arrays)))
    for reductions, others, want in ((20, 1e9, [2]), (21, 20, [3]), (20, 20, [3, 2]), (21, 21, [])):
        door(reductions, others)
        kinds.clear()
        np.add(X, X)
        np.add.reduce(X)
        assert kinds == want
    loops.set_limits(np.zeros(1))  # without limits for reductions none is offered
    kinds.clear()
    np.add.reduce(X)
    assert kinds == []


def test_an_answer_for_a_reduction_says_nothing_of_a_sum_of_two(door):
    kinds = []

    def often(slot, arrays):
        kinds.append(len(arrays))
        return 100

    door(0.0, 0.0)
    loops.forget()
    loops.set_handler(often)
    for _ in range(3):
        np.add.reduce(X)
        np.add(X, X)
    # afterwards the two answers may take each other's place
    assert kinds[:2] == [2, 3]


@pytest.mark.parametrize(
    "compute",
    [
        lambda: np.sum(X),
        lambda: X.sum(),
        lambda: np.max(X),
        lambda: X.max(),
        lambda: np.mean(X),
        lambda: np.linalg.norm(M, 1),
    ],
)
def test_functions_with_a_door_of_their_own_are_not_asked_about_twice(offered, compute):
    compute()
    assert offered == []
    np.add.reduce(X)
    assert offered == [(20, 0.0)]


# what the door makes of it

RNG = np.random.default_rng(1)
N = 6000
REDUCTIONS = {
    "plain": lambda u, x: u.reduce(x),
    "initial": lambda u, x: u.reduce(x, initial=x.dtype.type(3)),
    "no initial": lambda u, x: u.reduce(x, initial=None),
    "where": lambda u, x: u.reduce(x, where=np.arange(N) != 3500, initial=x.dtype.type(1)),
    "where, scattered": lambda u, x: u.reduce(
        x, where=np.arange(N) % 3 > 0, initial=x.dtype.type(1)
    ),
    "strided": lambda u, x: u.reduce(x[::2]),
    "reversed": lambda u, x: u.reduce(x[::-1]),
    "rows": lambda u, x: u.reduce(x.reshape(3, -1), axis=1),
    "rows, kept": lambda u, x: u.reduce(x.reshape(3, -1), axis=-1, keepdims=True),
    "columns": lambda u, x: u.reduce(x.reshape(3, -1), axis=0),
    "all axes": lambda u, x: u.reduce(x.reshape(2, 3, -1), axis=None),
    "Fortran rows": lambda u, x: u.reduce(np.asfortranarray(x.reshape(3, -1)), axis=1),
    "Fortran columns": lambda u, x: u.reduce(np.asfortranarray(x.reshape(-1, 3)), axis=0),
    "slices of rows": lambda u, x: u.reduce(x.reshape(3, -1)[:, 10:], axis=None),
    "out": lambda u, x: u.reduce(x, out=np.empty((), x.dtype)),
    "out within": lambda u, x: (lambda y: u.reduce(y, out=y[7:8].reshape(())))(x.copy()),
    "cast": lambda u, x: u.reduce(x, dtype=np.result_type(x.dtype, "f8")),
    "byte-swapped": lambda u, x: u.reduce(x.astype(x.dtype.newbyteorder())),
    "parts": lambda u, x: u.reduceat(x, [0, 2500, 5990]),
    "accumulated": lambda u, x: u.accumulate(x),
}
ROW_BY_ROW = {"columns"}
NOT_ONE_LOOP = {"columns", "Fortran rows", "where, scattered", "accumulated"}


def numbers(char):
    x = RNG.uniform(0.9, 1.1, N)
    return (x + 0.01j * RNG.standard_normal(N) if char in "FD" else x).astype(char)


@pytest.mark.parametrize("backend", ["threads", "torch"])
@pytest.mark.parametrize("char", "fdFD")
@pytest.mark.parametrize("case", REDUCTIONS)
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_the_references_answer(started, ufunc, case, char, backend):
    started(backend)
    x, reduce = numbers(char), REDUCTIONS[case]
    before = x.tobytes()
    want = reduce(ufunc, x)
    with dispatch_xp.backend(backend, fallback="raise"), dispatch_xp.record() as record:
        got = reduce(ufunc, x)
    assert x.tobytes() == before
    assert type(got) is type(want)
    assert (np.shape(got), got.dtype) == (np.shape(want), want.dtype)
    eps = np.finfo(want.dtype if case != "cast" else "f8").eps
    np.testing.assert_allclose(got, want, rtol=N * eps)
    mine = [r for r in record.records if r.function == f"numpy.{ufunc.__name__}.reduce"]
    rows = [r for r in record.records if r.function == f"numpy.{ufunc.__name__}"]
    # a row that is added to the result is an update in place, of whoever's
    takes = char in "fd" or ufunc in (np.add, np.multiply)
    assert {r.shapes for r in rows} == ({((2000,),) * 2} if case in ROW_BY_ROW and takes else set())
    if ufunc is np.multiply:
        # the order of a product decides what overflows on the way: refused as np.prod's is
        assert {r.backend for r in mine} <= {"reference"}
    elif case in NOT_ONE_LOOP or (char in "FD" and ufunc is not np.add):
        assert mine == []
    else:
        assert mine
        assert {r.backend for r in mine} == {backend}


def observed(compute):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = compute()
    return value, [(w.category, str(w.message), w.filename, w.lineno) for w in caught]


HUGE = np.full(N, 1e305)
WITH_NAN, WITH_INF, BOTH = (np.ones(N) for _ in range(3))
WITH_NAN[N // 2], WITH_INF[N // 3], BOTH[:2] = np.nan, np.inf, (np.inf, -np.inf)


@pytest.mark.parametrize("backend", ["threads", "torch"])
@pytest.mark.parametrize("initial", [1.0, np.nan, np.inf, -np.inf, 1.7e308])
@pytest.mark.parametrize("x", [np.ones(N), HUGE, -HUGE, HUGE / 7000, WITH_NAN, WITH_INF, BOTH])
@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.minimum], ids=lambda u: u.__name__)
def test_infinities_nan_and_their_warnings(started, ufunc, x, initial, backend):
    started(backend)

    def compute():
        return ufunc.reduce(x, initial=initial)

    want, want_warnings = observed(compute)
    with dispatch_xp.backend(backend, fallback="raise"):
        got, got_warnings = observed(compute)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert got_warnings == want_warnings


def test_only_the_fold_overflows(started):
    started("torch")
    x = np.full(N, 1e308 / N)
    with dispatch_xp.backend("torch"), dispatch_xp.record() as record:
        got, caught = observed(lambda: np.add.reduce(x, initial=1e308))
    assert got == np.inf
    assert [text for _, text, *_ in caught] == ["overflow encountered in reduce"]
    ((reason, detail),) = [(r.reason, r.detail) for r in record.records]
    assert reason is Reason.NON_FINITE_RESULT
    assert "tried first" in detail


def test_errors_that_the_user_asked_for(started):
    started("torch")
    overflows = pytest.raises(FloatingPointError, match="overflow encountered in reduce")
    with dispatch_xp.backend("torch"), np.errstate(over="raise"), overflows:
        np.add.reduce(HUGE)


def test_short_rows_are_not_handed_on_one_by_one(started):
    started("torch")
    with dispatch_xp.backend("torch"), dispatch_xp.record() as record:
        np.add.reduce(np.ones((50, 1000)), axis=1)
        np.add.reduce(np.ones((2, 2000)), axis=1)
    assert [r.shapes for r in record.records] == [((2000,),)] * 2


def test_verify_compares_and_returns_the_reference(started):
    started("torch")
    x = numbers("d")
    want = np.add.reduce(x, initial=2.0)
    with dispatch_xp.backend("torch", verify=True), dispatch_xp.record() as record:
        got = np.add.reduce(x, initial=2.0)
    assert got == want
    assert [(name, c.matches) for name, c in record.comparisons] == [("sum", True)]


def test_a_record_without_a_backend_has_the_time():
    with dispatch_xp.record() as record:
        np.add.reduce(np.ones(N))
        np.maximum.reduce(np.ones(N))
    assert [(r.function, r.operation, r.backend) for r in record.records] == [
        ("numpy.add.reduce", "sum", "reference"),
        ("numpy.maximum.reduce", "max", "reference"),
    ]
    assert all(r.seconds > 0 for r in record.records)
