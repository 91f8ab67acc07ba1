"""Values stay where they are used: counted on a device with memory of its own."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

import dispatch_xp as xp
from dispatch_xp.array.routed import LIMITS
from dispatch_xp.errors import BackendError
from dispatch_xp.residency import LEDGER

DEVICE = "sycl:0"
A = np.random.default_rng(0).standard_normal((40, 40))
B = np.random.default_rng(1).standard_normal((40, 40))


@pytest.fixture
def copies(dpnp, monkeypatch):
    """The shapes that were copied, each with its direction."""
    moved = []
    copy_in, copy_out = dpnp.copy_in, dpnp.copy_out

    def counted_in(array, dtype):
        moved.append(("in", array.shape))
        return copy_in(array, dtype)

    def counted_out(value):
        moved.append(("out", tuple(value.shape)))
        return copy_out(value)

    monkeypatch.setattr(dpnp, "copy_in", counted_in)
    monkeypatch.setattr(dpnp, "copy_out", counted_out)
    return moved


@contextmanager
def on_dpnp(**settings):
    with xp.backend("dpnp", fallback="raise", **settings):
        yield


def chain(x, y, namespace):
    z = namespace.matmul(x, y)
    z = z + x
    z = z * y
    z = namespace.exp(-namespace.abs(z))
    z = z - y
    z = namespace.sqrt(namespace.abs(z))
    z = namespace.matmul(z, x)
    z = namespace.tanh(z)
    return namespace.linalg.solve(x, z)


def test_a_chain_moves_each_input_in_once_and_the_result_out_once(copies):
    x, y = xp.asarray(A), xp.asarray(B)
    with on_dpnp():
        z = chain(x, y, xp)
    assert copies == [("in", A.shape)] * 2
    assert z.residency == (DEVICE,)
    assert x.residency == ("cpu", DEVICE)
    np.testing.assert_allclose(np.asarray(z), chain(A, B, np), rtol=1e-8)
    assert np.asarray(z) is not None
    assert copies == [("in", A.shape)] * 2 + [("out", A.shape)]


def test_functions_of_numpy_keep_values_there_too(copies):
    x = xp.asarray(A)
    with on_dpnp():
        u, s, vt = np.linalg.svd(np.matmul(x, x))
        again = np.exp(np.sum(np.abs(u), axis=0))
    assert copies == [("in", A.shape)]
    assert {v.residency for v in (u, s, vt, again)} == {(DEVICE,)}
    np.testing.assert_allclose(np.asarray(s), np.linalg.svd(A @ A)[1])


def test_single_precision_is_rounded_there(copies):
    x = xp.asarray(A.astype("f4"))
    with on_dpnp():
        y = xp.linalg.inv(x)
    assert y.dtype == np.float32
    assert y.residency == (DEVICE,)
    np.testing.assert_allclose(np.asarray(y), np.linalg.inv(A.astype("f4")), rtol=1e-3)


def test_attributes_and_pins_need_no_copy(copies):
    with on_dpnp():
        y = xp.asarray(A) + 1.0
    assert (y.shape, y.dtype, y.ndim, y.size, len(y)) == (A.shape, A.dtype, 2, A.size, 40)
    assert copy.copy(y).residency == y.to_device("auto").residency == (DEVICE,)
    assert [c for c in copies if c[0] == "out"] == []


@pytest.mark.parametrize(
    "look",
    [
        np.asarray,
        repr,
        lambda y: y[0, 0],
        lambda y: list(y),
        lambda y: y[:3],
        lambda y: xp.concat([y, y]),
        lambda y: float(xp.sum(y)),
        lambda y: np.from_dlpack(y),
        lambda y: pickle.loads(pickle.dumps(y)),
        lambda y: y[0, 0] + 1,
    ],
)
def test_looking_copies_back_once(copies, look):
    with on_dpnp():
        y = xp.asarray(A) * 2.0
    for _ in range(3):
        look(y)
    assert [c for c in copies if c[0] == "out"] == [("out", A.shape)]
    np.testing.assert_array_equal(np.asarray(y), A * 2.0)


def test_a_write_makes_the_hosts_values_the_only_ones(copies):
    x = xp.asarray(A, copy=True)
    with on_dpnp():
        first = x + x
        x[0, 0] = 7.0
        assert x.residency == ("cpu",)
        second = x + x
        x += 1.0
        third = x + x
    changed = A.copy()
    changed[0, 0] = 7.0
    np.testing.assert_array_equal(np.asarray(first), A + A)
    np.testing.assert_array_equal(np.asarray(second), changed + changed)
    np.testing.assert_array_equal(np.asarray(third), (changed + 1.0) * 2)


WRITES = {
    "setitem": lambda y: y.__setitem__((0, 0), 9.0),
    "ufunc out": lambda y: np.negative(y, out=y),
    "at": lambda y: np.add.at(y, 0, 1.0),
    "put": lambda y: np.put(y, 0, 9.0),
    "copyto": lambda y: np.copyto(y, 3.0),
    "function out": lambda y: np.cumsum(y, axis=0, out=y),
    "lent": lambda y: np.asarray(y, copy=False).__setitem__((0, 0), 9.0),
    "buffer": lambda y: np.from_dlpack(y, copy=False).__setitem__((0, 0), 9.0),
}


@pytest.mark.parametrize("how", WRITES)
@pytest.mark.parametrize("twin", ["to_device", "copy", "view", "none"])
def test_every_way_of_writing_is_seen_by_one_array(how, twin, dpnp):
    want = A * 2.0
    with on_dpnp():
        y = xp.asarray(A) * 2.0
        other = {
            "to_device": lambda: y.to_device("auto"),
            "copy": lambda: copy.copy(y),
            "view": lambda: y[:, :],
            "none": lambda: xp.asarray(A) * 2.0,
        }[twin]()
        WRITES[how](y)
        changed = want.copy()
        WRITES[how](changed)
        np.testing.assert_allclose(np.asarray(y + y), changed + changed)
        np.testing.assert_array_equal(np.asarray(other + other), want + want)


def test_what_an_ndarray_becomes_later_does_not_reach_the_device(dpnp):
    a = A.copy()
    x = xp.asarray(a)
    with on_dpnp():
        y = x + x
        a[...] = 0.0
        z = x + x
    np.testing.assert_array_equal(np.asarray(y), A + A)
    np.testing.assert_array_equal(np.asarray(z), A + A)
    np.testing.assert_array_equal(np.asarray(x), A)


def test_memory_is_bounded_least_recently_used_first(copies, dpnp):
    nbytes = A.nbytes
    with on_dpnp(limits={"device_memory": f"{12 * nbytes} B"}):
        arrays = [xp.asarray(A) + float(i) for i in range(30)]
        assert LEDGER.used("dpnp") <= 12 * nbytes
        assert arrays[0].residency == ("cpu",)
        assert arrays[-1].residency == (DEVICE,)
    for i, x in enumerate(arrays):
        np.testing.assert_array_equal(np.asarray(x), A + float(i))


def test_pinned_arrays_are_given_back_too_and_stay_pinned(dpnp):
    with on_dpnp(limits={"device_memory": f"{5 * A.nbytes} B"}):
        arrays = [xp.asarray(A + i, device=DEVICE) for i in range(8)]
        assert LEDGER.used("dpnp") <= 5 * A.nbytes
    assert arrays[0].residency == ("cpu",)
    assert {x.device for x in arrays} == {DEVICE}
    for i, x in enumerate(arrays):
        np.testing.assert_array_equal(np.asarray(x), A + i)


def test_what_does_not_fit_stays_on_the_host(dpnp):
    with (
        xp.backend("dpnp", limits={"device_memory": f"{A.nbytes} B"}),
        xp.record() as rec,
    ):
        y = xp.asarray(A) + 1.0
    assert y.residency == ("cpu",)
    assert "MB may be used" in rec.records[-1].detail


def test_memory_is_given_back_when_arrays_die(dpnp):
    with on_dpnp():
        y = xp.asarray(A) + xp.asarray(B)
    assert LEDGER.used("dpnp") == A.nbytes
    twin = copy.copy(y)
    del y
    assert LEDGER.used("dpnp") == A.nbytes
    del twin
    assert LEDGER.used("dpnp") == 0


def test_running_out_of_memory_gives_back_and_tries_again(dpnp, monkeypatch):
    run, failures = dpnp.run, [MemoryError("full")]

    def full(call, arrays):
        if failures:
            raise failures.pop()
        return run(call, arrays)

    with on_dpnp():
        kept = xp.asarray(A) * 3.0
        monkeypatch.setattr(dpnp, "run", full)
        y = xp.asarray(B) + 1.0
    assert kept.residency == ("cpu",)
    assert y.residency == (DEVICE,)
    np.testing.assert_array_equal(np.asarray(kept), A * 3.0)
    np.testing.assert_array_equal(np.asarray(y), B + 1.0)


def test_a_device_that_cannot_give_values_says_so_and_keeps_them(dpnp, monkeypatch):
    with on_dpnp():
        y = xp.asarray(A) * 3.0

    def broken(value):
        raise OSError("unplugged")

    with monkeypatch.context() as patch:
        patch.setattr(dpnp, "copy_out", broken)
        with pytest.raises(BackendError, match=r"values on dpnp.*OSError: unplugged"):
            np.asarray(y)
        # nor are they given back under pressure
        LEDGER.give_back("dpnp", 1 << 40)
    assert y.residency == (DEVICE,)
    np.testing.assert_array_equal(np.asarray(y), A * 3.0)


def test_a_failing_device_leaves_the_call_to_numpy(dpnp, monkeypatch):
    with xp.backend("dpnp"):
        y = xp.asarray(A) * 3.0

        def broken(call, arrays):
            raise OSError("unplugged")

        monkeypatch.setattr(dpnp, "run", broken)
        z = y + 1.0
    assert z.residency == ("cpu",)
    np.testing.assert_array_equal(np.asarray(z), A * 3.0 + 1.0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_the_values(dpnp):
    with on_dpnp():
        y = xp.asarray(A) * 3.0
    child = os.fork()
    if child == 0:
        same = False
        try:
            with xp.backend("dpnp"):
                same = np.array_equal(np.asarray(y + y), A * 6.0) and y.residency == ("cpu",)
        finally:
            os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert y.residency == ("cpu", DEVICE)


def test_devices_are_left_before_their_libraries_go(dpnp):
    code = (
        "import atexit, numpy as np, dispatch_xp as xp\n"
        "atexit.register(lambda: print(np.asarray(y)[0]))\n"
        "with xp.backend('dpnp'): y = xp.asarray(np.ones(9)) + 1.0\n"
        "assert y.residency == ('sycl:0',)\n"
        "atexit.register(lambda: print('first'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("first\n2.0\n", "")


def test_verify_compares_on_the_host(dpnp):
    with on_dpnp(verify=True), xp.record() as rec:
        y = xp.asarray(A) + 1.0
    assert y.residency == ("cpu",)
    assert len(rec.comparisons) == 1


def test_warnings_of_infinities_are_numpys(dpnp):
    with xp.backend("dpnp"), pytest.warns(RuntimeWarning, match="divide by zero"):
        y = xp.asarray(A) / xp.asarray(A * 0.0)
    assert y.residency == ("cpu",)


# pins


def test_a_pinned_array_is_moved_by_no_policy(copies):
    x = xp.asarray(A, device=DEVICE)
    with xp.backend("reference"), xp.record() as rec:
        y = xp.linalg.solve(x, x @ x)
    assert {r.backend for r in rec.records} == {"dpnp"}
    assert y.device == DEVICE
    assert copies == [("in", A.shape)]
    np.testing.assert_allclose(np.asarray(y), A, rtol=1e-7)


def test_a_pin_asks_for_no_profile(dpnp, monkeypatch, recwarn):
    monkeypatch.setenv("DISPATCH_XP_BACKEND", "auto")
    LIMITS.forget()
    x = xp.asarray(A, device=DEVICE)
    np.testing.assert_array_equal(np.asarray(x + x), A + A)
    assert not recwarn.list


def test_creation_pins(dpnp):
    for make in (
        lambda: xp.ones((3, 4), device=DEVICE),
        lambda: xp.arange(5, device=DEVICE),
        lambda: xp.zeros_like(xp.ones(3), device=DEVICE),
        lambda: xp.astype(xp.ones(3), xp.float32, device=DEVICE),
        lambda: xp.asarray(xp.ones(3), device=DEVICE),
        lambda: xp.ones(3).to_device("sycl"),
    ):
        x = make()
        assert x.device == DEVICE
        assert DEVICE in x.residency
    assert xp.ones(3, device=DEVICE).to_device("cpu").residency == ("cpu",)
    assert DEVICE in xp.__array_namespace_info__().devices()


def test_different_pins_do_not_mix(dpnp):
    x, y = xp.asarray(A, device=DEVICE), xp.asarray(A, device="cpu")
    both = r"pinned to '(cpu|sycl:0)' and to '(cpu|sycl:0)'"
    for mixed in (
        lambda: x + y,
        lambda: xp.add(x, y),
        lambda: np.add(x, y),
        lambda: np.matmul(x, y),
        lambda: xp.linalg.solve(x, y),
        lambda: xp.concat([x, y]),
        lambda: x.__iadd__(y),
        lambda: x.__setitem__(0, y[0]),
    ):
        with pytest.raises(ValueError, match=both):
            mixed()
    np.testing.assert_array_equal(np.asarray(x + xp.asarray(A)), A + A)


def test_what_a_device_does_not_take_runs_on_the_host_and_stays_pinned(dpnp):
    x = xp.asarray(A, device=DEVICE)
    assert xp.sort(x.mT).device == DEVICE
    assert xp.concat([x, x]).device == DEVICE
    assert xp.linalg.det(x).device == DEVICE
    np.testing.assert_allclose(np.asarray(xp.linalg.det(x)), np.linalg.det(A))


def test_no_such_device():
    with pytest.raises(ValueError, match=r"there is no device 'cuda:7'; the devices here are"):
        xp.ones(3, device="cuda:7")
    with pytest.raises(ValueError, match="no device 'tpu:0'"):
        xp.ones(3).to_device("tpu")
    with pytest.raises(ValueError, match="named by a string"):
        xp.ones(3, device=3)


def test_a_pickle_with_a_pin_keeps_it(dpnp):
    x = pickle.loads(pickle.dumps(xp.asarray(A, device=DEVICE)))
    assert x.device == DEVICE
    np.testing.assert_array_equal(np.asarray(x + x), A + A)


# other libraries' arrays


def test_an_array_on_the_device_stays_there(copies, dpnp):
    a = dpnp.xp.asarray(A)
    for x in (xp.asarray(a), xp.from_dlpack(a), xp.asarray(a, copy=True)):
        assert x.residency == (DEVICE,)
        with on_dpnp():
            y = x + x
        assert copies == []
        np.testing.assert_array_equal(np.asarray(y), A + A)
        copies.clear()
    y = xp.asarray(a, dtype=xp.float32, device=DEVICE)
    assert (y.dtype, y.device) == (np.float32, DEVICE)
    with pytest.raises(ValueError, match="float64 can't become float32 without a copy"):
        xp.asarray(a, dtype=xp.float32, copy=False)


def test_a_pinned_array_is_exported_where_it_is(copies, dpnp):
    x = xp.asarray(A, device=DEVICE)
    copies.clear()
    twin = dpnp.xp.from_dlpack(x)
    twin[...] = 0.0
    assert copies == []
    np.testing.assert_array_equal(np.asarray(x), A)
    np.testing.assert_array_equal(np.from_dlpack(x, device="cpu"), A)
    with pytest.raises(BufferError, match="does not lend"):
        x.__dlpack__(copy=False)


# another shape or order

SHAPED = {
    "mT": lambda y, m: y.mT,
    "T": lambda y, m: y.T,
    "reshape": lambda y, m: m.reshape(y, (-1, 80)),
    "reshape copy": lambda y, m: m.reshape(y, (20, 2, 40), copy=True),
    "expand_dims": lambda y, m: m.expand_dims(y, axis=1),
    "squeeze": lambda y, m: m.squeeze(m.expand_dims(y, axis=0), axis=0),
    "permute_dims": lambda y, m: m.permute_dims(m.expand_dims(y, axis=0), (2, 0, 1)),
    "slice": lambda y, m: y[1:, :-1],
    "backwards": lambda y, m: y[::-1],
    "astype": lambda y, m: m.astype(y, m.float32),
    "new axis": lambda y, m: y[..., None, :],
}


@pytest.mark.parametrize("how", SHAPED)
def test_another_shape_or_order_is_taken_there(copies, how):
    change = SHAPED[how]
    with on_dpnp():
        y = xp.asarray(A) * 2.0
        z = change(y, xp) + 1.0
    assert copies == [("in", A.shape), ("in", ()), ("in", ())]
    want = change(A * 2.0, np) + 1.0
    assert (z.shape, z.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(np.asarray(z), want)
    y[...] = 0.0
    np.testing.assert_array_equal(np.asarray(z), want)


def test_what_is_wrong_is_said_by_numpy(dpnp):
    with on_dpnp():
        y = xp.asarray(A) * 2.0
    for wrong in (lambda: xp.reshape(y, (7, 7)), lambda: y[50], lambda: xp.permute_dims(y, (0, 0))):
        with pytest.raises((ValueError, IndexError)):
            wrong()


def test_numbers_that_do_not_fit_are_converted_on_the_host(dpnp):
    with on_dpnp():
        y = xp.asarray(A) * 1e300
        with pytest.warns(RuntimeWarning, match="overflow encountered in cast"):
            z = xp.astype(y, xp.float32)
    assert z.residency == ("cpu",)


def test_a_chain_that_broadcasts_stays(copies):
    x = xp.asarray(A)
    with on_dpnp():
        y = (x - xp.mean(x, axis=0)) / xp.std(x, axis=0, keepdims=True)
    assert copies == [("in", A.shape)]
    np.testing.assert_allclose(np.asarray(y), (A - A.mean(0)) / A.std(0), rtol=1e-12)
