"""What NVIDIA's driver says of the programs on a real device."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest

from dispatch_xp.backends import Backend, nvml

DOUBLE = np.dtype(np.float64)
BUSY = """
import cupy
x = cupy.random.random((4096, 4096), dtype="f")
print("ready", flush=True)
while True:
    y = x @ x
    cupy.cuda.get_current_stream().synchronize()
"""


@pytest.fixture
def backend(started: Callable[[str], Backend]) -> Backend:
    backend = started("cupy")
    if backend.others_load(10.0) is None:
        pytest.skip(f"the driver does not tell: {backend.others_problem()}")
    return backend


def test_our_own_work_is_not_of_others(backend: Backend) -> None:
    before = backend.others_load(10.0)
    x = backend.copy_in(np.ones((4096, 4096)), DOUBLE)
    ends = time.monotonic() + 3 * nvml.WINDOW
    loads = []
    while time.monotonic() < ends:
        _ = x @ x
        backend.synchronize()
        loads.append(backend.others_load())
    assert max(load for load in loads if load is not None) <= before + 0.3


def test_a_program_without_a_common_parent_is_of_others(backend: Backend) -> None:
    """It is started by a shell that ends, so that it descends from this process no more."""
    start = f"{sys.executable} -c '{BUSY}' & echo $!"
    shell = subprocess.Popen(["sh", "-c", start], stdout=subprocess.PIPE, text=True)
    assert shell.stdout is not None
    pid = int(shell.stdout.readline())
    try:
        assert shell.stdout.readline().strip() == "ready"
        shell.wait()
        ends = time.monotonic() + 10 * nvml.WINDOW
        while time.monotonic() < ends and (backend.others_load(1.0) or 0.0) < 0.5:
            time.sleep(0.2)
        assert backend.others_load(1.0) >= 0.5
    finally:
        subprocess.run(["kill", str(pid)], check=True)
        shell.stdout.close()


def test_the_answer_costs_a_call_nothing(backend: Backend) -> None:
    began = time.perf_counter()
    for _ in range(10_000):
        backend.others_load()
    assert time.perf_counter() - began < 0.5
