"""What the loops of products amount to: the operation, its shapes, and the reference's answer."""

from __future__ import annotations

import numpy as np
import pytest

import dispatch_xp
from dispatch_xp.doors import ufuncs

pytestmark = [
    pytest.mark.skipif(bool(ufuncs.PROBLEM), reason=ufuncs.PROBLEM),
    pytest.mark.skipif(not hasattr(np, "matvec"), reason="NumPy before 2.2 has no matvec"),
]
RNG = np.random.default_rng(0)
CASES = [
    # matrix and vector of matvec, and the shapes of the matmul that it amounts to
    ((7, 5), (5,), ((7, 5), (5,))),
    ((4, 7, 5), (4, 5), ((4, 7, 5), (4, 5, 1))),
    ((7, 5), (4, 5), ((4, 5), (5, 7))),
    ((4, 7, 5), (5,), ((4, 7, 5), (4, 5, 1))),
    ((2, 3, 7, 5), (2, 3, 5), ((6, 7, 5), (6, 5, 1))),
]


def numbers(shape, char):
    x = RNG.standard_normal(shape)
    return (x + 1j * RNG.standard_normal(shape) if char in "FD" else x).astype(char)


def routed(backend, function, *args, **kwargs):
    with dispatch_xp.backend(backend, fallback="raise"), dispatch_xp.record() as record:
        got = function(*args, **kwargs)
    return got, record.records


def close(got, want):
    scale = np.abs(want).max()
    np.testing.assert_allclose(got, want, rtol=0, atol=100 * np.finfo(want.dtype).eps * scale)


@pytest.mark.parametrize("char", "fdFD")
@pytest.mark.parametrize(("matrix", "vector", "shapes"), CASES)
def test_matvec_is_a_matmul(started, matrix, vector, shapes, char):
    started("torch")
    a, x = numbers(matrix, char), numbers(vector, char)
    want = np.matvec(a, x)
    got, records = routed("torch", np.matvec, a, x)
    assert [(r.function, r.operation, r.backend) for r in records] == [
        ("numpy.matvec", "matmul", "torch")
    ]
    assert records[0].shapes == shapes
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    close(got, want)


@pytest.mark.parametrize("char", "fdFD")
@pytest.mark.parametrize(("matrix", "vector", "shapes"), CASES)
def test_vecmat_is_a_matmul_of_the_conjugated_vector(started, matrix, vector, shapes, char):
    started("torch")
    x, a = numbers(vector, char), numbers((*matrix[:-2], *matrix[:-3:-1]), char)
    want = np.vecmat(x, a)
    before = x.tobytes()
    got, records = routed("torch", np.vecmat, x, a)
    assert [(r.operation, r.backend) for r in records] == [("matmul", "torch")]
    close(got, want)
    assert x.tobytes() == before
    first, second = records[0].shapes
    assert first[-1] == second[-2] == vector[-1]


@pytest.mark.parametrize("char", "dD")
@pytest.mark.parametrize("function", ["matvec", "vecmat"])
def test_a_stack_is_split_over_threads(started, function, char):
    started("threads")
    a, x = numbers((40, 6, 6), char), numbers((40, 6), char)
    args = (a, x) if function == "matvec" else (x, a)
    ufunc = getattr(np, function)
    got, records = routed("threads", ufunc, *args)
    assert [r.backend for r in records] == ["threads"]
    close(got, ufunc(*args))


@pytest.mark.parametrize("function", ["matvec", "vecmat"])
def test_outputs_and_layouts_of_the_users_own(started, function):
    started("torch")
    ufunc = getattr(np, function)
    a = numbers((6, 40, 40), "D")[::2, ::2, 1::2].transpose(0, 2, 1)
    x = numbers((3, 40), "D")[:, ::2]
    args = (a, x) if function == "matvec" else (x, a)
    whole = np.zeros((3, 40), "D")
    got, records = routed("torch", ufunc, *args, out=whole[:, ::2])
    assert got.base is whole
    assert [r.backend for r in records] == ["torch"]
    close(whole[:, ::2], ufunc(*args))
    assert not whole[:, 1::2].any()


def test_verify_compares_with_a_matmul(started):
    started("torch")
    a, x = numbers((7, 5), "D"), numbers(7, "D")
    want = np.vecmat(x, a)
    with dispatch_xp.backend("torch", verify=True), dispatch_xp.record() as record:
        got = np.vecmat(x, a)
    assert got.tobytes() == want.tobytes()
    assert [(name, c.matches) for name, c in record.comparisons] == [("matmul", True)]
