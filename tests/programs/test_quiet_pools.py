"""Pools that give way: the variables, and that OpenBLAS obeys them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dispatch_xp import quiet_pools
from dispatch_xp.quiet_pools import VARIABLES, are_quiet, missing

QUIET = dict(VARIABLES)


def test_what_the_user_has_set_stays():
    assert missing({}) == QUIET
    assert missing({"OMP_WAIT_POLICY": "ACTIVE"}) == {"OPENBLAS_THREAD_TIMEOUT": "20"}
    assert missing(QUIET) == {}


@pytest.mark.parametrize(
    ("environ", "quiet"),
    [
        ({}, False),
        (QUIET, True),
        (QUIET | {"OMP_WAIT_POLICY": "passive"}, True),
        (QUIET | {"OMP_WAIT_POLICY": "ACTIVE"}, False),
        (QUIET | {"OPENBLAS_THREAD_TIMEOUT": "4"}, True),
        (QUIET | {"OPENBLAS_THREAD_TIMEOUT": "28"}, False),
        (QUIET | {"OPENBLAS_THREAD_TIMEOUT": "long"}, False),
        ({"OMP_WAIT_POLICY": "PASSIVE"}, False),
    ],
)
def test_are_quiet(environ, quiet):
    assert are_quiet(environ) == quiet


def test_too_late_once_numpy_is_loaded(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    quiet_pools.make_quiet()
    assert missing(os.environ) == QUIET


CODE = """
import os
from dispatch_xp.quiet_pools import are_quiet, as_they_come, make_quiet
before = dict(os.environ)
make_quiet()
assert are_quiet(os.environ)
assert as_they_come(os.environ) == before
make_quiet()
assert as_they_come(os.environ) == before
"""


@pytest.mark.parametrize("own", [{}, {"OMP_WAIT_POLICY": "PASSIVE"}, QUIET])
def test_a_fresh_process_is_made_quiet_and_knows_its_own_environment(own):
    environ = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=environ | own, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
