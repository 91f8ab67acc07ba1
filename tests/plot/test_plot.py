"""Drawings show what was measured, and where a backend begins to be chosen."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dispatch_xp.cli import main
from dispatch_xp.curve import Point
from dispatch_xp.errors import DispatchError
from dispatch_xp.plot import crossings, plot
from dispatch_xp.profile import BackendProfile, Copy, Profile, this_machine, write

SIZES = (10**3, 10**4, 10**5, 10**6)
KEY = ("exp", "vector", "float64")


def points(fixed, rate):
    return [Point(float(n), fixed + n * rate, n) for n in SIZES]


@pytest.fixture
def profile():
    """The device wins from about 60 thousand elements on, with copies from about 120 thousand."""
    curves = {"reference": points(0.0, 1e-8), "device": points(4e-4, 1e-9)}
    measured = {
        "exp": {"vector": {"float64": curves, "float32": curves}},
        "sum": {"rows": {"float64": curves}},
    }
    return Profile(this_machine(), measured, {"device": BackendProfile()})


def test_crossings(profile):
    curves = profile.curves[KEY]
    # 1e-8 n = 1.3 (4e-4 + 1e-9 n)
    assert crossings(KEY, curves, {}, 1.3)["device"] == pytest.approx(6e4, rel=0.2)
    copies = BackendProfile(copy_in=Copy(2e-4, 1e12), copy_out=Copy(2e-4, 1e12))
    assert crossings(KEY, curves, {"device": copies}, 1.3)["device"] == pytest.approx(
        1.2e5, rel=0.2
    )
    assert crossings(KEY, curves, {}, 100.0) == {}
    assert crossings(KEY, {"device": curves["device"]}, {}, 1.3) == {}


def test_a_panel_for_each_curve(profile):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    figure = plot("exp", profile=profile).figure
    assert [axes.get_title() for axes in figure.axes] == [
        "exp vector float64",
        "exp vector float32",
    ]
    lines = figure.axes[0].get_lines()
    assert list(lines[1].get_xdata()) == list(SIZES)
    assert len(plot(profile=profile).figure.axes) == 2
    assert len(plot("exp", dtype="float32", profile=profile).figure.axes) == 1


def test_a_notebook_and_files(profile, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    found = plot("sum", profile=profile)
    assert found._repr_png_().startswith(b"\x89PNG")
    for kind, start in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        found.save(tmp_path / f"x{kind}")
        assert (tmp_path / f"x{kind}").read_bytes().startswith(start)
    with pytest.raises(
        DispatchError, match=r"x.bmp: a drawing is written as one of .pdf, .png, .svg"
    ):
        found.save(tmp_path / "x.bmp")


def test_the_command(profile, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    write(profile, Path("p.json"))
    monkeypatch.setenv("DISPATCH_XP_PROFILE", "p.json")
    result = CliRunner().invoke(main, ["plot", "exp", "-o", "exp.svg"])
    assert (result.exit_code, result.output) == (0, "wrote exp.svg\n")
    assert Path("exp.svg").exists()


def test_nothing_to_draw(profile):
    with pytest.raises(DispatchError, match="no curves of matmul"):
        plot("matmul", profile=profile)
    with pytest.raises(DispatchError, match="no curves of exp stack"):
        plot("exp", layout="stack", profile=profile)


def test_without_matplotlib(profile, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(DispatchError, match=r"pip install 'dispatch-xp\[plot\]'"):
        plot("exp", profile=profile)
