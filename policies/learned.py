"""What a run has learned, kept beside the machine profile for the next one."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from dispatch_xp import files

__all__ = ["Corrections", "read", "write"]

_Key = tuple[tuple[str, str, str], str]
Corrections = dict[_Key, float]
"""Observed over predicted, by operation, layout and dtype, and by backend."""

_SMALLEST, _LARGEST = 0.01, 100.0


class _File(msgspec.Struct):
    """The file: of which profile, and the corrections, keyed by four words."""

    profile: str
    corrections: dict[str, float] = msgspec.field(default_factory=dict)


def _path(profile: Path) -> Path:
    return profile.with_name(f"{profile.name}.learned")


def read(profile: Path, created: str) -> Corrections:
    """Return what earlier runs have learned about a profile.

    Parameters
    ----------
    profile : Path
        Where the machine profile is.
    created : str
        When it was made: what was learned about another one is of no use.

    Returns
    -------
    dict
        Empty where there is nothing, or nothing that can be read: the profile alone predicts too.
    """
    try:
        file = msgspec.json.decode(_path(profile).read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError):
        return {}
    if not created or file.profile != created:
        return {}
    found: Corrections = {}
    for key, ratio in file.corrections.items():
        words = key.split()
        if len(words) == 4 and _SMALLEST <= ratio <= _LARGEST:
            found[(words[0], words[1], words[2]), words[3]] = ratio
    return found


def write(profile: Path, created: str, mine: Mapping[_Key, float]) -> None:
    """Keep what was learned, with what others have written meanwhile.

    The file is replaced in one step: of processes that end at the same time the last one counts
    where they differ, and a reader sees a whole file. What can't be written is forgotten.
    """
    kept = {**read(profile, created), **mine}
    file = _File(created, {" ".join((*key, name)): ratio for (key, name), ratio in kept.items()})
    with contextlib.suppress(OSError):
        files.replace(_path(profile), msgspec.json.encode(file))
