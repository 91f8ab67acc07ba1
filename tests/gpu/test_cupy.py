"""The CuPy backend on a real device, every operation against the reference."""

from __future__ import annotations

import runpy
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dispatch_xp.backends import Backend
from dispatch_xp.call import Call
from dispatch_xp.errors import Unsupported
from dispatch_xp.execution import execute
from dispatch_xp.operations import OPERATIONS

CASES = runpy.run_path(str(Path(__file__).parents[1] / "backends" / "cupy_cases.py"))["CASES"]
DOUBLE = np.dtype(np.float64)


@pytest.fixture
def backend(started: Callable[[str], Backend]) -> Backend:
    return started("cupy")


def run(backend: Backend, name: str, *arrays: Any, dtype: Any = None, **options: Any) -> Any:
    dtype = np.dtype(dtype or np.result_type(*arrays))
    call = Call(OPERATIONS[name], dtype, tuple(x.shape for x in arrays), options, arrays)
    assert backend.refuses(call) == ""
    return execute(backend, call)


def check_case(backend: Backend, case: Any, char: str) -> None:
    dtype = np.dtype(char)
    arrays = case.arrays(np.random.default_rng(3), dtype)
    before = [x.copy() for x in arrays]
    results = run(backend, case.operation, *arrays, dtype=dtype, **case.options)
    assert all(type(x) is np.ndarray for x in results)
    for x, original in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(x, original, "an input was written to")
    case.check(results, arrays, case.options)


@pytest.mark.parametrize("operation", sorted({case.operation for case in CASES}))
def test_value(operation: str, backend: Backend) -> None:
    for case in CASES:
        if case.operation != operation:
            continue
        for char in case.dtypes:
            try:
                check_case(backend, case, char)
            except Unsupported as refusal:
                if operation in ("linalg.eig", "linalg.eigvals"):
                    pytest.skip(str(refusal))
                raise
            except Exception as error:
                error.add_note(f"in {case}, dtype {char}")
                raise


@pytest.mark.parametrize("order", [64, 600])
@pytest.mark.parametrize("char", "fdFD")
@pytest.mark.parametrize("name", ["linalg.solve", "linalg.inv", "linalg.cholesky"])
def test_larger_matrices(name: str, char: str, order: int, backend: Backend) -> None:
    rng = np.random.default_rng(order)
    a = rng.standard_normal((order, order)) + 1j * rng.standard_normal((order, order))
    a = (a @ a.conj().T / order + 2 * np.eye(order)).astype("D")
    a = a.astype(char) if char in "FD" else np.ascontiguousarray(a.real).astype(char)
    eps = np.finfo(char).eps
    if name == "linalg.solve":
        b = rng.standard_normal((order, 3)).astype(char)
        (x,) = run(backend, name, a, b, well_conditioned=True)
        expected = np.linalg.solve(a, b)
    elif name == "linalg.inv":
        (x,) = run(backend, name, a, well_conditioned=True)
        expected = np.linalg.inv(a)
    else:
        (x,) = run(backend, name, a, upper=False)
        expected = np.linalg.cholesky(a)
    np.testing.assert_allclose(x, expected, atol=1000 * eps * np.abs(expected).max())


SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])


@pytest.mark.parametrize("char", "fdFD")
@pytest.mark.parametrize("stack", [(), (3,)])
@pytest.mark.parametrize(
    ("name", "a", "options"),
    [
        ("linalg.inv", SINGULAR, {}),
        ("linalg.inv", np.zeros((2, 2)), {}),
        ("linalg.cholesky", -np.eye(3), {"upper": False}),
        ("linalg.cholesky", -np.eye(3), {"upper": True}),
    ],
)
def test_singular_raises(
    name: str, a: Any, options: Any, stack: tuple[int, ...], char: str, backend: Backend
) -> None:
    a = np.broadcast_to(a.astype(char), (*stack, *a.shape))
    with pytest.raises(np.linalg.LinAlgError):
        run(backend, name, a, **options)


