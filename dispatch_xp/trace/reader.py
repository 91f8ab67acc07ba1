"""Reading a trace."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from dispatch_xp.errors import TraceError
from dispatch_xp.trace.record import SCHEMA, End, Header, Record

__all__ = ["read"]

_CHUNK = 1 << 20


def read(path: Path) -> Iterator[Header | Record | End]:
    """Read a trace, record by record.

    The end of a file that broke off is passed over.

    Parameters
    ----------
    path : Path
        Compressed, or as plain JSON Lines.

    Raises
    ------
    TraceError
        Naming the file and the line, if it can't be read or is not a trace.
    """
    decoder = msgspec.json.Decoder(Header | Record | End)
    number = 0
    for line in _lines(path):
        number += 1
        try:
            record = decoder.decode(line)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise TraceError(f"{path}, line {number}: {error}") from None
        if isinstance(record, Header) and record.schema > SCHEMA:
            raise TraceError(
                f"{path} was written by a newer version (schema {record.schema}, this version "
                f"reads {SCHEMA})"
            )
        yield record
    if number == 0:
        raise TraceError(f"{path} holds no trace")


def _lines(path: Path) -> Iterator[bytes]:
    rest = b""
    for block in _blocks(path):
        *lines, rest = (rest + block).split(b"\n")
        yield from lines


def _blocks(path: Path) -> Iterator[bytes]:
    """Return the content, decompressed as far as it is whole."""
    try:
        with path.open("rb") as file:
            start = file.read(2)
            file.seek(0)
            if start != b"\x1f\x8b":
                while block := file.read(_CHUNK):
                    yield block
                return
            inflate = zlib.decompressobj(wbits=31)
            while block := file.read(_CHUNK):
                while block:
                    yield inflate.decompress(block)
                    block = inflate.unused_data
                    if inflate.eof:
                        inflate = zlib.decompressobj(wbits=31)
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}") from None
    except zlib.error as error:
        raise TraceError(f"{path} is damaged: {error}") from None
