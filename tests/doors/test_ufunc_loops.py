"""The exchanged loops, by themselves: limits, the way back, memory, errors, threads."""

from __future__ import annotations

import signal
import sys
import threading
import warnings

import numpy as np
import pytest
from numpy import exp as early_exp

loops = pytest.importorskip(
    "dispatch_xp._ufunc_loops",
    reason="the compiled part is missing: no C compiler when the package was installed",
    exc_type=ImportError,
)
D = np.dtype(np.float64).num
X = np.linspace(0.1, 2, 1000)


def declined(slot, arrays):
    return False


def sevens(slot, arrays):
    arrays[-1][...] = 7
    return True


def test_a_handler_that_declines_changes_nothing(door):
    want = np.exp(X)
    slot = door(np.exp)
    loops.set_handler(declined)
    offered, handled = loops.counters(slot)
    assert np.exp(X).tobytes() == want.tobytes()
    assert loops.counters(slot) == (offered + 1, handled)


def test_a_handler_writes_the_output(door):
    slot = door(np.exp)
    loops.set_handler(sevens)
    _, handled = loops.counters(slot)
    assert (np.exp(X) == 7).all()
    assert (early_exp(X) == 7).all()
    out = np.zeros(1000)
    assert np.exp(X, out=out) is out
    assert (out == 7).all()
    assert loops.counters(slot)[1] == handled + 3


def test_an_answer_may_stand_for_loops_of_the_same_length(door):
    asked = []

    def thrice(slot, arrays):
        asked.append(len(arrays[0]))
        return 3

    door(np.exp)
    loops.forget()
    loops.set_handler(thrice)
    for _ in range(8):
        np.exp(X)
    assert asked == [1000, 1000]
    np.exp(X[:999])
    assert asked == [1000, 1000, 999]
    loops.forget()
    np.exp(X)
    assert asked == [1000, 1000, 999, 1000]


@pytest.mark.parametrize("answer", [0, -1, -(10**30), 10**30, None, "yes"])
def test_no_other_answer_says_that_the_output_is_written(door, monkeypatch, answer):
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    want = np.exp(X)
    door(np.exp)
    loops.set_handler(lambda slot, arrays: answer)
    assert np.exp(X).tobytes() == want.tobytes()


def test_an_answer_for_one_loop_says_nothing_of_another(door):
    slots = []

    def often(slot, arrays):
        slots.append(slot)
        return 100

    first, second = door(np.exp), door(np.sin)
    loops.forget()
    loops.set_handler(often)
    for _ in range(3):
        np.exp(X)
        np.sin(X)
    assert slots == [first, second]


def test_a_reduction_or_an_output_on_top_of_an_input_is_not_offered(door):
    slot = door(np.add, (D, D, D))
    loops.set_handler(sevens)
    before = loops.counters(slot)
    total = np.add.reduce(X)
    y = X.copy()
    np.add(y, 1.0, out=y)
    assert loops.counters(slot) == before
    assert np.isclose(total, sum(X.tolist()))
    assert y.tolist() == [value + 1.0 for value in X.tolist()]


def test_below_the_limit_nobody_is_asked(door):
    slot = door(np.exp, limit=1000.0)
    loops.set_handler(sevens)
    before = loops.counters(slot)
    np.exp(X[:999])
    assert loops.counters(slot) == before
    np.exp(X)
    assert loops.counters(slot) != before


def test_without_a_limit_or_a_handler_nobody_is_asked(door):
    slot = door(np.exp, limit=np.inf)
    loops.set_handler(sevens)
    before = loops.counters(slot)
    np.exp(X)
    door(np.exp)
    loops.set_handler(None)
    np.exp(X)
    assert loops.counters(slot) == before


def test_uninstall_puts_the_loop_back_and_install_takes_the_same_slot(door):
    slot = door(np.exp)
    loops.set_handler(sevens)
    assert loops.uninstall(slot) is True
    before = loops.counters(slot)
    assert not (np.exp(X) == 7).any()
    assert loops.counters(slot) == before
    assert loops.uninstall(slot) is False
    assert door(np.exp) == slot
    assert (np.exp(X) == 7).all()


