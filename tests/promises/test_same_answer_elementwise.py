"""Elementwise functions through the ufunc door: the reference's answer, element by element."""

from __future__ import annotations

import numpy as np
import pytest
from arguments import ELEMENTWISE, FLOATING, TABLE, function, laid_out, values
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check, observe, routed

from dispatch_xp.doors.ufuncs import PROBLEM

pytestmark = pytest.mark.skipif(bool(PROBLEM), reason=PROBLEM or "the ufunc door is there")


@pytest.mark.usefixtures("persistent")
@pytest.mark.parametrize("path", ELEMENTWISE)
@settings(max_examples=12)
@given(data=st.data())
def test_same_answer(path, configuration, data):
    args, kwargs = data.draw(TABLE[path])
    check(configuration, function(path), *args, **kwargs)


SPECIAL = np.array(
    "0 -0. 1 -1 0.5 -0.5 2 -2 3 inf -inf nan 1e-320 -1e-320 1e300 -1e300 1e154 1e-200 710 -745 "
    "3.5 -2.5 1e22 0.9999999999999999 1e-9".split(),
    dtype=np.float64,
)


def _pairs(char: str) -> tuple[np.ndarray, ...]:
    """Return every pair of special values; of complex numbers, as their two parts."""
    with np.errstate(all="ignore"):
        x = SPECIAL.astype(char.lower())
    left, right = (g.ravel() for g in np.meshgrid(x, x))
    return left, right


@pytest.mark.usefixtures("persistent")
@pytest.mark.parametrize("configuration", ["threads", "torch"], indirect=True)
@pytest.mark.parametrize("path", ELEMENTWISE)
def test_same_special_values(path, configuration):
    ufunc = function(path)
    if not isinstance(ufunc, np.ufunc):
        pytest.skip("no ufunc")
    for char in set(FLOATING) & {t[0] for t in ufunc.types}:
        left, right = _pairs(char)
        operands = (left, right)
        if char in "FD":
            z = np.empty(left.shape, dtype=char)
            z.real, z.imag = left, right
            operands = (z, z[::-1].copy())
        # apart: a result that is not finite would send all of them to the reference
        for group in _groups(ufunc, operands[: ufunc.nin]):
            check(configuration, ufunc, *(x[group] for x in operands[: ufunc.nin]))


def _groups(ufunc: np.ufunc, operands: tuple) -> list:
    """Split into what gives finite results, and what does not."""
    with np.errstate(all="ignore"):
        result = ufunc(*operands)
    finite = np.isfinite(result) if result.dtype.kind in "fc" else np.ones(len(result), bool)
    return [group for group in (np.flatnonzero(finite), np.flatnonzero(~finite)) if len(group) > 1]


@pytest.mark.usefixtures("persistent")
@pytest.mark.parametrize("layout", ["C", "F", "every second", "negative", "unaligned", "broadcast"])
@pytest.mark.parametrize("path", ["numpy.exp", "numpy.add", "numpy.matmul", "numpy.maximum"])
def test_same_answer_into_every_kind_of_output(path, layout, configuration):
    rng = np.random.default_rng(0)
    ufunc = function(path)
    operands = [values((30, 30), "d", "normal", rng) for _ in range(ufunc.nin)]
    want = ufunc(*operands)
    out = laid_out(np.zeros((30, 30)), layout)
    if not out.flags.writeable:
        out = np.zeros((30, 30))

    check(configuration, lambda *args: ufunc(*args, out=out).copy(), *operands)
    np.testing.assert_allclose(out, want, rtol=1e-13, atol=1e-14)


@pytest.mark.usefixtures("persistent")
def test_operators_are_calls_too(configuration):
    a, b = (np.random.default_rng(i).standard_normal((40, 40)) for i in (1, 2))
    for call in (
        lambda: a @ b, lambda: a + b, lambda: a * 2.0, lambda: -a, lambda: abs(a), lambda: a / b,
        lambda: a < b, lambda: a**2, lambda: a.T @ b, lambda: (a[:, 0] @ b, a @ b[0]),
    ):  # fmt: skip
        _same(configuration, call)


def _same(configuration, call):
    want = observe(call, (), {})
    with routed(configuration):
        got = observe(call, (), {})
    assert got.warnings == want.warnings
    for x, y in zip(np.atleast_1d(got.result), np.atleast_1d(want.result), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
