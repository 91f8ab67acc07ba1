"""A machine profile of round figures, found by the configuration."""

from __future__ import annotations

import pytest

from dispatch_xp import context
from dispatch_xp.curve import Point
from dispatch_xp.profile import BackendProfile, Profile, this_machine, write


@pytest.fixture(autouse=True)
def _fresh_states(monkeypatch):
    monkeypatch.setattr(context, "_states", {})
    monkeypatch.setattr(context, "_told", set())


@pytest.fixture
def profile(monkeypatch, tmp_path):
    """``exp`` takes 8 ns an element on the reference, 4 with threads and 1 with PyTorch."""

    def curve(nanoseconds):
        return [Point(float(n), n * nanoseconds * 1e-9, n) for n in (10**3, 10**5, 10**7)]

    curves = {"reference": curve(8), "threads": curve(4), "torch": curve(1)}
    points = {"exp": {"vector": {"float64": curves, "float32": curves}}}
    figures = {"threads": BackendProfile("threads"), "torch": BackendProfile("torch", 2.0)}
    path = tmp_path / "profile.json"
    write(Profile(this_machine(), points, figures), path)
    monkeypatch.setenv("DISPATCH_XP_PROFILE", str(path))
    monkeypatch.setenv("DISPATCH_XP_BACKENDS", "threads")
    return path
