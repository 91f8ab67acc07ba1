"""A cost model that reads the published curves has to say what the publication says."""

from __future__ import annotations

import numpy as np
import pytest

from dispatch_xp.backends import Backend
from dispatch_xp.backends.interface import Availability
from dispatch_xp.call import Call
from dispatch_xp.config import Settings
from dispatch_xp.levels import LEVELS
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.policies.cost_model import CostModelPolicy

SIZES = (128, 256, 512, 1024, 2048, 3000, 4096, 6000, 8192, 16384)


class Gpu(Backend):
    name = "gpu"
    shares_host_memory = False
    started = True

    def probe(self):
        return Availability(True)

    def operations(self):
        return frozenset(OPERATIONS)

    def start(self): ...

    def run(self, call, arrays):
        raise NotImplementedError


@pytest.fixture
def call(published_shapes):
    def make(operation, n, dtype):
        shapes = published_shapes(operation, n)
        options = {"lower": True} if operation == "linalg.eigh" else {}
        return Call(OPERATIONS[operation], np.dtype(dtype), shapes, options)

    return make


@pytest.fixture
def predicted(published, call):
    """The predicted total seconds on the CPU and on the GPU, copies included."""
    policy = CostModelPolicy(Settings(), published)

    def predict(operation, n, dtype):
        predictions = policy.choose(call(operation, n, dtype), [Gpu()]).predictions
        return predictions["reference"].total, predictions["gpu"].total

    return predict


@pytest.fixture
def chosen(published, call):
    def choose(level, operation, n, dtype):
        policy = CostModelPolicy(Settings(level=level), published)
        return policy.choose(call(operation, n, dtype), [Gpu()]).backend

    return choose


def test_every_curve_was_read(published):
    assert set(published.points) == {
        "matmul",
        "linalg.cholesky",
        "linalg.eigh",
        "linalg.eigvalsh",
        "linalg.lu_factor",
        "linalg.solve",
        "linalg.svd",
        "linalg.svdvals",
    }
    assert all(curves.keys() == {"reference", "gpu"} for curves in published.curves.values()), (
        "a curve without its counterpart"
    )


def test_eigh_in_seconds(predicted):
    cpu, gpu = predicted("linalg.eigh", 6000, "float64")
    assert (f"{cpu:.2f}", f"{gpu:.2f}") == ("11.10", "2.23")


@pytest.mark.parametrize(
    ("dtype", "ratios"),
    [("float32", ("0.8", "1.4", "2.7", "4.7")), ("float64", ("0.4", "0.5", "0.6", "0.8"))],
)
def test_matmul_ratios_to_the_digit_printed(predicted, dtype, ratios):
    found = [predicted("matmul", n, dtype) for n in (1024, 2048, 4096, 8192)]
    assert tuple(f"{cpu / gpu:.1f}" for cpu, gpu in found) == ratios


@pytest.mark.parametrize(
    ("operation", "dtype", "sizes", "ratios"),
    [
        ("linalg.solve", "float64", (1024, 2048, 4096, 8192), (1.1, 2.1, 0.9, 1.4)),
        ("linalg.eigh", "float32", (256, 1024, 4096, 8192), (1.8, 5.4, 8.9, 10.2)),
    ],
)
def test_other_ratios(published, predicted, operation, dtype, sizes, ratios):
    back = published.backends["gpu"].copy_out
    for n, ratio in zip(sizes, ratios, strict=True):
        cpu, gpu = predicted(operation, n, dtype)
        if operation == "linalg.solve":
            # the publication copies the LU factors back too
            gpu += back.seconds(n * n * np.dtype(dtype).itemsize)
        assert cpu / gpu == pytest.approx(ratio, rel=0.12), (operation, n)


@pytest.mark.parametrize("n", SIZES)
def test_double_products_never_leave_the_cpu(chosen, n):
    assert chosen(5, "matmul", n, "float64") == "reference"


@pytest.mark.parametrize("n", SIZES)
def test_double_eigh_leaves_it_from_512_on(chosen, n):
    assert chosen(5, "linalg.eigh", n, "float64") == ("gpu" if n >= 512 else "reference")


@pytest.mark.parametrize("operation", ["matmul", "linalg.eigh", "linalg.solve", "linalg.svd"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", SIZES)
def test_a_more_eager_level_never_takes_a_call_back(chosen, operation, dtype, n):
    taken = [chosen(level, operation, n, dtype) == "gpu" for level in sorted(LEVELS)]
    assert taken == sorted(taken)


@pytest.mark.parametrize("operation", ["matmul", "linalg.eigh", "linalg.solve", "linalg.svd"])
@pytest.mark.parametrize("level", [1, 5, 10])
def test_no_call_below_the_limit_would_have_been_sent_away(published, call, operation, level):
    policy = CostModelPolicy(Settings(level=level), published)
    limit = policy.limit(OPERATIONS[operation], [Gpu()])
    for n in (128, 181, 256, 362, 512, 724, 1024, 1448, 2048, 4096, 8192):
        for dtype in ("float32", "float64"):
            decision = policy.choose(call(operation, n, dtype), [Gpu()])
            assert decision.backend == "reference" or n * n >= limit, (n, dtype)


def test_the_limit_of_an_operation_that_never_wins_is_infinite(published):
    only = {"matmul": {"matrix": {"float64": published.points["matmul"]["matrix"]["float64"]}}}
    profile = type(published)(published.machine, only, published.backends)
    policy = CostModelPolicy(Settings(level=5), profile)
    assert policy.limit(OPERATIONS["matmul"], [Gpu()]) == float("inf")
