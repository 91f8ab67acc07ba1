"""``dispatch-xp env``: a shell's Python programs are routed, and afterwards as they were."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(shutil.which("sh") is None, reason="there is no POSIX shell")

ROUTED = (
    "import numpy, sys; state = sys.modules.get('dispatch_xp.state'); "
    "print(state and state.PROCESS.default and state.PROCESS.default.settings.backend)"
)
DISPATCH = f"{sys.executable} -m dispatch_xp"


def shell(*lines, **variables):
    done = subprocess.run(
        ["sh", "-ec", "\n".join(lines)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("path", ["", "/somewhere", "/somewhere:/else where"])
def test_on_and_off_again(path):
    variables = {"PYTHONPATH": path} if path else {}
    ask = f'{sys.executable} -c "{ROUTED}"'
    on = f'eval "$({DISPATCH} env --backend threads -l 7)"'
    off = f'eval "$({DISPATCH} env --off)"'
    show = "env | grep -E '^(PYTHON|DISPATCH|OMP)' | sort; echo --"
    out = shell(show, ask, on, ask, off, ask, show, **variables)
    before, after = out[: out.index("--")], out[out.index("--") + 4 : -1]
    assert out[out.index("--") + 1 : out.index("--") + 4] == ["None", "threads", "None"]
    assert after == before


def test_bad_settings_print_nothing_to_evaluate(dispatch):
    done = dispatch("env", "--backend", "torhc", code=2)
    assert done.stdout == ""
    assert "did you mean 'torch'?" in done.stderr


def test_what_another_version_has_set_is_named(dispatch):
    done = dispatch("env", "--off", code=2, DISPATCH_XP_RUN="?")
    assert "DISPATCH_XP_RUN" in done.stderr
