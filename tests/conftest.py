"""Every test runs without the user's configuration and profile, and leaves no door behind."""

from __future__ import annotations

import os

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
