"""Writing a trace.

Records are gathered and appended as blocks, each a gzip member of whole lines. A file of several
members is one gzip file, and what a killed program has written so far is whole. Several processes
may append to the same file.
"""

from __future__ import annotations

import gzip
import os
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from dispatch_xp.observer import Ended, Observer
from dispatch_xp.profile import this_machine
from dispatch_xp.recorder import caller
from dispatch_xp.trace.record import SCHEMA, End, Header, Record, literal

if TYPE_CHECKING:
    from dispatch_xp.call import Call

__all__ = ["TraceWriter"]

_BLOCK = 256 * 1024
_SECONDS = 1.0


class TraceWriter(Observer):
    """Writes a record of every call to a file.

    A file that can't be written ends the trace, not the program.

    Parameters
    ----------
    path : Path
        Where to; the first process has emptied it.
    size : int
        Bytes after which no more calls are written.
    tell : callable
        Takes a line about what went wrong.
    """

    exhaustive = True

    def __init__(self, path: Path, size: int, tell: Callable[[str], None]) -> None:
        # the program may change its folder
        self._path = path.absolute()
        self._size = size
        self._tell = tell
        self._encoder = msgspec.json.Encoder()
        self._lock = threading.Lock()
        self._problem = ""
        self._begin()
        # a program that is killed soon leaves a trace too
        self._flush()

    def _begin(self) -> None:
        self._lines: list[bytes] = []
        self._gathered = self._pending = 0
        self._calls = self._dropped = 0
        self._began = self._flushed = perf_counter()
        self._full = False
        machine = this_machine(libraries=False)
        from dispatch_xp import __version__

        self._append(
            Header(
                pid=os.getpid(),
                schema=SCHEMA,
                version=__version__,
                cpu=machine.cpu,
                cores=machine.cores,
                program=list(getattr(sys, "argv", [])),
                started=datetime.now(UTC).isoformat(timespec="seconds"),
            )
        )

    def after_fork(self) -> None:
        """Begin anew in a forked child: what was gathered is the parent's to write."""
        self._lock = threading.Lock()
        self._begin()

    def add(self, ended: Ended) -> None:
        """Write a call."""
        call, decision, seconds = ended.call, ended.decision, ended.seconds
        if self._problem or self._full:
            self._dropped += 1
            return
        record = Record(
            pid=os.getpid(),
            thread=threading.get_ident(),
            at=perf_counter() - self._began,
            seconds=None if seconds != seconds else seconds,
            function=ended.function,
            where=caller(),
            backend=ended.backend,
            reason=decision.reason.value,
        )
        if call is not None:
            record.operation = call.operation.name
            record.dtype = call.dtype.name
            record.shapes = [[int(n) for n in shape] for shape in call.shapes]
            record.itemsizes = [a.dtype.itemsize for a in call.arrays]
            record.options = literal(call.options) if call.options else ""
            record.memory = [address(a) for a in call.arrays]
            record.results = [address(x) for x in arrays_of(call, ended.result)]
            record.in_place = call.in_place
            record.library = call.library
            record.predicted = {name: p.total for name, p in decision.predictions.items()}
        with self._lock:
            self._append(record)
            self._calls += 1
            self._pending += 1
            if self._gathered > _BLOCK or perf_counter() - self._flushed > _SECONDS:
                self._flush()

    def _append(self, record: Header | Record | End) -> None:
        line = self._encoder.encode(record) + b"\n"
        self._lines.append(line)
        self._gathered += len(line)

    def _flush(self, *, last: bool = False) -> None:
        """Append what was gathered, as one block."""
        block = gzip.compress(b"".join(self._lines), compresslevel=1)
        pending, self._pending = self._pending, 0
        self._lines, self._gathered, self._flushed = [], 0, perf_counter()
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                before = os.fstat(file).st_size
                if before + len(block) > self._size and not last:
                    self._full = True
                    self._calls -= pending
                    self._dropped += pending
                    return
                written = os.write(file, block)
                if written < len(block):
                    os.ftruncate(file, before)
                    raise OSError(28, "no space left on device")
            finally:
                os.close(file)
        except OSError as error:
            self._problem = f"{self._path}: {error.strerror}"
            self._tell(f"the trace ends here: {self._problem}")

    def close(self) -> None:
        """Write what is left."""
        with self._lock:
            if not self._problem:
                if self._pending:
                    self._flush()
                at = perf_counter() - self._began
                self._append(End(os.getpid(), at, self._calls, self._dropped))
                self._flush(last=True)

    def summary(self) -> str:
        """Return a line about the file."""
        if self._problem:
            return f"the trace is not complete: {self._problem}"
        if self._full:
            return (
                f"trace: {self._path} reached {self._size / 1e6:.0f} MB; "
                "`limits.trace_size` in the configuration allows more"
            )
        try:
            size = self._path.stat().st_size
        except OSError as error:
            return f"the trace is gone: {self._path}: {error.strerror}"
        return f"trace: {self._path}, {size / 1e6:.3g} MB"


def address(array: Any) -> int:
    """Return where the memory of an array begins."""
    found: int = array.__array_interface__["data"][0]
    return found


def arrays_of(call: Call, result: Any) -> list[Any]:
    """Return the arrays that came out of a call."""
    if call.destination is not None:
        return list(call.destination)
    parts = result if isinstance(result, tuple) else (result,)
    return [part for part in parts if type(part) is np.ndarray]
