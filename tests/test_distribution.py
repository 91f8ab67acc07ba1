"""The wheel holds every package, also the two whose folders lie at the top."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "backends",
    "calibration",
    "cli",
    "doors",
    "functions",
    "operations",
    "policies",
    "scipy",
)


def build(what: str, source: Path, target: Path) -> Path:
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", what, "--outdir", target, source],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = target.iterdir()
    return found


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of what git tracks, so that building leaves nothing in the source folder."""
    for module in ("build", "setuptools"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    target = tmp_path_factory.mktemp("checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        source, copy = ROOT / name, target / name
        if not (source.exists() or source.is_symlink()):
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            copy.symlink_to(source.readlink())
        else:
            copy.write_bytes(source.read_bytes())
    return target


def modules(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {n for n in archive.namelist() if n.startswith("dispatch_xp/")}


def test_the_wheel_holds_every_module(checkout, tmp_path):
    names = modules(build("--wheel", checkout, tmp_path / "wheel"))
    wanted = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "dispatch_xp").rglob("*.py")
        if "backends" not in path.parts and "policies" not in path.parts
    }
    for folder in ("backends", "policies"):
        wanted |= {f"dispatch_xp/{folder}/{path.name}" for path in (ROOT / folder).glob("*.py")}
    assert wanted <= names
    for package in PACKAGES:
        assert f"dispatch_xp/{package}/__init__.py" in names
    stubs = {f"dispatch_xp/{path.name}" for path in (ROOT / "dispatch_xp").glob("*.pyi")}
    assert stubs
    assert {"dispatch_xp/py.typed", *stubs} <= names
    assert not [n for n in names if "tests" in n]


def test_the_sdist_builds_the_same_wheel(checkout, tmp_path):
    import tarfile

    sdist = build("--sdist", checkout, tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        # the first releases of Python 3.11 do not have the argument
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(tmp_path / "unpacked", **safely)
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    again = modules(build("--wheel", unpacked, tmp_path / "from_sdist"))
    straight = modules(build("--wheel", checkout, tmp_path / "straight"))
    assert again == straight
