"""Third parties' backends and policies, found by their entry points and only when asked for."""

from __future__ import annotations

import importlib.metadata
import sys

import numpy as np
import pytest

import dispatch_xp
from dispatch_xp import backends, plugins, policies
from dispatch_xp.backends import registry
from dispatch_xp.config import load

MODULE = '''
from dispatch_xp.backends import Availability, Backend
from dispatch_xp.decision import Decision, stay
from dispatch_xp.policies import Policy
from dispatch_xp.reasons import Reason


class Counting(Backend):
    """Sums, and counts how often."""

    name = "counting"
    calls = 0

    def probe(self):
        return Availability(True, description="an example")

    def operations(self):
        return frozenset({"sum"})

    def start(self):
        self.started = True

    def refuses(self, call):
        return "" if call.dtype.kind == "f" else "floating-point numbers only"

    def run(self, call, arrays):
        Counting.calls += 1
        return (arrays[0].sum(**call.options),)


class Large(Policy):
    """Use the first backend for what is large."""

    name = "large"

    def choose(self, call, candidates):
        if call.workload.bytes_in < 1000:
            return stay(Reason.BELOW_THRESHOLD, "small")
        return Decision(candidates[0].name, Reason.THRESHOLD, "large")


class NotABackend:
    pass
'''
POINTS = """\
[dispatch_xp.backends]
counting = example_plugin:Counting
broken = example_plugin:Missing
wrong = example_plugin:NotABackend

[dispatch_xp.policies]
large = example_plugin:Large
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """An installed distribution with a module and entry points."""
    (tmp_path / "example_plugin.py").write_text(MODULE)
    info = tmp_path / "example_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_instances", {})
    plugins.scanned.cache_clear()
    yield
    plugins.scanned.cache_clear()
    sys.modules.pop("example_plugin", None)


@pytest.mark.usefixtures("plugin")
def test_a_third_partys_backend_is_used_like_ours():
    x = np.arange(1000.0)
    want = np.sum(x)
    with dispatch_xp.backend("counting", fallback="raise"), dispatch_xp.record() as rec:
        got = np.sum(x)
        np.sum(np.arange(10))
        np.linalg.inv(np.eye(3))
    assert got == want
    assert type(got) is type(want)
    assert [(r.function, r.backend, r.detail) for r in rec.records] == [
        ("numpy.sum", "counting", ""),
        ("numpy.sum", "reference", "counting: floating-point numbers only"),
        ("numpy.linalg.inv", "reference", "linalg.inv"),
    ]
    assert sys.modules["example_plugin"].Counting.calls == 1


@pytest.mark.usefixtures("plugin")
def test_a_third_partys_policy_decides():
    options = {"policy": "large", "backends": ["counting"], "fallback": "raise"}
    with dispatch_xp.backend("auto", **options), dispatch_xp.record() as rec:
        np.sum(np.ones(1000))
        np.sum(np.ones(10))
    assert [(r.backend, r.detail) for r in rec.records] == [
        ("counting", "large"),
        ("reference", "small"),
    ]


@pytest.mark.usefixtures("plugin")
def test_names_are_listed_only_when_asked_for():
    assert "counting" not in backends.names()
    assert "counting" in backends.names(entry_points=True)
    assert "large" not in policies.names()
    assert "large" in policies.names(entry_points=True)


@pytest.mark.usefixtures("plugin")
def test_a_broken_entry_point_is_named():
    with pytest.raises(dispatch_xp.PluginError, match=r"'broken'.*example_plugin:Missing"):
        backends.get("broken")
    with pytest.raises(dispatch_xp.PluginError, match=r"'wrong'.*subclass of .*Backend"):
        backends.get("wrong")
    with pytest.raises(dispatch_xp.PluginError, match="'nothing' is not in"):
        backends.get("nothing")
    with pytest.raises(dispatch_xp.ConfigError, match="'countin' is not a backend; did you mean"):
        load(backend="countin")


def test_our_own_names_need_no_scan(monkeypatch):
    def scan(*args, **kwargs):
        raise AssertionError("entry points were scanned")

    monkeypatch.setattr(importlib.metadata, "entry_points", scan)
    plugins.scanned.cache_clear()
    with dispatch_xp.backend("threads", policy="random"):
        np.sum(np.ones(100))
