"""``out=`` is written last and only on success; ``overwrite_*`` means may."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
from arguments import function, laid_out
from oracle import observe, outside, routed

RNG = np.random.default_rng(3)
A, B = RNG.standard_normal((12, 12)), RNG.standard_normal((12, 12))
LAYOUTS = ("C", "F", "every second", "negative", "unaligned", "read-only")
CALLS = {
    "numpy.dot": ((A, B), {}, (12, 12)),
    "numpy.outer": ((A[0], B[0]), {}, (12, 12)),
    "numpy.matmul": ((A, B), {}, (12, 12)),
    "numpy.einsum": (("ij,jk->ik", A, B), {}, (12, 12)),
    "numpy.sum": ((A,), {"axis": 0}, (12,)),
    "numpy.prod": ((A,), {"axis": 1}, (12,)),
    "numpy.mean": ((A,), {"axis": 0, "keepdims": True}, (1, 12)),
    "numpy.std": ((A,), {"axis": 0}, (12,)),
    "numpy.var": ((A,), {"axis": 1}, (12,)),
    "numpy.max": ((A,), {"axis": 1}, (12,)),
    "numpy.cumsum": ((A,), {"axis": 1}, (12, 12)),
    "numpy.clip": ((A, -0.5, 0.5), {}, (12, 12)),
    "numpy.exp": ((A,), {}, (12, 12)),
    "numpy.add": ((A, B), {}, (12, 12)),
    "numpy.fft.fft": ((A,), {}, (12, 12)),
    "numpy.fft.ifft": ((A,), {"n": 12, "axis": 0}, (12, 12)),
    "numpy.fft.rfft": ((A,), {"axis": 0}, (7, 12)),
    "numpy.fft.ihfft": ((A,), {}, (12, 7)),
    "numpy.fft.fft2": ((A,), {"norm": "ortho"}, (12, 12)),
    "numpy.fft.ifftn": ((A,), {}, (12, 12)),
    "numpy.fft.rfft2": ((A,), {}, (12, 7)),
    "numpy.fft.fftn": ((A,), {"s": (12, 5), "axes": (0, 1)}, (12, 5)),
    "numpy.fft.rfftn": ((A,), {"s": (12, 8), "axes": (0, 1)}, (12, 5)),
    "numpy.vecdot": ((A, B), {}, (12,)),
}


def _into(path, out, configuration):
    args, kwargs, _ = CALLS[path]
    with routed(configuration):
        return observe(function(path), args, {**kwargs, "out": out})


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("path", CALLS)
def test_out_is_written_and_returned(path, layout, configuration):
    args, kwargs, shape = CALLS[path]
    dtype = "D" if ".fft." in path else "d"
    theirs, ours = (laid_out(np.full(shape, 7, dtype=dtype), layout) for _ in range(2))
    want = observe(function(path), args, {**kwargs, "out": theirs})
    got = _into(path, ours, configuration)
    assert (type(got.error), str(got.error)) == (type(want.error), str(want.error))
    assert outside(ours) == outside(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)
    if want.error is None:
        assert got.result is ours


@pytest.mark.parametrize("wrong", [(3,), (13, 13), ()])
@pytest.mark.parametrize("path", CALLS)
def test_out_that_does_not_fit_is_refused_alike(path, wrong, configuration):
    args, kwargs, _ = CALLS[path]
    theirs, ours = np.full(wrong, 7.0), np.full(wrong, 7.0)
    want = observe(function(path), args, {**kwargs, "out": theirs})
    got = _into(path, ours, configuration)
    assert (type(got.error), str(got.error)) == (type(want.error), str(want.error))
    np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize("dtype", ["f", "i8", "F", "O", ">f8"])
@pytest.mark.parametrize("path", CALLS)
def test_out_of_another_dtype(path, dtype, configuration):
    args, kwargs, shape = CALLS[path]
    theirs, ours = (np.full(shape, 7, dtype=dtype) for _ in range(2))
    want = observe(function(path), args, {**kwargs, "out": theirs})
    got = _into(path, ours, configuration)
    assert (type(got.error), str(got.error)) == (type(want.error), str(want.error))
    rtol = 1e-5 if dtype in "fF" else 1e-12
    np.testing.assert_allclose(ours.astype(complex), theirs.astype(complex), rtol=rtol, atol=rtol)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (np.dot, lambda a: (a, a.copy())),
        (np.matmul, lambda a: (a, a.copy())),
        (np.add, lambda a: (a[::-1], a.copy())),
        (np.exp, lambda a: (a[::-1],)),
        (np.cumsum, lambda a: (a, 1)),
    ],
)
def test_out_that_is_also_an_argument(function, args, configuration):
    theirs, ours = A.copy(), A.copy()
    want = observe(function, args(theirs), {"out": theirs})
    with routed(configuration):
        got = observe(function, args(ours), {"out": ours})
    assert (type(got.error), str(got.error)) == (type(want.error), str(want.error))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("function", [np.fft.fft, np.fft.ifft, np.fft.fft2, np.fft.fftn, np.dot])
def test_an_argument_is_written_to_after_everybody_has_read_it(function, verify, configuration):
    theirs, ours = ((A + 1j * B).copy() for _ in range(2))
    more = (B.astype(complex),) if function is np.dot else ()
    function(theirs, *more, out=theirs)
    with routed({**configuration, "verify": verify}):
        assert function(ours, *more, out=ours) is ours
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", [np.fft.irfft, np.fft.hfft, np.fft.irfft2, np.fft.irfftn])
@pytest.mark.parametrize("n", [12, 7, 24])
def test_out_of_a_real_result(function, n, configuration):
    c = A + 1j * B
    several = function.__name__[-1] in "2n"
    kwargs = {"s": (n, n), "axes": (0, 1)} if several else {"n": n}
    theirs, ours = (np.full((n, n) if several else (12, n), 7.0) for _ in range(2))
    want = function(c, **kwargs, out=theirs)
    with routed(configuration):
        got = function(c, **kwargs, out=ours)
    assert (got is ours) == (want is theirs)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("s", [(3, 3), (5, 12), (24, 12), (12, 24)])
@pytest.mark.parametrize("function", [np.fft.fftn, np.fft.ifftn, np.fft.rfftn])
def test_out_that_only_the_last_step_would_fit_into(function, s, configuration):
    kwargs = {"s": s, "axes": (0, 1)}
    theirs, ours = (np.zeros_like(function(A, **kwargs)) for _ in range(2))
    want = observe(function, (A,), {**kwargs, "out": theirs})
    with routed(configuration):
        got = observe(function, (A,), {**kwargs, "out": ours})
    assert (type(got.error), str(got.error)) == (type(want.error), str(want.error))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


def test_out_of_a_search_keeps_its_memory_order(configuration):
    x = np.random.default_rng(4).standard_normal((3, 4, 5))
    theirs, ours = (np.zeros((4, 3), dtype=np.intp).T for _ in range(2))
    np.argmax(x, axis=2, out=theirs)
    with routed(configuration):
        assert np.argmax(x, axis=2, out=ours) is ours
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize(
    ("function", "kwargs"),
    [
        (scipy.linalg.inv, {"overwrite_a": True}),
        (scipy.linalg.lu_factor, {"overwrite_a": True}),
        (scipy.linalg.cholesky, {"overwrite_a": True}),
        (scipy.linalg.eigh, {"overwrite_a": True, "eigvals_only": True}),
        (scipy.linalg.svd, {"overwrite_a": True, "compute_uv": False}),
        (scipy.linalg.det, {"overwrite_a": True}),
        (scipy.fft.fft, {"overwrite_x": True}),
        (scipy.fft.dct, {"overwrite_x": True}),
        (scipy.fft.fftn, {"overwrite_x": True}),
    ],
)
def test_overwrite_changes_no_answer(function, kwargs, order, configuration):
    a = (A @ A.T + 12 * np.eye(12)).astype(complex if "fft" in function.__name__ else float)
    want = observe(function, (np.array(a, order=order),), kwargs)
    with routed(configuration):
        got = observe(function, (np.array(a, order=order),), kwargs)
    assert outside(got.result) == outside(want.result)
    results = [x if isinstance(x, tuple) else (x,) for x in (got.result, want.result)]
    for x, y in zip(*results, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


def _sides():
    a = A @ A.T + 12 * np.eye(12)
    lower, factors, factor = np.tril(a), scipy.linalg.lu_factor(a), scipy.linalg.cho_factor(a)
    matrices = {
        "inv": lambda x: scipy.linalg.inv(x, overwrite_a=True),
        "cholesky": lambda x: scipy.linalg.cholesky(x, overwrite_a=True),
        "cho_factor": lambda x: scipy.linalg.cho_factor(x, overwrite_a=True)[0],
        "lu": lambda x: scipy.linalg.lu(x, overwrite_a=True)[2],
        "lu_factor": lambda x: scipy.linalg.lu_factor(x, overwrite_a=True)[0],
        "schur": lambda x: scipy.linalg.schur(x, overwrite_a=True)[0],
        "hessenberg": lambda x: scipy.linalg.hessenberg(x, overwrite_a=True, calc_q=True)[1],
        "fft": lambda x: scipy.fft.fft(x, overwrite_x=True),
        "ifftn": lambda x: scipy.fft.ifftn(x, overwrite_x=True),
        "dct": lambda x: scipy.fft.dct(x, overwrite_x=True),
        "dstn": lambda x: scipy.fft.dstn(x, overwrite_x=True),
    }
    sides = {
        "solve": lambda x: scipy.linalg.solve(a, x, overwrite_b=True),
        "solve_triangular": lambda x: scipy.linalg.solve_triangular(
            lower, x, lower=True, overwrite_b=True
        ),
        "cho_solve": lambda x: scipy.linalg.cho_solve(factor, x, overwrite_b=True),
        "lu_solve": lambda x: scipy.linalg.lu_solve(factors, x, overwrite_b=True),
        "lu_solve transposed": lambda x: scipy.linalg.lu_solve(
            factors, x, trans=1, overwrite_b=True
        ),
    }
    # what is given, the others being copied first: one column, several, every second number
    given = {"column": A[0], "columns": A[:, :3], "single": A[0].astype("f4")}
    for name, call in matrices.items():
        for dtype in ("f8", "c16"):
            if dtype == "f8" or name in ("fft", "ifftn"):
                yield pytest.param(call, a.astype(dtype), id=f"{name} {dtype}")
    for name, call in sides.items():
        for kind, b in given.items():
            yield pytest.param(call, b, id=f"{name} {kind}")


@pytest.mark.parametrize("order", ["C", "F", "strided"])
@pytest.mark.parametrize(("call", "argument"), list(_sides()))
def test_a_result_is_in_the_memory_that_the_reference_leaves_it_in(
    call, argument, order, configuration
):
    """Programs look there, and at nothing else: scikit-learn solves so in `orthogonal_mp`."""

    def fresh():
        if order == "strided":
            return np.repeat(argument, 2, axis=0)[::2]
        return np.array(argument, order=order)

    theirs, ours = fresh(), fresh()
    want = call(theirs)
    with routed(configuration):
        got = call(ours)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    assert np.shares_memory(got, ours) == np.shares_memory(want, theirs)
    if np.shares_memory(want, theirs):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
