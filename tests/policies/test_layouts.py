"""Which curve predicts a call, by the shapes of its arguments."""

from __future__ import annotations

import numpy as np
import pytest

from dispatch_xp.call import Call
from dispatch_xp.config import Settings
from dispatch_xp.curve import Point
from dispatch_xp.decision import REFERENCE
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.policies.cost_model import CostModelPolicy
from dispatch_xp.profile import Machine, Profile

THIN, FULL = {"full_matrices": False}, {"full_matrices": True}


def call_of(operation, shape, options=None):
    return Call(OPERATIONS[operation], np.dtype("float64"), (shape,), options or {})


@pytest.mark.parametrize(
    ("operation", "shape", "options", "layout"),
    [
        ("linalg.svd", (80, 10), THIN, "tall"),
        ("linalg.svd", (10, 80), THIN, "wide"),
        ("linalg.svd", (29, 10), THIN, "tall"),
        ("linalg.svd", (28, 10), THIN, "matrix"),
        ("linalg.svd", (10, 28), THIN, "matrix"),
        ("linalg.svd", (80, 10), FULL, "matrix"),
        ("linalg.svd", (3, 80, 10), THIN, "stack"),
        ("linalg.svd", (1, 80, 10), THIN, "matrix"),
        ("linalg.qr", (80, 10), {"mode": "reduced"}, "tall"),
        ("linalg.qr", (10, 80), {"mode": "r"}, "wide"),
        ("linalg.qr", (80, 10), {"mode": "complete"}, "matrix"),
        ("linalg.svdvals", (80, 10), None, "tall"),
        ("linalg.pinv", (10, 80), None, "wide"),
        ("linalg.lu", (80, 10), None, "matrix"),
        ("linalg.eigh", (10, 10), None, "matrix"),
    ],
)
def test_long_matrices_have_curves_of_their_own(operation, shape, options, layout):
    assert call_of(operation, shape, options).layout == layout


def profile_of(**layouts):
    def curve(seconds):
        return {"float64": {REFERENCE: [Point(1e6, seconds, 1000)]}}

    points = {"linalg.svd": {layout: curve(s) for layout, s in layouts.items()}}
    return Profile(Machine("fake", "fake", 2), points, {})


def test_a_profile_without_them_predicts_by_the_square_ones():
    call = call_of("linalg.svd", (800, 100), THIN)
    flops = call.workload.flops
    for layouts, seconds in (
        ({"matrix": 1.0, "stack": 5.0}, 1.0),
        ({"matrix": 1.0, "tall": 2.0, "wide": 3.0}, 2.0),
    ):
        policy = CostModelPolicy(Settings(), profile_of(**layouts))
        found = policy.predict(call, REFERENCE)
        assert found.run == pytest.approx(flops * seconds / 1e6)