@pytest.mark.parametrize("checked", [False, True])
def test_singular_solve_raises_in_every_thread(checked: bool, backend: Backend) -> None:
    raised = []

    def solve() -> None:
        try:
            run(backend, "linalg.solve", SINGULAR, np.ones(2), well_conditioned=checked)
        except np.linalg.LinAlgError:
            raised.append(True)

    threads = [threading.Thread(target=solve) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(raised) == 4


@pytest.mark.parametrize("name", ["linalg.lu", "linalg.lu_factor"])
def test_singular_lu_is_left_to_the_reference(
    name: str, backend: Backend, recwarn: pytest.WarningsRecorder
) -> None:
    with pytest.raises(Unsupported):
        run(backend, name, SINGULAR)
    assert not recwarn.list


def test_determinant_of_a_singular_matrix_is_zero(backend: Backend) -> None:
    (det,) = run(backend, "linalg.det", np.stack([SINGULAR, np.eye(2)]))
    np.testing.assert_array_equal(det, [0, 1])


def test_eigh_of_zeros(backend: Backend) -> None:
    values, vectors = run(backend, "linalg.eigh", np.zeros((4, 4)), lower=True)
    np.testing.assert_array_equal(values, 0)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-12)


def test_ill_conditioned_is_left_to_the_reference(backend: Backend) -> None:
    hilbert = 1 / (np.arange(14)[:, None] + np.arange(14) + 1.0)
    for name, arrays in (("linalg.inv", (hilbert,)), ("linalg.solve", (hilbert, np.ones(14)))):
        with pytest.raises(Unsupported):
            run(backend, name, *arrays, well_conditioned=True)


X = np.random.default_rng(0).standard_normal((30, 40))


@pytest.mark.parametrize(
    "x",
    [
        pytest.param(X.T, id="transposed"),
        pytest.param(X[::-1, ::-2], id="negative"),
        pytest.param(X[::3, 5:30], id="strided"),
        pytest.param(X.astype(">f8"), id="big-endian"),
        pytest.param(np.asfortranarray(X), id="Fortran"),
        pytest.param(X[:1, ::-1], id="one row"),
    ],
)
def test_memory_layout_does_not_matter(x: Any, backend: Backend) -> None:
    (result,) = run(backend, "exp", x, dtype=DOUBLE)
    np.testing.assert_allclose(result, np.exp(x), rtol=1e-14)
    (result,) = run(backend, "matmul", x, np.ascontiguousarray(x.T), dtype=DOUBLE)
    np.testing.assert_allclose(result, x @ x.T, rtol=1e-10)


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_extremes_of_non_finite_values_stay(name: str, value: float, backend: Backend) -> None:
    with pytest.raises(Unsupported):
        run(backend, name, np.array([value]), axis=None)


def test_float32_products_use_all_digits(backend: Backend) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(1, 2, (256, 256)).astype("f") for _ in range(2))
    (result,) = run(backend, "matmul", a, b)
    np.testing.assert_allclose(result, a.astype("d") @ b, rtol=1e-5)


def test_large_stack_of_small_matrices(backend: Backend) -> None:
    a = np.random.default_rng(0).standard_normal((40_000, 4, 4))
    a = a + np.swapaxes(a, -1, -2)
    (values,) = run(backend, "linalg.eigvalsh", a, lower=True)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), atol=1e-10)
    (values,) = run(backend, "linalg.svdvals", a)
    np.testing.assert_allclose(values, np.linalg.svd(a, compute_uv=False), atol=1e-10)


def test_tall_svd_that_gesvd_cannot_index(backend: Backend) -> None:
    a = np.random.default_rng(0).standard_normal((100_000, 20))
    u, s, vh = run(backend, "linalg.svd", a, full_matrices=False)
    np.testing.assert_allclose((u * s) @ vh, a, atol=1e-9)


def test_memory_is_released(backend: Backend) -> None:
    backend.release()
    before = backend.memory()
    run(backend, "exp", np.ones(10_000_000))
    backend.release()
    after = backend.memory()
    assert before is not None
    assert after is not None
    assert after.free > before.free - 40e6


def test_running_out_of_memory_leaves_the_device_usable(backend: Backend) -> None:
    import cupy

    memory = backend.memory()
    assert memory is not None
    with pytest.raises(MemoryError):
        cupy.empty(2 * memory.total, dtype="b")
    backend.release()
    (result,) = run(backend, "exp", X)
    np.testing.assert_allclose(result, np.exp(X), rtol=1e-14)


def test_results_are_complete_when_they_arrive(backend: Backend) -> None:
    a = np.random.default_rng(0).standard_normal((1500, 1500))
    for _ in range(3):
        (result,) = run(backend, "matmul", a, a)
        np.testing.assert_allclose(result[:2], a[:2] @ a, atol=1e-8)
    backend.synchronize()
