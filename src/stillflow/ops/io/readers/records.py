"""The records of a file, with their keys, as each kind of reader cuts it."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from typing import Any

from stillflow.files import compression, lmdb
from stillflow.files.failures import os_errors
from stillflow.files.filesystem import open_file
from stillflow.files.record_frames import FRAME
from stillflow.files.records import Cursor, open_records

Record = tuple[bytes, bytes]
# First None, once the file is open, then its records.
Source = Generator["Record | None", None, None]
Records = Callable[[bytes], Source]
_BUFFER = 256 << 10


def _path(name: bytes) -> str:
    return os.fsdecode(name)


def _open(name: bytes) -> Any:
    with os_errors(_path(name)):
        return open_file(_path(name), "rb")


def identity(name: bytes) -> Source:
    """Return the queue's element as the record."""
    yield None
    yield name, name


def whole_file(name: bytes) -> Source:
    """Yield the file is the record, its name the key."""
    yield None
    yield name, _all(name)


def _all(name: bytes) -> bytes:
    with _open(name) as file, os_errors(_path(name)):
        data: bytes = file.read()
    return data


def text_lines(skip: int) -> Records:
    """Lines without their ends, after the first `skip`; keys count from 1."""

    def lines(name: bytes) -> Source:
        with _open(name) as file:
            yield None
            for number, line in enumerate(file, 1):
                if number > skip:
                    yield b"%s:%d" % (name, number), _without_end(line)

    return lines


def _without_end(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


def tf_records(kind: str) -> Records:
    """Return the records of TFRecord files; keys tell where they begin."""

    def records(name: bytes) -> Source:
        path = _path(name)
        with os_errors(path):
            file = open_records(path, kind)
        with file:
            yield None
            offset = 0
            for batch in Cursor(file, path).batches():
                for record in batch:
                    yield b"%s:%d" % (name, offset), record
                    offset += len(record) + FRAME

    return records


def fixed_length(header: int, record: int, footer: int, hop: int, encoding: str) -> Records:
    """Pieces of `record` bytes, one every `hop`; keys count from 0."""
    hop = hop or record
    needed = record + footer

    def pieces(name: bytes) -> Source:
        with _open(name) as file:
            yield None
            source = compression.DecompressedReader(file, encoding) if encoding else file
            read = _reader(source, _path(name))
            read(header)
            number, window = 0, read(needed)
            while len(window) == needed:
                yield b"%s:%d" % (name, number), window[:record]
                number += 1
                if hop <= len(window):
                    kept = window[hop:]
                    window = kept + read(needed - len(kept))
                else:
                    read(hop - len(window))
                    window = read(needed)

    return pieces


def _reader(source: Any, path: str) -> Callable[[int], bytes]:
    """Read a number of bytes, fewer at the end of the file, a large piece at a time."""
    held, position = b"", 0

    def read(count: int) -> bytes:
        nonlocal held, position
        if len(held) - position < count:
            parts, total = [held[position:]], len(held) - position
            with os_errors(path):
                while total < count and (chunk := source.read(max(_BUFFER, count - total))):
                    parts.append(chunk)
                    total += len(chunk)
            held, position = b"".join(parts), 0
        data = held[position : position + count]
        position += count
        return data

    return read


def lmdb_entries(name: bytes) -> Source:
    """Yield the entries of an LMDB database, by key."""
    found = lmdb.entries(_path(name))
    first = next(found, None)
    yield None
    if first is not None:
        yield first
        yield from found
