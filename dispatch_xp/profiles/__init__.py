"""Profiles of other machines, to ask what a program would gain there."""

from __future__ import annotations

from pathlib import Path

from dispatch_xp.errors import ProfileError
from dispatch_xp.profile import Profile, read

__all__ = ["find", "names"]

_FOLDER = Path(__file__).parent


def names() -> tuple[str, ...]:
    """Return the names of the profiles that come with the package."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))


def find(name: str) -> Profile:
    """Return a profile by the name of one of ours, or by its file.

    Raises
    ------
    ProfileError
        If there is neither, or the file can't be used.
    """
    path = Path(name).expanduser()
    if name in names():
        path = _FOLDER / f"{name}.json"
    elif not path.exists():
        raise ProfileError(
            f"{name!r} is neither a file nor a profile of ours; those are {', '.join(names())}"
        )
    return read(path, foreign=True)
