"""Records in the frames that TFRecord files keep them in, and out of them again.

A record is its length (8 bytes, little-endian), the masked CRC32C of these, the data and the
masked CRC32C of the data.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import google_crc32c
import numpy as np

from stillflow import native
from stillflow.files.crc32c import masked_crc32c

HEADER = 12
FOOTER = 4
FRAME = HEADER + FOOTER  # bytes around the data of a record
_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")
_FEW = 64  # up to here NumPy takes longer to start than it saves
_SOME = 8  # and the maximum per native call
_MOST = 1 << 14  # records found at a time
_KNOWN = 4096  # how many headers to remember
_FAULTS = (None, 0, HEADER)  # where in a record a loop in C found it damaged


class Cut(NamedTuple):
    """Records found at the beginning of some bytes."""

    records: list[bytes]  # those that are there as a whole and good
    size: int  # bytes of these with their frames
    wanted: int  # bytes that it takes from there to go on
    fault: int | None = None  # where in the record behind them it is known to be damaged


class _Scratch(threading.local):
    """Memory of a thread for the places of records; made again for each part, it costs faults."""

    def __init__(self) -> None:
        self.bounds = np.empty(2 * _MOST, np.int64)


_scratch = _Scratch()


# ---- Into frames


def framed(records: Sequence[bytes]) -> bytes | memoryview:
    """Return the bytes of records in their frames."""
    library = native.library() if len(records) >= _SOME else None
    if library is None:
        return b"".join(pieces(records))
    lengths = np.fromiter(map(len, records), np.int64, len(records))
    out = np.empty(int(lengths.sum()) + FRAME * len(records), np.uint8)
    library.frame_records(b"".join(records), lengths.ctypes.data, len(records), out.ctypes.data)
    return out.data


def pieces(records: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same in pieces: of each record a header, the data and a footer."""
    for record in records:
        yield _header(len(record))
        yield record
        yield _CRC.pack(masked_crc32c(record))


@lru_cache(_KNOWN)
def _header(length: int) -> bytes:
    encoded = _LENGTH.pack(length)
    return encoded + _CRC.pack(masked_crc32c(encoded))


# ---- Out of frames


def cut(data: bytes, known: dict[bytes, int]) -> Cut:
    """Return the records that some bytes begin with, up to the first that is cut off or damaged.

    `known` are the sizes of records by their headers; it learns of others.
    """
    library = native.library()
    if library is not None:
        return _found(library, data)
    records, ends, wanted = _split(data, known)
    good = _first_difference(data, records, ends)
    size = ends[good - 1] if good else 0
    if good < len(records):
        return Cut(records[:good], size, 0, HEADER)
    return Cut(records, size, wanted, None if wanted else 0)


def _found(library: Any, data: bytes) -> Cut:
    """Return the records that the native loop finds."""
    room = min(len(data) // FRAME + 1, _MOST)  # one more: the next header may be damaged
    bounds = _scratch.bounds[: 2 * room].reshape(2, room)  # where they begin, where they end
    behind = np.empty((), np.int64)
    count = library.find_records(data, len(data), bounds.ctypes.data, room, behind.ctypes.data)
    records = [data[begin:end] for begin, end in zip(*bounds[:, :count].tolist())]
    size = int(bounds[1, count - 1]) + FOOTER if count else 0
    return Cut(records, size, _size(data[size : size + HEADER]) or HEADER, _FAULTS[behind])


def _split(data: bytes, known: dict[bytes, int]) -> tuple[list[bytes], list[int], int]:
    """Cut bytes into records, whose data may be damaged.

    Returns whole records, where each ends with what is around it, and how many bytes are needed to
    go on: 0 if the next header is damaged.
    """
    records = _alike(data)
    size = len(records[0]) + FRAME if records else 0
    start = size * len(records)
    ends, wanted = _ends(data, start, known)
    records += [data[begin + HEADER : end - FOOTER] for begin, end in zip([start, *ends], ends)]
    return records, [*range(size, start + 1, size), *ends] if size else ends, wanted


def _ends(data: bytes, position: int, known: dict[bytes, int]) -> tuple[list[int], int]:
    """Return the ends of the whole records from `position`, and the bytes needed to continue."""
    begin = position
    ends: list[int] = []
    add = ends.append
    while True:
        try:
            while True:  # bytes behind the end are not a header
                position += known[data[position : position + HEADER]]
                add(position)
        except KeyError:
            pass
        if position > len(data):
            ends.pop()
            return ends, position - (ends[-1] if ends else begin)
        header = data[position : position + HEADER]
        if len(header) < HEADER:
            return ends, HEADER
        size = _size(header)
        if not size:
            return ends, 0
        if len(known) < _KNOWN:
            known[header] = size
        position += size
        add(position)


def _alike(data: bytes) -> list[bytes]:
    """Return the whole records at the start that are as long as the first, if there are many."""
    header = data[:HEADER]
    size = _size(header)
    rows = len(data) // size if size else 0
    if rows < _FEW or header != data[size : size + HEADER]:
        return []
    table = np.frombuffer(data, np.uint8, rows * size).reshape(rows, size)[:, :HEADER]
    same = (table == table[:1]).all(1)
    rows = rows if same.all() else int(same.argmin())
    record = struct.Struct(f"{HEADER}x{size - FRAME}s{FOOTER}x")
    return list(chain.from_iterable(record.iter_unpack(memoryview(data)[: rows * size])))


def _size(header: bytes) -> int:
    """Return the size of a whole record with this header, 0 if the header is damaged or cut off."""
    if len(header) < HEADER or masked_crc32c(header[:8]) != _CRC.unpack_from(header, 8)[0]:
        return 0
    return int(_LENGTH.unpack_from(header)[0]) + FRAME


def _first_difference(data: bytes, records: list[bytes], ends: list[int]) -> int:
    """Return the index of the first record whose checksum differs from that behind it."""
    if len(records) < _FEW:
        for index, (record, end) in enumerate(zip(records, ends)):
            if masked_crc32c(record) != _CRC.unpack_from(data, end - FOOTER)[0]:
                return index
        return len(records)
    crcs = np.fromiter(map(google_crc32c.value, records), np.uint32, len(records))
    # The integer that begins at each byte; those behind the records are looked at.
    integers = np.ndarray((len(data) - FOOTER + 1,), "<u4", data, strides=(1,))
    masked = (crcs >> np.uint32(15) | crcs << np.uint32(17)) + np.uint32(0xA282EAD8)
    differs = masked != integers[np.array(ends) - FOOTER]
    return int(differs.argmax()) if differs.any() else len(records)
