"""Page-locked memory on a real device: recognised, and copied right and faster."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dispatch_xp.backends import Backend
from dispatch_xp.calibration.overheads import copies, page_locked_copy

DOUBLE = np.dtype(np.float64)
N = 4_000_000


@pytest.fixture(params=["cupy", "torch-cuda"])
def backend(request: pytest.FixtureRequest, started: Callable[[str], Backend]) -> Backend:
    return started(request.param)


@pytest.fixture
def x(backend: Backend) -> Any:
    memory = backend.page_locked(N * DOUBLE.itemsize)
    assert memory is not None
    x = memory.view(DOUBLE)
    x[...] = np.arange(N)
    return x


def test_it_is_told_apart(backend: Backend, x: Any) -> None:
    assert backend.is_page_locked(x, DOUBLE)
    assert backend.is_page_locked(x[1000:].reshape(-1, 2), DOUBLE)
    assert not backend.is_page_locked(x[::2], DOUBLE)
    assert not backend.is_page_locked(np.ones(N), DOUBLE)
    assert not backend.is_page_locked(np.ones(1), DOUBLE)


def test_what_is_written_afterwards_is_not_seen(backend: Backend, x: Any) -> None:
    for _ in range(5):
        x[...] = np.arange(N)
        value = backend.copy_in(x, DOUBLE)
        x[...] = -1.0
        np.testing.assert_array_equal(backend.copy_out(value), np.arange(N))


def test_asking_costs_a_decision_little(backend: Backend, x: Any) -> None:
    began = time.perf_counter()
    for _ in range(1000):
        backend.is_page_locked(x, DOUBLE)
    assert time.perf_counter() - began < 0.05


def test_it_is_copied_faster(backend: Backend) -> None:
    plain, _ = copies(backend)
    locked = page_locked_copy(backend)
    assert plain is not None
    assert locked is not None
    assert locked.bytes_per_second > plain.bytes_per_second
