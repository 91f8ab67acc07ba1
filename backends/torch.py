"""PyTorch: its CPU kernels on NumPy's own memory, and its devices with copies."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from functools import cached_property, lru_cache
from threading import RLock
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dispatch_xp.backends import nvml
from dispatch_xp.backends.array_api import KERNELS, ArrayAPIBackend, Kernel
from dispatch_xp.backends.interface import Availability, Memory
from dispatch_xp.backends.torch_kernels import ELEMENTWISE, TORCH_KERNELS
from dispatch_xp.call import Call
from dispatch_xp.errors import BackendUnavailable, Unsupported
from dispatch_xp.installed import versions
from dispatch_xp.operations import elementwise
from dispatch_xp.reasons import Reason

__all__ = ["TorchBackend", "TorchCudaBackend", "TorchMpsBackend", "TorchXpuBackend"]

_STANDARD_ELEMENTWISE = frozenset(row.name for row in elementwise.ROWS)
_WITHOUT_COMPLEX = frozenset({"min", "max", "argmin", "argmax", "sort", "argsort"})


class TorchBackend(ArrayAPIBackend):
    """PyTorch on the CPU. Nothing is copied: tensors look at NumPy's memory."""

    name = "torch"
    modules = ("torch", "array_api_compat.torch")
    device: ClassVar[str] = "cpu"
    kernels: Mapping[str, Kernel] = {
        **{name: kernel for name, kernel in KERNELS.items() if name not in _STANDARD_ELEMENTWISE},
        **TORCH_KERNELS,
    }

    def __init__(self) -> None:
        self.torch: Any = None
        self._start = RLock()

    def operations(self) -> frozenset[str]:
        """Return the operations that have a kernel."""
        return frozenset(self.kernels) | frozenset(ELEMENTWISE)

    def probe(self) -> Availability:
        """Look for PyTorch without importing it."""
        if importlib.util.find_spec("torch") is None:
            return Availability(False, "PyTorch is not installed: pip install 'dispatch-xp[torch]'")
        installed = versions(["torch"]).get("torch", "of unknown version")
        problem = self._device_problem(installed)
        return Availability(not problem, problem, f"PyTorch {installed} on {self.device}")

    def _device_problem(self, installed: str) -> str:
        return ""

    def start(self) -> None:
        """Import PyTorch and prove that the device works."""
        with self._start:
            if self.started:
                return
            try:
                import array_api_compat.torch as xp
                import torch
            except Exception as error:
                raise BackendUnavailable(f"PyTorch cannot be imported: {error}") from error
            self.torch, self.xp = torch, xp
            try:
                torch.zeros(1, device=self.device)
            except Exception as error:
                raise BackendUnavailable(
                    f"PyTorch has no working {self.device} device: {error}"
                ) from error
            self.started = True

    def refuses(self, call: Call) -> str:
        """Refuse what PyTorch would do in another way."""
        name, kind = call.operation.name, call.dtype.kind
        if kind == "u" and call.dtype.itemsize > 1:
            return f"PyTorch has no arithmetic of {call.dtype}"
        if kind == "c" and (
            name in _WITHOUT_COMPLEX or (name in ELEMENTWISE and not ELEMENTWISE[name].complex)
        ):
            return f"{name} of complex numbers"
        if name == "argsort" and not call.options["stable"]:
            return "ties come in another order unless stable=True"
        if name in ("var", "std") and not call.options["correction"].is_integer():
            return "a correction that is not a whole number"
        if name == "prod" and kind in "fc":
            return "the order of a product decides what overflows on the way"
        if name == "prod" and _several(call):
            return "several axes at once"
        if name in ("argmin", "argmax") and kind == "b":
            return "search in bool"
        return ""

    def copy_in(self, array: npt.NDArray[Any], dtype: np.dtype[Any]) -> Any:
        """Return a tensor that looks at the array's memory, or a converted copy."""
        return _tensor(self.torch, array).to(_torch_dtype(self.torch, dtype))

    def run(self, call: Call, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run the operation, into the destination where there is one."""
        name = call.operation.name
        if name not in ELEMENTWISE:
            if call.destination is None:
                return super().run(call, arrays)
            (value,) = super().run(call, arrays)
            self._target(call).copy_(value)
            return (value,)
        function = getattr(self.torch, ELEMENTWISE[name].function)
        if call.destination is not None:
            return (function(*arrays, out=self._target(call)),)
        if call.workload.bytes_out >= _HUGE:
            return (function(*arrays, out=self._fresh(call, arrays)),)
        return (function(*arrays),)

    def _fresh(self, call: Call, arrays: tuple[Any, ...]) -> Any:
        """Return a tensor in memory of NumPy's: huge pages, which cost a quarter of small ones."""
        dtype = call.operation.out_dtype(call.dtype)
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        return self.torch.from_numpy(np.empty(shape, dtype))

    def _target(self, call: Call) -> Any:
        """Return the call's destination as a tensor."""
        assert call.destination is not None
        (out,) = call.destination
        if not _is_plain(out):
            raise Unsupported(Reason.SHAPE, "an output with negative strides, or unaligned")
        return self.torch.from_numpy(out)

    def copy_out(self, value: Any) -> npt.NDArray[Any]:
        """Return a tensor's memory as an ndarray."""
        array: npt.NDArray[Any] = value.resolve_conj().resolve_neg().numpy()
        return array


# bytes from which NumPy asks for huge pages
_HUGE = 1 << 22


def _several(call: Call) -> bool:
    axis = call.options.get("axis")
    return isinstance(axis, tuple) and len(axis) > 1


def _is_plain(array: npt.NDArray[Any]) -> bool:
    """Whether a tensor can look at the memory: strides in elements, each element aligned.

    PyTorch takes any address, and its vector instructions then crash; a complex number has to be
    aligned as a whole, not by its parts as in NumPy.
    """
    itemsize, flags = array.itemsize, array.flags
    if flags.c_contiguous and flags.aligned and array.dtype.alignment == itemsize:
        return True
    return array.ctypes.data % itemsize == 0 and all(
        s >= 0 and s % itemsize == 0 for s in array.strides
    )


class _Writeable:
    """The same memory without the read-only flag: PyTorch has no read-only tensors, and warns."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface
        self.array = array


def _tensor(torch: Any, array: npt.NDArray[Any]) -> Any:
    """Return a tensor over the array's memory; over a copy where PyTorch can't look at it."""
    if not _is_plain(array):
        array = array.copy(order="C")
    if not array.flags.writeable:
        array = np.asarray(_Writeable(array))
    return torch.from_numpy(array)


@lru_cache(maxsize=64)
def _torch_dtype(torch: Any, dtype: np.dtype[Any]) -> Any:
    return getattr(torch, "bool" if dtype.kind == "b" else dtype.name)


class _TorchDeviceBackend(TorchBackend):
    """PyTorch on a device with memory of its own."""

    shares_host_memory = False

    def __init__(self) -> None:
        super().__init__()
        self._device = RLock()

    def copy_in(self, array: npt.NDArray[Any], dtype: np.dtype[Any]) -> Any:
        """Copy an array to the device; converted there."""
        tensor = _tensor(self.torch, np.ascontiguousarray(array))
        return tensor.to(self.device).to(_torch_dtype(self.torch, dtype))

    def convert(self, value: Any, dtype: np.dtype[Any]) -> Any:
        """Return a tensor in another dtype."""
        return value.to(_torch_dtype(self.torch, dtype))

    def adopts(self, array: Any) -> bool:
        """Take tensors on the same device that need no gradient."""
        if not isinstance(array, self.torch.Tensor) or array.requires_grad:
            return False
        return array.device.type == self.device and (array.device.index or 0) == 0

    def copied(self, value: Any) -> Any:
        """Return a copy on the device."""
        return value.clone()

    def run(self, call: Call, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run the operation on the device, one at a time, at full precision."""
        if self.torch.get_float32_matmul_precision() != "highest":
            raise Unsupported(Reason.ARGUMENT, "PyTorch is set to a lower float32 precision")
        with self._device:
            if call.operation.name in ELEMENTWISE:
                function = getattr(self.torch, ELEMENTWISE[call.operation.name].function)
                return (function(*arrays),)
            return ArrayAPIBackend.run(self, call, arrays)

    def copy_out(self, value: Any) -> npt.NDArray[Any]:
        """Copy a result back."""
        return super().copy_out(value.cpu())


class TorchCudaBackend(_TorchDeviceBackend):
    """PyTorch on an NVIDIA or AMD GPU."""

    name = "torch-cuda"
    device = "cuda"
    device_name = "cuda:0"

    def _device_problem(self, installed: str) -> str:
        if "+cpu" in installed:
            return f"PyTorch {installed} is built without CUDA"
        return "" if sys.platform != "darwin" else "there is no CUDA on macOS"

    def start(self) -> None:
        """Import PyTorch and prove that the device works."""
        super().start()
        if self._is_nvidias:
            uuid = getattr(self.torch.cuda.get_device_properties(0), "uuid", None)
            nvml.others(0).entered(f"GPU-{uuid}" if uuid else "")

    def page_locked(self, nbytes: int) -> npt.NDArray[np.uint8] | None:
        """Return memory of PyTorch's page-locked pool."""
        torch = self.torch
        memory: npt.NDArray[np.uint8] = torch.empty(
            nbytes, dtype=torch.uint8, pin_memory=True
        ).numpy()
        return memory

    def is_page_locked(self, array: npt.NDArray[Any], dtype: np.dtype[Any]) -> bool:
        """Ask PyTorch about the memory, unless a copy of it is uploaded; it converts there."""
        if not array.flags.c_contiguous or not _is_plain(array):
            return False
        return bool(_tensor(self.torch, array).is_pinned())

    def others_load(self, wait: float = 0.0) -> float | None:
        """Ask NVIDIA's driver; see :mod:`~dispatch_xp.backends.nvml`. AMD's is not asked."""
        return nvml.others(0).load(wait) if self._is_nvidias else None

    def others_problem(self) -> str:
        """Return why the driver doesn't tell."""
        return nvml.others(0).problem if self._is_nvidias else ""

    @cached_property
    def _is_nvidias(self) -> bool:
        return "+rocm" not in versions(["torch"]).get("torch", "")

    def synchronize(self) -> None:
        """Wait for the device."""
        self.torch.cuda.synchronize()

    def memory(self) -> Memory | None:
        """Ask the driver."""
        if not self.started:
            return None
        free, total = self.torch.cuda.mem_get_info()
        # what PyTorch has reserved and not given out is as good as free
        unused = self.torch.cuda.memory_reserved() - self.torch.cuda.memory_allocated()
        return Memory(int(free + unused), int(total))

    def release(self) -> None:
        """Give PyTorch's cached blocks back to the driver."""
        self.torch.cuda.empty_cache()


class TorchMpsBackend(_TorchDeviceBackend):
    """PyTorch on Apple's Metal; it has single precision only."""

    name = "torch-mps"
    device = "mps"
    device_name = "mps:0"

    def _device_problem(self, installed: str) -> str:
        return "" if sys.platform == "darwin" else "Metal is on macOS only"

    def refuses(self, call: Call) -> str:
        """Refuse double precision, which Metal lacks."""
        if call.dtype.char in "dD":
            return "Metal has no double precision"
        return super().refuses(call)

    def synchronize(self) -> None:
        """Wait for the device."""
        self.torch.mps.synchronize()

    def release(self) -> None:
        """Give PyTorch's cached blocks back."""
        self.torch.mps.empty_cache()


class TorchXpuBackend(_TorchDeviceBackend):
    """PyTorch on an Intel GPU."""

    name = "torch-xpu"
    device = "xpu"
    device_name = "xpu:0"

    def _device_problem(self, installed: str) -> str:
        return f"PyTorch {installed} is built for the CPU" if "+cpu" in installed else ""

    def synchronize(self) -> None:
        """Wait for the device."""
        self.torch.xpu.synchronize()

    def memory(self) -> Memory | None:
        """Ask the driver."""
        if not self.started:
            return None
        free, total = self.torch.xpu.mem_get_info()
        return Memory(int(free), int(total))

    def release(self) -> None:
        """Give PyTorch's cached blocks back to the driver."""
        self.torch.xpu.empty_cache()
