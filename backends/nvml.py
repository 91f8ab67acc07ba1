"""How busy other programs keep an NVIDIA device, asked of the driver through NVML.

While nothing of this process, or of one that it has started, is on the device, whatever the driver
says of the whole device is of others. Afterwards the driver's samples per process are added up, our
own left out. What that can't tell:

- In a container the driver may count processes by the host's numbers, in one list and not in
  another, so that our own samples can't be told apart: nothing is known once the device is started.
- MIG slices and some drivers have no utilisation.
- Utilisation is the share of time in which anything ran, over the last second or two; a program
  that fills a tenth of the device all the time counts as all of it.
- Code of the user's own that calls CUDA in a container, before a backend of ours has started.
- What a child of this process does counts as ours where there is ``/proc``, else as another's.

NVML may take its time, most of all at first, and hangs with some broken drivers. So a thread asks,
at most once a second and only while calls ask; they get the last answer. An error ends the asking.
The child of a process that has asked doesn't ask.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["Others", "others"]

INTERVAL = 1.0
"""Seconds between two questions."""

STALE = 5.0
"""Seconds after which an answer says nothing any more."""

WINDOW = 2.0
"""Seconds that a process's last sample may be old; the driver takes one in 1/6 to 1 s."""

INSTALL = "nvidia-ml-py is not installed: pip install nvidia-ml-py"
FORKED = "this process was forked from one that asks the driver"
CONTAINER = (
    "the driver may count processes by other numbers than this container, "
    "so that this one can't be told apart"
)
UNNAMED = "which of the devices CUDA counts first is not known before it is started"

# what the kernel calls the outermost namespace of process numbers
_OUTERMOST = 0xEFFFFFFC


class _Untold(Exception):
    """The load is not known now; it may be later."""


