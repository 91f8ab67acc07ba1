"""``bench``: the table, its JSON, and how it looks without a terminal."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dispatch_xp import bench
from dispatch_xp.bench import Bench, Report, Row

EXP = Bench("exp", "vector", 8_000_000, "float32", "512M without --quick")
MATMUL = Bench("matmul", "matrix", 1536, "float32")


@pytest.fixture
def measured(monkeypatch):
    """Replace the measuring by rows of round figures."""

    def make(*rows):
        monkeypatch.setattr(bench, "problems", lambda dtype, quick: [MATMUL, EXP])
        report = Report(list(rows), ["a note"])
        monkeypatch.setattr(bench, "measure", lambda settings, chosen, quick, tell: report)

    return make


def rows(**last):
    return (
        Row(MATMUL.label, 0.1, "threads", note="one matrix", stays=True),
        Row(EXP.label, 8e-3, "threads", 4e-3, 0.0, "same"),
        replace(Row(EXP.label, 8e-3, "cupy", 1e-3, 5e-4, "same", chosen=True), **last),
    )


def test_the_table(call, measured):
    measured(*rows())
    lines = [line.split() for line in call("bench").output.splitlines()]
    assert lines[0] == (
        "operation size dtype NumPy backend time copies speed-up result auto".split()
    )
    assert lines[1] == "matmul 1536x1536 float32 100 ms - - - - - NumPy".split()
    assert lines[2] == "exp 8M float32 8 ms threads 4 ms - 2.00 same cupy".split()
    assert lines[3] == "cupy 1 ms 500 us 8.00 same".split()


def test_what_a_reader_has_to_know(call, measured):
    measured(*rows())
    out = call("bench").output
    assert "auto: where level 5 would send the call, by predicted times" in out
    assert "smaller sizes: exp 8M (512M without --quick)" in out
    assert "threads: no matmul. one matrix" in out
    assert "a note" in out


def test_a_wrong_result_is_shown_and_is_the_exit_code(call, measured):
    measured(*rows(result="differs by 1.0e-01"))
    assert "differs by 1.0e-01" in call("bench", code=1).output


def test_json(call, measured, tmp_path):
    measured(*rows())
    path = tmp_path / "new" / "figures.json"
    assert f"wrote {path}" in call("bench", "--json", str(path)).output.replace("\n", "")
    found = json.loads(path.read_text())
    assert [(r["operation"], r["size"], r["dtype"], r["backend"]) for r in found] == [
        ("matmul", 1536, "float32", "threads"),
        ("exp", 8_000_000, "float32", "threads"),
        ("exp", 8_000_000, "float32", "cupy"),
    ]
    assert [r["chosen"] for r in found] == [False, False, True]
    assert found[0]["note"] == "one matrix"
    assert found[1]["shrunk"] == "512M without --quick"


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_dtype(call, small, dtype):
    out = call("bench", "--quick", "--dtype", dtype).output
    assert dtype in out
    assert "same" in out


def test_an_unknown_dtype(call):
    assert "'float16' is not one of" in call("bench", "--dtype", "float16", code=2).stderr


@pytest.mark.parametrize(("columns", "gap"), [(80, 1), (180, 2)])
def test_it_fits_the_terminal(call, measured, monkeypatch, columns, gap):
    from rich.console import Console

    from dispatch_xp.cli import console

    measured(*rows())
    monkeypatch.setattr(console, "console", lambda err=False: Console(width=columns))
    lines = call("bench").output.splitlines()
    assert lines[0].startswith("operation" + " " * gap + "size")
    assert all(len(line) <= columns for line in lines[:4])
    # no cell was broken into two lines
    assert lines[3].split()[0] == "cupy"


def test_no_backend_at_all(call, small, monkeypatch):
    from dispatch_xp.backends.interface import Availability
    from dispatch_xp.backends.threads import ThreadsBackend

    monkeypatch.setattr(ThreadsBackend, "probe", lambda self: Availability(False, "one core only"))
    out = call("bench", "--quick").output
    assert "threads: not measured. one core only" in out
    assert "NumPy" in out