def test_installing_twice_is_installing_once(door):
    assert door(np.exp) == door(np.exp)
    loops.set_handler(declined)
    np.testing.assert_array_equal(np.exp(X), early_exp(X))


def test_what_is_no_loop_is_refused():
    with pytest.raises(TypeError, match="not a ufunc"):
        loops.install(len, (D, D))
    with pytest.raises(LookupError, match="no loop"):
        loops.install(np.exp, (D, np.dtype(np.int8).num))
    with pytest.raises(LookupError):
        loops.install(np.exp, (D,))
    with pytest.raises(TypeError, match="not callable"):
        loops.set_handler(3)
    with pytest.raises(IndexError, match="no slot"):
        loops.uninstall(10**6)
    with pytest.raises(ValueError, match="limits"):
        loops.set_limits(np.zeros(10**4))


def test_what_a_handler_cannot_undo_is_not_offered(door):
    x = X.copy()
    want = X + X
    slot = door(np.add, (D, D, D))
    loops.set_handler(sevens)
    before = loops.counters(slot)
    x += x  # in place
    assert x.tobytes() == want.tobytes()
    y = X.copy()
    np.add(y[:-1], y[1:], out=y[:-1])  # NumPy copies an overlap that matters, or not
    assert np.add.reduce(X) == pytest.approx(X.sum())
    assert np.add.accumulate(X)[-1] == pytest.approx(X.sum())
    assert loops.counters(slot)[1] <= before[1] + 1
    assert not (y[:-1] == X[:-1]).any()


def test_the_arrays_are_the_loops_operands(door):
    seen = []

    def look(slot, arrays):
        seen.append([(a.shape, a.strides, a.flags.writeable, a.copy()) for a in arrays])
        return False

    door(np.multiply, (D, D, D))
    loops.set_handler(look)
    np.multiply(X, 3.0)
    (first, second, out), *_ = seen
    assert first[:3] == ((1000,), (8,), False)
    assert second[:3] == ((1000,), (0,), False)
    assert out[:3] == ((1000,), (8,), True)
    assert first[3].tobytes() == X.tobytes()
    assert set(second[3]) == {3.0}
    seen.clear()
    np.multiply(X[::-2], X[::-2])
    assert seen[0][0][3].tobytes() == X[::-2].tobytes() or seen[0][0][1] == (16,)


@pytest.mark.parametrize(
    ("a", "b"),
    [((30, 20), (20, 10)), ((4, 30, 20), (20, 10)), ((20,), (20, 10)), ((30, 20), (20,))],
)
def test_a_matrix_product_is_offered_with_its_core_dimensions(door, a, b):
    a, b = np.ones(a), np.full(b, 2.0)
    want = a @ b
    shapes = []

    def multiply(slot, arrays):
        shapes.append([x.shape for x in arrays])
        arrays[2][...] = np.einsum("nij,njk->nik", arrays[0], arrays[1])
        return True

    door(np.matmul, (D, D, D))
    loops.set_handler(multiply)
    got = a @ b
    np.testing.assert_array_equal(got, want)
    assert all(len(shape) == 3 for shape in shapes[0])


def test_a_singular_matrix_still_raises(door):
    from numpy.linalg import _umath_linalg

    door(_umath_linalg.solve, (D, D, D))
    loops.set_handler(declined)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        np.linalg.solve(np.ones((3, 3)), np.ones((3, 2)))


def test_zero_size(door):
    door(np.exp)
    loops.set_handler(sevens)
    assert np.exp(np.empty(0)).shape == (0,)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_of_the_handler_is_reported_and_the_loop_runs(door, monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda u: reported.append(u.exc_type))

    def fails(slot, arrays):
        arrays[-1][:500] = -1
        raise ValueError("no")

    want = np.exp(X)
    door(np.exp)
    loops.set_handler(fails)
    assert np.exp(X).tobytes() == want.tobytes()
    assert reported == [ValueError]


