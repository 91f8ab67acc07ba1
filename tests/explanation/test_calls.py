"""The call that shapes amount to is the call that such arrays make, and needs no arrays."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from dispatch_xp.errors import DispatchError, Unsupported
from dispatch_xp.explanation import call_of
from dispatch_xp.functions import FUNCTIONS
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.reasons import Reason

PROBLEMS = [
    pytest.param(row, problem, id=f"{row.name}-{problem.layout}")
    for row in OPERATIONS.values()
    for problem in row.problems
]


def shapes_and_options(problem, arguments):
    """What a user would write for the arguments that calibration makes."""
    shapes, options = [], dict(problem.keywords)
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            shapes.append(argument.shape)
        elif isinstance(argument, tuple):
            shapes.append(argument[0].shape)
        elif isinstance(argument, str):
            options["subscripts"] = argument
    return tuple(shapes), options


def outcome(make):
    try:
        call = make()
    except Unsupported as refusal:
        return str(refusal)
    return (call.signature, call.workload, call.curve)


@pytest.mark.parametrize(("row", "problem"), PROBLEMS)
def test_shapes_amount_to_the_call_that_arrays_make(row, problem):
    for name in ("float64", "float32", "complex64", "int64", "bool"):
        dtype = np.dtype(name)
        if dtype.kind not in row.kinds:
            continue
        arguments = problem.arguments(problem.sizes[0], dtype, np.random.default_rng(0))
        shapes, options = shapes_and_options(problem, arguments)
        function = FUNCTIONS[problem.function]
        want = outcome(lambda f=function, a=arguments: f.bind(*a, **dict(problem.keywords)).call)
        got = outcome(lambda s=shapes, d=dtype, o=options: call_of(problem.function, s, d, o))
        assert got == want, name


def test_the_call_holds_no_arrays():
    call = call_of("numpy.matmul", ((3, 4), (4, 5)), np.dtype(float), {})
    assert call.arrays == ()
    assert call.shapes == ((3, 4), (4, 5))


@pytest.mark.parametrize("path", FUNCTIONS)
def test_a_wrong_number_of_shapes_is_named(path):
    options = {"subscripts": "ij,jk->ik"} if path == "numpy.einsum" else {}
    for count in (0, 4):
        with pytest.raises(DispatchError, match="does not take these arguments"):
            call_of(path, ((6, 6),) * count, np.dtype(float), options)


@pytest.mark.parametrize(
    ("path", "shapes", "options", "message"),
    [
        ("numpy.matmul", ((3, 4), (3, 4)), {}, r"shapes \(3, 4\) and \(3, 4\)"),
        ("numpy.sum", ((3,),), {"axis": 1}, "axis 1"),
        ("numpy.sum", ((3,),), {"axes": 0}, "unexpected keyword argument 'axes'"),
        ("numpy.exp", ((3, -1),), {}, "shape .3, -1.: .*negative"),
        ("numpy.einsum", ((3, 3),), {}, "needs the option 'subscripts'"),
    ],
)
def test_what_the_function_would_refuse_is_an_error(path, shapes, options, message):
    with pytest.raises(DispatchError, match=message):
        call_of(path, shapes, np.dtype(float), options)


@pytest.mark.parametrize(
    ("dtype", "shape", "reason"),
    [
        ("object", (3,), Reason.DTYPE),
        ("float16", (3,), Reason.DTYPE),
        ("S3", (3,), Reason.DTYPE),
        (">f8", (3,), Reason.BYTE_ORDER),
        ("float64", (0,), Reason.EMPTY),
    ],
)
def test_what_the_reference_alone_takes_says_why(dtype, shape, reason):
    with pytest.raises(Unsupported) as refusal:
        call_of("numpy.exp", (shape,), np.dtype(dtype), {})
    assert refusal.value.reason is reason


def test_a_call_larger_than_any_memory():
    huge = (10**7, 10**7)
    tracemalloc.start()
    try:
        call = call_of("scipy.linalg.solve", (huge, (10**7, 2)), np.dtype(float), {})
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()
    assert call.shapes[0] == huge


def test_one_that_has_to_be_copied_to_be_looked_at_is_an_error():
    with pytest.raises(DispatchError, match="cannot be looked at"):
        call_of("numpy.vdot", ((10**7, 10**7),) * 2, np.dtype(float), {})


def test_options_that_must_be_given_have_defaults():
    power = call_of("numpy.linalg.matrix_power", ((5, 5),), np.dtype(float), {})
    fifth = call_of("numpy.linalg.matrix_power", ((5, 5),), np.dtype(float), {"n": 5})
    assert power.workload.flops < fifth.workload.flops
    assert call_of("numpy.clip", ((5,),), np.dtype(float), {"a_max": 3}).operation.name == "clip"


def test_native_precision_is_kept():
    shapes, single = ((5, 5),), np.dtype(np.float32)
    assert call_of("numpy.linalg.inv", shapes, single, {}).dtype == np.float64
    assert call_of("numpy.linalg.inv", shapes, single, {}, "native").dtype == np.float32
