"""Which version of a package is installed, asked at every start of a program.

Importing :mod:`importlib.metadata` takes 15 ms, so the names of the folders are read instead, which
the `specification <https://packaging.python.org/en/latest/specifications/recording-installed-packages/>`_
fixes; where none of them is found that way, it is left to the library.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable

__all__ = ["versions"]

_SUFFIX = ".dist-info"


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Return the installed ones of some distributions, with their versions.

    Parameters
    ----------
    distributions : iterable of str
        Names as ``pip`` knows them.

    Returns
    -------
    dict of str to str
        In the order asked for; without what is not installed.
    """
    wanted = {_normal(name): name for name in distributions}
    found = _on_path(set(wanted)) or _by_library(wanted)
    return {name: found[normal] for normal, name in wanted.items() if normal in found}


def _on_path(wanted: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            entries = os.listdir(folder or os.curdir)
        except OSError:
            # a zip file, or nothing at all
            continue
        for entry in entries:
            if entry.endswith(_SUFFIX):
                name, _, version = entry.removesuffix(_SUFFIX).partition("-")
                if version and _normal(name) in wanted:
                    found.setdefault(_normal(name), version)
    return found


def _by_library(wanted: Iterable[str]) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in wanted:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