def test_an_interrupt_reaches_the_user(door):
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        pytest.skip("somebody else handles SIGINT")

    def interrupted(slot, arrays):
        raise KeyboardInterrupt

    want, out = np.exp(X), np.zeros(1000)
    door(np.exp)
    loops.set_handler(interrupted)

    def compute():
        np.exp(X, out=out)
        # a loop can't raise: the interrupt comes with the instructions after it
        return sum(range(1000)) + len([None for _ in range(1000)])

    with pytest.raises(KeyboardInterrupt):
        compute()
    loops.set_handler(None)
    assert out.tobytes() == want.tobytes()


class _TimeIsUp(BaseException):
    """What a signal handler may raise at any moment, here within a loop's handler."""


def test_what_is_no_exception_comes_back_as_itself(door):
    error = _TimeIsUp("after 60 s")

    def interrupted(slot, arrays):
        raise error

    want, out = np.exp(X), np.zeros(1000)
    door(np.exp)
    loops.set_handler(interrupted)

    def compute():
        np.exp(X, out=out)
        return sum(range(1000)) + len([None for _ in range(1000)])

    with pytest.raises(_TimeIsUp) as caught:
        compute()
    loops.set_handler(None)
    assert caught.value is error
    assert out.tobytes() == want.tobytes()
    # no frame that holds the loop's memory is kept
    assert all(entry.name != "interrupted" for entry in caught.traceback)


def test_what_is_no_exception_comes_back_in_its_own_thread(door):
    caught = []

    def interrupted(slot, arrays):
        raise _TimeIsUp

    def compute():
        try:
            np.exp(X)
            sum([i for i in range(1000)])  # noqa: C416
        except BaseException as error:
            caught.append(type(error))

    door(np.exp)
    loops.set_handler(interrupted)
    thread = threading.Thread(target=compute)
    thread.start()
    thread.join()
    loops.set_handler(None)
    assert caught == [_TimeIsUp]


@pytest.mark.filterwarnings("error")
def test_the_handlers_floating_point_flags_are_its_own(door):
    def noisy(slot, arrays):
        with np.errstate(all="ignore"):
            np.log(np.array([-1.0, 0.0]))
        arrays[-1][...] = 7
        return True

    door(np.exp)
    loops.set_handler(noisy)
    assert (np.exp(X) == 7).all()


def test_the_loops_own_flags_are_seen(door):
    door(np.log)
    loops.set_handler(declined)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.log(np.array([-1.0] * 10))
    assert [str(w.message) for w in caught] == ["invalid value encountered in log"]


def test_a_loop_inside_a_handler_is_not_offered(door):
    depth = []

    def inner(slot, arrays):
        depth.append(len(depth))
        arrays[-1][...] = np.exp(arrays[0])
        return True

    want = np.exp(X)
    door(np.exp)
    loops.set_handler(inner)
    assert np.exp(X).tobytes() == want.tobytes()
    assert depth == [0]


def test_an_array_that_was_kept_is_reported(door, monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda u: reported.append(str(u.exc_value)))
    kept = []

    def keeps(slot, arrays):
        kept.append(arrays[0])
        return False

    door(np.exp)
    loops.set_handler(keeps)
    np.exp(X)
    kept.clear()
    assert ["kept an array" in text for text in reported] == [True]


def test_threads_may_compute_while_doors_come_and_go():
    want = np.exp(X).tobytes()
    stop = threading.Event()
    wrong = []

    def compute():
        while not stop.is_set():
            if np.exp(X).tobytes() != want:
                wrong.append(1)

    threads = [threading.Thread(target=compute) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(200):
            slot = loops.install(np.exp, (D, D))
            loops.set_handler(declined)
            loops.set_limits(np.zeros(slot + 1))
            loops.uninstall(slot)
            loops.set_handler(None)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong
