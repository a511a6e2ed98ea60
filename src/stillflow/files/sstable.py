"""Sorted tables of strings, as LevelDB lays them out: the container of checkpoints.

A table is a row of blocks, each followed by a byte with its compression and a checksum; the last
ones are an (empty) block of properties and the index, which has for each block a key not below its
last one and its place. A footer of fixed size has the places of these two. In a block each key is
stored without the prefix that it shares with the one before it, except at restart points.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from stillflow import native
from stillflow.files import crc32c, snappy, varint
from stillflow.files.failures import data_loss

MAGIC = 0xDB4775248B80FB57
FOOTER_SIZE = 48
_TRAILER_SIZE = 5
_BLOCK_SIZE = 262144
_RESTART_INTERVAL = 16
_SMALL = 2 * _BLOCK_SIZE  # blocks of less bytes are copied to be read
_NO_COMPRESSION, _SNAPPY = 0, 1


class Handle(NamedTuple):
    """Place of a block, without its trailer."""

    offset: int
    size: int

    def encode(self) -> bytes:
        return varint.encode(self.offset) + varint.encode(self.size)


# ---- Writing


class _BlockBuilder:
    def __init__(self, restart_interval: int) -> None:
        self.restart_interval = restart_interval
        self.parts: list[bytes] = []
        self.size = 0
        self.restarts = [0]
        self.since_restart = 0
        self.last_key = b""
        self.last_shared = 0

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self.since_restart < self.restart_interval:
            shared = _shared_length(self.last_key, key, self.last_shared)
        else:
            self.restarts.append(self.size)
            self.since_restart = 0
        fresh, size = len(key) - shared, len(value)
        if (shared | fresh | size) < 0x80:
            head = bytes((shared, fresh, size))
        else:
            head = varint.encode(shared) + varint.encode(fresh) + varint.encode(size)
        self.parts += (head, key[shared:], value)
        self.size += len(head) + fresh + size
        self.last_key, self.last_shared = key, shared
        self.since_restart += 1

    @property
    def is_full(self) -> bool:
        return self.size + 4 * len(self.restarts) + 4 >= _BLOCK_SIZE

    def finish(self) -> bytes:
        count = len(self.restarts)
        return b"".join(self.parts) + struct.pack(f"<{count + 1}I", *self.restarts, count)


class TableBuilder:
    """Writer of a table. Keys come in order, each once.

    Args:
      write: Appends bytes to the file.
    """

    def __init__(self, write: Callable[[bytes], Any]) -> None:
        self._write = write
        self._offset = 0
        self._data = _BlockBuilder(_RESTART_INTERVAL)
        self._index = _BlockBuilder(1)
        self._last_key: bytes | None = None
        self._pending: Handle | None = None  # the block whose index entry waits for the next key

    def add(self, key: bytes, value: bytes) -> None:
        """Add an entry; ValueError if its key is not above the last one."""
        if self._last_key is not None:
            if key <= self._last_key:
                raise ValueError(_not_rising(self._last_key, key))
            if len(key) + len(value) >= 2 * _BLOCK_SIZE:
                self._flush()
        if self._pending is not None:
            self._put_handle(key)
        self._last_key = key
        self._data.add(key, value)
        if self._data.is_full:
            self._flush()

    def add_all(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        """Add many entries, before any other."""
        library = native.library() if items else None
        if library is None:
            for key, value in items:
                self.add(key, value)
            return
        keys, values = zip(*items)
        for last, key in pairwise(keys):
            if key <= last:
                raise ValueError(_not_rising(last, key))
        ends = [np.cumsum(np.fromiter(map(len, each), np.int64)) for each in (keys, values)]
        out = np.empty(int(ends[0][-1] + ends[1][-1]) + 34 * len(keys) + 8, np.uint8)
        restarts, following = np.empty(len(keys), np.uint32), np.zeros((), np.int64)
        texts = b"".join(keys), ends[0].ctypes.data, b"".join(values), ends[1].ctypes.data
        while following < len(keys):
            if self._pending is not None:
                self._put_handle(keys[following])
            size = library.build_block(
                *texts, int(following), len(keys), _BLOCK_SIZE, restarts.ctypes.data,
                out.ctypes.data, following.ctypes.data,
            )  # fmt: skip
            self._pending = self._write_block(out[:size].tobytes())
            self._last_key = keys[following - 1]

    def finish(self) -> None:
        """Write the last block, the index and the footer."""
        self._flush()
        properties = self._write_block(_BlockBuilder(_RESTART_INTERVAL).finish())
        if self._pending is not None:
            self._index.add(_successor(self._last_key or b""), self._pending.encode())
        index = self._write_block(self._index.finish())
        footer = properties.encode() + index.encode()
        self._write(footer.ljust(FOOTER_SIZE - 8, b"\0") + struct.pack("<Q", MAGIC))

    def _put_handle(self, key: bytes) -> None:
        """Put the block that ends before this key into the index."""
        assert self._pending is not None
        self._index.add(_separator(self._last_key or b"", key), self._pending.encode())
        self._pending = None

    def _flush(self) -> None:
        if self._data.size:
            self._pending = self._write_block(self._data.finish())
            self._data = _BlockBuilder(_RESTART_INTERVAL)

    def _write_block(self, content: bytes) -> Handle:
        handle = Handle(self._offset, len(content))
        trailer = bytes([_NO_COMPRESSION])
        crc = crc32c.extend(crc32c.crc32c(content), trailer)
        self._write(content)
        self._write(trailer + struct.pack("<I", crc32c.mask(crc)))
        self._offset += len(content) + _TRAILER_SIZE
        return handle


def build(items: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the bytes of a table of these entries, in order."""
    parts: list[bytes] = []
    builder = TableBuilder(parts.append)
    builder.add_all(list(items))
    builder.finish()
    return b"".join(parts)


