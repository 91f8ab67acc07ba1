"""What every promise is tested under: the configurations, and nothing of the user's own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# the strategies and the oracle lie beside the tests; pytest's importlib mode adds no folder
sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("oracle")

settings.register_profile(
    "promises",
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)
settings.load_profile("promises")

CONFIGURATIONS = {
    "reference": {"name": "reference"},
    "threads": {"name": "threads"},
    "torch": {"name": "torch"},
    "dpnp": {"name": "dpnp"},
    "random": {"name": "auto", "policy": "random", "backends": ("threads", "torch")},
}


@pytest.fixture(autouse=True)
def _own_states(monkeypatch, tmp_path):
    """Forget what earlier tests taught: states, failures, and how many cores there are."""
    import dispatch_xp.config
    import dispatch_xp.context

    monkeypatch.setattr(dispatch_xp.context, "_states", {})
    monkeypatch.setattr(dispatch_xp.context, "_told", set())
    monkeypatch.setattr(dispatch_xp.config, "user_file", lambda: tmp_path / "none.toml")


@pytest.fixture(params=CONFIGURATIONS)
def configuration(request, monkeypatch, started):
    """The arguments of ``backend()``, always with ``fallback="raise"``."""
    if request.param in ("torch", "dpnp"):
        started(request.param)
    _enough_cores(monkeypatch)
    return {**CONFIGURATIONS[request.param], "fallback": "raise"}


@pytest.fixture
def persistent(monkeypatch):
    """Try every call again, however often it had to be repeated by the reference."""
    from dispatch_xp.health import Health

    monkeypatch.setattr(Health, "refusal", lambda self, backend, call: "")


def _enough_cores(monkeypatch):
    """Split calls also where this process may use one core only."""
    from dispatch_xp.backends import get

    threads = get("threads")
    if threads._workers < 2:
        monkeypatch.setattr(threads, "_workers", 2)
    # and small ones
    monkeypatch.setattr(sys.modules[type(threads).__module__], "_SMALL", 0)
