"""CuPy that is missing, or there without a device: reasons that say what to do, and no crash."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dispatch_xp
from dispatch_xp.backends import cupy_availability, nvml
from dispatch_xp.backends.cupy import STICKY, CupyBackend
from dispatch_xp.call import Call
from dispatch_xp.errors import BackendUnavailable
from dispatch_xp.operations import OPERATIONS

DOUBLE = np.dtype(np.float64)


def installed(**distributions: str) -> Any:
    return lambda names: {name.replace("_", "-"): number for name, number in distributions.items()}


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy_availability, "_driver", lambda: False)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> None:
    """CuPy is installed, and so is a driver."""
    monkeypatch.setattr(cupy_availability, "find_spec", lambda name: object())
    monkeypatch.setattr(cupy_availability, "versions", installed(cupy_cuda12x="14.2.0"))
    monkeypatch.setattr(cupy_availability, "_driver", lambda: True)


# probe


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy_availability, "find_spec", lambda name: None)
    availability = CupyBackend().probe()
    assert not availability.available
    assert availability.reason == "CuPy is not installed: pip install 'dispatch-xp[cuda12]'"


@pytest.mark.usefixtures("found", "no_driver")
def test_no_driver() -> None:
    availability = CupyBackend().probe()
    assert not availability.available
    assert "CuPy 14.2.0 (cupy-cuda12x) is installed, but there is no NVIDIA driver" in (
        availability.reason
    )


@pytest.mark.usefixtures("found")
def test_several_distributions(monkeypatch: pytest.MonkeyPatch) -> None:
    both = installed(cupy_cuda12x="14.2.0", cupy_cuda13x="14.2.0")
    monkeypatch.setattr(cupy_availability, "versions", both)
    availability = CupyBackend().probe()
    assert not availability.available
    assert "cupy-cuda12x 14.2.0, cupy-cuda13x 14.2.0" in availability.reason


@pytest.mark.usefixtures("found")
def test_available() -> None:
    availability = CupyBackend().probe()
    assert availability.available
    assert availability.description == "CuPy 14.2.0 (cupy-cuda12x)"


def test_probe_imports_nothing_heavy() -> None:
    code = (
        "import sys; from dispatch_xp.backends.cupy import CupyBackend; b = CupyBackend();"
        "b.probe(); b.operations(); heavy = {'cupy', 'cupyx', 'scipy', 'torch'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    source = str(Path(dispatch_xp.__file__).parents[1])
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": source}
    )


# start


@pytest.mark.usefixtures("found", "no_driver")
def test_start_without_a_driver_says_what_probe_says() -> None:
    backend = CupyBackend()
    with pytest.raises(BackendUnavailable, match="there is no NVIDIA driver"):
        backend.start()
    assert not backend.started


@pytest.mark.usefixtures("found")
def test_start_where_every_allocation_fails() -> None:
    """The library of the driver is there, and the device is not."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    pytest.importorskip(
        "cupyx.cusolver", reason="the CUDA libraries are missing", exc_type=ImportError
    )
    if cupy.is_available():
        pytest.skip("there is a device")
    backend = CupyBackend()
    with pytest.raises(BackendUnavailable, match=r"no NVIDIA driver|no device|update the NVIDIA"):
        backend.start()
    assert not backend.started
    assert backend.memory() is None
    backend.release()


@pytest.mark.usefixtures("found")
def test_missing_cuda_libraries_name_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError("libcusolver.so.11: cannot open shared object file")

    monkeypatch.setattr(cupy_availability, "import_module", missing)
    with pytest.raises(BackendUnavailable, match=r"libcusolver.*'dispatch-xp\[cuda12\]'"):
        CupyBackend().start()


class CUDARuntimeError(RuntimeError):
    def __init__(self, status: int) -> None:
        super().__init__(f"cudaError {status}")
        self.status = status


CUDARuntimeError.__module__ = "cupy_backends.cuda.api.runtime"


