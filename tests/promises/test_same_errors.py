"""The same exceptions with the same messages, for arguments that are wrong in every way."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from arguments import TABLE, function
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import ArgumentsChanged, check, observe, routed, snapshot

WRONG = (
    None, "text", np.array("text"), np.array([None, 1]), object(), np.zeros((0, 3)),
    np.zeros((2, 3, 4, 5)), np.float64(1.5), 3, True, np.array(2.0), np.ones(7), np.ones((2, 5)),
    np.full((3, 3), np.nan), (), {}, -1, 99, np.array([1, 2], dtype="M8[s]"), b"x", [[1, 2], [3]],
)  # fmt: skip


@st.composite
def spoiled(draw, path: str):
    """Draw a call and put one thing wrong."""
    args, kwargs = draw(TABLE[path])
    args, kwargs = list(args), dict(kwargs)
    how = draw(st.integers(0, 6))
    wrong = copy.deepcopy(draw(st.sampled_from(WRONG)))
    if how == 0:
        kwargs["nonsense"] = 1
    elif how == 1 and args:
        args.pop()
    elif how == 2:
        args.append(wrong)
    elif how == 3 and kwargs:
        kwargs[draw(st.sampled_from(sorted(kwargs)))] = wrong
    elif how == 4:
        name = st.sampled_from(("axis", "axes", "n", "s", "norm", "ord", "mode", "trans", "dtype"))
        kwargs[draw(name)] = wrong
    elif args:
        args[draw(st.integers(0, len(args) - 1))] = wrong
    else:
        kwargs[sorted(kwargs)[0]] = wrong
    return tuple(args), kwargs


@pytest.mark.usefixtures("persistent")
@pytest.mark.parametrize("configuration", ["threads", "torch"], indirect=True)
@pytest.mark.parametrize("path", TABLE)
@settings(max_examples=10)
@given(data=st.data())
def test_same_error(path, configuration, data):
    args, kwargs = data.draw(spoiled(path))
    try:
        check(configuration, function(path), *args, **kwargs)
    except ArgumentsChanged:
        assume(False)


SINGULAR = np.outer(np.arange(1.0, 41), np.arange(1.0, 41))
INDEFINITE = np.diag([1.0] * 39 + [-1.0])


@pytest.mark.parametrize(
    ("path", "args"),
    [
        ("numpy.linalg.inv", (SINGULAR,)),
        ("numpy.linalg.inv", (np.stack([np.eye(40), SINGULAR]),)),
        ("numpy.linalg.inv", (np.zeros((5, 5)),)),
        ("numpy.linalg.solve", (SINGULAR, np.ones(40))),
        ("numpy.linalg.solve", (np.zeros((3, 3)), np.ones((3, 2)))),
        ("numpy.linalg.cholesky", (INDEFINITE,)),
        ("numpy.linalg.cholesky", (SINGULAR,)),
        ("numpy.linalg.cholesky", (np.stack([np.eye(40), INDEFINITE]),)),
        ("numpy.linalg.matrix_power", (SINGULAR, -2)),
        ("numpy.linalg.eig", (np.full((4, 4), np.inf),)),
        ("numpy.linalg.eigh", (np.full((4, 4), np.nan),)),
        ("numpy.linalg.svd", (np.full((4, 4), np.nan),)),
        ("scipy.linalg.inv", (SINGULAR,)),
        ("scipy.linalg.inv", (np.zeros((3, 3)),)),
        ("scipy.linalg.solve", (SINGULAR, np.ones(40))),
        ("scipy.linalg.cholesky", (INDEFINITE,)),
        ("scipy.linalg.cho_factor", (INDEFINITE,)),
        ("scipy.linalg.solve_triangular", (np.triu(SINGULAR - SINGULAR), np.ones(40))),
        ("scipy.linalg.svd", (np.full((4, 4), np.nan),)),
        ("scipy.linalg.lu_factor", (np.full((4, 4), np.inf),)),
        ("scipy.linalg.lu_factor", (np.zeros((3, 3)),)),
        ("scipy.linalg.lu_solve", ((np.eye(3), np.arange(3)), np.ones(4))),
    ],
)
def test_same_linear_algebra_error(path, args, configuration):
    check(configuration, function(path), *args)


@pytest.mark.parametrize("path", ["numpy.linalg.inv", "scipy.linalg.inv", "numpy.linalg.det"])
def test_arguments_are_intact_after_an_error(path, configuration):
    a = np.zeros((6, 6))
    before = snapshot(a)
    with routed(configuration):
        observe(function(path), (a,), {})
    assert snapshot(a) == before
