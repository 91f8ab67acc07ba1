"""The folder where the other processes of a program leave what they have counted.

A process leaves it when it ends, and now and then before: what is killed doesn't say that it ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from dispatch_xp import files
from dispatch_xp.observer import Ended, Observer

__all__ = ["Spool"]

# between two times at which a running process leaves its counts, and how many times as long as
# leaving them has taken
_SECONDS, _TIMES = 0.1, 100


class Spool(Observer):
    """Leaves the counts of a process, or collects those of the others.

    Parameters
    ----------
    folder : str
        Made by the first process that leaves something, removed by the one that collects.
    counts : object
        Its `totals` are what is left.
    """

    def __init__(self, folder: str, counts: Any) -> None:
        self._folder = Path(folder)
        self._counts = counts
        self._file = self._folder
        self._leaves = self._made = False
        self._next = 0.0

    def begin(self) -> None:
        """Leave the counts of this process from now on."""
        self._file = self._folder / f"{os.getpid()}-{os.urandom(4).hex()}.json"
        self._leaves, self._made = True, False
        self._next = 0.0

    def add(self, ended: Ended) -> None:
        """Leave what has been counted so far, from time to time."""
        if not self._leaves:
            return
        now = perf_counter()
        if now >= self._next:
            # another thread need not write the same
            self._next = now + _SECONDS
            self.leave(unfinished=1)
            self._next = now + max(_SECONDS, _TIMES * (perf_counter() - now))

    def leave(self, unfinished: int = 0) -> None:
        """Leave what has been counted, if that is what this process does."""
        if not self._leaves:
            return
        totals = msgspec.structs.replace(self._counts.totals, unfinished=unfinished)
        with contextlib.suppress(OSError):
            if not self._made:
                self._folder.mkdir(mode=0o700, exist_ok=True)
                self._made = True
            # where the folder is gone by now, nobody reads any more
            files.replace(self._file, msgspec.json.encode(totals), durable=False)

    def collect(self) -> list[Any]:
        """Return what the others have left, and remove it."""
        found = []
        for path in self._folder.glob("*.json"):
            with contextlib.suppress(OSError, msgspec.DecodeError):
                found.append(msgspec.json.decode(path.read_bytes(), type=type(self._counts.totals)))
        shutil.rmtree(self._folder, ignore_errors=True)
        return found
