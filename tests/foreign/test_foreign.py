"""NumPy's own tests end as they do unrouted, wherever each of their calls is computed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import suites
from differences import Difference
from suites import Outcome, changes, outcomes, unexpected

QUICK = {
    "numpy.fft": (),
    # without those that try every memory layout, in a million calls
    "numpy.linalg": ("-k", "not generalized and not openblas_threading"),
}


@pytest.mark.parametrize("suite", QUICK)
def test_a_suite_ends_alike_when_it_is_routed_at_random(suite, tmp_path, started):
    started("torch")
    if importlib.util.find_spec(f"{suite}.tests") is None:
        pytest.skip(f"{suite}: installed without its tests")
    (tmp_path / "empty").mkdir()
    unrouted = outcomes(suite, tmp_path / "empty", None, QUICK[suite])
    routed = outcomes(suite, tmp_path / "empty", "random", QUICK[suite])
    assert sum(outcome.kind == "passed" for outcome in unrouted.values()) > 100
    assert unexpected(suite, "random", changes(unrouted, routed)) == []


def test_a_test_that_ends_otherwise_is_named():
    unrouted = {
        name: Outcome(kind) for name, kind in {"a": "passed", "b": "passed", "c": "skipped"}.items()
    }
    routed = {"a": Outcome("passed"), "b": Outcome("failed")}
    assert unexpected("numpy.fft", "torch", changes(unrouted, routed)) == [
        "b: passed -> failed",
        "c: skipped -> missing",
    ]


@pytest.mark.parametrize(("far", "count"), [("2e-15", 0), ("nan", 1), ("0.5", 1)])
def test_a_listed_test_may_fail_by_rounding_only(far, count, monkeypatch):
    listed = Difference("numpy.fft", ("torch",), r"::test_b$", "bits", largest=1e-14)
    monkeypatch.setattr(suites, "DIFFERENCES", (listed,))
    text = f"Max absolute difference among violations: {far}\nMax relative difference: 0.7"
    changed = changes({"t::test_b": Outcome("passed")}, {"t::test_b": Outcome("failed", text)})
    assert len(unexpected("numpy.fft", "torch", changed)) == count
    assert len(unexpected("numpy.fft", "threads", changed)) == 1
