"""``explain``: the options, and what it says of a backend that isn't there."""

from __future__ import annotations

import pytest

from dispatch_xp.backends.threads import ThreadsBackend
from dispatch_xp.cli.explain import _shape


def test_a_missing_backend_is_explained_without_a_warning(call, monkeypatch):
    from dispatch_xp.backends.interface import Availability

    monkeypatch.setattr(ThreadsBackend, "probe", lambda self: Availability(False, "one core only"))
    result = call("explain", "exp", "9", "--backend", "threads")
    assert result.stderr == ""
    assert "threads: one core only" in result.output


@pytest.mark.parametrize(
    ("text", "shape"), [("5", (5,)), ("3x4", (3, 4)), ("2X3x4", (2, 3, 4)), ("0x3", (0, 3))]
)
def test_shapes(text, shape):
    assert _shape(text) == shape


@pytest.mark.parametrize("text", ["", "x", "3x", "-3", "3x-4", "3.0", "3 4", "1_0", "٣"])
def test_what_is_no_shape(call, text):
    result = call("explain", "exp", "--", text, code=2)
    assert "is not a shape; write 4096x4096" in result.stderr


@pytest.mark.parametrize("level", ["--level", "-l"])
def test_level(call, level):
    assert "run `dispatch-xp calibrate`" in call("explain", "exp", "9", level, "3").output


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("axis=0", "50x3"),
        ("axis=(0, 1)", "50x3"),
        ("axis=None", "50x3"),
        ("keepdims=True", "50x3"),
    ],
)
def test_options_are_python_values(call, option, said):
    assert said in call("explain", "sum", "50x3", "-o", option).output


def test_several_options(call):
    out = call("explain", "sum", "50x3", "-o", "axis=0", "--option", "keepdims=True").output
    assert "numpy.sum of 50x3" in out


def test_a_word_is_taken_as_it_is(call):
    out = call("explain", "linalg.qr", "5x3", "-o", "mode=complete").output
    assert "numpy.linalg.qr of 5x3" in out


@pytest.mark.parametrize("name", ["level", "dtype", "backend"])
def test_our_own_options_are_no_arguments_of_the_function(call, name):
    said = call("explain", "exp", "9", "-o", f"{name}=5", code=2).stderr
    assert f"give {name} as an option of its own" in said
