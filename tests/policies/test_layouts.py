"""Which curve predicts a call, by the shapes of its arguments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch_xp import backends
from dispatch_xp.call import Call
from dispatch_xp.config import Settings
from dispatch_xp.curve import Point
from dispatch_xp.decision import REFERENCE
from dispatch_xp.functions import FUNCTIONS
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
        ("linalg.svd", (3, 80, 10), THIN, "stack32"),
        ("linalg.svd", (1, 80, 10), THIN, "matrix"),
        ("linalg.qr", (80, 10), {"mode": "reduced"}, "tall"),
        ("linalg.qr", (10, 80), {"mode": "r"}, "wide"),
        ("linalg.qr", (80, 10), {"mode": "complete"}, "matrix"),
        ("linalg.svdvals", (80, 10), None, "tall"),
        ("linalg.pinv", (10, 80), None, "wide"),
        ("linalg.lu", (80, 10), None, "matrix"),
        ("linalg.eigh", (10, 10), None, "matrix"),
        ("linalg.eigh", (2, 1, 1), None, "stack8"),
        ("linalg.eigh", (2, 15, 15), None, "stack8"),
        ("linalg.eigh", (2, 17, 17), None, "stack32"),
        ("linalg.eigh", (5, 2, 63, 63), None, "stack32"),
        ("linalg.eigh", (2, 65, 65), None, "stack128"),
        ("linalg.eigh", (2, 5000, 5000), None, "stack128"),
    ],
)
def test_the_curve_of_a_shape(operation, shape, options, layout):
    assert call_of(operation, shape, options).layout == layout


@pytest.mark.parametrize(
    ("first", "second", "layout"),
    [
        ((7, 15, 15), (7, 15, 15), "stack8"),
        ((7, 4, 16), (7, 16, 70), "stack32"),
        ((70, 70), (70, 70), "matrix"),
        ((4, 1, 70, 70), (9, 70, 70), "stack128"),
    ],
)
def test_products_of_stacks(first, second, layout):
    call = Call(OPERATIONS["matmul"], np.dtype("float64"), (first, second))
    assert call.layout == layout


@pytest.mark.parametrize(
    ("operation", "shape", "options", "layout", "beside"),
    [
        ("sum", (9, 9), {"axis": None}, "vector", None),
        ("sum", (9, 9), {"axis": (0, 1)}, "vector", None),
        ("sum", (900, 16), {"axis": 1}, "rows16", None),
        ("sum", (900, 4, 4), {"axis": (1, 2)}, "rows16", None),
        ("sum", (9, 1000), {"axis": -1}, "rows256", ("rows4096", 0.49)),
        ("argmax", (9, 10**6), {"axis": 1}, "rows4096", None),
        ("sum", (900, 32), {"axis": 0}, "columns16", ("columns256", 0.25)),
        ("sum", (900, 16, 16), {"axis": 0}, "columns256", None),
        ("sum", (9, 900, 16), {"axis": 1}, "columns16", None),
        ("sum", (9, 9, 128), {"axis": (0, 1)}, "columns256", ("columns16", 0.25)),
        ("cumulative_sum", (900, 16), {"axis": 1}, "rows16", None),
        ("sort", (900,), {"axis": 0}, "vector", None),
        ("sort", (900, 128), {"axis": 1}, "rows256", ("rows16", 0.25)),
        ("sort", (256, 3), {"axis": 0}, "rows256", None),
    ],
)
def test_rows_and_columns(operation, shape, options, layout, beside):
    call = call_of(operation, shape, options)
    assert call.layout == layout
    found = OPERATIONS[operation].beside(call.shapes, call.options)
    assert (found is None) == (beside is None)
    if beside is not None:
        assert (found[0], round(found[1], 2)) == beside


@pytest.mark.parametrize(
    ("path", "shape", "layout"),
    [
        ("numpy.fft.fft", (64,), "single-numpy"),
        ("numpy.fft.fft", (9, 64), "rows-numpy"),
        ("numpy.fft.irfft2", (9, 64), "grid-numpy"),
        ("scipy.fft.fft", (64,), "single"),
        ("scipy.fft.fft", (9, 64), "rows"),
        ("scipy.fft.irfft2", (9, 64), "grid"),
        ("scipy.fft.dct", (9, 64), "rows"),
    ],
)
def test_numpy_s_transforms_are_not_scipy_s(path, shape, layout):
    call = FUNCTIONS[path].bind(np.ones(shape)).call
    assert call.layout == layout
    threads = backends.get("threads")
    assert bool(threads.refuses(call)) == layout.startswith("single")


@pytest.mark.parametrize(
    ("measured", "seconds"),
    [({"rows": 2.0, "rows-numpy": 3.0}, 3.0), ({"single": 1.0, "rows": 2.0}, 2.0)],
)
def test_scipy_s_transforms_stand_in_for_numpy_s(measured, seconds):
    call = FUNCTIONS["numpy.fft.fft"].bind(np.ones((9, 64))).call
    curves = {
        layout: {"complex128": {REFERENCE: [Point(1e6, taken, 1000)]}}
        for layout, taken in measured.items()
    }
    profile = Profile(Machine("fake", "fake", 2), {"fft.fft": curves}, {})
    call = replace(call, dtype=np.dtype("complex128"))
    found = CostModelPolicy(Settings(), profile).predict(call, REFERENCE)
    assert found.run == pytest.approx(call.workload.flops * seconds / 1e6)


def profile_of(operation="linalg.svd", **layouts):
    def curve(seconds):
        return {"float64": {REFERENCE: [Point(1e6, seconds, 1000)]}}

    points = {operation: {layout: curve(s) for layout, s in layouts.items()}}
    return Profile(Machine("fake", "fake", 2), points, {})


def test_a_profile_without_them_predicts_by_the_square_ones():
    call = call_of("linalg.svd", (800, 100), THIN)
    flops = call.workload.flops
    for layouts, seconds in (
        ({"matrix": 1.0, "stack32": 5.0}, 1.0),
        ({"matrix": 1.0, "tall": 2.0, "wide": 3.0}, 2.0),
    ):
        policy = CostModelPolicy(Settings(), profile_of(**layouts))
        found = policy.predict(call, REFERENCE)
        assert found.run == pytest.approx(flops * seconds / 1e6)


@pytest.mark.parametrize("operation", ["linalg.eigh", "matmul"])
@given(
    order=st.integers(1, 600),
    rates=st.lists(st.floats(1e6, 1e9), min_size=3, max_size=3),
    number=st.integers(2, 1000),
)
def test_between_two_measured_orders_both_curves_predict(operation, order, rates, number):
    names = ("stack8", "stack32", "stack128")
    points = {
        name: {"float64": {REFERENCE: [Point(1e6, 1e6 / rate, 1000)]}}
        for name, rate in zip(names, rates, strict=True)
    }
    profile = Profile(Machine("fake", "fake", 2), {operation: points}, {})
    shapes = ((number, order, order),) * (2 if operation == "matmul" else 1)
    call = Call(OPERATIONS[operation], np.dtype("float64"), shapes)
    found = CostModelPolicy(Settings(), profile).predict(call, REFERENCE)
    # straight lines in both logarithms, and no further than the ends
    rate = np.exp(np.interp(np.log(order), np.log([8, 32, 128]), np.log(rates)))
    assert found.run == pytest.approx(call.workload.flops / rate)


def test_a_curve_that_was_not_measured_is_done_without():
    call = call_of("linalg.eigh", (50, 17, 17))
    points = {"stack32": 1.0, "matrix": 7.0}
    policy = CostModelPolicy(Settings(), profile_of(operation="linalg.eigh", **points))
    assert policy.predict(call, REFERENCE).run == pytest.approx(call.workload.flops / 1e6)


@pytest.mark.parametrize("layout", ["stack", "stack128"])
def test_a_stack_stands_in_for_a_stack(layout):
    call = call_of("linalg.eigh", (50, 8, 8))
    points = {"matrix": 7.0, layout: 1.0}
    policy = CostModelPolicy(Settings(), profile_of(operation="linalg.eigh", **points))
    assert policy.predict(call, REFERENCE).run == pytest.approx(call.workload.flops / 1e6)
