"""What one run learns the next one knows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dispatch_xp.config import Settings
from dispatch_xp.policies import learned
from dispatch_xp.policies.cost_model import CostModelPolicy
from dispatch_xp.profile import Profile, this_machine, write

KEY = ("exp", "vector", "float64")


@pytest.fixture
def path(profile_of, tmp_path):
    found = profile_of(reference=1e-8, fast=2e-9)
    path = tmp_path / "profile.json"
    write(Profile(this_machine(), found.points, found.backends, created="today"), path)
    return path


def test_the_next_process_knows(path, exp, fake):
    code = (
        "import sys, numpy as np\n"
        "from dispatch_xp.call import Call\n"
        "from dispatch_xp.config import Settings\n"
        "from dispatch_xp.operations import OPERATIONS\n"
        "from dispatch_xp.policies.cost_model import CostModelPolicy\n"
        "policy = CostModelPolicy(Settings(profile=sys.argv[1]))\n"
        "call = Call(OPERATIONS['exp'], np.dtype('f8'), ((10**5,),), {}, (np.ones(10**5),))\n"
        "for _ in range(7): policy.observe(call, 'fast', float(sys.argv[2]) * 2e-4)\n"
    )

    def run(times):
        subprocess.run([sys.executable, "-c", code, str(path), str(times)], check=True)
        return CostModelPolicy(Settings(profile=str(path)))

    first = run(5)
    assert first.predict(exp(10**5), "fast").run == pytest.approx(1e-3)
    assert first.choose(exp(10**5), [fake("fast")]).backend == "reference"
    assert run(2).predict(exp(10**5), "fast").run == pytest.approx(4e-4)
    assert sorted(p.name for p in path.parent.iterdir()) == ["profile.json", "profile.json.learned"]


def test_another_profile_begins_anew(path):
    learned.write(path, "yesterday", {(KEY, "fast"): 5.0})
    assert learned.read(path, "today") == {}
    assert learned.read(path, "yesterday") == {(KEY, "fast"): 5.0}
    assert learned.read(path, "") == {}


def test_what_others_wrote_stays(path):
    learned.write(path, "today", {(KEY, "fast"): 5.0})
    learned.write(path, "today", {(KEY, "other"): 2.0})
    assert learned.read(path, "today") == {(KEY, "fast"): 5.0, (KEY, "other"): 2.0}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"profile": "today", "corrections": {"exp": "x"}}', "\x00"]
)
def test_a_damaged_file_is_as_good_as_none(path, text):
    Path(f"{path}.learned").write_text(text)
    assert learned.read(path, "today") == {}
    learned.write(path, "today", {(KEY, "fast"): 5.0})
    assert learned.read(path, "today") == {(KEY, "fast"): 5.0}


def test_what_makes_no_sense_is_left_out(path):
    Path(f"{path}.learned").write_text(
        '{"profile": "today", "corrections": {"exp": 2.0, "a b c d": 1e9, "a b c e": 3.0}}'
    )
    assert learned.read(path, "today") == {(("a", "b", "c"), "e"): 3.0}


def test_a_folder_that_may_not_be_written_is_no_error(tmp_path):
    learned.write(tmp_path / "nowhere" / "profile.json", "today", {(KEY, "fast"): 5.0})
