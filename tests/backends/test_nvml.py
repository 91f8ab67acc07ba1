"""What the driver says of other programs: told apart from us, asked seldom, never waited for."""

from __future__ import annotations

import inspect
import os
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from dispatch_xp.backends import nvml
from dispatch_xp.backends.cupy import CupyBackend
from dispatch_xp.backends.nvml import Others
from dispatch_xp.backends.torch import TorchCudaBackend

OWN = os.getpid()
STRANGER = 2**30


class NVMLError(Exception):
    def __init__(self, value: int, said: str) -> None:
        super().__init__(said)
        self.value = value


class NVMLError_NotSupported(NVMLError):
    pass


class Driver:
    """A driver with devices of these names, and of the first one what runs on it."""

    NVMLError = NVMLError
    NVML_SUCCESS = 0
    NVML_ERROR_NOT_FOUND = 6

    def __init__(self, *names: str) -> None:
        self.names = names or ("H200",)
        self.rate = 0
        self.processes: list[int] = []
        self.samples: list[SimpleNamespace] = []
        self.asked = 0
        self.fault: Exception | None = None
        self.hangs = threading.Event()
        self.hangs.set()
        self.of: list[Any] = []

    def runs(self, pid: int, percent: int, age: float = 0.5) -> None:
        self.processes.append(pid)
        stamp = int((time.time() - age) * 1e6)
        self.samples.append(SimpleNamespace(pid=pid, smUtil=percent, timeStamp=stamp))

    def nvmlInit(self) -> None:
        self.asked += 1
        self.hangs.wait()
        if self.fault:
            raise self.fault

    def nvmlDeviceGetCount(self) -> int:
        return len(self.names)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any:
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> Any:
        return uuid

    def nvmlDeviceGetHandleByPciBusId(self, pciBusId: str) -> Any:
        return pciBusId

    def nvmlDeviceGetName(self, handle: Any) -> str:
        return self.names[handle]

    def nvmlDeviceGetUUID(self, handle: Any) -> str:
        return f"GPU-{handle}a56-{self.names[handle]}"

    def nvmlDeviceGetComputeRunningProcesses(self, handle: Any) -> list[SimpleNamespace]:
        self.of.append(handle)
        return [SimpleNamespace(pid=pid) for pid in self.processes]

    def nvmlDeviceGetUtilizationRates(self, handle: Any) -> SimpleNamespace:
        if self.fault:
            raise self.fault
        return SimpleNamespace(gpu=self.rate)

    def nvmlDeviceGetProcessUtilization(self, handle: Any, timeStamp: int) -> list[SimpleNamespace]:
        self.of.append(handle)
        if self.fault:
            raise self.fault
        return self.samples


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    driver = Driver()
    monkeypatch.setitem(sys.modules, "pynvml", driver)
    monkeypatch.setattr(nvml, "_are_numbers_ours", lambda: True)
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
        monkeypatch.delenv(name, raising=False)
    return driver


def told(others: Others) -> float | None:
    return others.load(wait=10.0)


def entered(name: str = "GPU-0") -> Others:
    others = Others(0)
    others.entered(name)
    return others


# what is ours


@pytest.mark.usefixtures("driver")
def test_a_device_that_nobody_uses_has_no_load() -> None:
    assert told(Others(0)) == 0.0
    assert told(entered()) == 0.0


def test_before_we_are_there_the_whole_device_is_of_others(driver: Driver) -> None:
    driver.rate = 72
    driver.runs(STRANGER, 5)
    assert told(Others(0)) == pytest.approx(0.72)


def test_what_we_do_there_is_not_of_others(driver: Driver) -> None:
    driver.rate = 100
    driver.runs(OWN, 60)
    driver.runs(STRANGER, 25)
    driver.runs(STRANGER + 1, 10)
    assert told(entered()) == pytest.approx(0.35)


