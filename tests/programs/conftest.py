"""Programs started as a user starts them, in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CALLS = """
import sys
import numpy as np
from numpy.linalg import solve

a = np.random.default_rng(0).standard_normal((60, 60))
b = a @ a
print(float(solve(a, b).sum()), float(np.exp(a).sum()))
"""


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Run a command line in an empty folder, and check its exit code unless that is None."""
    folder = tmp_path / "program"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DISPATCH_XP_BACKENDS", "threads")

    def run(*command, code=0, given=None, **variables):
        done = subprocess.run(
            [sys.executable, *map(str, command)],
            capture_output=True,
            text=True,
            check=False,
            input=given,
            env={**os.environ, **variables},
        )
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def dispatch(start):
    """Run a command of ours."""

    def run(*arguments, **how):
        return start("-m", "dispatch_xp", *arguments, **how)

    return run


@pytest.fixture
def script(start, tmp_path):
    """Write a program and return its path."""

    def write(text, name="script.py"):
        path = tmp_path / "program" / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def calls(script):
    """A program that multiplies, solves and exponentiates."""
    return script(CALLS, "calls.py")
