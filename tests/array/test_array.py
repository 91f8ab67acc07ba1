"""The array object: construction, memory, devices, conversion, errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import dispatch_xp as xp
from dispatch_xp.chapters import CHAPTERS

# --- the namespace


def test_the_table_of_names_is_what_the_chapters_hold():
    from importlib import import_module

    for chapter, names in CHAPTERS.items():
        module = import_module(f"dispatch_xp.namespace.{chapter}")
        assert sorted(module.__all__) == sorted(names.split())


def test_every_function_has_the_standards_signature_and_a_text():
    for names in CHAPTERS.values():
        for name in names.split():
            value = getattr(xp, name)
            if callable(value) and not isinstance(value, type):
                assert value.__doc__, name
                assert "args" not in value.__annotations__


def test_dtypes_of_namespace_and_arrays_are_equal():
    info = xp.__array_namespace_info__()
    for name, dtype in info.dtypes().items():
        assert xp.zeros(2, dtype=dtype).dtype == getattr(xp, name)


def test_numbers_of_python_adapt():
    for dtype in (xp.float32, xp.complex64, xp.int8, xp.uint64):
        x = xp.ones(3, dtype=dtype)
        assert (x + 1).dtype == dtype
        assert (2 * x).dtype == dtype
    assert (xp.ones(3, dtype=xp.float32) * 2.5).dtype == xp.float32


def test_a_number_that_does_not_fit_is_an_error(routing):
    with pytest.raises(OverflowError):
        xp.ones(3, dtype=xp.uint8) + 300


# --- memory


def test_asarray_shares_until_the_array_is_written():
    values = np.arange(3.0)
    x = xp.asarray(values)
    assert np.shares_memory(np.asarray(x), values)
    x[0] = 9
    assert values[0] == 0
    assert float(x[0]) == 9


def test_asarray_of_an_array_is_the_array():
    x = xp.ones(3)
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=True) is not x
    with pytest.raises(ValueError, match="without a copy"):
        xp.asarray(x, dtype=xp.float32, copy=False)
    with pytest.raises(ValueError, match="without a copy"):
        xp.asarray([1.0], copy=False)


def test_a_part_and_the_whole_do_not_see_each_other():
    x = xp.arange(4)
    part, back = x[1:], xp.flip(x)
    part[0] = 9
    x[3] = 7
    x += 1
    assert_array_equal(np.asarray(x), [1, 2, 3, 8])
    assert_array_equal(np.asarray(part), [9, 2, 3])
    assert_array_equal(np.asarray(back), [3, 2, 1, 0])


def test_a_read_only_ndarray_can_be_written_as_an_array():
    values = np.arange(3.0)
    values.setflags(write=False)
    x = xp.asarray(values)
    x[0] = 5
    assert (float(x[0]), values[0]) == (5, 0)


def test_broadcast_rows_are_written_one_by_one():
    x = xp.broadcast_to(xp.arange(3), (2, 3))
    x[0, 0] = 9
    assert_array_equal(np.asarray(x), [[9, 1, 2], [0, 1, 2]])


def test_a_failed_write_changes_nothing():
    x = xp.arange(3)
    with pytest.raises(ValueError):
        x[...] = xp.arange(2)
    with pytest.raises(TypeError, match="float64"):
        x /= 2
    with pytest.raises(ValueError, match="shape"):
        x += xp.ones((2, 3), dtype=xp.int64)
    assert_array_equal(np.asarray(x), [0, 1, 2])


# --- devices


def test_a_pinned_array_stays_where_it_is(monkeypatch):
    x = xp.ones(3).to_device("cpu")
    assert x.device == "cpu"
    assert (x + 1).device == "cpu"
    assert (xp.ones(3) + x).device == "cpu"
    assert xp.sum(x).device == "cpu"
    assert xp.reshape(x, (3, 1)).device == "cpu"
    assert xp.zeros_like(x).device == "cpu"
    assert x.to_device("auto").device == "auto"


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + x,
        lambda x: xp.exp(x),
        lambda x: xp.sum(x),
        lambda x: xp.diff(x),
        lambda x: xp.linalg.svd(xp.reshape(x, (10, 100))),
        lambda x: np.exp(x),
        lambda x: np.add(x, 1.0, where=True),
        lambda x: np.sum(x),
        lambda x: np.linalg.inv(np.reshape(x[:4], (2, 2))),
    ],
)
def test_a_pinned_array_is_moved_by_no_policy(call):
    x = xp.arange(1000, dtype=xp.float64) ** 0.5
    pinned = x.to_device("cpu")
    with xp.backend("threads"), xp.record() as record:
        free = call(x)
    assert record.records
    with xp.backend("threads"), xp.record() as record:
        held = call(pinned)
    assert not record.records
    for one, other in zip(parts(free), parts(held), strict=True):
        assert other.device == "cpu"
        np.testing.assert_allclose(np.asarray(one), np.asarray(other))


def parts(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize(
    "make", [lambda d: xp.ones(2, device=d), lambda d: xp.ones(2).to_device(d)]
)
def test_an_unknown_device_is_named_with_those_there_are(make):
    with pytest.raises(ValueError, match=r"'cuda:7'.*'auto', 'cpu'"):
        make("cuda:7")


def test_a_stream_is_refused():
    with pytest.raises(ValueError, match="stream"):
        xp.ones(2).to_device("cpu", stream=1)


# --- conversion


@pytest.mark.parametrize("values", [np.array([1, "a"], dtype=object), np.array(["a"]), ["a"]])
def test_what_is_no_number_is_refused(values):
    with pytest.raises(TypeError, match="numbers"):
        xp.asarray(values)


def test_big_endian_values_become_native():
    x = xp.asarray(np.arange(3, dtype=">f8"))
    assert x.dtype == xp.float64
    assert x.dtype.isnative
    assert_array_equal(np.asarray(x), [0, 1, 2])


def test_dlpack_both_ways():
    x = xp.arange(3)
    assert_array_equal(np.from_dlpack(x), [0, 1, 2])
    assert_array_equal(np.asarray(xp.from_dlpack(np.arange(3))), [0, 1, 2])
    with pytest.raises(TypeError, match="__dlpack__"):
        xp.from_dlpack([1, 2])


def test_torch_comes_and_goes_without_a_copy():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(3.0)
    x = xp.asarray(tensor)
    tensor[0] = 7
    assert_array_equal(np.asarray(x), [7, 1, 2])
    assert torch.equal(torch.from_dlpack(x), tensor)


def test_python_s_conversions():
    assert int(xp.asarray(3)) == 3
    assert float(xp.asarray(2.5)) == 2.5
    assert complex(xp.asarray(1j)) == 1j
    assert [10, 20, 30][xp.asarray(1)] == 20
    assert bool(xp.asarray(True))
    with pytest.raises(ValueError):
        bool(xp.ones(2))
    with pytest.raises(TypeError):
        hash(xp.ones(2))
    with pytest.raises(TypeError):
        xp.Array()


def test_repr_shows_values_dtype_and_device():
    assert repr(xp.asarray([1.0, 2.0])) == "Array([1., 2.], device='auto')"
    assert "dtype=float32" in repr(xp.ones(1, dtype=xp.float32))
    assert "device='cpu'" in repr(xp.ones(1, device="cpu"))


def test_an_unknown_version_of_the_standard():
    assert xp.ones(1).__array_namespace__(api_version="2025.12") is xp
    with pytest.raises(ValueError, match=r"'1999.12'.*2025.12"):
        xp.ones(1).__array_namespace__(api_version="1999.12")


# --- where NumPy's special cases are not the standard's


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_floor_divide_of_infinities(routing):
    got = xp.floor_divide(
        xp.asarray([xp.inf, -xp.inf, 1.0, -1.0]), xp.asarray([2.0, 2.0, -xp.inf, xp.inf])
    )
    assert_array_equal(np.asarray(got), [np.inf, -np.inf, -0.0, -0.0])
    assert np.signbit(np.asarray(got))[2:].all()


def test_numpy_s_own_function_keeps_numpy_s_answer():
    with np.errstate(invalid="ignore"):
        assert np.isnan(np.asarray(np.floor_divide(xp.asarray([np.inf]), 2.0)))


@pytest.mark.parametrize(
    ("name", "z", "want"),
    [
        ("expm1", complex(np.inf, 0.0), complex(np.inf, 0.0)),
        ("expm1", complex(-np.inf, np.nan), complex(-1, 0.0)),
        ("expm1", complex(-0.0, 0.0), complex(0.0, 0.0)),
        ("tanh", complex(np.inf, 2.0), complex(1.0, 0.0)),
        ("tanh", complex(-np.inf, 2.0), complex(-1.0, 0.0)),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_complex_special_cases(routing, name, z, want):
    got = complex(getattr(xp, name)(xp.asarray([z]))[0])
    assert (got.real, got.imag) == (want.real, want.imag)
    assert np.signbit(got.real) == np.signbit(want.real)


SHAPES = st.sampled_from([(5, 1000), (1000,), (1, 1000), (5, 1), (3, 5, 1000), (3, 1, 1), (), (2,)])


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(first=SHAPES, second=SHAPES, orders=st.tuples(st.booleans(), st.booleans()))
def test_operands_broadcast(routing, first, second, orders):
    a, b = (
        np.random.default_rng(i).standard_normal(shape).copy(order="F" if turned else "C")
        for i, (shape, turned) in enumerate(zip((first, second), orders, strict=True))
    )
    try:
        want = np.asarray(a + b)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            xp.asarray(a) + xp.asarray(b)
        return
    got = np.asarray(xp.asarray(a) + xp.asarray(b))
    assert_array_equal(got, want)
    assert got.flags.c_contiguous == want.flags.c_contiguous or routing in ("dpnp", "random")


# what the standard says and the public suite does not ask


@pytest.mark.parametrize("correction", [3, 5, 2.5])
def test_no_degree_of_freedom_is_nan(correction):
    for function in (xp.var, xp.std):
        x = xp.asarray([[1.0, 2.0], [3.0, 7.0]])
        got = function(x, axis=0, correction=correction, keepdims=True)
        assert got.shape == (1, 2)
        assert bool(xp.all(xp.isnan(got)))
    assert float(xp.var(x, correction=3)) == pytest.approx(np.var([1, 2, 3, 7]) * 4)


def test_descending_and_stable_keeps_equal_elements_in_order():
    got = np.asarray(xp.sort(xp.asarray([0.0, -0.0, 1.0]), descending=True))
    assert np.signbit(got).tolist() == [False, False, True]
    assert xp.argsort(xp.asarray([0.0, -0.0, 1.0]), descending=True)[1] == 0


PINNED = {
    "where": lambda x, y: xp.where(y > 0, x, y),
    "clip": lambda x, y: xp.clip(x, y, 2.0),
    "clip max": lambda x, y: xp.clip(x, 0.0, y),
    "searchsorted": lambda x, y: xp.searchsorted(x, y),
    "sorter": lambda x, y: xp.searchsorted(x, x, sorter=xp.asarray([0, 1, 2], device="cpu")),
    "isin": lambda x, y: xp.isin(x, y),
    "diff": lambda x, y: xp.diff(x, prepend=y),
    "diff append": lambda x, y: xp.diff(x, append=y),
    "concat": lambda x, y: xp.concat([x, y]),
    "from_dlpack": lambda x, y: xp.from_dlpack(y),
}


@pytest.mark.parametrize("name", PINNED)
def test_every_argument_pins(name):
    x, y = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([1.0, 2.0, 3.0], device="cpu")
    assert PINNED[name](x, y).device == "cpu"


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda x: xp.astype(x, "O"), TypeError, "numbers and bools, not object"),
        (lambda x: xp.astype(x, "U3"), TypeError, "numbers and bools"),
        (lambda x: xp.astype([1.0], xp.float64), TypeError, "needs an Array, not list"),
        (lambda x: xp.zeros_like([1.0]), TypeError, "zeros_like.. needs an Array, not list"),
        (lambda x: xp.full_like(3, 1.0), TypeError, "full_like.. needs an Array, not int"),
        (lambda x: xp.concat([x, 1]), TypeError, "concat.. takes arrays, not int"),
        (lambda x: xp.linalg.qr(x, mode="r"), ValueError, "mode='r' is neither"),
        (lambda x: xp.argsort(xp.asarray(1.0)), np.exceptions.AxisError, "axis"),
        (lambda x: xp.sort(x, axis=None), TypeError, "axis is a number"),
        (lambda x: xp.argsort(x, axis=None), TypeError, "axis is a number"),
        (lambda x: xp.fft.fftfreq(4, dtype=xp.int64), TypeError, "real floats, not int64"),
        (lambda x: xp.fft.rfftfreq(4, dtype=xp.complex64), TypeError, "real floats"),
        (lambda x: xp.where(x > 0, x, "a"), TypeError, "not str"),
    ],
)
def test_bad_input_is_named(call, error, said):
    with pytest.raises(error, match=said):
        call(xp.ones((3, 3)))
