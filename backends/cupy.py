"""NVIDIA GPUs through CuPy: cuBLAS, cuSOLVER and cuFFT.

The kernels are in :mod:`~dispatch_xp.backends.cupy_kernels` and
:mod:`~dispatch_xp.backends.cupy_linalg`, what it refuses in
:mod:`~dispatch_xp.backends.cupy_limits`, and why it may be missing in
:mod:`~dispatch_xp.backends.cupy_availability`. Here is what all calls share: the device, the lock,
the copies, the memory, and what is left after a fault.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dispatch_xp.backends import cupy_availability, cupy_kernels, cupy_limits, nvml
from dispatch_xp.backends.array_api import ArrayAPIBackend
from dispatch_xp.backends.interface import Availability, Memory
from dispatch_xp.call import Call
from dispatch_xp.errors import BackendUnavailable

__all__ = ["CupyBackend"]

STICKY = frozenset({46, 214, 700, 702, 710, 714, 715, 716, 717, 718, 719})
"""CUDA errors after which every later call of the process fails; 700 is an illegal access."""

PLAN_MEMORY = 256 * 1024**2
"""Bytes that cuFFT plans of one thread may keep."""

FORKED = "this process was forked: CUDA does not survive that"


class CupyBackend(ArrayAPIBackend):
    """CuPy on one NVIDIA GPU."""

    name: ClassVar[str] = "cupy"
    shares_host_memory: ClassVar[bool] = False
    device_name: ClassVar[str] = "cuda:0"
    modules: ClassVar[tuple[str, ...]] = ("cupy",)

    kernels = cupy_kernels.KERNELS
    device = 0
    """The CUDA device, among those that ``CUDA_VISIBLE_DEVICES`` leaves."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._gone = ""

    def probe(self) -> Availability:
        """Look for CuPy and a driver, without importing CuPy."""
        found = cupy_availability.look()
        return Availability(False, self._gone, found.description) if self._gone else found

    def start(self) -> None:
        """Import CuPy and prove on the device that it works.

        Raises
        ------
        BackendUnavailable
            With what is missing, and what to install or update.
        """
        with self._lock:
            if self._gone:
                raise BackendUnavailable(self._gone)
            if not self.started:
                self.xp = cupy_availability.load(self.device)
                self.started = True
                bus = self.xp.cupy.cuda.runtime.deviceGetPCIBusId(self.device)
                nvml.others(self.device).entered(bus)

    def refuses(self, call: Call) -> str:
        """Return why CuPy does not take a call: the device, the dtype, an argument or the size."""
        return self._gone or cupy_limits.refusal(call)

    def copy_in(self, array: npt.NDArray[Any], dtype: np.dtype[Any]) -> Any:
        """Upload a canonical copy: C order, native bytes, positive strides.

        What is widened is widened on the device, so that fewer bytes travel.
        """
        dtype = dtype.newbyteorder("=")
        as_it_is = _goes_as_it_is(array, dtype)
        host = array
        if not as_it_is:
            host = np.asarray(array, dtype=_uploaded_as(array, dtype), order="C")
        with self._device() as cupy:
            value = cupy.empty(host.shape, dtype=host.dtype)
            value.set(host)
            if as_it_is and _is_page_locked(cupy, host):
                # the device may read on after this has returned, when the caller may write
                cupy.cuda.get_current_stream().synchronize()
            return value if host.dtype == dtype else value.astype(dtype)

    def page_locked(self, nbytes: int) -> npt.NDArray[np.uint8] | None:
        """Return memory of CuPy's page-locked pool."""
        with self._device():
            memory: npt.NDArray[np.uint8] = self.xp.cupyx.empty_pinned((nbytes,), dtype=np.uint8)
            return memory

    def is_page_locked(self, array: npt.NDArray[Any], dtype: np.dtype[Any]) -> bool:
        """Ask CUDA about the memory, unless a copy of it is uploaded."""
        if not _goes_as_it_is(array, dtype):
            return False
        try:
            # as for the memory, this doesn't wait for another thread's call
            with self._device(nullcontext()) as cupy:
                return _is_page_locked(cupy, array)
        except (BackendUnavailable, self.xp.cupy.cuda.runtime.CUDARuntimeError):
            # a lost device, which the call itself will find
            return False

    def adopts(self, array: Any) -> bool:
        """Take CuPy's arrays on the same device."""
        cupy = self.xp.cupy
        return isinstance(array, cupy.ndarray) and int(array.device.id) == self.device

    def copied(self, value: Any) -> Any:
        """Return a copy on the device."""
        with self._device():
            return value.copy()

    def run(self, call: Call, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run the operation's kernel, with cuSOLVER's own error records read."""
        with self._device() as cupy, self.xp.cupyx.errstate(linalg="raise"):
            if call.operation.name.startswith("fft."):
                self._limit_plans(cupy)
            return super().run(call, arrays)

    def convert(self, value: Any, dtype: np.dtype[Any]) -> Any:
        """Return an array in another dtype."""
        with self._device():
            return value.astype(dtype)

    def all_finite(self, value: Any) -> bool:
        """Look on the device; waits for it."""
        if value.dtype.kind not in "fc":
            return True
        with self._device() as cupy:
            # no mask is made unless the sum, which may overflow by itself, isn't finite
            return bool(cupy.isfinite(value.sum())) or bool(cupy.isfinite(value).all())

    def copy_out(self, value: Any) -> npt.NDArray[Any]:
        """Download one result, once it is complete."""
        with self._device() as cupy:
            return np.asarray(cupy.asnumpy(value))

    def synchronize(self) -> None:
        """Wait for this thread's stream."""
        with self._device() as cupy:
            cupy.cuda.get_current_stream().synchronize()

    def memory(self) -> Memory | None:
        """Return the device's free memory, with what CuPy's pool holds unused."""
        if not self.started or self._gone:
            return None
        # asked for every decision, so it doesn't wait for another thread's call
        with self._device(nullcontext()) as cupy:
            free, total = cupy.cuda.runtime.memGetInfo()
            pool = cupy.get_default_memory_pool()
            free += pool.free_bytes()
            limit = pool.get_limit()
            if limit:
                free = min(free, limit - pool.used_bytes())
            return Memory(free=max(int(free), 0), total=int(total))

    def others_load(self, wait: float = 0.0) -> float | None:
        """Ask the driver; see :mod:`~dispatch_xp.backends.nvml`."""
        return nvml.others(self.device).load(wait)

    def others_problem(self) -> str:
        """Return why the driver doesn't tell."""
        return nvml.others(self.device).problem

    def release(self) -> None:
        """Give back unused blocks on the device and on the host, and this thread's FFT plans."""
        if not self.started or self._gone:
            return
        with self._device() as cupy:
            cupy.fft.config.get_plan_cache().clear()
            cupy.get_default_memory_pool().free_all_blocks()
            cupy.get_default_pinned_memory_pool().free_all_blocks()

    def after_fork(self) -> None:
        """Use no device in the child of a process that has started it."""
        self._lock = threading.RLock()
        if self.started:
            self._gone = FORKED
            self.started = False

    @contextmanager
    def _device(self, lock: AbstractContextManager[Any] | None = None) -> Iterator[Any]:
        """Hold the device: the lock, the current device, and what a fault leaves behind.

        The yielded value is the ``cupy`` module.
        """
        with lock or self._lock:
            if self._gone or not self.started:
                raise BackendUnavailable(self._gone or "the cupy backend has not been started")
            cupy = self.xp.cupy
            try:
                with cupy.cuda.Device(self.device):
                    yield cupy
            except Exception as error:
                if self._is_lost(error):
                    self._gone = f"given up for this process after a device fault: {error}"
                raise

    def _is_lost(self, error: Exception) -> bool:
        """Say whether an error means that this process can use the device no more."""
        cuda = self.xp.cupy.cuda
        if not type(error).__module__.startswith(("cupy", "cupyx")):
            return False
        if isinstance(error, (cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError)):
            return getattr(error, "status", None) in STICKY
        try:
            cuda.runtime.deviceSynchronize()
        except cuda.runtime.CUDARuntimeError as fault:
            return getattr(fault, "status", None) in STICKY
        return False

    @staticmethod
    def _limit_plans(cupy: Any) -> None:
        """Bound the plan cache, one per thread and device, unless somebody has."""
        cache = cupy.fft.config.get_plan_cache()
        if cache.get_memsize() < 0:
            cache.set_memsize(PLAN_MEMORY)


def _uploaded_as(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return in which dtype an array travels that is needed in another one: the narrower."""
    dtype = dtype.newbyteorder("=")
    own = array.dtype.newbyteorder("=")
    return own if own.kind in "biuf" and own.itemsize < dtype.itemsize else dtype


def _goes_as_it_is(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether the device gets an array's own bytes, and no canonical copy of it."""
    return array.flags.c_contiguous and array.dtype == _uploaded_as(array, dtype)


def _is_page_locked(cupy: Any, array: npt.NDArray[Any]) -> bool:
    runtime = cupy.cuda.runtime
    kind = runtime.pointerGetAttributes(array.ctypes.data).type
    return bool(kind == runtime.cudaMemoryTypeHost)