def _not_rising(last: bytes, key: bytes) -> str:
    return f"keys of a table must rise: {last!r}, {key!r}"


def _shared_length(a: bytes, b: bytes, guess: int = 0) -> int:
    if guess and a[:guess] == b[:guess] and a[guess : guess + 1] != b[guess : guess + 1]:
        return guess
    shortest = min(len(a), len(b))
    different = int.from_bytes(a[:shortest], "big") ^ int.from_bytes(b[:shortest], "big")
    return shortest - (different.bit_length() + 7) // 8


def _separator(start: bytes, limit: bytes) -> bytes:
    """Return a short key, not below `start` and below `limit`."""
    shared = _shared_length(start, limit)
    if shared < min(len(start), len(limit)):
        byte = start[shared]
        if byte < 0xFF and byte + 1 < limit[shared]:
            return start[:shared] + bytes([byte + 1])
    return start


def _successor(key: bytes) -> bytes:
    """Return a short key that is not below `key`."""
    for position, byte in enumerate(key):
        if byte != 0xFF:
            return key[:position] + bytes([byte + 1])
    return key


# ---- Reading


class Table:
    """A table to read from.

    Args:
      data: The whole file: bytes or a memoryview (of a mapped file, say). Values that are read
        point into it.
      path: Its name, for errors.

    Raises:
      DataLossError: Here and when reading, if the file is not a table or is damaged.
    """

    def __init__(self, data: Any, path: str) -> None:
        self._data = memoryview(data)
        self.path = path
        size = len(self._data)
        if size < FOOTER_SIZE:
            raise data_loss("file is too short to be an sstable", path)
        footer = bytes(self._data[size - FOOTER_SIZE :])
        if struct.unpack("<Q", footer[-8:])[0] != MAGIC:
            raise data_loss("not an sstable (bad magic number)", path, size - 8)
        try:
            _, position = _decode_handle(footer, 0, FOOTER_SIZE - 8)
            index, _ = _decode_handle(footer, position, FOOTER_SIZE - 8)
        except ValueError:
            raise data_loss("bad block handle", path, size - FOOTER_SIZE) from None
        self._last_keys: list[bytes] = []
        self._handles: list[Handle] = []
        for key, value in self._entries(index):
            try:
                handle, _ = _decode_handle(value, 0, len(value))
            except ValueError:
                raise data_loss("bad block handle", path, index.offset) from None
            self._last_keys.append(key)
            self._handles.append(handle)

    def items(self) -> Iterator[tuple[bytes, Any]]:
        """All entries, in order."""
        for handle in self._handles:
            yield from self._entries(handle)

    def get(self, key: bytes) -> Any:
        """Return the value of one key, or None."""
        place = bisect.bisect_left(self._last_keys, key)
        if place < len(self._handles):
            for found, value in self._entries(self._handles[place]):
                if found >= key:
                    return value if found == key else None
        return None

    def _entries(self, handle: Handle) -> Iterator[tuple[bytes, Any]]:
        block = self._block(handle)
        try:
            yield from _block_entries(block)
        except ValueError as error:
            raise data_loss(str(error), self.path, handle.offset) from None

    def _block(self, handle: Handle) -> memoryview:
        end = handle.offset + handle.size
        if end + _TRAILER_SIZE > len(self._data):
            raise data_loss("truncated block read", self.path, handle.offset)
        with_kind = self._data[handle.offset : end + 1]
        (stored,) = struct.unpack("<I", self._data[end + 1 : end + _TRAILER_SIZE])
        if crc32c.masked_crc32c(with_kind) != stored:
            raise data_loss("block checksum mismatch", self.path, handle.offset)
        kind, content = with_kind[-1], with_kind[:-1]
        if kind == _NO_COMPRESSION:
            return content
        if kind != _SNAPPY:
            raise data_loss("bad block type", self.path, end)
        try:
            return memoryview(snappy.decompress(content))
        except ValueError:
            message = "corrupted compressed block contents"
            raise data_loss(message, self.path, handle.offset) from None


def _decode_handle(data: Any, position: int, limit: int) -> tuple[Handle, int]:
    offset, position = varint.decode(data, position, limit)
    size, position = varint.decode(data, position, limit)
    return Handle(offset, size), position


def _block_entries(block: Any) -> Iterator[tuple[bytes, Any]]:
    """Yield the entries of a block; ValueError where it is not one."""
    if len(block) < 4:
        raise ValueError("bad block contents")
    (restarts,) = struct.unpack("<I", block[-4:])
    limit = len(block) - 4 * (restarts + 1)
    if limit < 0:
        raise ValueError("bad block contents")
    if len(block) < _SMALL:  # bytes are quicker to read than a view of them
        block = bytes(block)
    position, key = 0, b""
    while position < limit:
        if position + 3 > limit:
            raise ValueError("bad entry in block")
        shared, fresh, size = block[position], block[position + 1], block[position + 2]
        position += 3
        if (shared | fresh | size) >= 0x80:
            try:
                shared, position = varint.decode(block, position - 3, limit)
                fresh, position = varint.decode(block, position, limit)
                size, position = varint.decode(block, position, limit)
            except ValueError:
                raise ValueError("bad entry in block") from None
        if shared > len(key) or fresh + size > limit - position:
            raise ValueError("bad entry in block")
        key = key[:shared] + block[position : position + fresh]
        position += fresh
        yield key, block[position : position + size]
        position += size
