"""Files that a command is going to write, checked before it starts to work."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

__all__ = ["NewFile"]


class NewFile(click.Path):
    """The path of a file that can be written, folders included that don't exist yet."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        """Return the path, or say what is in the way."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        there = next(folder for folder in path.absolute().parents if folder.exists())
        if not there.is_dir():
            self.fail(f"{there} is not a folder", param, ctx)
        if not os.access(there, os.W_OK):
            self.fail(f"nothing may be written to {there}", param, ctx)
        return path
