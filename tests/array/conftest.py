"""Arrays are routed by the configuration: forced here, for no policy would move what is small."""

from __future__ import annotations

import gc

import pytest

from dispatch_xp.array.routed import LIMITS
from dispatch_xp.residency import LEDGER


@pytest.fixture
def dpnp(started):
    """The backend that has memory of its own on every machine, free of what other tests left."""
    backend = started("dpnp")
    gc.collect()
    LEDGER.give_back("dpnp", LEDGER.used("dpnp"))
    return backend


@pytest.fixture(params=["reference", "threads", "dpnp", "random"])
def routing(request, monkeypatch, started):
    """Route by a policy; the configuration is read anew."""
    if request.param == "dpnp":
        started("dpnp")
    if request.param == "random":
        monkeypatch.setenv("DISPATCH_XP_POLICY", "random")
    else:
        monkeypatch.setenv("DISPATCH_XP_BACKEND", request.param)
    LIMITS.forget()
    yield request.param
    LIMITS.forget()


@pytest.fixture(autouse=True)
def _on_the_reference(request, monkeypatch):
    """Without another wish everything stays, and nobody misses a machine profile."""
    if "routing" in request.fixturenames:
        yield
        return
    monkeypatch.setenv("DISPATCH_XP_BACKEND", "reference")
    LIMITS.forget()
    yield
    LIMITS.forget()