class Others:
    """The load of one device by other programs.

    Parameters
    ----------
    index : int
        The device, as CUDA counts in this process.

    Attributes
    ----------
    problem : str
        Why the load is not known, for a reader; empty if it is.
    """

    def __init__(self, index: int) -> None:
        self.problem = ""
        self._index = index
        self._lock = threading.Lock()
        self._asking: threading.Thread | None = None
        self._due = -math.inf
        self._answered = -math.inf
        self._share: float | None = None
        self._is_off = False
        self._nvml: Any = None
        self._handle: tuple[str, Any] | None = None
        self._name = ""
        self._is_ours_too = False

    def load(self, wait: float = 0.0) -> float | None:
        """Return the load, from 0 to 1, as of the last answer; None if it is not known.

        Parameters
        ----------
        wait : float
            Seconds to wait for an answer that is under way.
        """
        if self._is_off:
            return None
        now = time.monotonic()
        if now >= self._due:
            self._ask(now)
        if wait and self._asking is not None:
            self._asking.join(wait)
            now = time.monotonic()
        return self._share if now - self._answered < STALE else None

    def entered(self, name: str = "") -> None:
        """Note that this process uses the device from now on.

        Parameters
        ----------
        name : str
            The device's UUID or its id on the PCI bus, if known: CUDA may count the devices in
            another order than NVML.
        """
        with self._lock:
            self._is_ours_too = True
            if name:
                self._name = name
            self._due = -math.inf

    def after_fork(self) -> None:
        """Ask no more, if the parent has: its connection to the driver is not the child's."""
        self._lock = threading.Lock()
        if self._due > -math.inf or self._asking is not None:
            self._asking = None
            self._end(FORKED)

    def _ask(self, now: float) -> None:
        with self._lock:
            asking = self._asking
            if now < self._due or self._is_off or (asking is not None and asking.is_alive()):
                return
            self._due = now + INTERVAL
            thread = threading.Thread(target=self._answer, name="dispatch-xp-nvml", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                # the interpreter is ending
                return
            self._asking = thread

    def _answer(self) -> None:
        try:
            share = self._measured()
        except _Untold as reason:
            self._share, self.problem = None, str(reason)
        except ImportError:
            self._end(INSTALL)
        except Exception as error:  # NVML's own, or those of an old binding that lacks a function
            self._end(f"NVML: {error}" if _is_nvmls(error) else f"NVML: {error!r}")
        else:
            self._share, self.problem = share, ""
            self._answered = time.monotonic()

    def _end(self, problem: str) -> None:
        self._share, self.problem, self._is_off = None, problem, True

    def _measured(self) -> float:
        if self._nvml is None:
            nvml = import_module("pynvml")
            nvml.nvmlInit()
            self._nvml = nvml
        nvml = self._nvml
        with self._lock:
            name, is_ours_too = self._name, self._is_ours_too
        if self._handle is None or self._handle[0] != name:
            self._handle = name, _found(nvml, name, self._index)
        handle = self._handle[1]
        own = os.getpid()
        if not is_ours_too:
            there = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
            is_ours_too = any(_descends(process.pid, own) for process in there)
        if not is_ours_too:
            return float(nvml.nvmlDeviceGetUtilizationRates(handle).gpu) / 100
        if not _are_numbers_ours():
            raise _Untold(CONTAINER)
        busy = _samples(nvml, handle)
        return min(sum(p for pid, p in busy.items() if not _descends(pid, own)) / 100, 1.0)


def _is_nvmls(error: Exception) -> bool:
    return type(error).__name__.startswith("NVMLError")


def _found(nvml: Any, name: str, index: int) -> Any:
    """Return NVML's handle of a device: by its name, or by what CUDA will count as `index`."""
    if name.startswith("GPU-"):
        return nvml.nvmlDeviceGetHandleByUUID(name)
    if name:
        return nvml.nvmlDeviceGetHandleByPciBusId(name)
    handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if listed is not None:
        entries = [entry.strip() for entry in listed.split(",")]
        entry = entries[index] if index < len(entries) else ""
        if not entry.isdecimal():
            # a UUID may be cut short
            named = [h for h in handles if entry and nvml.nvmlDeviceGetUUID(h).startswith(entry)]
            return _the_one(named)
        index = int(entry)
    # CUDA counts the fastest first unless told otherwise, NVML by the bus
    by_bus = os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    if by_bus or len({nvml.nvmlDeviceGetName(handle) for handle in handles}) == 1:
        return _the_one(handles[index : index + 1])
    raise _Untold(UNNAMED)


def _the_one(handles: list[Any]) -> Any:
    if len(handles) != 1:
        raise _Untold(UNNAMED)
    return handles[0]


def _samples(nvml: Any, handle: Any) -> dict[int, int]:
    """Return the percentage of time that each process has kept the device busy lately."""
    since = int((time.time() - WINDOW) * 1e6)
    try:
        samples = nvml.nvmlDeviceGetProcessUtilization(handle, since)
    except nvml.NVMLError as error:
        # the binding raises where there is no sample, also if the driver calls that a success
        if error.value in (nvml.NVML_SUCCESS, nvml.NVML_ERROR_NOT_FOUND):
            return {}
        raise
    # some drivers fill up with entries that were never written
    real = [s for s in samples if s.timeStamp > since and s.smUtil <= 100]
    return {s.pid: s.smUtil for s in sorted(real, key=lambda s: s.timeStamp)}


def _are_numbers_ours() -> bool:
    """Whether processes have the same numbers here as for the driver: not so in a container."""
    if sys.platform != "linux":
        return True
    try:
        return os.stat("/proc/self/ns/pid").st_ino == _OUTERMOST
    except OSError:
        return False


def _descends(pid: int, ancestor: int) -> bool:
    """Whether a process is another one, or was started by it, at however many removes."""
    while pid > 0:
        if pid == ancestor:
            return True
        pid = _parent(pid)
    return False


def _parent(pid: int) -> int:
    """Return a process's parent; 0 if nobody tells."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    # the name before it, in parentheses, may hold anything
    return int(status.rpartition(")")[2].split()[1])


_OTHERS: dict[int, Others] = {}


def others(index: int) -> Others:
    """Return the load of a device; one for all the backends that compute there."""
    return _OTHERS.get(index) or _OTHERS.setdefault(index, Others(index))


def _after_fork_in_child() -> None:
    for device in _OTHERS.values():
        device.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
