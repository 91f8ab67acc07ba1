"""What the user can mend is one line on standard error and exit code 2, never a traceback."""

from __future__ import annotations

import pytest

from dispatch_xp import backends
from dispatch_xp.cli import paths
from dispatch_xp.errors import PluginError


def message(result):
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.mark.parametrize(
    "command", ["status", "bench", "calibrate", "explain exp 9", "config show"]
)
def test_a_bad_setting_ends_every_command(call, monkeypatch, command):
    monkeypatch.setenv("DISPATCH_XP_LEVEL", "eager")
    said = message(call(*command.split(), code=2))
    assert said == "dispatch-xp: DISPATCH_XP_LEVEL: 'eager' is not a whole number\n"


def test_as_a_program(program):
    done = program("explain", "matmull", "9x9", code=2)
    assert done.stdout == ""
    assert done.stderr.startswith("dispatch-xp: unknown operation 'matmull'; did you mean 'matmul'")
    assert done.stderr.count("\n") == 1


def test_a_plugin_that_does_not_fit(call, monkeypatch):
    def broken(name):
        raise PluginError("entry point 'x' cannot be imported")

    monkeypatch.setattr(backends, "get", broken)
    assert "entry point 'x' cannot be imported" in message(call("bench", "--quick", code=2))
    # `status` is there to find out
    assert "entry point 'x' cannot be imported" in call("status").output


def test_a_command_that_may_have_been_meant(call):
    assert "did you mean 'status'?" in message(call("statsu", code=2))
    assert "No such command 'zzz'" in message(call("zzz", code=2))


WRITERS = [
    ("config", "init"),
    ("calibrate", "--quick", "--output"),
    ("bench", "--quick", "--json"),
]


@pytest.mark.parametrize("command", WRITERS, ids=lambda c: c[0])
def test_a_file_that_cannot_be_written_is_said_before_the_work(call, tmp_path, command):
    assert "is a directory" in message(call(*command, str(tmp_path), code=2))
    (tmp_path / "file").write_text("")
    below = str(tmp_path / "file" / "below")
    assert "is not a folder" in message(call(*command, below, code=2))


@pytest.mark.parametrize("command", WRITERS, ids=lambda c: c[0])
def test_a_folder_that_cannot_be_written_to(call, tmp_path, monkeypatch, command):
    monkeypatch.setattr(paths.os, "access", lambda *arguments, **how: False)
    said = message(call(*command, str(tmp_path / "new"), code=2))
    assert f"nothing may be written to {tmp_path}" in " ".join(said.split())


def test_a_file_that_fails_all_the_same(call, monkeypatch):
    def fails(self, *arguments, **how):
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr("pathlib.Path.write_text", fails)
    said = message(call("config", "init", "new.toml", code=2))
    assert said == "dispatch-xp: new.toml: No space left on device\n"


def test_our_own_faults_are_not_dressed_up(call, monkeypatch):
    from dispatch_xp import config

    def fails(**arguments):
        raise OSError("of no file")

    monkeypatch.setattr(config, "load", fails)
    assert isinstance(call("config", "check", code=1).exception, OSError)
