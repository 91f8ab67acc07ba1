"""No function is forgotten by the tests, and every one is really routed."""

from __future__ import annotations

import numpy as np
import pytest
from arguments import TABLE, function
from oracle import check

import dispatch_xp
from dispatch_xp import backends
from dispatch_xp.doors.ufuncs import PROBLEM
from dispatch_xp.functions import FUNCTIONS
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.reasons import Reason


def test_the_table_of_arguments_has_every_function():
    # reached by their loops alone
    assert set(TABLE) - {"numpy.matvec", "numpy.vecmat"} == set(FUNCTIONS)


CASES = [
    pytest.param(operation, problem, id=f"{operation.name}-{problem.layout}")
    for operation in OPERATIONS.values()
    for problem in operation.problems
]


@pytest.mark.parametrize("backend", ["threads", "torch", "dpnp"])
@pytest.mark.parametrize(("operation", "problem"), CASES)
def test_what_a_backend_has_runs_there(operation, problem, backend):
    if isinstance(function(problem.function), np.ufunc) and PROBLEM:
        pytest.skip(PROBLEM)
    found = backends.get(backend)
    if not found.probe().available:
        pytest.skip(found.probe().reason)
    kind = operation.kinds[-1] if "f" not in operation.kinds else "f"
    dtype = np.dtype({"f": "f8", "b": "?", "i": "i8", "u": "i8"}[kind])
    size = {"elements": 2000, "order": 24, "side": 24}.get(problem.unit, 4)
    args = problem.arguments(size, dtype, np.random.default_rng(0))
    how = check(
        {"name": backend, "fallback": "raise"}, function(problem.function), *args,
        **dict(problem.keywords),
    )  # fmt: skip
    if operation.name in found.operations() and not _refused(how):
        assert how.backends == {backend}, how.records


def _refused(how):
    """Whether it said why not: stacks stay with SciPy; integers never come to the ufunc door."""
    return not how.records or how.records[-1].reason in (Reason.REFUSED, Reason.SHAPE)


@pytest.mark.parametrize("backend", ["threads", "torch", "dpnp"])
def test_verify_finds_nothing(backend):
    if not backends.get(backend).probe().available:
        pytest.skip(backends.get(backend).probe().reason)
    with dispatch_xp.backend(backend, verify=True, fallback="raise"), dispatch_xp.record() as rec:
        for case in CASES:
            _, problem = case.values
            size = {"elements": 2000, "order": 24, "side": 24}.get(problem.unit, 4)
            args = problem.arguments(size, np.dtype("f8"), np.random.default_rng(1))
            if not isinstance(function(problem.function), np.ufunc):
                function(problem.function)(*args, **dict(problem.keywords))
    assert len(rec.comparisons) > 15
    assert not rec.mismatches
