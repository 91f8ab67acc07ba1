"""Drawing a machine profile: time against size of every backend, and where they cross.

Needs the extra ``plot`` (matplotlib).
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatch_xp.config import check_operation, load
from dispatch_xp.curve import Curve
from dispatch_xp.decision import REFERENCE
from dispatch_xp.errors import DispatchError
from dispatch_xp.levels import LEVELS
from dispatch_xp.profile import BackendProfile, Profile, default_path, read

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Plot", "crossings", "plot"]

FORMATS = (".pdf", ".png", ".svg")
_COLUMNS = 4
_POINTS = 200
_Key = tuple[str, str, str]


class Plot:
    """A drawing; in a notebook it shows itself.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
        To be changed at will.
    """

    def __init__(self, figure: Figure) -> None:
        self.figure = figure

    def save(self, path: str | Path) -> None:
        """Write a PNG, SVG or PDF file, by the name's ending.

        Raises
        ------
        DispatchError
            For another ending.
        """
        path = Path(path)
        if path.suffix.lower() not in FORMATS:
            allowed = ", ".join(FORMATS)
            raise DispatchError(f"{path}: a drawing is written as one of {allowed}")
        self.figure.savefig(path)

    def _repr_png_(self) -> bytes:
        return self._bytes("png")

    def _bytes(self, kind: str) -> bytes:
        file = io.BytesIO()
        self.figure.savefig(file, format=kind)
        return file.getvalue()


def plot(
    operation: str | None = None,
    *,
    layout: str | None = None,
    dtype: Any = None,
    level: int | None = None,
    profile: Profile | None = None,
) -> Plot:
    """Draw the measured times of an operation, or of all.

    One panel for each layout and dtype: the curves that predict, the points that were measured, for
    a backend with memory of its own a dashed line with the copies, and a dotted line where a
    backend begins to be chosen.

    Parameters
    ----------
    operation : str, optional
        Its name in the table, such as ``"matmul"`` or ``"linalg.svd"``. Every operation in float64,
        or in the dtype given, if there is none.
    layout : str, optional
        One only, such as ``"matrix"``.
    dtype : dtype-like, optional
        One only.
    level : int, optional
        From 1 to 10: which speed-up a backend has to promise. Default: the configuration's.
    profile : Profile, optional
        Instead of the configured one.

    Returns
    -------
    Plot

    Raises
    ------
    DispatchError
        If matplotlib is missing, or the profile has nothing of the kind.
    ProfileError
        If there is no usable profile.
    """
    settings = load().settings
    if profile is None:
        profile = read(Path(settings.profile) if settings.profile else default_path())
    if operation is not None:
        check_operation(operation)
    wanted = np.dtype(dtype).name if dtype is not None else "float64" if operation is None else None
    keys = [
        key
        for key in profile.curves
        if operation in (None, key[0]) and layout in (None, key[1]) and wanted in (None, key[2])
    ]
    if not keys:
        asked = " ".join(str(x) for x in (operation or "anything", layout, wanted) if x)
        raise DispatchError(f"the machine profile has no curves of {asked}")
    required = LEVELS[settings.level if level is None else level].speedup
    return Plot(_figure(profile, keys, required))


def _figure(profile: Profile, keys: Sequence[_Key], required: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DispatchError(
            f"matplotlib is needed to draw ({error}): pip install 'dispatch-xp[plot]'"
        ) from error
    columns = min(len(keys), _COLUMNS)
    rows = math.ceil(len(keys) / columns)
    figure = Figure(figsize=(4.8 * columns, 3.4 * rows), layout="constrained")
    # the same backend has the same colour in every panel
    names = [REFERENCE, *profile.backends]
    colours = {name: f"C{position}" for position, name in enumerate(names)}
    for position, key in enumerate(keys, start=1):
        axes = figure.add_subplot(rows, columns, position)
        _panel(axes, key, profile.curves[key], profile.backends, colours, required)
    return figure


def _panel(
    axes: Axes,
    key: _Key,
    curves: Mapping[str, Curve],
    backends: Mapping[str, BackendProfile],
    colours: Mapping[str, str],
    required: float,
) -> None:
    unit = "elements of the largest argument"
    for name, curve in curves.items():
        colour = colours.get(name, "grey")
        elements, seconds = _line(curve)
        axes.plot(elements, seconds, color=colour, label=name)
        axes.plot(
            [p.elements for p in curve.points],
            [p.seconds for p in curve.points],
            "o",
            color=colour,
            markersize=3,
        )
        copies = _copies(key, backends.get(name), elements)
        if copies is not None:
            axes.plot(elements, seconds + copies, "--", color=colour, label=f"{name} with copies")
    for name, where in crossings(key, curves, backends, required).items():
        axes.axvline(where, linestyle=":", color=colours.get(name, "grey"))
    axes.set(xscale="log", yscale="log", xlabel=unit, ylabel="seconds", title=" ".join(key))
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def _line(curve: Curve) -> tuple[Any, Any]:
    """Return elements and predicted seconds, between the measured points too."""
    works = np.log([p.work for p in curve.points])
    elements = np.log([p.elements for p in curve.points])
    between = np.linspace(works[0], works[-1], _POINTS)
    seconds = np.array([curve.seconds(math.exp(work)) for work in between])
    return np.exp(np.interp(between, works, elements)), seconds


def _copies(key: _Key, figures: BackendProfile | None, elements: Any) -> Any:
    """Return the seconds of copying one argument in and one result as large out, or None."""
    if figures is None or figures.copy_in is None or figures.copy_out is None:
        return None
    itemsize = np.dtype(key[2]).itemsize
    out, back = figures.copy_in, figures.copy_out
    nbytes = itemsize * elements
    return out.fixed + back.fixed + nbytes / out.bytes_per_second + nbytes / back.bytes_per_second


def crossings(
    key: tuple[str, str, str],
    curves: Mapping[str, Curve],
    backends: Mapping[str, BackendProfile],
    required: float,
) -> dict[str, float]:
    """Return from how many elements on each backend is chosen.

    Parameters
    ----------
    key : tuple of str
        Operation, layout and dtype.
    curves : mapping of str to Curve
        By backend, the reference among them.
    backends : mapping of str to BackendProfile
        What copies cost.
    required : float
        How many times as fast as the reference a backend has to be.

    Returns
    -------
    dict of str to float
        Elements of the largest argument; without those that never win, or win at every size.
    """
    reference = curves.get(REFERENCE)
    if reference is None:
        return {}
    found = {}
    for name, curve in curves.items():
        if name == REFERENCE:
            continue
        elements, seconds = _line(curve)
        copies = _copies(key, backends.get(name), elements)
        works = np.log([p.work for p in curve.points])
        between = np.exp(np.linspace(works[0], works[-1], _POINTS))
        theirs = np.array([reference.seconds(work) for work in between])
        wins = theirs >= required * (seconds if copies is None else seconds + copies)
        if wins[-1] and not wins[0]:
            # the last size at which it does not win, whatever happens before
            found[name] = float(elements[np.flatnonzero(~wins)[-1] + 1])
    return found
