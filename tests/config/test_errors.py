"""Every mistake is a ConfigError that names the place, the key and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatch_xp.config import KEYS, check_file, load
from dispatch_xp.errors import ConfigError

FILES = ("named", "local", "project", "user")

MISTAKES = [
    ("levle = 5", ["'levle'", "'level'", *KEYS]),
    ("level = 0", ["level", "0", "1", "10"]),
    ("level = 11", ["level", "11", "1", "10"]),
    ("level = 5.0", ["level", "5.0", "whole numbers"]),
    ("level = '5'", ["level", "'5'", "whole numbers"]),
    ("level = true", ["level", "True", "whole numbers"]),
    ("backend = 'tourch'", ["backend", "'tourch'", "'torch'", "auto", "reference", "threads"]),
    ("backend = 3", ["backend", "3", "auto", "reference"]),
    ("policy = 'cost-modle'", ["policy", "'cost-modle'", "'cost-model'", "threshold"]),
    ("backends = 'torch'", ["backends", "'torch'", "list"]),
    ("backends = ['cupi']", ["backends", "'cupi'", "'cupy'", "torch"]),
    ("backends = [1]", ["backends", "1", "torch"]),
    ("backends = ['reference']", ["backends", "'reference'", "torch"]),
    ("precision = 'mach'", ["precision", "'mach'", "match", "native"]),
    ("verify = 'true'", ["verify", "'true'", "true or false"]),
    ("verify = 1", ["verify", "1", "true or false"]),
    ("fallback = 'rise'", ["fallback", "'rise'", "'raise'", "quiet", "warn"]),
    ("profile = 3", ["profile", "3", "path"]),
    ("seed = 'x'", ["seed", "'x'", "whole number"]),
    ("operations = 3", ["operations", "3", "table"]),
    ("[operations.matmull]\nbackend = 'torch'", ["operations", "'matmull'", "'matmul'"]),
    ("[operations.matmul]\nbackend = 'tourch'", ["operations", "matmul.backend", "'torch'"]),
    ("[operations.matmul]\nbakend = 'torch'", ["operations", "matmul", "bakend", "'backend'"]),
    ("[operations.matmul]", ["operations", "matmul", "'backend'"]),
    ("[operations]\nmatmul = 'torch'", ["operations", "matmul", "table", "'backend'"]),
    ("[thresholds]\nmatmull = 1", ["thresholds", "'matmull'", "'matmul'"]),
    ("[thresholds]\ndefualt = 1", ["thresholds", "'defualt'", "'default'"]),
    ("[thresholds]\nmatmul = -1", ["thresholds", "matmul", "-1", "elements"]),
    ("[thresholds]\nmatmul = 1.5", ["thresholds", "matmul", "1.5", "elements"]),
    ("limits = 3", ["limits", "3", "table"]),
    ("[limits]\ndevice_memry = 1", ["limits", "'device_memry'", "'device_memory'"]),
    ("[limits]\ndevice_memory = 'lots'", ["limits", "device_memory", "'lots'", "20 GB", "GiB"]),
    ("[limits]\ndevice_memory = '20 XB'", ["limits", "device_memory", "'20 XB'", "GB"]),
    ("[limits]\ndevice_memory = -1", ["limits", "device_memory", "-1", "GB"]),
    ("[limits]\ndevice_memory = true", ["limits", "device_memory", "True", "GB"]),
]


def says(error: pytest.ExceptionInfo[ConfigError], *words: str) -> None:
    message = str(error.value)
    missing = [word for word in words if word not in message]
    assert not missing, message


@pytest.mark.parametrize("source", FILES)
@pytest.mark.parametrize(("text", "words"), MISTAKES)
def test_in_a_file(text, words, source, write):
    text = f"\n{text}\n" if source == "project" else f"{text}\n"
    name = write(source, text)
    with pytest.raises(ConfigError) as error:
        load()
    says(error, name, *words)


@pytest.mark.parametrize(("text", "words"), MISTAKES)
def test_by_check_file(text, words, tmp_path):
    path = tmp_path / "any.toml"
    path.write_text(text + "\n")
    with pytest.raises(ConfigError) as error:
        check_file(path)
    says(error, str(path), *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"levle": 5}, ["'levle'", "'level'", *KEYS]),
        ({"level": 11}, ["level", "11", "1", "10"]),
        ({"backend": ["torch"]}, ["backend", "['torch']", "auto"]),
        ({"backends": "torch"}, ["backends", "list"]),
        ({"operations": {"matmul": "torch"}}, ["operations", "matmul", "'backend'"]),
        ({"thresholds": {"matmul": None}}, ["thresholds", "matmul", "None"]),
        ({"limits": {"device_memory": "lots"}}, ["limits", "device_memory", "'lots'"]),
    ],
)
def test_in_an_argument(arguments, words, write):
    with pytest.raises(ConfigError) as error:
        load(**arguments)
    says(error, "argument", *words)


@pytest.mark.parametrize(
    ("variable", "text", "words"),
    [
        ("DISPATCH_XP_LEVLE", "3", ["DISPATCH_XP_LEVEL", "DISPATCH_XP_CONFIG"]),
        ("DISPATCH_XP_OPERATIONS", "x", ["DISPATCH_XP_BACKEND"]),
        ("DISPATCH_XP_THRESHOLDS", "x", ["DISPATCH_XP_BACKEND"]),
        ("DISPATCH_XP_LIMITS", "x", ["DISPATCH_XP_BACKEND"]),
        ("DISPATCH_XP_LEVEL", "eight", ["'eight'", "whole number"]),
        ("DISPATCH_XP_LEVEL", "11", ["11", "10"]),
        ("DISPATCH_XP_LEVEL", "", ["''", "whole number"]),
        ("DISPATCH_XP_SEED", "1.5", ["'1.5'", "whole number"]),
        ("DISPATCH_XP_VERIFY", "on", ["'on'", "true", "false"]),
        ("DISPATCH_XP_BACKEND", "tourch", ["'tourch'", "'torch'"]),
        ("DISPATCH_XP_BACKENDS", "threads;torch", ["'threads;torch'", "threads"]),
        ("DISPATCH_XP_POLICY", "x", ["'x'", "cost-model"]),
        ("DISPATCH_XP_PRECISION", "", ["''", "match", "native"]),
        ("DISPATCH_XP_FALLBACK", "loud", ["'loud'", "quiet", "warn", "raise"]),
    ],
)
def test_in_a_variable(variable, text, words, write, monkeypatch):
    monkeypatch.setenv(variable, text)
    with pytest.raises(ConfigError) as error:
        load()
    says(error, variable, *words)


@pytest.mark.parametrize("source", FILES)
def test_a_mistake_is_told_even_where_a_stronger_source_hides_it(source, write):
    name = write(source, "level = 11\n")
    with pytest.raises(ConfigError) as error:
        load(level=3)
    says(error, name, "level", "11")


@pytest.mark.parametrize("source", FILES)
def test_broken_toml_names_the_line(source, write):
    name = write(source, "level = 5\nlevel = = 6\n")
    line = 5 if source == "project" else 2
    with pytest.raises(ConfigError) as error:
        load()
    says(error, name.rpartition("/")[2], "TOML", f"line {line}")


def test_a_file_that_is_not_text(write):
    path = Path(write("local", ""))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError) as error:
        load()
    says(error, path.name, "UTF-8")


def test_a_named_file_that_is_missing(write, monkeypatch):
    monkeypatch.setenv("DISPATCH_XP_CONFIG", "nowhere.toml")
    with pytest.raises(ConfigError) as error:
        load()
    says(error, "DISPATCH_XP_CONFIG", "nowhere.toml")


def test_a_named_file_that_is_a_folder(write, monkeypatch):
    monkeypatch.setenv("DISPATCH_XP_CONFIG", ".")
    with pytest.raises(ConfigError) as error:
        load()
    says(error, "DISPATCH_XP_CONFIG", "directory")


def test_a_tool_table_that_is_no_table_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool]\ndispatch_xp = 8\n")
    with pytest.raises(ConfigError, match=r"pyproject\.toml.*8, not a table"):
        load()
    (tmp_path / "pyproject.toml").write_text("tool = 8\n")
    load()


def test_more_memory_than_a_number_holds_is_an_error():
    with pytest.raises(ConfigError, match="device_memory"):
        load(limits={"device_memory": "9" * 400 + " TB"})


def test_a_path_may_begin_with_the_users_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load(profile="~/p.json").settings.profile == str(tmp_path / "p.json")
    assert load(profile=tmp_path / "p.json").settings.profile == str(tmp_path / "p.json")
