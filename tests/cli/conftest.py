"""The command line as a function and as a program."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from dispatch_xp import bench, context
from dispatch_xp.cli import main

SMALL = (
    ("matmul", "matrix", 8192, 64, 4),
    ("exp", "vector", 512_000_000, 20_000, 6),
    ("sum", "vector", 512_000_000, 20_000, 4),
)


@pytest.fixture
def call(monkeypatch):
    """Call a command in this process; what it learns is forgotten."""
    monkeypatch.setattr(context, "_states", {})
    monkeypatch.setattr(context, "_told", set())
    monkeypatch.setenv("DISPATCH_XP_BACKENDS", "threads")

    def run(*arguments, code=0):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == code, result.output + repr(result.exception)
        return result

    return run


@pytest.fixture
def program():
    """Run the program with no terminal."""

    def run(*arguments, code=0, **variables):
        done = subprocess.run(
            [sys.executable, "-m", "dispatch_xp", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **variables},
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def small(monkeypatch):
    """A short list for ``bench``."""
    monkeypatch.setattr(bench, "_LIST", SMALL)
