"""Tests here need a device: each is skipped, with the reason, where its backend can't start."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dispatch_xp import backends
from dispatch_xp.backends import Backend
from dispatch_xp.errors import BackendUnavailable, PluginError


@pytest.fixture(scope="session")
def started() -> Callable[[str], Backend]:
    """Return a function that starts a backend by its name, or skips the test with the reason."""
    reasons: dict[str, str] = {}

    def start(name: str) -> Backend:
        if name not in reasons:
            try:
                backends.get(name).start()
                reasons[name] = ""
            except (BackendUnavailable, PluginError) as error:
                reasons[name] = str(error)
        if reasons[name]:
            pytest.skip(f"{name}: {reasons[name]}")
        return backends.get(name)

    return start
