"""First match wins, key by key, and every key says where it comes from."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest

from dispatch_xp.config import KEYS, Settings, load, user_file

FILES = ("named", "local", "project", "user")
SOURCES = ("argument", "variable", *FILES)  # strongest first
PAIRS = tuple(itertools.combinations(SOURCES, 2))


def give(source, key, value, write, monkeypatch):
    """Set a key in one source; return the arguments to pass and the name to expect."""
    if source == "argument":
        return {key: value}, "argument"
    if source == "variable":
        variable = f"DISPATCH_XP_{key.upper()}"
        monkeypatch.setenv(variable, str(value))
        return {}, variable
    text = f"{key} = {value!r}\n"
    return {}, write(source, text)


def test_nothing_given_is_the_defaults(write):
    resolved = load()
    assert resolved.settings == Settings()
    assert resolved.sources == dict.fromkeys(KEYS, "default")


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_alone(source, write, monkeypatch):
    arguments, name = give(source, "level", 8, write, monkeypatch)
    resolved = load(**arguments)
    assert resolved.settings == Settings(level=8)
    assert resolved.sources == {**dict.fromkeys(KEYS, "default"), "level": name}


@pytest.mark.parametrize(("strong", "weak"), PAIRS)
def test_the_stronger_of_two_wins(strong, weak, write, monkeypatch):
    weak_arguments, _ = give(weak, "level", 3, write, monkeypatch)
    strong_arguments, name = give(strong, "level", 8, write, monkeypatch)
    resolved = load(**weak_arguments, **strong_arguments)
    assert resolved.settings.level == 8
    assert resolved.sources["level"] == name


@pytest.mark.parametrize(("strong", "weak"), PAIRS)
def test_a_stronger_source_hides_only_the_keys_it_gives(strong, weak, write, monkeypatch):
    weak_arguments, weak_name = give(weak, "policy", "random", write, monkeypatch)
    strong_arguments, strong_name = give(strong, "level", 8, write, monkeypatch)
    resolved = load(**weak_arguments, **strong_arguments)
    assert resolved.settings == Settings(level=8, policy="random")
    assert resolved.sources["policy"] == weak_name
    assert resolved.sources["level"] == strong_name


def test_a_project_without_our_table_is_passed_over(write, monkeypatch, tmp_path):
    (tmp_path / "work" / "pyproject.toml").write_text("[tool.other]\nlevel = 99\n")
    assert load().settings == Settings()


def test_a_change_of_a_file_is_seen(write):
    write("local", "level = 8\n")
    assert load().settings.level == 8
    write("local", "level = 10\n")
    assert load().settings.level == 10


def test_changing_what_was_loaded_does_not_change_the_next_load(write):
    write("local", "[thresholds]\nmatmul = 3\n")
    load().settings.thresholds["matmul"] = 99
    assert load().settings.thresholds == {"matmul": 3}


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        ("BACKEND", "torch", "torch"),
        ("LEVEL", "10", 10),
        ("POLICY", "threshold", "threshold"),
        ("BACKENDS", "threads,torch", ("threads", "torch")),
        ("BACKENDS", " torch , threads ", ("torch", "threads")),
        ("PRECISION", "native", "native"),
        ("VERIFY", "true", True),
        ("VERIFY", "0", False),
        ("FALLBACK", "raise", "raise"),
        ("PROFILE", "/there/profile.json", "/there/profile.json"),
        ("SEED", "7", 7),
    ],
)
def test_variables_are_read_as_their_key(variable, text, value, write, monkeypatch):
    monkeypatch.setenv(f"DISPATCH_XP_{variable}", text)
    resolved = load()
    assert getattr(resolved.settings, variable.lower()) == value
    assert resolved.sources[variable.lower()] == f"DISPATCH_XP_{variable}"


@pytest.mark.parametrize("source", FILES)
def test_tables_come_from_every_file(source, write):
    name = write(
        source,
        'level = 6\n[operations."linalg.svd"]\nbackend = "reference"\n'
        '[thresholds]\ndefault = 100\n"fft.fft" = 0\n[limits]\ndevice_memory = "20 GB"\n',
    )
    resolved = load()
    assert resolved.settings.operations["linalg.svd"].backend == "reference"
    assert resolved.settings.thresholds == {"default": 100, "fft.fft": 0}
    assert resolved.settings.limits.device_memory == 20 * 10**9
    assert {resolved.sources[k] for k in ("operations", "thresholds", "limits")} == {name}


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("20 GB", 20 * 10**9),
        ("20GB", 20 * 10**9),
        ("1.5 GiB", 3 * 2**29),
        ("512 MiB", 2**29),
        ("7 B", 7),
        (12345, 12345),
    ],
)
def test_sizes(text, size, write):
    write("local", f"[limits]\ndevice_memory = {text!r}\n")
    assert load().settings.limits.device_memory == size


def test_the_users_file_is_named_after_the_package():
    assert user_file().name == "dispatch_xp.toml"


def test_loading_imports_nothing_heavy(tmp_path):
    code = (
        "import sys; from dispatch_xp.config import load; load()\n"
        "print(*sorted({'torch', 'cupy', 'scipy', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
