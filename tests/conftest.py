"""Every test runs without the user's configuration and profile, and leaves no door behind."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest


@pytest.fixture(autouse=True)
def _own_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith("DISPATCH_XP_")]:
        monkeypatch.delenv(name)
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.chdir(folder)


@pytest.fixture(autouse=True)
def _no_door_left():
    yield
    from dispatch_xp.doors import INSTALLATION
    from dispatch_xp.state import ACTIVE

    INSTALLATION.uninstall()
    assert ACTIVE == [0], "a context is still active"


@pytest.fixture(scope="session")
def started() -> Callable[[str], object]:
    """Return a function that starts a backend by its name, or skips the test with the reason."""
    from dispatch_xp import backends
    from dispatch_xp.errors import BackendUnavailable, PluginError

    reasons: dict[str, str] = {}

    def start(name: str) -> object:
        if name not in reasons:
            try:
                reasons[name] = backends.get(name).probe().reason
                if not reasons[name]:
                    backends.get(name).start()
            except (BackendUnavailable, PluginError) as error:
                reasons[name] = str(error)
        if reasons[name]:
            pytest.skip(f"{name}: {reasons[name]}")
        return backends.get(name)

    return start
