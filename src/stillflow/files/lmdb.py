"""LMDB databases: the entries of the main database, in the order of their keys.

A file is an array of pages. The first two are meta pages, of which the one with the later
transaction counts; it names the root of a B+ tree. A page begins with a header of 16 bytes and the
offsets of its nodes; a node holds a key, and a child's page number or a value, which may stand on
pages of its own. Numbers have the byte order and word size of the machine that wrote them; 64 bits
are read.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from stillflow import errors
from stillflow.files.failures import os_errors

_MAGIC = 0xBEEFC0DE
_VERSION = 1
_HEADER = 16  # bytes at the start of a page
_BRANCH, _LEAF, _FIXED_KEYS = 0x01, 0x02, 0x20  # flags of pages
_ON_PAGES, _SEVERAL = 0x01, 0x02 | 0x04  # flags of nodes: values elsewhere; databases, duplicates
_NOTHING = 2**64 - 1  # the root of an empty database
_DEEPEST = 64


class _Meta(NamedTuple):
    order: str  # "<" or ">", for struct
    page_size: int
    root: int
    transaction: int


def entries(path: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of a file, or of `data.mdb` in a directory.

    NotFoundError if there is none, DataLossError if it is damaged, UnimplementedError if keys have
    several values, or there are databases in the database.
    """
    if os.path.isdir(path):
        path = os.path.join(path, "data.mdb")
    with os_errors(path), open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size < 2 * _HEADER:
            raise _damaged(path, "it is too short")
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with data:
        try:
            yield from _Tree(path, data).entries()
        except (struct.error, IndexError):
            raise _damaged(path, "it ends too early") from None


def _damaged(path: str, why: str) -> errors.DataLossError:
    return errors.data_loss(f"{path}: not an LMDB database, or damaged: {why}")


class _Tree:
    def __init__(self, path: str, data: Any) -> None:
        self._path, self._data = path, data
        self._meta = self._find_meta()
        order = self._meta.order
        self._four = struct.Struct(f"{order}HHHH").unpack_from

    def _find_meta(self) -> _Meta:
        first = self._meta_at(0)
        if first is None:
            raise _damaged(self._path, "it begins otherwise")
        second = self._meta_at(first.page_size)
        return max(filter(None, (first, second)), key=lambda meta: meta.transaction)

    def _meta_at(self, place: int) -> _Meta | None:
        place += _HEADER
        for order in "<>":
            magic, version = struct.unpack_from(f"{order}II", self._data, place)
            if magic == _MAGIC and version == _VERSION:
                free, main = place + 24, place + 72  # after address and size of the map
                (page_size,) = struct.unpack_from(f"{order}I", self._data, free)
                (root,) = struct.unpack_from(f"{order}Q", self._data, main + 40)
                (transaction,) = struct.unpack_from(f"{order}Q", self._data, main + 56)
                if page_size < 256 or page_size & (page_size - 1):
                    raise _damaged(self._path, f"pages of {page_size} bytes")
                return _Meta(order, page_size, root, transaction)
        return None

    def entries(self) -> Iterator[tuple[bytes, bytes]]:
        if self._meta.root != _NOTHING:
            yield from self._below(self._meta.root, 0)

    def _below(self, number: int, depth: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield the entries of the subtree under a page."""
        if depth > _DEEPEST:
            raise _damaged(self._path, "its tree does not end")
        start = number * self._meta.page_size
        _, flags, lower, _ = self._four(self._data, start + 8)  # padding, ..., upper
        if flags & _FIXED_KEYS or not flags & (_BRANCH | _LEAF):
            raise _damaged(self._path, f"page {number} is of kind {flags}")
        count = (lower - _HEADER) // 2
        places = struct.unpack_from(f"{self._meta.order}{count}H", self._data, start + _HEADER)
        for place in places:
            if flags & _LEAF:
                yield self._entry(start + place)
            else:
                low, top, _ = self._node(start + place)
                yield from self._below(low | top << 32, depth + 1)

    def _node(self, place: int) -> tuple[int, int, int]:
        """Return a size or the lower half of a page number.

        Flags or its upper half; the key's size.
        """
        first, second, flags, key_size = self._four(self._data, place)
        low, high = (first, second) if self._meta.order == "<" else (second, first)
        return low | high << 16, flags, key_size

    def _entry(self, place: int) -> tuple[bytes, bytes]:
        size, flags, key_size = self._node(place)
        if flags & _SEVERAL:
            raise errors.unimplemented(
                f"{self._path}: several values of one key, or databases in it, are not supported"
            )
        value_start = place + 8 + key_size
        key = self._data[place + 8 : value_start]
        if flags & _ON_PAGES:
            (page,) = struct.unpack_from(f"{self._meta.order}Q", self._data, value_start)
            value_start = page * self._meta.page_size + _HEADER
        value = self._data[value_start : value_start + size]
        if len(value) < size or len(key) < key_size:
            raise IndexError(place)
        return key, value