def test_code_of_the_users_own_that_is_there_is_ours(driver: Driver) -> None:
    """No backend has been started, and the driver lists this process."""
    driver.rate = 100
    driver.runs(OWN, 100)
    assert told(Others(0)) == 0.0


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="no /proc")
def test_what_our_children_do_is_ours(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    parents = {700: 600, 600: OWN, 800: 1, 1: 0}
    real = nvml._parent
    monkeypatch.setattr(nvml, "_parent", lambda pid: parents.get(pid, 0))
    driver.runs(700, 50)
    driver.runs(800, 30)
    assert told(entered()) == pytest.approx(0.3)
    assert real(OWN) == os.getppid()
    assert real(STRANGER) == 0


def test_more_than_everything_is_everything(driver: Driver) -> None:
    driver.runs(STRANGER, 80)
    driver.runs(STRANGER + 1, 80)
    assert told(entered()) == 1.0


def test_old_and_impossible_samples_do_not_count(driver: Driver) -> None:
    driver.runs(STRANGER, 90, age=60.0)
    driver.runs(STRANGER + 1, 37100)
    driver.runs(STRANGER + 2, 40, age=1.5)
    driver.runs(STRANGER + 2, 20, age=0.1)
    assert told(entered()) == pytest.approx(0.2)


@pytest.mark.parametrize("value", [0, 6])
def test_no_sample_is_no_load(driver: Driver, value: int) -> None:
    others = entered()
    others._nvml = driver
    driver.fault = NVMLError(value, "Not Found")
    assert told(others) == 0.0
    assert others.problem == ""


def test_in_a_container_we_cannot_be_told_apart(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvml, "_are_numbers_ours", lambda: False)
    driver.rate = 50
    driver.runs(STRANGER, 50)
    others = Others(0)
    assert told(others) == pytest.approx(0.5)
    others.entered("GPU-0")
    others._answered = -1e9
    assert told(others) is None
    assert "container" in others.problem


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
@pytest.mark.parametrize(("inode", "ours"), [(0xEFFFFFFC, True), (0xF0000123, False)])
def test_a_container_is_known_by_its_namespace(
    monkeypatch: pytest.MonkeyPatch, inode: int, ours: bool
) -> None:
    monkeypatch.setattr(os, "stat", lambda path: SimpleNamespace(st_ino=inode))
    found = nvml._are_numbers_ours()
    monkeypatch.undo()
    assert found is ours


# which device


@pytest.mark.parametrize(
    ("name", "handle"), [("GPU-8a", "GPU-8a"), ("0000:65:00.0", "0000:65:00.0")]
)
def test_a_started_device_is_found_by_its_name(driver: Driver, name: str, handle: str) -> None:
    others = Others(0)
    assert told(others) == 0.0
    others.entered(name)
    told(others)
    assert driver.of == [0, handle]


@pytest.mark.parametrize(
    ("names", "visible", "order", "handle"),
    [
        (("A", "A"), None, None, 0),
        (("A", "A"), "1,0", None, 1),
        (("A", "B"), "1", "PCI_BUS_ID", 1),
        (("A", "B"), "GPU-1a56-B", None, 1),
        (("A", "B"), " GPU-0a , GPU-1a", None, 0),
        # unknown before the start
        (("A", "B"), None, None, None),
        (("A", "B"), "1", None, None),
        (("A", "A"), "2", None, None),
        (("A", "A"), "", None, None),
        (("A", "A"), "GPU-", None, None),
        (("A",), "MIG-0a56", None, None),
        (("A",), "-1", None, None),
    ],
)
def test_before_its_start_a_device_is_found_where_that_is_certain(
    driver: Driver,
    monkeypatch: pytest.MonkeyPatch,
    names: tuple[str, ...],
    visible: str | None,
    order: str | None,
    handle: int | None,
) -> None:
    driver.names = names
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    if order is not None:
        monkeypatch.setenv("CUDA_DEVICE_ORDER", order)
    others = Others(0)
    load = told(others)
    if handle is None:
        assert load is None
        assert "before it is started" in others.problem
        others.entered("GPU-0")
        assert told(others) == 0.0
        assert others.problem == ""
    else:
        assert load == 0.0
        assert driver.of == [handle]


# how it is asked


def test_it_is_asked_once_in_a_while(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(nvml.time, "monotonic", lambda: now[0])
    others = Others(0)
    driver.rate = 10
    assert told(others) == pytest.approx(0.1)
    driver.rate = 90
    asked = len(driver.of)
    now[0] += nvml.INTERVAL * 0.9
    assert [told(others) for _ in range(100)] == [pytest.approx(0.1)] * 100
    assert len(driver.of) == asked
    now[0] += nvml.INTERVAL * 0.2
    assert told(others) == pytest.approx(0.9)
    assert len(driver.of) == asked + 1


def test_nobody_waits_for_a_driver_that_hangs(driver: Driver) -> None:
    driver.hangs.clear()
    others = Others(0)
    try:
        began = time.perf_counter()
        assert others.load() is None
        assert time.perf_counter() - began < 1.0
        assert others.load(wait=0.01) is None
        # no second thread for the same question
        others._due = -1.0
        assert others.load() is None
        assert driver.asked == 1
    finally:
        driver.hangs.set()
    assert told(others) == 0.0


def test_what_was_said_long_ago_counts_no_more(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = Others(0)
    driver.rate = 90
    assert told(others) == pytest.approx(0.9)
    later = time.monotonic() + nvml.STALE + 1.0
    monkeypatch.setattr(nvml.time, "monotonic", lambda: later)
    # asked again, and not answered yet
    monkeypatch.setattr(others, "_ask", lambda now: None)
    assert others.load() is None


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (NVMLError(12, "NVML Shared Library Not Found"), "NVML: NVML Shared Library Not Found"),
        (NVMLError_NotSupported(3, "Not Supported"), "NVML: Not Supported"),
        (AttributeError("nvmlInit"), "NVML: AttributeError('nvmlInit')"),
    ],
)
def test_an_error_ends_the_asking(driver: Driver, fault: Exception, said: str) -> None:
    driver.fault = fault
    others = Others(0)
    assert told(others) is None
    assert others.problem == said
    driver.fault = None
    others._due = -1.0
    assert told(others) is None
    assert driver.asked == 1


def test_a_device_without_utilisation(driver: Driver) -> None:
    """MIG, for one."""
    others = entered()
    others._nvml = driver
    driver.fault = NVMLError_NotSupported(3, "Not Supported")
    assert told(others) is None
    assert others.problem == "NVML: Not Supported"


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    others = Others(0)
    assert told(others) is None
    assert others.problem == "nvidia-ml-py is not installed: pip install nvidia-ml-py"


def test_many_threads_ask_one_question(driver: Driver) -> None:
    driver.rate = 30
    others = Others(0)
    found: list[float | None] = []
    threads = [threading.Thread(target=lambda: found.append(told(others))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert set(found) <= {None, 0.3}
    assert told(others) == pytest.approx(0.3)
    assert driver.asked == len(driver.of) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_asks_only_if_its_parent_has_not(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, fresh = Others(0), Others(1)
    monkeypatch.setattr(nvml, "_OTHERS", {0: asked, 1: fresh})
    driver.names = ("A", "A")
    driver.rate = 40
    assert told(asked) == pytest.approx(0.4)
    child = os.fork()
    if child == 0:
        right = False
        try:
            right = (
                told(asked) is None
                and "forked" in asked.problem
                and told(fresh) == pytest.approx(0.4)
                and driver.of == [0, 1]
            )
        finally:
            os._exit(0 if right else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert told(asked) == pytest.approx(0.4)


# the backends


@pytest.mark.parametrize("kind", [CupyBackend, TorchCudaBackend])
def test_the_backends_on_a_device_share_what_is_known_of_it(
    kind: Any, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvml, "_OTHERS", {})
    monkeypatch.setattr("dispatch_xp.backends.torch.versions", lambda names: {"torch": "2.9+cu130"})
    driver.rate = 80
    assert kind().others_load(10.0) == pytest.approx(0.8)
    assert CupyBackend().others_load() == pytest.approx(0.8)
    assert kind().others_problem() == ""
    assert driver.asked == 1


def test_amd_s_devices_are_not_nvidia_s(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dispatch_xp.backends.torch.versions", lambda names: {"torch": "2.9+rocm6"})
    assert TorchCudaBackend().others_load(10.0) is None
    assert TorchCudaBackend().others_problem() == ""
    assert driver.asked == 0


def test_the_package_has_what_is_called() -> None:
    pynvml = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    for name in [name for name in vars(Driver) if name.startswith("nvml")]:
        ours = list(inspect.signature(getattr(Driver, name)).parameters)[1:]
        inspect.signature(getattr(pynvml, name)).bind(*ours)
    for name in ("NVML_SUCCESS", "NVML_ERROR_NOT_FOUND"):
        assert getattr(pynvml, name) == getattr(Driver, name)
    error = pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
    assert nvml._is_nvmls(error)
    assert error.value == pynvml.NVML_ERROR_NOT_SUPPORTED
    fields = {name for name, _ in pynvml.c_nvmlProcessUtilizationSample_t._fields_}
    assert {"pid", "smUtil", "timeStamp"} <= fields
    assert "gpu" in {name for name, _ in pynvml.c_nvmlUtilization_t._fields_}
    assert "pid" in {name for name, _ in pynvml.c_nvmlProcessInfo_t._fields_}