@pytest.mark.parametrize(
    ("status", "supported", "reason"),
    [
        (35, 0, "there is no NVIDIA driver"),
        (35, 11040, "needs a driver for CUDA 12.9, and the one installed supports 11.4: update"),
        (100, 12090, "the NVIDIA driver reports no device"),
        (3, 12090, "no device can be used: cudaError 3"),
    ],
)
def test_reason_of_a_driver_error(status: int, supported: int, reason: str) -> None:
    runtime = SimpleNamespace(driverGetVersion=lambda: supported, runtimeGetVersion=lambda: 12090)
    error = CUDARuntimeError(status)
    assert reason in cupy_availability._driver_reason("CuPy 14.2.0", runtime, error)


# use


def test_use_before_start_is_refused() -> None:
    backend = CupyBackend()
    with pytest.raises(BackendUnavailable, match="not been started"):
        backend.copy_in(np.ones(3), DOUBLE)
    with pytest.raises(BackendUnavailable, match="not been started"):
        backend.copy_out(np.ones(3))


class Device:
    """A device of NumPy arrays, which counts what it is asked and can fail."""

    def __init__(self) -> None:
        self.uploaded: list[Any] = []
        self.current: list[int] = []
        self.fault: Exception | None = None
        self.plan_memory = -1
        self.page_locked: set[int] = set()
        self.synchronized = 0

    def started(self) -> CupyBackend:
        device = self

        class Array(np.ndarray):
            def set(self, host: Any) -> None:
                if device.fault:
                    raise device.fault
                assert host.flags.c_contiguous
                assert host.dtype.isnative
                assert all(stride >= 0 for stride in host.strides)
                device.uploaded.append(host)
                np.ndarray.view(self, np.ndarray)[...] = host

        class Current:
            def __init__(self, number: int) -> None:
                self.number = number

            def __enter__(self) -> None:
                device.current.append(self.number)

            def __exit__(self, *_: object) -> None:
                device.current.append(-1)

        class Errors:
            def __init__(self, linalg: str) -> None:
                assert linalg == "raise"

            def __enter__(self) -> None:
                pass

            def __exit__(self, *_: object) -> None:
                pass

        def empty_pinned(shape: tuple[int, ...], dtype: Any) -> Any:
            memory = np.empty(shape, dtype)
            device.page_locked.add(memory.ctypes.data)
            return memory

        def attributes(address: int) -> Any:
            if isinstance(device.fault, CUDARuntimeError):
                raise device.fault
            return SimpleNamespace(type=1 if address in device.page_locked else 0)

        def synchronize() -> None:
            device.synchronized += 1
            if isinstance(device.fault, RuntimeError):
                raise device.fault

        pool = SimpleNamespace(
            free_bytes=lambda: 100, get_limit=lambda: 0, used_bytes=lambda: 50,
            free_all_blocks=lambda: device.uploaded.clear(),
        )  # fmt: skip
        cache = SimpleNamespace(
            get_memsize=lambda: device.plan_memory,
            set_memsize=lambda n: setattr(device, "plan_memory", n),
            clear=lambda: None,
        )
        runtime = SimpleNamespace(
            CUDARuntimeError=CUDARuntimeError,
            memGetInfo=lambda: (1000, 4000),
            pointerGetAttributes=attributes,
            cudaMemoryTypeHost=1,
            deviceGetPCIBusId=lambda number: f"0000:0{number}:00.0",
            deviceSynchronize=synchronize,
        )
        cupy = SimpleNamespace(
            empty=lambda shape, dtype: np.empty(shape, dtype).view(Array),
            asnumpy=lambda x: np.asarray(x),
            exp=np.exp,
            get_default_memory_pool=lambda: pool,
            get_default_pinned_memory_pool=lambda: pool,
            fft=SimpleNamespace(config=SimpleNamespace(get_plan_cache=lambda: cache)),
            cuda=SimpleNamespace(
                Device=Current,
                runtime=runtime,
                driver=SimpleNamespace(CUDADriverError=CUDARuntimeError),
                get_current_stream=lambda: SimpleNamespace(synchronize=synchronize),
            ),
        )
        fft = SimpleNamespace(fft=lambda x, n, axis, norm: np.fft.fft(x, n, axis, norm))
        backend = CupyBackend()
        cupyx = SimpleNamespace(errstate=Errors, empty_pinned=empty_pinned)
        backend.xp = SimpleNamespace(cupy=cupy, cupyx=cupyx, fft=fft)
        backend.started = True
        return backend


