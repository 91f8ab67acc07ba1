"""Whether CuPy can work here, and what to install or do if it can't.

Looking (:func:`look`) imports nothing but the standard library; :func:`load` imports CuPy and
proves it by allocating, since CuPy imports on machines where every allocation fails.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from dispatch_xp.backends.interface import Availability
from dispatch_xp.errors import BackendUnavailable
from dispatch_xp.installed import versions

__all__ = ["Libraries", "load", "look"]

DISTRIBUTIONS = ("cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x", "cupy", "cupy-rocm-7-0")
INSTALL = "pip install 'dispatch-xp[cuda12]'"
INSUFFICIENT_DRIVER = 35
NO_DEVICE = 100


@dataclass(frozen=True, slots=True)
class Libraries:
    """The modules that the kernels call.

    Attributes
    ----------
    cupy, cupyx : module
        CuPy and its extras.
    linalg, fft : module
        ``cupyx.scipy.linalg`` and ``cupyx.scipy.fft``.
    lapack, solvers : module
        ``cupyx.lapack`` and ``cupyx.cusolver``: solvers on arrays.
    cusolver : module
        ``cupy_backends.cuda.libs.cusolver``: cuSOLVER's routines on pointers.
    """

    cupy: Any
    cupyx: Any
    linalg: Any
    fft: Any
    lapack: Any
    solvers: Any
    cusolver: Any


@cache
def _driver() -> bool:
    """Say whether the NVIDIA driver's library can be loaded; this starts no device."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def _install_line(distributions: dict[str, str]) -> str:
    return INSTALL.replace("12", "13") if "cupy-cuda13x" in distributions else INSTALL


def _described(distributions: dict[str, str]) -> str:
    if not distributions:
        return "CuPy"
    name, number = next(iter(distributions.items()))
    return f"CuPy {number} ({name})"


def look() -> Availability:
    """Say whether CuPy is worth starting, without importing it."""
    if find_spec("cupy") is None:
        return Availability(False, f"CuPy is not installed: {INSTALL}")
    distributions = versions(DISTRIBUTIONS)
    described = _described(distributions)
    if len(distributions) > 1:
        several = ", ".join(f"{name} {number}" for name, number in distributions.items())
        return Availability(
            False,
            f"several CuPy packages are installed ({several}) and overwrite each other's files: "
            f"uninstall all of them, then {INSTALL}",
            described,
        )
    if any("rocm" in name for name in distributions):
        return Availability(False, f"{described} is for ROCm, which is not supported", described)
    if not _driver():
        return Availability(
            False,
            f"{described} is installed, but there is no NVIDIA driver: "
            "no CUDA library (libcuda) can be loaded",
            described,
        )
    return Availability(True, "", described)


def _driver_reason(described: str, runtime: Any, error: Exception) -> str:
    status = getattr(error, "status", None)
    if status == NO_DEVICE:
        return f"{described} is installed, but the NVIDIA driver reports no device"
    if status != INSUFFICIENT_DRIVER:
        return f"{described} is installed, but no device can be used: {error}"
    supported = int(runtime.driverGetVersion())
    if not supported:
        return f"{described} is installed, but there is no NVIDIA driver"
    needed = int(runtime.runtimeGetVersion())
    return (
        f"{described} needs a driver for CUDA {needed // 1000}.{needed % 1000 // 10}, and the one "
        f"installed supports {supported // 1000}.{supported % 1000 // 10}: update the NVIDIA driver"
    )


def _import(described: str) -> Libraries:
    try:
        return Libraries(
            cupy=import_module("cupy"),
            cupyx=import_module("cupyx"),
            linalg=import_module("cupyx.scipy.linalg"),
            fft=import_module("cupyx.scipy.fft"),
            lapack=import_module("cupyx.lapack"),
            cusolver=import_module("cupy_backends.cuda.libs.cusolver"),
            solvers=import_module("cupyx.cusolver"),
        )
    except (ImportError, RuntimeError, OSError) as error:
        message = str(error).strip() or repr(error)
        line = message.splitlines()[-1]
        raise BackendUnavailable(
            f"{described} cannot be imported ({line}); the CUDA libraries it needs come with "
            f"{_install_line(versions(DISTRIBUTIONS))}"
        ) from error


def _prove(libraries: Libraries, device: int, described: str) -> None:
    """Allocate, compile a kernel and multiply: the driver, NVRTC and cuBLAS in one go."""
    cupy = libraries.cupy
    runtime = cupy.cuda.runtime
    try:
        if runtime.getDeviceCount() <= device:
            raise BackendUnavailable(f"{described}: there is no device {device}")
        with cupy.cuda.Device(device):
            x = cupy.full((2, 2), 2.0)
            total = float(cupy.sum(cupy.matmul(x + x, x)))
    except BackendUnavailable:
        raise
    except runtime.CUDARuntimeError as error:
        raise BackendUnavailable(_driver_reason(described, runtime, error)) from error
    except MemoryError as error:
        raise BackendUnavailable(f"{described}: the device has no free memory: {error}") from error
    except Exception as error:
        raise BackendUnavailable(
            f"{described} cannot compute on the device ({error!r}); missing CUDA libraries and "
            f"headers come with {_install_line(versions(DISTRIBUTIONS))}"
        ) from error
    if not np.isclose(total, 32.0):
        raise BackendUnavailable(f"{described} computes wrongly on the device: {total} for 32")


def load(device: int) -> Libraries:
    """Import CuPy and prove that it works on a device.

    Raises
    ------
    BackendUnavailable
        With what is missing, and what to install or update.
    """
    availability = look()
    if not availability.available:
        raise BackendUnavailable(availability.reason)
    libraries = _import(availability.description)
    _prove(libraries, device, availability.description)
    return libraries
