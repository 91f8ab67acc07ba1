"""Only the outermost call of a nest is a call."""

from __future__ import annotations

import numpy as np
import scipy.linalg

import dispatch_xp

A = np.random.default_rng(0).standard_normal((30, 30))


def functions(call):
    with dispatch_xp.backend("reference"), dispatch_xp.record() as rec:
        call()
    return [r.function for r in rec.records]


def test_a_call_inside_a_call_is_not_routed_again():
    # pinv calls svd, matmul and amax; polar calls svd and dot
    assert functions(lambda: np.linalg.pinv(A)) == ["numpy.linalg.pinv"]
    assert functions(lambda: scipy.linalg.polar(A)) == ["scipy.linalg.polar"]


def test_functions_that_are_no_operation_leave_their_inner_calls_to_the_doors():
    inner = functions(lambda: scipy.linalg.null_space(A))
    assert "scipy.linalg.svd" in inner


def test_the_context_is_whole_again_after_an_exception():
    with dispatch_xp.backend("reference"), dispatch_xp.record() as rec:
        for _ in range(2):
            try:
                np.linalg.inv(np.zeros((20, 20)))
            except np.linalg.LinAlgError:
                continue
        np.linalg.inv(A)
    assert len(rec.records) == 3


def test_a_backend_that_calls_numpy_is_not_routed_again():
    with dispatch_xp.backend("threads", fallback="raise"), dispatch_xp.record() as rec:
        np.std(A, axis=0)
    assert [(r.function, r.backend) for r in rec.records] == [("numpy.std", "threads")]
