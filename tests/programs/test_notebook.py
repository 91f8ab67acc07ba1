"""``%%dispatch``: the calls of a cell, and of no other, are routed."""

from __future__ import annotations

import pytest

pytest.importorskip("IPython", reason="IPython is not installed")

CELL = "import numpy as np\ny = np.exp(np.ones(10**5))"


@pytest.fixture
def shell():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "dispatch_xp")
    yield shell
    InteractiveShell.clear_instance()


def test_a_cell_is_routed_and_shows_what_ran_where(shell, capsys):
    result = shell.run_cell("%%dispatch --backend threads\n" + CELL)
    assert result.success
    assert "threads" in capsys.readouterr().out
    assert shell.user_ns["y"].size == 10**5


def test_quiet_verify_and_trace(shell, capsys, tmp_path):
    trace = tmp_path / "trace.jsonl.gz"
    shell.run_cell(f"%%dispatch --backend threads --verify -q --trace {trace}\n{CELL}")
    assert capsys.readouterr().out == ""
    from dispatch_xp.trace.reader import read

    assert "exp" in {getattr(record, "operation", "") for record in read(trace)}


def test_a_bad_setting_is_one_line(shell, capsys):
    result = shell.run_cell("%%dispatch --backend torhc\n1")
    assert not result.success
    said = capsys.readouterr()
    assert "did you mean 'torch'?" in said.out + said.err
    assert "Traceback" not in said.out + said.err


def test_an_error_of_the_cell_is_an_error(shell):
    result = shell.run_cell("%%dispatch --backend threads\n1 / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
