"""How long threads spin after a call, on a clock of ours."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dispatch_xp import backends
from dispatch_xp.calibration import spinning as module
from dispatch_xp.calibration.spinning import of_backend, of_blas, spinning


class Clock:
    """A process whose calls take a millisecond and leave threads that spin."""

    def __init__(self, spins: float, resolution: float = 1e-9) -> None:
        self.spins, self.resolution = spins, resolution
        self.now = self.computed = self.until = 0.0

    def call(self) -> None:
        self._pass(1e-3, busy=True)
        self.until = self.now + self.spins

    def _pass(self, seconds: float, *, busy: bool = False) -> None:
        spinning = max(min(self.until - self.now, seconds), 0.0)
        self.computed += seconds if busy else spinning
        self.now += seconds

    def sleep(self, seconds: float) -> None:
        self._pass(seconds)

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.computed

    def get_clock_info(self, name: str) -> SimpleNamespace:
        assert name == "process_time"
        return SimpleNamespace(resolution=self.resolution)


@pytest.mark.parametrize("spins", [0.0, 0.005, 0.026, 0.104])
def test_spinning(monkeypatch, spins):
    clock = Clock(spins)
    monkeypatch.setattr(module, "time", clock)
    assert spinning(clock.call) == pytest.approx(spins, abs=1.5e-3)


def test_threads_that_never_rest_are_not_waited_for(monkeypatch):
    clock = Clock(1e9)
    monkeypatch.setattr(module, "time", clock)
    assert 0.3 <= spinning(clock.call) < 0.31


def test_a_coarse_clock_sees_nothing(monkeypatch):
    clock = Clock(0.0, resolution=1 / 64)
    monkeypatch.setattr(module, "time", clock)
    assert spinning(clock.call) > 0.1


@pytest.mark.parametrize("user", module.USERS_OF_BLAS)
def test_blas(user):
    assert 0.0 <= of_blas(user) < 1.0


def test_a_backend():
    backend = backends.get("threads")
    backend.start()
    assert 0.0 <= of_backend(backend) < 1.0
