"""The pytest plug-in: a test suite with every call routed."""

from __future__ import annotations

SUITE = """
import numpy as np
from dispatch_xp.state import PROCESS

def test_routed():
    assert PROCESS.default.settings.backend == "threads"
    np.exp(np.ones(10**5))
"""


def test_a_suite_is_routed_and_summed_up(start, script):
    path = script(SUITE, "test_suite.py")
    plugin = ("-m", "pytest", "-p", "dispatch_xp.pytest_plugin", "-p", "no:cacheprovider")
    done = start(*plugin, "--dispatch-backend", "threads", path)
    assert "1 passed" in done.stdout
    (line,) = [text for text in done.stdout.splitlines() if text.startswith("threads ")]
    assert line.split()[1] == "1"


def test_a_bad_setting_is_a_usage_error(start, script):
    path = script(SUITE, "test_suite.py")
    plugin = ("-m", "pytest", "-p", "dispatch_xp.pytest_plugin", "-p", "no:cacheprovider")
    done = start(*plugin, "--dispatch-level", "11", path, code=4)
    assert "level" in done.stderr