X = np.arange(24.0).reshape(4, 6)


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(X, id="C"),
        pytest.param(X.T, id="transposed"),
        pytest.param(X[::-1, ::-2], id="negative"),
        pytest.param(X[::2, 1:3], id="strided"),
        pytest.param(X.astype(">f8"), id="big-endian"),
        pytest.param(np.asfortranarray(X), id="Fortran"),
        pytest.param(np.array(3.0), id="zero-dimensional"),
        pytest.param(X[:1, ::-1], id="one row"),
    ],
)
def test_upload_is_canonical_and_exact(array: Any) -> None:
    device = Device()
    value = device.started().copy_in(array, DOUBLE)
    assert value.shape == array.shape
    assert value.dtype == DOUBLE
    np.testing.assert_array_equal(np.asarray(value), array)


@pytest.mark.parametrize("char", "fihB")
def test_widening_happens_on_the_device(char: str) -> None:
    device = Device()
    value = device.started().copy_in(np.arange(5).astype(char), DOUBLE)
    assert [x.dtype.char for x in device.uploaded] == [char]
    assert value.dtype == DOUBLE
    np.testing.assert_array_equal(np.asarray(value), np.arange(5.0))


def page_locked(backend: CupyBackend, dtype: Any = DOUBLE, n: int = 24) -> Any:
    memory = backend.page_locked(n * np.dtype(dtype).itemsize)
    assert memory is not None
    array = memory.view(dtype)
    array[...] = np.arange(n)
    return array


def test_page_locked_memory_is_told_apart() -> None:
    device = Device()
    backend = device.started()
    x = page_locked(backend)
    assert backend.is_page_locked(x, DOUBLE)
    assert backend.is_page_locked(x.reshape(4, 6), DOUBLE)
    assert not backend.is_page_locked(np.ones(24), DOUBLE)


@pytest.mark.parametrize(
    ("dtype", "needed", "itself"),
    [("f4", "f8", True), ("i4", "f8", True), ("f4", "c16", True),
     ("f8", "f4", False), ("i8", "f8", False), (">f8", "f8", False)],
)  # fmt: skip
def test_what_is_converted_on_the_host_is_not_read_there(
    dtype: str, needed: str, itself: bool
) -> None:
    device = Device()
    backend = device.started()
    x = page_locked(backend, dtype)
    assert backend.is_page_locked(x, np.dtype(needed)) is itself
    backend.copy_in(x, np.dtype(needed))
    assert (device.uploaded[0] is x) is itself


def test_rows_in_another_order_are_not_read_there() -> None:
    device = Device()
    backend = device.started()
    x = page_locked(backend).reshape(4, 6)
    assert not backend.is_page_locked(x.T, DOUBLE)
    backend.copy_in(x.T, DOUBLE)
    assert not np.shares_memory(device.uploaded[0], x)


def test_the_caller_may_write_to_page_locked_memory_at_once() -> None:
    device = Device()
    backend = device.started()
    backend.copy_in(np.ones(24), DOUBLE)
    assert device.synchronized == 0
    backend.copy_in(page_locked(backend), DOUBLE)
    assert device.synchronized == 1


def test_a_lost_device_knows_no_page_locked_memory() -> None:
    device = Device()
    backend = device.started()
    x = page_locked(backend)
    device.fault = CUDARuntimeError(700)
    assert not backend.is_page_locked(x, DOUBLE)
    assert not backend.is_page_locked(x, DOUBLE)
    assert "given up" in backend.probe().reason


def test_every_use_names_the_device() -> None:
    device = Device()
    backend = device.started()
    value = backend.copy_in(X, DOUBLE)
    call = Call(OPERATIONS["exp"], DOUBLE, (X.shape,))
    (result,) = backend.run(call, (value,))
    backend.copy_out(result)
    backend.synchronize()
    assert device.current == [0, -1] * 4


def test_fft_plans_are_capped() -> None:
    device = Device()
    backend = device.started()
    call = Call(OPERATIONS["fft.fft"], np.dtype("D"), ((8,),), {"n": None, "axis": 0})
    backend.run(call, (np.ones(8),))
    assert device.plan_memory == 256 * 1024**2
    device.plan_memory = 5
    backend.run(call, (np.ones(8),))
    assert device.plan_memory == 5


