"""Writing a file so that a reader sees the old one or the new one, whole."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

__all__ = ["replace"]


def replace(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write a file in one step; after an error the old one is as it was.

    Parameters
    ----------
    path : Path
        The file.
    content : bytes
        All of it.
    durable : bool
        Whether it has to be there after a power cut, which takes as long as the disk does.
    """
    handle, name = tempfile.mkstemp(prefix=path.name, suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
