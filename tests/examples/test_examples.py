"""The examples run on real data, and give the reference's figures on every backend."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import dispatch_xp

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

EXAMPLES = Path(__file__).parents[2] / "examples"
# figures of plain NumPy and SciPy
WANTED = {
    "image_compression": pytest.approx(0.1041, abs=5e-4),
    "image_filter": (pytest.approx(0.0131, abs=5e-4), pytest.approx(0.0042, abs=5e-4)),
    "spectral_embedding": pytest.approx(0.63, abs=0.05),
    "least_squares": pytest.approx(0.5177, abs=5e-4),
    "gaussian_process": pytest.approx(0.386, abs=5e-3),
}


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_tested():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(WANTED)


@pytest.mark.filterwarnings("ignore::dispatch_xp.ProfileWarning")
@pytest.mark.parametrize("backend", ["auto", "threads", "torch"])
@pytest.mark.parametrize("name", WANTED)
def test_example(name, backend, monkeypatch):
    if backend == "torch":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    module = load(name)
    # the example says "auto": here it means the backend under test
    real = dispatch_xp.backend
    monkeypatch.setattr(module.dispatch_xp, "backend", lambda _: real(backend, fallback="raise"))
    with real("reference"), dispatch_xp.record() as rec:
        assert module.main() == WANTED[name]
    if backend == "torch":
        assert "torch" in {r.backend for r in rec.records}


def test_an_example_runs_as_a_script():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(EXAMPLES / "least_squares.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "R squared 0.5177" in done.stdout
