"""``calibrate`` replaces a profile only by a better one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dispatch_xp import calibration
from dispatch_xp.calibration import Interrupted, Progress
from dispatch_xp.calibration.plan import DEPTHS
from dispatch_xp.curve import Point
from dispatch_xp.profile import BackendProfile, Profile, read, this_machine


def made(points=None, notes=()):
    """A profile in which threads win at a million elements."""
    measured = {
        "exp": {
            "vector": {
                "float64": {
                    "reference": [Point(1e3, 8e-6, 1000), Point(1e6, 8e-3, 10**6)],
                    "threads": [Point(1e3, 9e-6, 1000), Point(1e6, 2e-3, 10**6)],
                }
            }
        }
    }
    return Profile(
        this_machine(),
        measured if points is None else points,
        {"threads": BackendProfile("threads")},
        notes=list(notes),
    )


class Calibration:
    """Stands in for the measuring, and keeps what it was asked."""

    def __init__(self):
        self.asked = []
        self.result = made()

    def __call__(self, settings, depth="quick", *, progress, **how):
        progress(Progress(0.5, 1.0, "exp"))
        self.asked.append((settings, depth, how))
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@pytest.fixture
def calibrated(monkeypatch):
    stand_in = Calibration()
    monkeypatch.setattr(calibration, "calibrate", stand_in)
    return stand_in


@pytest.mark.parametrize(
    ("flags", "depth"), [((), "default"), (("--quick",), "quick"), (("--full",), "full")]
)
def test_depth(call, calibrated, flags, depth):
    assert depth in DEPTHS
    call("calibrate", *flags, "--output", "p.json")
    assert calibrated.asked[0][1] == depth


def test_lists(call, calibrated):
    call(
        "calibrate", "--operations", "exp, matmul", "--dtypes", "float32,float64",
        "--backends", "torch,threads", "--output", "p.json",
    )  # fmt: skip
    ((settings, _, how),) = calibrated.asked
    assert how["operations"] == ["exp", "matmul"]
    assert how["dtypes"] == ["float32", "float64"]
    assert settings.backends == ("torch", "threads")


def test_the_summary_says_what_wins_where(call, calibrated):
    out = call("calibrate", "--output", "p.json").output
    assert "wrote p.json: 1 speed curves\n" in out
    assert "exp vector float64 4.0x" in out


def test_it_says_what_is_replaced(call, calibrated):
    call("calibrate", "--output", "p.json")
    assert "1 speed curves, in place of 1\n" in call("calibrate", "--output", "p.json").output


def test_notes_are_shortened(call, calibrated):
    calibrated.result = made(notes=["a note"] * 8)
    out = call("calibrate", "--output", "p.json").output
    assert out.count("a note") == 5
    assert "and 3 more notes in the file" in out


def test_nothing_measured_leaves_the_old_profile(call, calibrated):
    call("calibrate", "--output", "p.json")
    calibrated.result = made(points={}, notes=["cupy: no device"])
    said = call("calibrate", "--output", "p.json", code=2).stderr
    assert "nothing was measured; cupy: no device" in said
    assert len(read(Path("p.json")).curves) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals are different there")
def test_an_interrupt_leaves_the_old_profile_and_what_it_has(tmp_path):
    path = tmp_path / "profile.json"
    path.write_text("the old one")
    code = (
        "import sys\n"
        "from dispatch_xp import calibration\n"
        "from dispatch_xp.calibration import run\n"
        "measure = run._Run.measure\n"
        "def say(self, todo):\n"
        "    print('measuring', flush=True)\n"
        "    measure(self, todo)\n"
        "run._Run.measure = say\n"
        "from dispatch_xp.cli import main\n"
        "main(['calibrate', '--full', '--output', sys.argv[1]])"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "DISPATCH_XP_BACKENDS": "threads"},
    )
    try:
        assert program.stdout.readline() == "measuring\n"
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=60)
    finally:
        program.kill()
    assert program.returncode == 1
    assert "`dispatch-xp calibrate --continue` goes on" in said
    assert "Traceback" not in said
    assert path.read_text() == "the old one"
    assert sorted(tmp_path.iterdir()) == [path, tmp_path / "profile.json.part"]


def test_going_on_measures_the_rest(call, calibrated):
    stopped = Interrupted(made())
    calibrated.result = stopped
    said = call("calibrate", "--full", "--output", "p.json", code=1).stderr
    assert "stopped after 1 speed curves" in said
    assert not Path("p.json").exists()
    calibrated.result = made()
    call("calibrate", "--continue", "--output", "p.json")
    _, _, how = calibrated.asked[-1]
    assert list(how["known"].curves) == [("exp", "vector", "float64")]
    assert read(Path("p.json")).curves
    assert not Path("p.json.part").exists()


def test_nothing_to_go_on_with(call, calibrated):
    said = call("calibrate", "--continue", "--output", "p.json", code=2).stderr
    assert "there is nothing to go on with: no" in said
    assert "p.json.part" in said
    assert not calibrated.asked


def test_a_part_keeps_the_rest_of_the_old_profile(call, calibrated):
    call("calibrate", "--output", "p.json")
    points = {"sum": made().points["exp"]}
    calibrated.result = made(points)
    out = call("calibrate", "--operations", "sum", "--output", "p.json").output
    assert "1 speed curves of 2, in place of 1" in out
    assert sorted(read(Path("p.json")).curves) == [
        ("exp", "vector", "float64"),
        ("sum", "vector", "float64"),
    ]
    # a whole calibration does not
    call("calibrate", "--output", "p.json")
    assert list(read(Path("p.json")).curves) == [("sum", "vector", "float64")]
