"""Children of a program, however they end: counted, or said to be missing."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path

import msgspec
import pytest

from dispatch_xp import files
from dispatch_xp.programs import spool
from dispatch_xp.programs.spool import Spool
from dispatch_xp.tally import Share, Totals

os_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
MISSING = "1 of them killed or still running: their last calls are missing"
FORKED = """
import os, signal, sys, numpy as np
x = np.zeros(10**4)
pid = os.fork()
if pid == 0:
    np.exp(x)
    {end}
os.waitpid(pid, 0)
np.exp(x)
"""
POOL = """
import multiprocessing, numpy as np
def work(n):
    return float(np.exp(np.zeros(n))[0])
if __name__ == "__main__":
    with multiprocessing.get_context({how!r}).Pool(1) as pool:
        print(pool.map(work, [10**4]))
"""


@pytest.fixture
def temporary():
    """A folder for temporary files, with a short name: the path of a socket is limited."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture
def ran(dispatch, tmp_path, temporary):
    """Run a program on two cores; what was reported, and what was said."""
    report = tmp_path / "report.json"

    def run(*arguments, command="run", **how):
        options = () if command == "measure" else ("--backend", "threads")
        how = {"TMPDIR": str(temporary), "TEMP": str(temporary), **how}
        done = dispatch(command, *options, "--json", report, *arguments, **how)
        # a fork server ends after the program that it served
        deadline = time.monotonic() + 10
        while list(temporary.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert list(temporary.iterdir()) == []
        return json.loads(report.read_bytes()), done.stderr

    return run


def calls(found):
    return sum(share["calls"] for share in found["shares"].values())


@os_fork
@pytest.mark.parametrize(
    ("end", "unfinished"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", 1),
        ("os.kill(os.getpid(), signal.SIGTERM)", 1),
        ("os._exit(3)", 1),
        ("os.execv(sys.executable, [sys.executable, '-c', 'pass'])", 1),
        ("sys.exit(3)", 0),
    ],
)
def test_a_forked_child_is_counted_however_it_ends(ran, end, unfinished):
    found, said = ran("-c", FORKED.format(end=end))
    assert (found["processes"], found["unfinished"]) == (2, unfinished)
    assert calls(found) == 2
    assert (MISSING in said) == bool(unfinished)


@os_fork
def test_a_child_that_has_counted_nothing_is_not_missed(ran):
    code = "import os, numpy\nif os.fork() == 0: os._exit(0)\nos.wait()"
    found, said = ran("-c", code)
    assert (found["processes"], found["unfinished"]) == (1, 0)
    assert "killed" not in said


@os_fork
def test_a_killed_child_is_measured(ran):
    end = "os.kill(os.getpid(), signal.SIGKILL)"
    found, said = ran("-c", FORKED.format(end=end), command="measure")
    assert (found["processes"], found["unfinished"]) == (2, 1)
    # one in the child, one in the parent
    assert [(g["operation"], g["calls"]) for g in found["groups"]] == [("exp", 1), ("exp", 1)]
    assert MISSING in said


@pytest.mark.parametrize("how", ["spawn", "fork", "forkserver"])
def test_the_workers_of_a_pool_are_counted(ran, script, how):
    import multiprocessing

    if how not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {how}")
    # the end of the block terminates them
    found, _ = ran(script(POOL.format(how=how)))
    assert calls(found) == 1


def test_what_a_killed_child_did_until_then_is_counted(ran, script):
    # until the second time that it leaves its counts, which a slow disk delays
    child = script(
        "import glob, json, os, time, numpy as np\n"
        "from dispatch_xp.programs.environment import Plan\n"
        "def left(path):\n"
        "    with open(path) as file:\n"
        "        return sum(share['calls'] for share in json.load(file)['shares'].values())\n"
        "x = np.zeros(10**4)\n"
        "end = time.monotonic() + 30\n"
        "paths = []\n"
        "while time.monotonic() < end and not any(left(path) > 1 for path in paths):\n"
        "    np.exp(x)\n"
        "    time.sleep(0.02)\n"
        "    paths = glob.glob(Plan.current().spool + '/*.json')\n"
        "os._exit(0)\n",
        "child.py",
    )
    code = f"import subprocess, sys, numpy; subprocess.run([sys.executable, {str(child)!r}])"
    found, said = ran("-c", code)
    assert (found["processes"], found["unfinished"]) == (2, 1)
    assert calls(found) > 1
    assert MISSING in said


def test_a_child_that_goes_on_is_told_and_leaves_nothing_behind(ran, script, tmp_path, temporary):
    ended, begun = tmp_path / "ended", tmp_path / "begun"
    child = script(
        "import atexit, pathlib, time\n"
        f"atexit.register(pathlib.Path({str(ended)!r}).touch)\n"
        "import numpy as np\n"
        "np.exp(np.zeros(10**4))\n"
        f"pathlib.Path({str(begun)!r}).touch()\n"
        "for _ in range(3):\n"
        "    time.sleep(0.5)\n"
        "    np.exp(np.zeros(10**4))\n",
        "child.py",
    )
    code = (
        "import pathlib, subprocess, sys, time, numpy\n"
        f"subprocess.Popen([sys.executable, {str(child)!r}], stdin=-3, stdout=-3, stderr=-3)\n"
        f"while not pathlib.Path({str(begun)!r}).exists(): time.sleep(0.01)\n"
    )
    found, said = ran("-c", code)
    assert (found["processes"], found["unfinished"]) == (2, 1)
    assert MISSING in said
    assert not ended.exists()
    deadline = time.monotonic() + 30
    while not ended.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert list(temporary.iterdir()) == []


# when counts are left


class Counts:
    """What is counted: one call more each time that somebody looks."""

    def __init__(self):
        self.looks = 0

    @property
    def totals(self):
        self.looks += 1
        return Totals({"threads": Share(self.looks)})


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when a test says so, or while a file is written."""

    class Clock:
        now = 1000.0
        writing = 0.0

        def __call__(self):
            return self.now

    clock, replace = Clock(), files.replace

    def slowly(*args, **kwargs):
        replace(*args, **kwargs)
        clock.now += clock.writing

    monkeypatch.setattr(spool, "perf_counter", clock)
    monkeypatch.setattr(files, "replace", slowly)
    return clock


def left(folder):
    return [msgspec.json.decode(path.read_bytes(), type=Totals) for path in folder.iterdir()]


def test_the_process_that_collects_leaves_nothing(tmp_path):
    counts = Counts()
    kept = Spool(str(tmp_path / "spool"), counts)
    kept.add(None)
    kept.leave()
    assert counts.looks == 0
    assert not (tmp_path / "spool").exists()


def test_the_first_call_is_left_at_once_and_more_after_a_while(clock, tmp_path):
    folder, counts = tmp_path / "spool", Counts()
    kept = Spool(str(folder), counts)
    kept.begin()
    assert not folder.exists()
    for step, looks in ((0.0, 1), (0.05, 1), (0.04, 1), (0.02, 2), (0.05, 2), (10.0, 3)):
        clock.now += step
        kept.add(None)
        assert counts.looks == looks
        (totals,) = left(folder)
        assert (totals.shares["threads"].calls, totals.unfinished) == (looks, 1)
    kept.leave()
    (totals,) = left(folder)
    assert (totals.shares["threads"].calls, totals.unfinished) == (4, 0)


def test_it_takes_no_more_than_a_hundredth_of_the_time(clock, tmp_path):
    counts = Counts()
    kept = Spool(str(tmp_path / "spool"), counts)
    kept.begin()
    clock.writing = 0.5
    began = clock.now
    while clock.now < began + 1000:
        kept.add(None)
        clock.now += 0.25
    assert 10 <= counts.looks * 0.5 <= 12


def test_a_forked_child_has_a_file_of_its_own(tmp_path):
    kept = Spool(str(tmp_path / "spool"), Counts())
    for _ in range(2):
        kept.begin()
        kept.add(None)
    other = Spool(str(tmp_path / "spool"), Counts())
    assert sum(totals.processes for totals in other.collect()) == 2
    assert not (tmp_path / "spool").exists()
    assert other.collect() == []


def test_what_cannot_be_left_is_nobodys_trouble(tmp_path):
    kept = Spool("/proc/nothing/here", Counts())
    kept.begin()
    kept.add(None)
    kept.leave()
    assert kept.collect() == []
