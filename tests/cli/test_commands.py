"""Every command and every option, by way of click's runner and as a program."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from dispatch_xp.cli import main
from dispatch_xp.profile import read


def run(*arguments, code=0):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


@pytest.fixture
def profile(tmp_path, monkeypatch):
    """A profile of a few operations, and the settings that name it."""
    path = tmp_path / "profile.json"
    monkeypatch.setenv("DISPATCH_XP_PROFILE", str(path))
    monkeypatch.setenv("DISPATCH_XP_BACKENDS", "threads")
    run("calibrate", "--quick", "--operations", "sum,exp", "--dtypes", "float64")
    return path


def test_help_names_every_command():
    text = run("--help").output
    for name in ("bench", "calibrate", "config", "explain", "status"):
        assert name in text
        assert "Usage" in run(name, "--help").output


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from dispatch_xp.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "print([m for m in ('numpy', 'scipy', 'rich', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_version():
    import dispatch_xp

    assert dispatch_xp.__version__ in run("--version").output


def test_an_unknown_command_ends_with_code_2():
    assert "No such command" in run("benchh", code=2).output


def test_python_m_is_the_same():
    done = subprocess.run(
        [sys.executable, "-m", "dispatch_xp", "status"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "threads" in done.stdout


def test_status_tells_a_newcomer_what_is_missing(monkeypatch):
    from dispatch_xp.backends import cupy_availability, torch

    monkeypatch.setattr(torch.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(cupy_availability, "find_spec", lambda name: None)
    text = run("status").output
    assert "pip install 'dispatch-xp[torch]'" in text
    assert "pip install 'dispatch-xp[cuda12]'" in text
    assert "run `dispatch-xp calibrate`" in text
    assert "ufunc loops" in text
    assert "level            5: a backend has to be 1.3 times as fast" in text


def test_status_as_json_names_sources(monkeypatch):
    monkeypatch.setenv("DISPATCH_XP_LEVEL", "8")
    report = json.loads(run("status", "--json").output)
    assert report["settings"]["level"] == 8
    assert report["sources"]["level"] == "DISPATCH_XP_LEVEL"
    assert report["sources"]["policy"] == "default"
    assert {b["name"] for b in report["backends"]} >= {"threads", "torch", "cupy"}
    assert report["profile"]["problem"]


def test_status_leaves_no_door_behind():
    from dispatch_xp.doors import INSTALLATION

    run("status")
    assert not INSTALLATION.installed


def test_calibrate_writes_a_profile_that_the_others_use(profile):
    found = read(profile)
    assert {operation for operation, _, _ in found.curves} == {"sum", "exp"}
    assert found.depth == "quick"
    assert "measured" in run("status").output
    text = run("explain", "exp", "10000000").output
    assert "threads" in text
    assert "chosen" in text
    assert "speed-up" in text


def test_calibrate_options(tmp_path, monkeypatch):
    path = tmp_path / "elsewhere" / "p.json"
    run(
        "calibrate", "--quick", "--operations", "sort", "--dtypes", "float32",
        "--backends", "threads", "--output", str(path),
    )  # fmt: skip
    found = read(path)
    assert {(operation, dtype) for operation, _, dtype in found.curves} == {("sort", "float32")}
    assert set(found.backends) == {"threads"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--operations", "matmull"), "did you mean 'matmul'"),
        (("--dtypes", "float31"), "'float31' is not a dtype"),
        (("--backends", "cuda"), "'cuda' is not a backend"),
    ],
)
def test_calibrate_names_what_is_wrong(arguments, message):
    assert message in run("calibrate", "--quick", *arguments, code=2).output


def test_a_damaged_profile_is_named(tmp_path, monkeypatch):
    path = tmp_path / "profile.json"
    path.write_text("{}")
    monkeypatch.setenv("DISPATCH_XP_PROFILE", str(path))
    text = run("status").output.replace("\n", "")
    assert str(path) in text
    assert "damaged" in text


def test_explain_options():
    text = run(
        "explain", "linalg.svd", "40x30", "--dtype", "float32", "--backend", "threads",
        "--level", "7", "-o", "full_matrices=False",
    ).output  # fmt: skip
    assert "numpy.linalg.svd of 40x30, computed in float64" in text
    assert "one matrix" in text
    text = run("explain", "einsum", "10x20", "20x30", "-o", "subscripts=ij,jk->ik").output
    assert "1.2e+04 flops" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("matmull", "3x3", "3x3"), "did you mean 'matmul'"),
        (("matmul", "3y3"), "not a shape"),
        (("matmul",), "Missing argument"),
        (("matmul", "3x3", "3x3", "--dtype", "float31"), "not a dtype"),
        (("matmul", "3x3", "3x3", "--level", "11"), "11 is not in the range"),
        (("matmul", "3x3", "3x3", "--backend", "cuda"), "'cuda' is not a backend"),
        (("matmul", "3x3"), "does not take these arguments"),
        (("einsum", "3x3"), "needs the option 'subscripts'"),
        (("sum", "3", "-o", "axis"), "not key=value"),
    ],
)
def test_explain_names_what_is_wrong(arguments, message):
    assert message in run("explain", *arguments, code=2).output


def test_config_init_check_show(tmp_path):
    assert "wrote dispatch_xp.toml" in run("config", "init").output
    assert "--force" in run("config", "init", code=2).output
    run("config", "init", "--force")
    assert "is valid" in run("config", "check", "dispatch_xp.toml").output
    assert "is valid" in run("config", "check").output
    assert "dispatch_xp.toml" in run("config", "show").output
    run("config", "init", str(tmp_path / "other.toml"))
    assert "wrote" in run("config", "init", "--user").output
    assert "not both" in run("config", "init", "x.toml", "--user", code=2).output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("levle = 3", "unknown key 'levle'; did you mean 'level'"),
        ("level = 11", "level: 11 is not a level; allowed: whole numbers from 1"),
        ("policy = 'fastest'", "policy: 'fastest' is not a policy"),
        ("level = ", "is not valid TOML"),
    ],
)
def test_a_bad_configuration_ends_with_code_2_and_names_the_file(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    output = run("config", "check", str(path), code=2).output
    assert message in output
    assert "bad.toml" in output
    done = subprocess.run(
        [sys.executable, "-m", "dispatch_xp", "status"],
        capture_output=True,
        text=True,
        check=False,
        env={**__import__("os").environ, "DISPATCH_XP_CONFIG": str(path)},
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_bench_quick(monkeypatch, tmp_path):
    from dispatch_xp import bench

    small = (
        ("matmul", "matrix", 8192, 64, 4),
        ("exp", "vector", 512_000_000, 20_000, 6),
        ("fft.fftn", "grid", 4096, 32, 12),
        ("sum", "vector", 512_000_000, 20_000, 4),
    )
    monkeypatch.setattr(bench, "_LIST", small)
    monkeypatch.setenv("DISPATCH_XP_BACKENDS", "threads")
    file = tmp_path / "figures.json"
    text = run("bench", "--quick", "--dtype", "float64", "--json", str(file)).output
    assert "512M without --quick" in text
    assert "no machine profile" in text
    rows = json.loads(file.read_text())
    assert [row["label"] for row in rows] == [
        "matmul 64 x 64 float64",
        "exp 20k elements float64",
        "fft.fftn 32 x 32 float64",
        "sum 20k elements float64",
    ]
    assert [row["result"] for row in rows] == ["", "same", "same", "same"]


def test_bench_shrinks_to_the_memory(monkeypatch):
    from dispatch_xp import bench

    monkeypatch.setattr(bench, "_free_memory", lambda: 1e9)
    full = {b.label: b for b in bench.problems("float32", quick=False)}
    assert all("would not fit" in b.shrunk for b in full.values() if b.size in (4096, 64_000_000))
    assert any(b.shrunk for b in full.values())


def test_bench_says_when_a_result_differs(monkeypatch):
    from dispatch_xp import bench
    from dispatch_xp.backends.threads import ThreadsBackend

    monkeypatch.setattr(bench, "_LIST", (("sum", "vector", 20_000, 20_000, 4),))
    monkeypatch.setenv("DISPATCH_XP_BACKENDS", "threads")
    original = ThreadsBackend.run

    def wrong(self, call, arrays):
        return tuple(x * 1.5 for x in original(self, call, arrays))

    monkeypatch.setattr(ThreadsBackend, "run", wrong)
    assert "differs by 5.0e-01" in run("bench", code=1).output
