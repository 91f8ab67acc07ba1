"""NumPy's protocols: functions and ufuncs of NumPy take an Array and give one back."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dispatch_xp as xp

A = np.array([[4.0, 1.0, 2.0], [1.0, 3.0, 0.5], [2.0, 0.5, 5.0]])
V = np.array([1.0, -2.0, 3.0])


@pytest.fixture
def a():
    return xp.asarray(A, copy=True)


@pytest.fixture
def v():
    return xp.asarray(V, copy=True)


# name: the arguments, made of the matrix and the vector. What takes no array is not here, nor what
# needs files, callables or dates.
CALLS = {
    "amax": lambda a, v: (a,),
    "append": lambda a, v: (a, a),
    "argpartition": lambda a, v: (v, 1),
    "around": lambda a, v: (a,),
    "array_equal": lambda a, v: (a, a),
    "array_split": lambda a, v: (v, 2),
    "atleast_2d": lambda a, v: (v,),
    "average": lambda a, v: (a,),
    "block": lambda a, v: ([[a, a], [a, a]],),
    "broadcast_to": lambda a, v: (v, (2, 3)),
    "choose": lambda a, v: (np.array([0, 1, 0]), [v, v]),
    "clip": lambda a, v: (a, 0.0, 1.0),
    "column_stack": lambda a, v: ([v, v],),
    "compress": lambda a, v: ([True, False, True], v),
    "concatenate": lambda a, v: ([a, a],),
    "convolve": lambda a, v: (v, v),
    "copy": lambda a, v: (a,),
    "corrcoef": lambda a, v: (a,),
    "count_nonzero": lambda a, v: (a,),
    "cov": lambda a, v: (a,),
    "cross": lambda a, v: (v, v),
    "cumprod": lambda a, v: (v,),
    "cumsum": lambda a, v: (v,),
    "delete": lambda a, v: (v, 0),
    "diag": lambda a, v: (v,),
    "diagonal": lambda a, v: (a,),
    "diff": lambda a, v: (v,),
    "digitize": lambda a, v: (v, np.array([0.0, 1.0])),
    "dot": lambda a, v: (a, v),
    "dsplit": lambda a, v: (a[None], 3),
    "dstack": lambda a, v: ([v, v],),
    "ediff1d": lambda a, v: (v,),
    "einsum": lambda a, v: ("ij,j->i", a, v),
    "expand_dims": lambda a, v: (v, 0),
    "extract": lambda a, v: (v > 0, v),
    "fix": lambda a, v: (v,),
    "flatnonzero": lambda a, v: (v,),
    "flip": lambda a, v: (v,),
    "full_like": lambda a, v: (a, 7.0),
    "gradient": lambda a, v: (v,),
    "histogram": lambda a, v: (v,),
    "hsplit": lambda a, v: (a, 3),
    "hstack": lambda a, v: ([v, v],),
    "imag": lambda a, v: (a,),
    "inner": lambda a, v: (a, v),
    "insert": lambda a, v: (v, 1, 9.0),
    "interp": lambda a, v: (np.array([0.5]), np.array([0.0, 1.0, 2.0]), v),
    "isclose": lambda a, v: (a, a),
    "isin": lambda a, v: (v, v),
    "iscomplexobj": lambda a, v: (a,),
    "kron": lambda a, v: (v, v),
    "lexsort": lambda a, v: ((v, v),),
    "matmul": lambda a, v: (a, v),
    "max": lambda a, v: (a,),
    "mean": lambda a, v: (a, 0),
    "median": lambda a, v: (a,),
    "meshgrid": lambda a, v: (v, v),
    "moveaxis": lambda a, v: (a, 0, 1),
    "nan_to_num": lambda a, v: (a,),
    "nanmax": lambda a, v: (a,),
    "nanmean": lambda a, v: (a,),
    "nanpercentile": lambda a, v: (v, 50),
    "nansum": lambda a, v: (a,),
    "ndim": lambda a, v: (a,),
    "nonzero": lambda a, v: (v,),
    "ones_like": lambda a, v: (a,),
    "outer": lambda a, v: (v, v),
    "pad": lambda a, v: (v, 1),
    "partition": lambda a, v: (v, 1),
    "percentile": lambda a, v: (v, 50),
    "piecewise": lambda a, v: (V, [V < 0, V >= 0], [-1.0, 1.0]),
    "polyfit": lambda a, v: (np.arange(3.0), v, 1),
    "polyval": lambda a, v: (v, 2.0),
    "prod": lambda a, v: (v,),
    "ptp": lambda a, v: (a,),
    "quantile": lambda a, v: (v, 0.5),
    "ravel": lambda a, v: (a,),
    "real": lambda a, v: (a,),
    "repeat": lambda a, v: (v, 2),
    "reshape": lambda a, v: (a, (9,)),
    "roll": lambda a, v: (v, 1),
    "rollaxis": lambda a, v: (a, 1),
    "rot90": lambda a, v: (a,),
    "searchsorted": lambda a, v: (np.array([0.0, 1.0, 2.0]), v),
    "select": lambda a, v: ([V > 0], [v], 0.0),
    "shape": lambda a, v: (a,),
    "size": lambda a, v: (a,),
    "sort": lambda a, v: (a,),
    "split": lambda a, v: (v, 3),
    "squeeze": lambda a, v: (v[None],),
    "stack": lambda a, v: ([v, v],),
    "std": lambda a, v: (a,),
    "sum": lambda a, v: (a, 0),
    "swapaxes": lambda a, v: (a, 0, 1),
    "take": lambda a, v: (v, [0, 2]),
    "take_along_axis": lambda a, v: (v, np.array([0, 2, 1]), 0),
    "tensordot": lambda a, v: (a, a, 1),
    "tile": lambda a, v: (v, 2),
    "trace": lambda a, v: (a,),
    "transpose": lambda a, v: (a,),
    "trapezoid": lambda a, v: (v,),
    "tril": lambda a, v: (a,),
    "unique": lambda a, v: (v,),
    "unwrap": lambda a, v: (v,),
    "vander": lambda a, v: (v,),
    "var": lambda a, v: (a,),
    "vdot": lambda a, v: (v, v),
    "vsplit": lambda a, v: (a, 3),
    "vstack": lambda a, v: ([v, v],),
    "where": lambda a, v: (a > 0, a, 0.0),
    "zeros_like": lambda a, v: (a,),
    "fft.fft": lambda a, v: (v,),
    "fft.irfft2": lambda a, v: (a,),
    "linalg.cholesky": lambda a, v: (a,),
    "linalg.cond": lambda a, v: (a,),
    "linalg.eigh": lambda a, v: (a,),
    "linalg.inv": lambda a, v: (a,),
    "linalg.lstsq": lambda a, v: (a, v),
    "linalg.matrix_power": lambda a, v: (a, 2),
    "linalg.multi_dot": lambda a, v: ([a, a, v],),
    "linalg.norm": lambda a, v: (a,),
    "linalg.pinv": lambda a, v: (a,),
    "linalg.qr": lambda a, v: (a,),
    "linalg.slogdet": lambda a, v: (a,),
    "linalg.solve": lambda a, v: (a, v),
    "linalg.svd": lambda a, v: (a,),
}


def function_of(name):
    module, _, last = name.rpartition(".")
    return getattr(getattr(np, module) if module else np, last)


UP_TO_SIGN = {"linalg.eigh", "linalg.qr", "linalg.svd"}


def same(got, want, of=lambda x: x):
    if isinstance(want, (tuple, list)):
        assert type(got) is type(want)
        for g, w in zip(got, want, strict=True):
            same(g, w, of)
    elif isinstance(want, (np.ndarray, np.generic)):
        assert type(got) is xp.Array
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert_allclose(of(np.asarray(got)), of(want), rtol=1e-10, atol=1e-12)
    else:
        assert got == want


@pytest.mark.parametrize("name", [n for n in CALLS if n not in ("piecewise", "choose")])
def test_a_function_of_numpy_takes_and_returns_arrays(routing, name, a, v):
    function = function_of(name)
    want = function(*CALLS[name](A, V))
    of = np.abs if name in UP_TO_SIGN else np.asarray
    same(function(*CALLS[name](a, v)), want, of)
    assert_array_equal(np.asarray(a), A)
    assert_array_equal(np.asarray(v), V)


@pytest.mark.parametrize("name", ["copyto", "fill_diagonal", "put", "place", "putmask"])
def test_a_function_that_writes_changes_the_array_alone(name):
    arguments = {
        "copyto": (V,),
        "fill_diagonal": (7.0,),
        "put": ([0, 1], [5.0, 6.0]),
        "place": (A > 1, [9.0]),
        "putmask": (A > 1, 9.0),
    }[name]
    want, source = A.copy(), A.copy()
    x = xp.asarray(source)
    part = x[0]
    function_of(name)(want, *arguments)
    function_of(name)(x, *arguments)
    assert_array_equal(np.asarray(x), want)
    assert_array_equal(np.asarray(part), A[0])
    assert_array_equal(source, A)


@pytest.mark.parametrize("out", ["keyword", "tuple", "position"])
def test_a_ufunc_writes_where_it_is_told(routing, v, out):
    target = xp.zeros(3)
    if out == "keyword":
        result = np.exp(v, out=target)
    elif out == "tuple":
        result = np.exp(v, out=(target,))
    else:
        result = np.exp(v, target)
    assert result is target
    assert_allclose(np.asarray(target), np.exp(V))


def test_an_ndarray_as_out_stays_one(v):
    target = np.zeros(3)
    assert np.exp(v, out=target) is target
    assert_allclose(target, np.exp(V))


@pytest.mark.parametrize(
    "call",
    [
        lambda v: np.add.reduce(v),
        lambda v: np.add.accumulate(v),
        lambda v: np.add.reduceat(v, [0, 2]),
        lambda v: np.multiply.outer(v, v),
        lambda v: np.add(v, 1, where=np.array([True, False, True]), out=np.zeros(3) * 1.0),
        lambda v: np.divmod(v, 2.0),
        lambda v: np.modf(v),
    ],
)
def test_the_methods_of_ufuncs(routing, v, call):
    want = call(V)
    got = call(v)
    if isinstance(got, np.ndarray):  # the out of the where call
        assert_allclose(got, want)
    else:
        same(got, want)


def test_at_changes_the_array_alone(v):
    part = v[:]
    np.add.at(v, [0, 0, 1], 1.0)
    assert_array_equal(np.asarray(v), [3.0, -1.0, 3.0])
    assert_array_equal(np.asarray(part), V)


def test_operators_between_both_kinds(routing, v):
    for got in (v + V, V + v, v * 2, 2 - v, np.float64(2) * v, v @ v, v == V, v > V):
        assert type(got) is xp.Array
    assert_allclose(np.asarray(V - v), 0)


def test_what_is_no_array_is_left_to_its_own_type(v):
    class Other:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "mine"

    assert v + Other() == "mine"
    with pytest.raises(TypeError):
        v + "text"
