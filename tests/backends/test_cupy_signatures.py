"""Every CuPy kernel run on NumPy stand-ins, each call checked against the real CuPy's signature.

What CuPy does on a device is tested in ``tests/gpu``; here, that what the kernels call exists and
takes what they pass, and that they are right if CuPy's functions mean what NumPy's mean.
"""

from __future__ import annotations

import ctypes
import inspect
import re
import runpy
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg

from dispatch_xp.backends.cupy import CupyBackend
from dispatch_xp.backends.cupy_availability import Libraries
from dispatch_xp.call import Call
from dispatch_xp.errors import Unsupported
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.reasons import Reason

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
pytest.importorskip(
    "cupyx.scipy.linalg",
    reason="cupyx.scipy.linalg does not import: the CUDA libraries are missing",
    exc_type=ImportError,
)
import cupyx.cusolver  # noqa: E402
import cupyx.lapack  # noqa: E402
import cupyx.scipy.fft  # noqa: E402

CASES = runpy.run_path(str(Path(__file__).with_name("cupy_cases.py")))["CASES"]


class DeviceArray(np.ndarray):
    """A NumPy array with nothing that ``cupy.ndarray`` lacks; it doesn't mix with host arrays."""

    def __getattribute__(self, name: str) -> Any:
        if name == "data":
            return SimpleNamespace(ptr=np.ndarray.view(self, np.ndarray).ctypes.data)
        if not name.startswith("__") and not hasattr(cupy.ndarray, name):
            raise AttributeError(f"cupy.ndarray has no {name}")
        return super().__getattribute__(name)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        for x in inputs:
            if isinstance(x, np.ndarray) and not isinstance(x, DeviceArray):
                raise TypeError(f"{ufunc.__name__} mixes a host array with a device array")
        if "out" in kwargs:
            kwargs["out"] = tuple(on_host(x) for x in kwargs["out"])
        return on_device(getattr(ufunc, method)(*map(on_host, inputs), **kwargs))


def on_host(x: Any) -> Any:
    if isinstance(x, DeviceArray):
        return np.ndarray.view(x, np.ndarray)
    if isinstance(x, tuple | list):
        return type(x)(on_host(y) for y in x)
    return x


def on_device(x: Any) -> Any:
    if isinstance(x, np.ndarray | np.generic):
        return np.asarray(x).view(DeviceArray)
    if isinstance(x, tuple):
        return tuple(on_device(y) for y in x)
    return x


def signature(function: Any) -> inspect.Signature:
    """Return a function's signature; a Cython function has it in its docstring only."""
    try:
        return inspect.signature(function)
    except ValueError:
        pass
    match = re.match(r"\w+\((.*?)\)", function.__doc__ or "")
    assert match, f"{function} does not tell its signature"
    names = [part.split("=")[0].split()[-1] for part in match[1].split(",") if part.strip()]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in names])


