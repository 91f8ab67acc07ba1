"""Every decision can be explained, in numbers; and asking changes nothing."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import dispatch_xp
from dispatch_xp import explain
from dispatch_xp.backends import registry
from dispatch_xp.backends.interface import Availability
from dispatch_xp.backends.threads import ThreadsBackend
from dispatch_xp.context import state_of
from dispatch_xp.errors import ConfigError, DispatchError
from dispatch_xp.functions import FUNCTIONS
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.reasons import Reason
from dispatch_xp.router import decide

N = 10**6


@pytest.mark.parametrize("size", [10**3, 10**5, 10**6])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_explanation_is_the_decision_that_the_call_gets(profile, size, dtype):
    found = explain("exp", (size,), dtype=dtype)
    state = state_of(dispatch_xp.backend().settings)
    real = FUNCTIONS["numpy.exp"].bind(np.ones(size, dtype=dtype)).call
    decision, _ = decide(state, real)
    assert found.backend == decision.backend
    assert found.reason is decision.reason
    assert {n: p.total for n, p in found.decision.predictions.items()} == {
        n: p.total for n, p in decision.predictions.items()
    }


def test_numbers(profile):
    found = explain("exp", (N,))
    assert found.speedups == {"reference": 1.0, "threads": pytest.approx(2.0)}
    assert (found.backend, found.reason) == ("threads", Reason.FASTEST)
    assert (found.level, found.required_speedup) == (5, 1.3)
    prediction = found.decision.predictions["reference"]
    assert prediction.total == pytest.approx(8e-3)
    assert found.call.workload.flops == N


def test_a_level_asks_for_more(profile):
    found = explain("exp", (N,), level=1)
    assert (found.backend, found.required_speedup) == ("reference", 3.0)
    assert found.reason is Reason.NOT_FASTER


def test_text(profile):
    lines = str(explain("exp", (N,))).splitlines()
    assert lines[0] == "numpy.exp of 1000000, computed in float64: 1e+06 flops, 16 MB"
    assert lines[1].split() == "backend start-up copy in run copy out total speed-up".split()
    assert lines[2].split() == "reference - - 8 ms - 8 ms 1.00".split()
    assert lines[3].split() == "threads - - 4 ms - 4 ms 2.00 chosen".split()
    assert lines[4].startswith("threads: predicted fastest (threads 2.00 times as fast")
    assert lines[5].startswith("level 5: a backend has to be predicted 1.3 times as fast")
    assert repr(explain("exp", (N,))) == "\n".join(lines)


def test_html_is_escaped(monkeypatch):
    monkeypatch.setenv("DISPATCH_XP_POLICY", "threshold")
    monkeypatch.setenv("DISPATCH_XP_BACKENDS", "threads")
    found = explain("exp", (9,))
    assert "9 < 1000000 elements" in str(found)
    html = found._repr_html_()
    assert "9 &lt; 1000000 elements" in html
    assert "<table>" in html
    assert "<li>threads: takes the call</li>" in html


def test_it_is_frozen(profile):
    found = explain("exp", (N,))
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.level = 3
    with pytest.raises(TypeError):
        found.others["threads"] = "no"


@pytest.mark.parametrize(
    ("name", "near"),
    [("matmull", "'matmul'"), ("svd", "'linalg.svd'"), ("scipy.linalg.svdd", "scipy.linalg.svd")],
)
def test_an_unknown_operation_names_what_is_near(name, near):
    with pytest.raises(DispatchError, match=f"unknown operation '{name}'; did you mean .*{near}"):
        explain(name, (3, 3))


def test_an_unknown_operation_with_nothing_near():
    with pytest.raises(DispatchError, match=r"unknown operation 'qqq' .*OPERATIONS lists them"):
        explain("qqq", (3, 3))


def test_an_operation_without_kernels():
    assert not OPERATIONS["real"].problems
    with pytest.raises(DispatchError, match="real has nothing to route"):
        explain("real", (3,))


def test_an_unknown_backend():
    with pytest.raises(ConfigError, match="'cuda' is not a backend"):
        explain("exp", (3,), backend="cuda")


def test_what_the_reference_alone_takes():
    found = explain("exp", (3,), dtype=object)
    assert (found.call, found.backend, found.reason) == (None, "reference", Reason.DTYPE)
    assert found.speedups == {}
    assert str(found).splitlines()[0] == "numpy.exp"
    assert "dtype stays on the reference" in found._repr_html_()


def test_a_function_by_its_path_and_an_operation_by_its_name(profile):
    assert explain("linalg.svd", (3, 3)).function == "numpy.linalg.svd"
    assert explain("scipy.linalg.svd", (3, 3)).function == "scipy.linalg.svd"
    assert explain("linalg.lu", (3, 3)).function == "scipy.linalg.lu"


def test_inside_a_context_it_speaks_of_that_context(profile):
    with dispatch_xp.backend("threads", level=9):
        found = explain("exp", (N,))
        assert (found.level, found.reason) == (9, Reason.FIXED)
        other = explain("exp", (N,), level=2)
        assert (other.level, other.reason) == (2, Reason.NOT_FASTER)


def test_a_recorder_alone_makes_no_difference(profile):
    with dispatch_xp.record() as rec:
        assert explain("exp", (N,)).backend == "threads"
    assert rec.records == []


class Other(ThreadsBackend):
    """Threads by another name, with something to say about everything."""

    name = "torch"
    modules = ("torch_that_is_not_loaded",)
    there = True

    def probe(self):
        return Availability(self.there, "" if self.there else "it is not installed")

    def operations(self):
        return frozenset({"exp", "sin", "linalg.inv"})

    def refuses(self, call):
        return "it is a Monday" if call.operation.name == "sin" else ""


@pytest.fixture
def other(monkeypatch, profile):
    backend = Other()
    monkeypatch.setattr(registry, "_instances", {"torch": backend})
    monkeypatch.setenv("DISPATCH_XP_BACKENDS", "threads,torch")
    return backend


def test_why_a_backend_has_no_prediction(other):
    def why(name, shape, **how):
        return explain(name, shape, **how).others

    assert why("exp", (N,)) == {}
    assert why("sin", (N,))["torch"] == "it is a Monday"
    assert why("sum", (N,))["torch"] == "does not have sum"
    assert why("linalg.inv", (9, 9)) == {
        "threads": "one matrix: LAPACK and BLAS use the other cores themselves",
        "torch": "the machine profile has no figures for linalg.inv matrix float64 on it",
    }
    assert why("exp", (N,), backend="threads") == {"torch": "the backend is set to 'threads'"}
    assert set(why("exp", (N,), backend="reference").values()) == {
        "the backend is set to 'reference'"
    }


def test_a_missing_backend_says_what_is_missing(other):
    other.there = False
    assert explain("exp", (N,)).others == {"torch": "it is not installed"}
    with pytest.warns(dispatch_xp.BackendWarning, match="it is not installed"):
        found = explain("exp", (N,), backend="torch")
    assert found.backend == "reference"
    assert found.others["torch"] == "it is not installed"


def test_a_pinned_operation(other):
    settings = {"operations": {"exp": {"backend": "torch"}}}
    with dispatch_xp.backend("auto", **settings):
        found = explain("exp", (N,))
    assert (found.backend, found.reason) == ("torch", Reason.PINNED)
    assert found.others == {"threads": "the configuration pins exp to 'torch'"}


def test_a_backend_that_failed(other):
    with dispatch_xp.backend("auto"):
        state = dispatch_xp.state.current()
        state.health.gave_up("torch", "the device is lost")
        found = explain("exp", (N,))
    assert "the device is lost" in found.others["torch"]


def test_without_a_profile_it_says_what_to_do(monkeypatch):
    monkeypatch.setenv("DISPATCH_XP_BACKENDS", "threads")
    found = explain("exp", (N,))
    assert found.reason is Reason.NO_PROFILE
    assert "run `dispatch-xp calibrate`" in str(found)
    assert found.others == {"threads": "takes the call"}


def test_the_start_up_is_shown_until_it_is_paid(other):
    def startup():
        return explain("exp", (N,)).decision.predictions["torch"].startup

    assert startup() >= 2.0
    other.started = True
    assert startup() == 0.0


def test_asking_starts_nothing_and_counts_nothing(other):
    for _ in range(50):
        # each would save 6 ms of the 4 s that a start has to be worth at this level
        found = explain("exp", (N,), level=5)
    assert not other.started
    assert found.backend == "threads"
    assert found.decision.predictions["torch"].startup >= 2.0


def test_asking_imports_no_library():
    code = (
        "import sys, dispatch_xp\n"
        "dispatch_xp.explain('matmul', (9, 9), (9, 9))\n"
        "print([m for m in ('torch', 'cupy', 'rich', 'click') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr
