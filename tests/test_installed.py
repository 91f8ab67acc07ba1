"""The versions that are read from folders are those that the library knows."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest

from dispatch_xp.installed import versions


def test_every_installed_package_has_the_version_that_the_library_knows():
    known = {x.metadata["Name"]: x.version for x in importlib.metadata.distributions()}
    del known["dispatch-xp"]  # may be installed for development, without a folder
    found = versions(known)
    assert len(found) > 5
    assert found == {name: known[name] for name in found}


@pytest.mark.parametrize("name", ["Array_API.Compat", "array-api-compat"])
def test_a_name_may_be_written_as_pip_takes_it(name):
    assert versions([name]) == {name: importlib.metadata.version("array-api-compat")}


def test_what_is_not_installed_is_left_out():
    assert versions(["no-such-package"]) == {}


def test_the_first_folder_on_the_path_counts(tmp_path, monkeypatch):
    for folder, number in (("a", "2.0"), ("b", "1.0")):
        (tmp_path / folder / f"some_thing-{number}.dist-info").mkdir(parents=True)
    monkeypatch.setattr(
        sys, "path", [str(tmp_path / "c"), str(tmp_path / "a"), str(tmp_path / "b")]
    )
    assert versions(["some-thing"]) == {"some-thing": "2.0"}


def test_what_is_installed_in_another_way_is_left_to_the_library(tmp_path, monkeypatch):
    folder = tmp_path / "old_kind.egg-info"
    folder.mkdir()
    (folder / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: old-kind\nVersion: 3.1\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert versions(["old-kind"]) == {"old-kind": "3.1"}


def test_looking_imports_no_library():
    code = (
        "import sys; from dispatch_xp.installed import versions; versions(['numpy']);"
        "assert 'importlib.metadata' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
