"""A profile is written as a whole or not at all, and what can't be used is refused by name."""

from __future__ import annotations

import json
import os

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch_xp import profile as profiles
from dispatch_xp.curve import Point
from dispatch_xp.errors import ProfileError
from dispatch_xp.profile import BackendProfile, Copy, Profile, read, this_machine, write

positive = st.floats(1e-9, 1e12)
curve = st.lists(st.builds(Point, positive, positive, st.integers(0, 10**9)), min_size=1)
names = st.sampled_from(["matmul", "linalg.svd", "exp"])


def nested(keys, values):
    return st.dictionaries(keys, values, max_size=2)


curves = nested(
    names,
    nested(
        st.sampled_from(["matrix", "stack"]),
        nested(
            st.sampled_from(["float64", "float32"]),
            nested(st.sampled_from(["reference", "threads"]), curve),
        ),
    ),
)
backends = nested(
    st.sampled_from(["threads", "gpu"]),
    st.builds(
        BackendProfile,
        st.text(),
        st.floats(0, 10),
        st.floats(0, 1),
        *[st.none() | st.builds(Copy, st.floats(0, 1), positive)] * 3,
    ),
)


@pytest.fixture(scope="module")
def example():
    points = {"exp": {"vector": {"float64": {"reference": [Point(1e3, 1e-6, 1000)]}}}}
    return Profile(this_machine(), points, {"threads": BackendProfile("the cores")})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "profile.json"


@given(points=curves, figures=backends)
def test_what_is_written_is_read(tmp_path_factory, points, figures):
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    written = Profile(this_machine(), points, figures, notes=["one"])
    write(written, path)
    assert msgspec.to_builtins(read(path)) == msgspec.to_builtins(written)


def test_a_file_from_before_page_locked_memory_was_measured_is_read(example, path):
    write(example, path)
    changed(path, lambda content: content["backends"]["threads"].pop("page_locked_in"))
    assert read(path).backends == example.backends


def test_nothing_but_the_profile_is_left_in_the_folder(example, path):
    write(example, path)
    write(example, path)
    assert [p.name for p in path.parent.iterdir()] == ["profile.json"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file(example, path, monkeypatch, step):
    write(example, path)
    before = path.read_bytes()

    def full(*arguments):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, full)
        with pytest.raises(OSError, match="no space"):
            write(msgspec.structs.replace(example, notes=["new"]), path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["profile.json"]


@given(keep=st.floats(0, 0.999))
def test_a_file_that_was_cut_off_is_damaged(tmp_path_factory, example, keep):
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    write(example, path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(ProfileError, match=r"damaged.*calibrate"):
        read(path)


@given(junk=st.binary(max_size=64))
def test_junk_is_damaged(tmp_path_factory, junk):
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    path.write_bytes(junk)
    with pytest.raises(ProfileError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert "calibrate" in str(caught.value)


def changed(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def spoil_point(place, value):
    def change(content):
        content["points"]["exp"]["vector"]["float64"]["reference"][0][place] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        spoil_point(0, 0),
        spoil_point(0, -1.0),
        spoil_point(1, 0),
        spoil_point(1, "soon"),
        spoil_point(1, None),
        lambda content: content.pop("machine"),
        lambda content: content.update(points=[]),
        lambda content: content.update(schema="1"),
    ],
)
def test_a_file_with_impossible_content_is_damaged(example, path, change):
    write(example, path)
    changed(path, change)
    with pytest.raises(ProfileError, match=r"damaged.*calibrate"):
        read(path)


@pytest.mark.parametrize("key", ["cpu", "architecture"])
def test_another_machine_s_file_is_refused(example, path, key):
    write(example, path)
    changed(path, lambda content: content["machine"].update({key: "abacus"}))
    with pytest.raises(ProfileError, match=r"abacus.*calibrate") as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_a_newer_file_is_refused_even_if_nothing_else_is_known_of_it(path):
    path.parent.mkdir()
    path.write_text(json.dumps({"schema": profiles.SCHEMA + 1, "shape": "unknown"}))
    with pytest.raises(ProfileError, match="newer version") as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_says_what_to_do(path):
    with pytest.raises(ProfileError, match="calibrate") as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_the_default_is_in_the_user_s_data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    path = profiles.default_path()
    assert path.name == "profile.json"
    assert path.parent.name == "dispatch_xp"


def test_the_machine_is_described():
    machine = this_machine()
    assert machine.cpu
    assert machine.architecture
    assert machine.cores >= 1
    assert any("blas" in library or "mkl" in library for library in machine.blas)
