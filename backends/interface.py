"""What a backend has to offer.

A backend is a library on a device. The router asks it, in this order: is it there
(:meth:`Backend.probe`), does it take this call (:meth:`Backend.refuses`), then copies in, runs, and
copies out. Whatever goes wrong on the way, the reference runs the call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dispatch_xp.call import Call
from dispatch_xp.finite import all_finite

__all__ = ["Availability", "Backend", "Memory"]


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a backend can work here.

    Attributes
    ----------
    available : bool
        Whether it is worth starting.
    reason : str
        Why not, and what to install or do about it; empty if it is available.
    description : str
        Library version and device, for a reader.
    """

    available: bool
    reason: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a device in bytes."""

    free: int
    total: int


class Backend(ABC):
    """A library on a device that can run operations.

    A third party's backend subclasses this and names the class in the entry-point group
    ``dispatch_xp.backends``; it is instantiated without arguments.
    """

    name: ClassVar[str]
    """How users call it."""

    shares_host_memory: ClassVar[bool] = True
    """Whether it computes on NumPy's own memory, so that nothing is copied."""

    device_name: ClassVar[str] = ""
    """Where its memory is, as the ``device`` of an array: ``"cuda:0"``; empty for the host's."""

    modules: ClassVar[tuple[str, ...]] = ()
    """What :meth:`start` imports; a backend whose modules are all loaded costs nothing to start."""

    started: bool = False
    """Whether :meth:`start` has been called and has succeeded in this process."""

    @abstractmethod
    def probe(self) -> Availability:
        """Say whether the backend can work here, without importing anything heavy."""

    @abstractmethod
    def operations(self) -> frozenset[str]:
        """Return the names of the operations it has a kernel for, without starting it."""

    @abstractmethod
    def start(self) -> None:
        """Import the library and start the device, once.

        Raises
        ------
        BackendUnavailable
            With what is missing.
        """

    def refuses(self, call: Call) -> str:
        """Return why the backend does not take a call, or an empty string if it does.

        Called without starting the backend, for calls whose operation is in
        :meth:`operations`.
        """
        return ""

    def copy_in(self, array: npt.NDArray[Any], dtype: np.dtype[Any]) -> Any:
        """Return `array` as the backend's own, converted to `dtype`. Never writes to `array`."""
        return array if array.dtype == dtype else array.astype(dtype)

    def page_locked(self, nbytes: int) -> npt.NDArray[np.uint8] | None:
        """Return fresh page-locked memory on the host, or None if there is no such thing.

        A device reads it by itself, while other memory is copied by the processor first.
        """
        return None

    def is_page_locked(self, array: npt.NDArray[Any], dtype: np.dtype[Any]) -> bool:
        """Return whether :meth:`copy_in` lets the device read an array's own, page-locked memory.

        Asked for every decision, once the backend is started, if calibration has measured such
        copies. What is converted on the host on its way is not read from there.
        """
        return False

    @abstractmethod
    def run(self, call: Call, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run a call on the backend's own arrays and return the backend's own results.

        Raises
        ------
        Unsupported
            If it turns out only now that the reference has to run it.
        numpy.linalg.LinAlgError
            For a singular matrix and the like. The reference then raises its own.
        """

    def copy_out(self, value: Any) -> npt.NDArray[Any]:
        """Return one result as an ndarray, only when it is complete."""
        return np.asarray(value)

    def dtype_of(self, value: Any) -> np.dtype[Any]:
        """Return the dtype of one of the backend's own arrays, as NumPy's."""
        return np.dtype(str(value.dtype).rpartition(".")[2])

    def convert(self, value: Any, dtype: np.dtype[Any]) -> Any:
        """Return one of the backend's own arrays in another dtype; a new one."""
        return value.astype(dtype)

    def adopts(self, array: Any) -> bool:
        """Return whether a foreign array is one that the backend could have made: on its device."""
        return False

    def copied(self, value: Any) -> Any:
        """Return a copy of one of the backend's own arrays, on the device."""
        return value.copy()

    def all_finite(self, value: Any) -> bool:
        """Return whether no element of one of the backend's own arrays is infinite or NaN."""
        return all_finite(self.copy_out(value))

    def is_finite(self, call: Call, result: npt.NDArray[Any]) -> bool:
        """Whether a result is finite; if not, the reference runs the call again.

        NumPy warns of new infinities and NaN, and the warnings are part of the answer. A backend
        that notices floating-point flags itself returns True.
        """
        return all_finite(result)

    def synchronize(self) -> None:
        """Wait until everything that was started on the device has finished."""

    def memory(self) -> Memory | None:
        """Return the device's memory, or None if it uses the host's."""
        return None

    def others_load(self, wait: float = 0.0) -> float | None:
        """Return how busy other programs keep the device, from 0 to 1; None if it is not known.

        Asked for every decision, also before :meth:`start`, so it has to answer at once.

        Parameters
        ----------
        wait : float
            Seconds that it may take nevertheless, where somebody wants to be told.
        """
        return None

    def others_problem(self) -> str:
        """Return why :meth:`others_load` doesn't know, for a reader; empty if there is no cause."""
        return ""

    def release(self) -> None:
        """Give cached device memory back, after it ran out."""

    def after_fork(self) -> None:
        """Forget threads and handles that a child process does not inherit."""