def check(path: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Fail if the real function would not take these arguments."""
    takes_host = path.endswith((".asarray", ".array"))
    assert takes_host or not any(type(x) is np.ndarray for x in args), f"{path} of a host array"
    if isinstance(function, cupy.ufunc):
        assert not kwargs, path
        assert len(args) == function.nin, path
        chars = [x.dtype.char for x in args if isinstance(x, np.ndarray)]
        wanted = "".join(chars) if len(chars) == function.nin else chars[0] * function.nin
        assert wanted in [loop.split("->")[0] for loop in function.types], (path, wanted)
        return
    try:
        signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise AssertionError(f"{path}: {error}") from error


class Recorded:
    """A real module's names and signatures, and a stand-in's values."""

    def __init__(self, real: Any, stand_in: Any, path: str, called: set[str]) -> None:
        self._parts = real, stand_in, path, called

    def __getattr__(self, name: str) -> Any:
        real, stand_in, path, called = self._parts
        path = f"{path}.{name}"
        function, value = getattr(real, name), getattr(stand_in, name)
        if isinstance(function, ModuleType) or not callable(function):
            return Recorded(function, value, path, called)

        def call(*args: Any, **kwargs: Any) -> Any:
            check(path, function, args, kwargs)
            called.add(path)
            return on_device(value(*map(on_host, args), **kwargs))

        return call


def gesv(a: Any, b: Any) -> None:
    assert a.flags.f_contiguous
    assert b.flags.f_contiguous
    getrf, getrs = scipy.linalg.get_lapack_funcs(("getrf", "getrs"), (a,))
    a[...], pivots, info = getrf(a)
    if info:
        raise np.linalg.LinAlgError("singular")
    b[...], _ = getrs(a, pivots, b)


def potrs(factor: Any, b: Any, lower: bool) -> Any:
    assert factor.flags.f_contiguous
    assert b.flags.f_contiguous
    return scipy.linalg.cho_solve((factor, lower), b)


def _at(address: int, shape: tuple[int, ...], dtype: str) -> Any:
    """Return the Fortran-ordered memory at an address, as a cuSOLVER routine sees it."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    buffer = (ctypes.c_char * size).from_address(address)
    return np.frombuffer(buffer, dtype=dtype).reshape(shape, order="F")


def getrf(dtype: str) -> Any:
    def routine(
        handle: int, m: int, n: int, a: int, lda: int, work: int, pivots: int, info: int
    ) -> None:
        assert lda == m
        matrix = _at(a, (m, n), dtype)
        (factor,) = scipy.linalg.get_lapack_funcs(("getrf",), (matrix,))
        matrix[...], piv, found = factor(matrix)
        _at(pivots, (min(m, n),), "int32")[...] = piv + 1
        _at(info, (1,), "int32")[...] = found
        _at(work, (1,), dtype)[...] = 7

    return routine


APPROXIMATE_OUTPUTS = {
    "linalg.matrix_norm",
    "linalg.polar",
    "linalg.solve",
}
"""Operations whose row estimates the shapes of the results, for the cost alone."""

LETTERS = {"s": "f", "d": "d", "c": "F", "z": "D"}


@pytest.fixture
def called() -> set[str]:
    return set()


@pytest.fixture
def backend(called: set[str]) -> CupyBackend:
    numpy = SimpleNamespace(
        **{name: getattr(np, name) for name in dir(np) if not name.startswith("_")}
    )
    numpy.linalg = SimpleNamespace(
        **{name: getattr(np.linalg, name) for name in dir(np.linalg) if not name.startswith("_")}
    )
    numpy.linalg.eig = lambda a: tuple(
        x.astype(np.result_type(a, np.complex64)) for x in np.linalg.eig(a)
    )
    numpy.linalg.eigvals = lambda a: np.linalg.eigvals(a).astype(np.result_type(a, np.complex64))
    numpy.cuda = SimpleNamespace(device=SimpleNamespace(get_cusolver_handle=lambda: 1))
    cusolver = SimpleNamespace(
        **{f"{letter}getrf": getrf(dtype) for letter, dtype in LETTERS.items()},
        **{f"{letter}getrf_bufferSize": lambda h, m, n, a, lda: 1 for letter in LETTERS},
    )

    def recorded(real: Any, stand_in: Any) -> Any:
        return Recorded(real, stand_in, real.__name__, called)

    backend = CupyBackend()
    backend.xp = Libraries(
        cupy=recorded(cupy, numpy),
        cupyx=None,
        linalg=recorded(cupyx.scipy.linalg, scipy.linalg),
        fft=recorded(cupyx.scipy.fft, scipy.fft),
        lapack=recorded(cupyx.lapack, SimpleNamespace(gesv=gesv, potrs=potrs)),
        solvers=recorded(cupyx.cusolver, SimpleNamespace(check_availability=lambda name: True)),
        cusolver=recorded(cupy.cuda.cusolver, cusolver),
    )
    return backend


def run(backend: CupyBackend, name: str, arrays: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Run a kernel as :meth:`CupyBackend.run` does, but for the device."""
    before = [x.copy() for x in arrays]
    inputs = tuple(np.ascontiguousarray(x).view(DeviceArray) for x in arrays)
    with np.errstate(all="ignore"):
        results = backend.kernels[name](backend.xp, *inputs, **options)
    results = results if isinstance(results, tuple) else (results,)
    for x, original in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(on_host(x), original, "an input was written to")
    assert all(isinstance(x, DeviceArray) for x in results)
    assert not any(np.shares_memory(x, y) for x in results for y in inputs)
    return tuple(on_host(x) for x in results)


def check_case(backend: CupyBackend, case: Any, char: str) -> None:
    dtype = np.dtype(char)
    arrays = case.arrays(np.random.default_rng(3), dtype)
    call = Call(OPERATIONS[case.operation], dtype, tuple(x.shape for x in arrays), case.options)
    assert backend.refuses(call) == ""
    results = run(backend, case.operation, arrays, case.options)
    if case.operation not in APPROXIMATE_OUTPUTS:
        shapes = call.operation.outputs(call.shapes, call.options)
        assert tuple(x.shape for x in results) == shapes
    case.check(results, arrays, case.options)


@pytest.mark.parametrize("operation", sorted({case.operation for case in CASES}))
def test_kernel(operation: str, backend: CupyBackend) -> None:
    for case in CASES:
        if case.operation != operation:
            continue
        for char in case.dtypes:
            try:
                check_case(backend, case, char)
            except Exception as error:
                error.add_note(f"in {case}, dtype {char}")
                raise


def test_every_operation_has_a_case() -> None:
    assert {case.operation for case in CASES} == CupyBackend().operations()
    assert CupyBackend().operations() <= set(OPERATIONS)


SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])


@pytest.mark.parametrize(
    ("name", "arrays", "options"),
    [
        ("linalg.solve", (SINGULAR, np.ones(2)), {"well_conditioned": False}),
        ("linalg.solve", (SINGULAR, np.ones(2)), {"well_conditioned": True}),
        ("linalg.inv", (SINGULAR,), {}),
        ("linalg.cholesky", (-np.eye(3),), {}),
        ("linalg.solve_triangular", (np.diag([1.0, 0.0]), np.ones(2)), {}),
    ],
)
def test_singular_raises(
    name: str, arrays: tuple[Any, ...], options: dict[str, Any], backend: CupyBackend
) -> None:
    with pytest.raises(np.linalg.LinAlgError):
        run(backend, name, arrays, options)


@pytest.mark.parametrize("name", ["linalg.lu", "linalg.lu_factor"])
def test_singular_lu_is_left_to_the_reference(name: str, backend: CupyBackend) -> None:
    with pytest.raises(Unsupported) as caught:
        run(backend, name, (SINGULAR,), {})
    assert caught.value.reason is Reason.LINALG_ERROR


@pytest.mark.parametrize("char", "fdFD")
@pytest.mark.parametrize("stack", [(), (2,)])
@pytest.mark.parametrize("name", ["linalg.solve", "linalg.inv"])
def test_ill_conditioned_is_left_to_the_reference(
    name: str, stack: tuple[int, ...], char: str, backend: CupyBackend
) -> None:
    a = np.eye(8, dtype=char) + np.ones((8, 8), dtype=char)
    a[:, 1] = a[:, 0] * (1 + 0.1 * np.finfo(char).eps)
    a[1, 1] += np.finfo(char).eps / 4
    a = np.broadcast_to(a, (*stack, 8, 8))
    arrays = (a, np.ones((*stack, 8, 1), dtype=char)) if name == "linalg.solve" else (a,)
    with pytest.raises((Unsupported, np.linalg.LinAlgError)) as caught:
        run(backend, name, arrays, {"well_conditioned": True})
    if isinstance(caught.value, Unsupported):
        assert caught.value.reason is Reason.ILL_CONDITIONED


@pytest.mark.parametrize("char", "fdFD")
@pytest.mark.parametrize("n", [1, 2, 9, 40])
def test_condition_estimate_is_lapacks(n: int, char: str, backend: CupyBackend) -> None:
    from dispatch_xp.backends.cupy_linalg import _inverse_norm

    rng = np.random.default_rng(n)
    a = (rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))).astype("D")
    a = np.asfortranarray(a.astype(char) if char in "FD" else a.real.astype(char))
    getrf, gecon = scipy.linalg.get_lapack_funcs(("getrf", "gecon"), (a,))
    norm = np.abs(a).sum(axis=0).max()
    lu = getrf(a)[0]
    expected, info = gecon(lu, norm)
    assert info == 0
    estimate = 1 / (norm * _inverse_norm(backend.xp, lu.view(DeviceArray)))
    true = 1 / (norm * np.abs(np.linalg.inv(a)).sum(axis=0).max())
    assert estimate >= 0.99 * true
    assert estimate == pytest.approx(float(expected), rel=0.5)


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_extremes_of_non_finite_values_stay(name: str, value: float, backend: CupyBackend) -> None:
    with pytest.raises(Unsupported) as caught:
        run(backend, name, (np.array([1.0, value]),), {"axis": None})
    assert caught.value.reason is Reason.NON_FINITE_INPUT


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
@pytest.mark.parametrize("divisor", [0.0, np.inf])
def test_division_that_numpy_warns_of_stays(
    name: str, divisor: float, backend: CupyBackend
) -> None:
    with pytest.raises(Unsupported):
        run(backend, name, (np.array([1.0]), np.array([divisor])), {})


@pytest.mark.parametrize("count", [-1, 32, 100])
def test_shifts_that_c_leaves_open_stay(count: int, backend: CupyBackend) -> None:
    arrays = np.array([5], dtype="i"), np.array([count], dtype="i")
    with pytest.raises(Unsupported):
        run(backend, "bitwise_left_shift", arrays, {})


def test_large_stacks_go_in_parts(backend: CupyBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dispatch_xp.backends.cupy_linalg.STACK_LIMIT", 4)
    rng = np.random.default_rng(0)
    a = rng.standard_normal((2, 5, 3, 3))
    a = a + np.swapaxes(a, -1, -2)
    (values,) = run(backend, "linalg.eigvalsh", (a,), {"lower": True})
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a))
    (values,) = run(backend, "linalg.svdvals", (a,), {})
    np.testing.assert_allclose(values, np.linalg.svd(a, compute_uv=False))
    u, s, vh = run(backend, "linalg.svd", (a,), {"full_matrices": False})
    np.testing.assert_allclose((u * s[..., None, :]) @ vh, a, atol=1e-12)


def test_wrong_values_are_noticed(backend: CupyBackend) -> None:
    backend.xp.cupy._parts[1].linalg.svd = lambda a, **_: -0.7 * np.linalg.svd(a, compute_uv=False)
    with pytest.raises(RuntimeError, match="cuSOLVER"):
        run(backend, "linalg.svdvals", (np.eye(4),), {})


# refusals known from the call


def refusal(name: str, dtype: str, *shapes: tuple[int, ...], **options: Any) -> str:
    return CupyBackend().refuses(Call(OPERATIONS[name], np.dtype(dtype), shapes, options))


@pytest.mark.parametrize(
    ("name", "dtype", "shapes", "options"),
    [
        ("linalg.svd", "d", ((19000, 19000),), {"full_matrices": False}),
        ("linalg.svd", "d", ((100_000, 100),), {"full_matrices": True}),
        ("linalg.svdvals", "d", ((20_000, 19_000),), {}),
        ("linalg.lu_factor", "d", ((50_000, 50_000),), {}),
        ("linalg.eigh", "d", ((33_000, 33_000),), {"lower": True}),
        ("matmul", "d", ((50_000, 2), (2, 50_000)), {}),
        ("matmul", "l", ((5, 5), (5, 5)), {}),
        ("exp", "e", ((5,),), {}),
        ("exp", "g", ((5,),), {}),
        ("log1p", "D", ((5,),), {}),
        ("fft.dct", "d", ((5,),), {"type": 1, "axis": -1}),
        ("fft.dct", "d", ((5,),), {"type": 2, "axis": -1, "orthogonalize": True}),
        ("fft.fftn", "D", ((5, 5),), {"axes": (0, -2)}),
        ("argsort", "d", ((5,),), {"axis": -1, "stable": False}),
        ("sum", "d", ((5,),), {"axis": ()}),
        ("linalg.expm", "d", ((2, 5, 5),), {}),
    ],
)
def test_refused(name: str, dtype: str, shapes: tuple[Any, ...], options: dict[str, Any]) -> None:
    assert refusal(name, dtype, *shapes, **options)


@pytest.mark.parametrize(
    ("name", "dtype", "shapes", "options"),
    [
        ("linalg.svd", "d", ((100_000, 100),), {"full_matrices": False}),
        ("linalg.svd", "d", ((18_000, 18_000),), {"full_matrices": True}),
        ("add", "e", ((5,), (5,)), {}),
        ("fft.dct", "d", ((5,),), {"type": 2, "axis": -1, "orthogonalize": None}),
    ],
)
def test_taken(name: str, dtype: str, shapes: tuple[Any, ...], options: dict[str, Any]) -> None:
    assert refusal(name, dtype, *shapes, **options) == ""


def test_tf32_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUPY_TF32", "1")
    assert "CUPY_TF32" in refusal("matmul", "f", (5, 5), (5, 5))
    assert refusal("matmul", "d", (5, 5), (5, 5)) == ""
    assert refusal("exp", "f", (5,)) == ""