def test_a_start_says_which_device_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA may count the devices in another order than the driver."""
    monkeypatch.setattr(nvml, "_OTHERS", {})
    libraries = Device().started().xp
    monkeypatch.setattr(cupy_availability, "load", lambda device: libraries)
    backend = CupyBackend()
    backend.start()
    assert nvml.others(0)._name == "0000:00:00.0"
    assert nvml.others(0)._is_ours_too


def test_memory_counts_what_the_pool_can_give_back() -> None:
    memory = Device().started().memory()
    assert memory is not None
    assert (memory.free, memory.total) == (1100, 4000)


def test_memory_does_not_wait_for_a_running_call() -> None:
    backend = Device().started()
    seen = []
    with backend._lock:
        thread = threading.Thread(target=lambda: seen.append(backend.memory()))
        thread.start()
        thread.join(10)
    assert seen


@pytest.mark.parametrize("status", sorted(STICKY))
def test_a_lost_device_is_given_up(status: int) -> None:
    device = Device()
    backend = device.started()
    call = Call(OPERATIONS["exp"], DOUBLE, (X.shape,))
    assert backend.refuses(call) == ""
    device.fault = CUDARuntimeError(status)
    with pytest.raises(CUDARuntimeError):
        backend.copy_in(X, DOUBLE)
    assert "given up" in backend.refuses(call)
    assert "given up" in backend.probe().reason
    with pytest.raises(BackendUnavailable, match="given up"):
        backend.copy_in(X, DOUBLE)
    with pytest.raises(BackendUnavailable, match="given up"):
        backend.start()
    backend.release()
    assert backend.memory() is None


@pytest.mark.parametrize("error", [CUDARuntimeError(2), MemoryError(), ValueError()])
def test_other_errors_leave_the_device_in_use(error: Exception) -> None:
    device = Device()
    backend = device.started()
    device.fault = error
    with pytest.raises(type(error)):
        backend.copy_in(X, DOUBLE)
    device.fault = None
    assert backend.copy_in(X, DOUBLE).shape == X.shape


def test_a_library_error_that_hides_a_lost_device() -> None:
    class CUSOLVERError(RuntimeError):
        pass

    CUSOLVERError.__module__ = "cupy_backends.cuda.libs.cusolver"
    device = Device()
    backend = device.started()
    device.fault = CUDARuntimeError(700)
    assert backend._is_lost(CUSOLVERError())
    device.fault = None
    assert not backend._is_lost(CUSOLVERError())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_no_device_after_fork() -> None:
    backend = Device().started()
    backend.after_fork()
    assert not backend.started
    assert "forked" in backend.refuses(Call(OPERATIONS["exp"], DOUBLE, (X.shape,)))
    unstarted = CupyBackend()
    unstarted.after_fork()
    assert unstarted.refuses(Call(OPERATIONS["exp"], DOUBLE, (X.shape,))) == ""


def test_cupy_has_what_the_backend_calls() -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    cupyx = pytest.importorskip("cupyx")
    cache = cupy.fft._cache.PlanCache
    for name in ("get_memsize", "set_memsize", "clear"):
        assert callable(getattr(cache, name))
    for name in ("free_bytes", "used_bytes", "get_limit", "free_all_blocks"):
        assert callable(getattr(cupy.cuda.MemoryPool, name))
    for name in (
        "memGetInfo",
        "deviceSynchronize",
        "getDeviceCount",
        "driverGetVersion",
        "deviceGetPCIBusId",
    ):
        assert callable(getattr(cupy.cuda.runtime, name))
    assert callable(cupy.get_default_pinned_memory_pool().free_all_blocks)
    assert callable(cupy.fft.config.get_plan_cache)
    assert callable(cupy.ndarray.set)
    assert {"shape", "dtype"} <= set(inspect.signature(cupyx.empty_pinned).parameters)
    assert "(intptr_t ptr)" in cupy.cuda.runtime.pointerGetAttributes.__doc__
    assert hasattr(cupy.cuda.runtime.PointerAttributes, "type")
    assert cupy.cuda.runtime.cudaMemoryTypeHost == 1
    assert issubclass(cupy.cuda.memory.OutOfMemoryError, MemoryError)
