"""Intel GPUs through dpnp: oneMKL on any SYCL device, with memory of its own.

With the OpenCL runtime for CPUs (``intel-opencl-rt``), the processor is such a device too.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dispatch_xp.backends.array_api import KERNELS, ArrayAPIBackend, Kernel
from dispatch_xp.backends.interface import Availability, Memory
from dispatch_xp.call import Call
from dispatch_xp.errors import BackendUnavailable
from dispatch_xp.installed import versions

__all__ = ["DpnpBackend"]

_DRIVERS = "OCL_ICD_FILENAMES"
_WITHOUT_COMPLEX = frozenset({"log1p", "expm1", "log2"})


class DpnpBackend(ArrayAPIBackend):
    """dpnp on the default SYCL device, which ``ONEAPI_DEVICE_SELECTOR`` chooses."""

    name = "dpnp"
    shares_host_memory = False
    device_name = "sycl:0"
    modules: ClassVar[tuple[str, ...]] = ("dpctl", "dpnp")
    # without LU factors nobody can tell a determinant from one that rounding decides
    kernels: Mapping[str, Kernel] = {
        name: kernel
        for name, kernel in KERNELS.items()
        if name not in ("linalg.det", "linalg.slogdet")
    }

    def __init__(self) -> None:
        self._lock = RLock()
        self._device: Any = None

    def probe(self) -> Availability:
        """Look for dpnp without importing it."""
        if importlib.util.find_spec("dpnp") is None:
            return Availability(False, "dpnp is not installed: pip install 'dispatch-xp[dpnp]'")
        installed = versions(["dpnp"]).get("dpnp", "of unknown version")
        return Availability(True, "", f"dpnp {installed} on a SYCL device")

    def start(self) -> None:
        """Import dpnp and prove that its default device works.

        Raises
        ------
        BackendUnavailable
            If it can't be imported, or no device does double precision.
        """
        with self._lock:
            if self.started:
                return
            with _cpu_driver():
                try:
                    import dpctl
                    import dpnp
                except Exception as error:
                    raise BackendUnavailable(f"dpnp cannot be imported: {error}") from error
                try:
                    device = dpctl.SyclDevice()
                    if not device.has_aspect_fp64:
                        raise BackendUnavailable(f"{device.name} has no double precision")
                    dpnp.ones(1, device=device).sum().item()
                except BackendUnavailable:
                    raise
                except Exception as error:
                    raise BackendUnavailable(
                        f"dpnp has no working device: {error}. For a CPU: pip install "
                        "intel-opencl-rt"
                    ) from error
            self._device, self.xp = device, dpnp
            self.started = True

    def refuses(self, call: Call) -> str:
        """Refuse what dpnp would do in another way."""
        name = call.operation.name
        if call.options.get("well_conditioned"):
            return "it does not estimate condition numbers, of which SciPy warns"
        if call.dtype.kind == "c" and name in _WITHOUT_COMPLEX:
            return f"{name} of complex numbers loses digits"
        if name == "argsort" and not call.options["stable"]:
            return "ties come in another order unless stable=True"
        return ""

    def copy_in(self, array: npt.NDArray[Any], dtype: np.dtype[Any]) -> Any:
        """Copy an array to the device; converted there."""
        host = np.asarray(array, order="C")
        with self._lock:
            value = self.xp.asarray(host, device=self._device, copy=True)
            return value if value.dtype == dtype else self.xp.astype(value, dtype)

    def adopts(self, array: Any) -> bool:
        """Take dpnp's arrays on the same device."""
        return isinstance(array, self.xp.ndarray) and array.sycl_device == self._device

    def run(self, call: Call, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run the operation's kernel, one at a time."""
        with self._lock:
            return super().run(call, arrays)

    def copy_out(self, value: Any) -> npt.NDArray[Any]:
        """Copy a result back, once it is complete."""
        with self._lock:
            result: npt.NDArray[Any] = self.xp.asnumpy(value)
            return result

    def synchronize(self) -> None:
        """Wait for the default queue."""
        self.xp.synchronize_array_data(self.xp.empty(1, device=self._device))

    def memory(self) -> Memory | None:
        """Return the device's memory; of a CPU, what the system has available."""
        if not self.started:
            return None
        total = int(self._device.global_mem_size)
        return Memory(min(_available(self._device, total), total), total)


@contextmanager
def _cpu_driver() -> Iterator[None]:
    """Show OpenCL's loader the CPU driver from PyPI, which nothing registers with the system."""
    driver = Path(sys.prefix, "lib", "libintelocl.so")
    if _DRIVERS in os.environ or not driver.exists():
        yield
        return
    os.environ[_DRIVERS] = str(driver)
    try:
        yield
    finally:
        del os.environ[_DRIVERS]


def _available(device: Any, total: int) -> int:
    """Return the free bytes of a device; all of them where nobody tells."""
    if device.is_cpu:
        try:
            lines = Path("/proc/meminfo").read_text().splitlines()
        except OSError:
            return total
        return next((1024 * int(x.split()[1]) for x in lines if x.startswith("MemAvail")), total)
    import dpctl.utils

    # Level Zero tells only where ZES_ENABLE_SYSMAN=1
    return int(dpctl.utils.intel_device_info(device).get("free_memory", total))
