"""Reading of V2 checkpoints."""

from __future__ import annotations

import mmap
import os
import sys
import weakref
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from stillflow import errors, native
from stillflow.files import bundle_entry, bundle_format, crc32c, sstable, tensor_types
from stillflow.files.bundle_entry import Entry
from stillflow.files.bundle_format import HEADER_KEY, Array, data_path, index_path
from stillflow.files.failures import data_loss, os_errors
from stillflow.files.slice_assembly import assemble
from stillflow.files.tensor_slice import TensorSlice, key_text

_UNREADABLE = (
    "Unable to read file ({}). Perhaps the file is corrupt or was produced by a newer version of "
    "TensorFlow with format changes ({}"
)

_PIECE = 1 << 20
_SMALL = 1 << 14  # tensors of less bytes are read together
_GAP = 1 << 12  # allowed gap between two of them
_STRETCH = 1 << 22


class Stretch(NamedTuple):
    """Tensors that lie behind each other in a data file."""

    octets: Array  # uint8, of the mapped file: from the first to the end of the last
    begins: Array  # int64: where each begins there
    sizes: Array  # int64: its bytes
    crcs: Array  # int64: its masked checksum
    members: Array  # int64: its place among the keys asked for


class BundleReader:
    """A checkpoint to read from; threads may share it.

    The index is read at once, data as they are asked for, each tensor against its checksum.

    Args:
      prefix: The path of the index less `.index`.

    Attributes:
      is_swapped: Whether a machine of the other byte order wrote it.

    Raises:
      NotFoundError: If there is no index.
      DataLossError: If it is damaged, or no index at all; when reading, if the data are.
      OutOfRangeError: When reading, if a data file is cut off.
      InvalidArgumentError: If a newer version wrote it that this one must not read.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.path = index_path(prefix)
        table = sstable.Table(self._read_index(), self.path)
        try:
            self._raw = dict(table.items())
            self._lost = self._out_of_order(table)
        except errors.DataLossError as error:
            detail = f"failed to seek to header entry): {error.message}"
            raise errors.data_loss(_UNREADABLE.format(self.path, detail)) from None
        self._parsed: dict[bytes, Entry] = {}
        header = self._read_header()
        self.shards = header.num_shards
        self.is_swapped = bool(header.endianness) != (sys.byteorder == "big")
        bundle_format.check_versions(
            header.version, bundle_format.VERSION, bundle_format.MIN_PRODUCER
        )
        self._files: dict[int, tuple[int, int, str]] = {}

    def names(self) -> Iterator[bytes]:
        """Return the names of all tensors, and the keys of parts, in order."""
        return (key for key in self._raw if key != HEADER_KEY)

    def _out_of_order(self, table: sstable.Table) -> frozenset[bytes]:
        """Return the keys that a search does not find, as they are not where their order asks."""
        keys = list(self._raw)
        if keys == sorted(keys):
            return frozenset()
        return frozenset(key for key in keys if table.get(key) is None)

    def tensors(self) -> dict[bytes, Entry]:
        """All tensors by name; a tensor saved in parts is one."""
        keys = list(self.names())
        entries = dict(zip(keys, self._entries(keys)))
        parts = {part.key(key) for key, entry in entries.items() for part in entry.slices}
        return {key: entry for key, entry in entries.items() if key not in parts}

    def __contains__(self, key: bytes) -> bool:
        return key in self._raw and key not in self._lost

    def entry(self, key: bytes) -> Entry:
        """Return the index entry of a tensor.

        Raises:
          NotFoundError: If there is none of this name.
        """
        if key in self._lost:
            raise errors.not_found(f"Key {key_text(key)} not found in checkpoint")
        return self._entry(key)

    def _entry(self, key: bytes) -> Entry:
        found = self._parsed.get(key)
        if found is None:
            raw = self._raw.get(key)
            if raw is None:
                raise errors.not_found(f"Key {key_text(key)} not found in checkpoint")
            try:
                found = bundle_entry.decode(bytes(raw))
            except ValueError:
                message = f"Entry for key {key_text(key)} not parseable."
                raise data_loss(message, self.path) from None
            if found is None:
                raise data_loss(f"Invalid tensor shape: {key_text(key)}", self.path)
            self._parsed[key] = found
        return found

    def entries(self, keys: Sequence[bytes]) -> list[Entry]:
        """Return the index entries of many tensors."""
        if not self._lost.isdisjoint(keys):
            return list(map(self.entry, keys))
        return self._entries(keys)

    def _entries(self, keys: Sequence[bytes]) -> list[Entry]:
        raws = {
            key: bytes(raw)
            for key in keys
            if key not in self._parsed and (raw := self._raw.get(key)) is not None
        }
        for key, found in zip(raws, bundle_entry.decode_all(list(raws.values()))):
            if found is not None:  # else `entry` raises the error
                self._parsed[key] = found
        return list(map(self._entry, keys))

    def lookup(self, key: bytes) -> Array:
        """Return the value of a tensor, in new memory; quantized types in their stored form."""
        entry = self.entry(key)
        if entry.slices:
            return self.lookup_slice(key, TensorSlice.full(len(entry.shape)))
        return self._read(key, entry)

    def lookup_small(self, keys: Sequence[bytes]) -> dict[bytes, Array]:
        """Return the values of those of some tensors that are small, read many at a time.

        Args:
          keys: The names of tensors.

        Returns:
          The values by name, in memory that they share; quantized types in their stored form.
        """
        if self.is_swapped:
            return {}
        found: dict[bytes, Array] = {}
        small = [
            (entry, key)
            for key, entry in zip(keys, self.entries(keys))
            if 0 < entry.size < _SMALL
            and not entry.slices
            and entry.number not in tensor_types.OF_BYTES
        ]
        small.sort(key=_by_place)
        shards, offsets, sizes, _ = _columns([entry for entry, _ in small])
        for run in _runs(shards, offsets, sizes, _PIECE):
            self._read_run(small[run], found)
        return found

    def stretches(self, keys: Sequence[bytes], entries: Sequence[Entry]) -> list[Stretch]:
        """Return the places of whole numeric tensors in the mapped files, not yet checked.

        Meant for who copies them at once: they change when somebody changes the files.

        Args:
          keys: Their names.
          entries: What the index says of them.

        Raises:
          DataLossError: If they do not lie there.
        """
        shards, offsets, sizes, crcs = _columns(entries)
        files: dict[int, Array] = {}
        for shard, first in zip(*np.unique(shards, return_index=True)):
            self._place(keys[first], entries[first])
            files[shard] = _map_all(*self._open(int(shard)))
        ends = np.array([len(files[shard]) for shard in shards.tolist()])
        good = (offsets >= 0) & (sizes <= ends) & (offsets <= ends - sizes)
        good &= [entry.size == _size(entry.number, entry.shape) for entry in entries]
        for wrong in np.flatnonzero(~good):
            self._place(keys[wrong], entries[wrong])
        order = np.lexsort((offsets, shards))
        shards, offsets, sizes, crcs = (column[order] for column in (shards, offsets, sizes, crcs))
        result = []
        for run in _runs(shards, offsets, sizes, _STRETCH):
            begins = offsets[run] - offsets[run.start]
            end = offsets[run.stop - 1] + sizes[run.stop - 1]
            octets = files[shards[run.start]][offsets[run.start] : end]
            result.append(Stretch(octets, begins, sizes[run], crcs[run], order[run]))
        return result

    def check(self, stretch: Stretch, keys: Sequence[bytes]) -> None:
        """Compare the checksums of tensors in a mapped file.

        Args:
          keys: What `stretches` was given.

        Raises:
          DataLossError: If one differs.
        """
        octets, begins, sizes, crcs, members = stretch
        library = native.library()
        if library is not None and library.check_pieces(
            octets.ctypes.data, begins.ctypes.data, sizes.ctypes.data, len(sizes), crcs.ctypes.data
        ):
            return
        content = octets.data
        for index, begin, size in zip(members.tolist(), begins.tolist(), sizes.tolist()):
            piece, key = content[begin : begin + size], keys[index]
            self._verify(key, self.entry(key), bytes(piece) if size < _SMALL else piece)

    def lookup_slice(self, key: bytes, part: TensorSlice) -> Array:
        """Return the value of a part of a tensor, combined from the parts that were saved.

        Raises:
          InvalidArgumentError: If these do not cover it.
        """
        entry = self.entry(key)
        if not entry.slices:
            whole = TensorSlice.full(len(entry.shape))
            if part.shape_in(entry.shape) == entry.shape:
                return self._read(key, entry)
            return assemble(key, entry.shape, part, [whole], lambda _: self._view(key, entry))

        def stored(piece: TensorSlice) -> Array:
            piece_key = piece.key(key)
            found = self.entry(piece_key)
            if found.shape != piece.shape_in(entry.shape) or found.number != entry.number:
                raise data_loss(
                    f"The part {piece} of {key_text(key)} has the wrong shape or type", self.path
                )
            return self._view(piece_key, found)

        return assemble(key, entry.shape, part, entry.slices, stored)

    def close(self) -> None:
        """Close the files."""
        self._finalizer()

    # ---- The index

    def _read_index(self) -> bytes:
        with os_errors(self.path):
            with open(self.path, "rb") as file:
                return file.read()

    def _read_header(self) -> Any:
        from google.protobuf.message import DecodeError

        from stillflow.protos import BundleHeaderProto

        raw = self._raw.get(HEADER_KEY)
        try:
            if raw is None:
                raise _corrupt(self.path, "failed to seek to header entry")
            header = BundleHeaderProto.FromString(bytes(raw))
        except DecodeError:
            raise _corrupt(self.path, "unable to parse header") from None
        self._descriptors: list[int] = []
        self._finalizer = weakref.finalize(self, _close_all, self._descriptors)
        return header

    # ---- The data

    def _open(self, shard: int) -> tuple[int, int, str]:
        """Descriptor, size and path of a data file."""
        found = self._files.get(shard)
        if found is None:
            path = data_path(self.prefix, shard, self.shards)
            with os_errors(path):
                descriptor = self._open_file(path)
                self._descriptors.append(descriptor)
                found = self._files[shard] = descriptor, os.fstat(descriptor).st_size, path
        return found

    def _open_file(self, path: str) -> int:
        return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))

    def _place(self, key: bytes, entry: Entry) -> tuple[int, str]:
        """Return the data file of a tensor, its bounds checked before anything is allocated."""
        count = prod(entry.shape)
        if entry.number == tensor_types.RESOURCE:
            raise errors.unimplemented(
                f"Restoring data type {tensor_types.name_of(entry.number)} not yet supported: "
                f"{key_text(key)} in {self.path}"
            )
        if entry.number not in tensor_types.STORAGE and entry.number != tensor_types.VARIANT:
            raise data_loss(f"Invalid type in bundle entry: key {key_text(key)}", self.path)
        if entry.number in tensor_types.OF_BYTES:
            fits, words = entry.size >= count or not entry.size, f"is at least {count}"
        else:
            size = _size(entry.number, entry.shape)
            fits, words = entry.size == size, f"{size}"
        if not fits:
            raise data_loss(
                f"Invalid size in bundle entry: key {key_text(key)}; stored size {entry.size}; "
                f"expected size {words}",
                self.path,
            )
        if not 0 <= entry.shard < self.shards:
            raise data_loss(f"Invalid shard in bundle entry: key {key_text(key)}", self.path)
        descriptor, size, path = self._open(entry.shard)
        if entry.offset < 0 or entry.offset + entry.size > size:
            place = f"{entry.offset} to {entry.offset + entry.size}"
            raise errors.out_of_range(
                f"Read less bytes than requested\n{key_text(key)} lies at bytes {place} of {path}, "
                f"which has {size} bytes: the file is truncated, or not the one of this index"
            )
        return descriptor, path

    def _read(self, key: bytes, entry: Entry) -> Array:
        """Return the value of an entry, in new memory."""
        descriptor, path = self._place(key, entry)
        octets = np.empty(entry.size, np.uint8)
        memory = octets.data
        crc = position = 0
        numbers = entry.number not in tensor_types.OF_BYTES
        while position < entry.size:
            with os_errors(path):
                piece = memory[position : position + _PIECE]
                got = _read_at(descriptor, piece, entry.offset + position)
            if not got:
                raise data_loss(f"{key_text(key)} is cut off", path, entry.offset + position)
            if numbers:
                crc = crc32c.extend(crc, octets[position : position + got])
            position += got
        return self._decode(key, entry, octets, crc, path)

    def _read_run(self, run: list[tuple[Entry, bytes]], found: dict[bytes, Array]) -> None:
        """Read the values of entries that lie behind each other, none reaching over the last."""
        for entry, key in run:
            descriptor, path = self._place(key, entry)
        start, (last, key) = run[0][0].offset, run[-1]
        content = bytearray(last.offset + last.size - start)
        with os_errors(path):
            got = _read_at(descriptor, memoryview(content), start)
        if got < len(content):
            raise data_loss(f"{key_text(key)} is cut off", path, start + got)
        summed = bytes(content)
        for entry, key in run:
            place = entry.offset - start
            self._verify(key, entry, summed[place : place + entry.size])
            dtype = tensor_types.STORAGE[entry.number]
            found[key] = np.ndarray(entry.shape, dtype, content, place)

    def _verify(self, key: bytes, entry: Entry, content: Any) -> None:
        """DataLossError if the bytes of an entry have not its checksum."""
        crc = crc32c.crc32c(content)
        if crc32c.mask(crc) != entry.crc32c:
            raise _wrong_sum(key, entry, crc, data_path(self.prefix, entry.shard, self.shards))

    def _view(self, key: bytes, entry: Entry) -> Array:
        """Return the value of an entry, where it lies in the file."""
        descriptor, path = self._place(key, entry)
        if not entry.size:
            return self._decode(key, entry, np.empty(0, np.uint8), 0, path)
        start = entry.offset - entry.offset % mmap.ALLOCATIONGRANULARITY
        with os_errors(path):
            mapped = _map(descriptor, entry.offset + entry.size - start, start)
        octets = np.frombuffer(mapped, np.uint8)[entry.offset - start :]
        crc = 0 if entry.number in tensor_types.OF_BYTES else crc32c.crc32c(octets)
        return self._decode(key, entry, octets, crc, path)

    def _decode(self, key: bytes, entry: Entry, octets: Array, crc: int, path: str) -> Array:
        if entry.number == tensor_types.STRING:
            array, crc = bundle_format.decode_strings(
                octets.data, prod(entry.shape), path, entry.offset, self.is_swapped
            )
        elif entry.number == tensor_types.VARIANT:
            array, crc = bundle_format.decode_variants(
                octets.data, prod(entry.shape), path, entry.offset
            )
        else:
            array = octets.view(tensor_types.STORAGE[entry.number])
        if crc32c.unmask(entry.crc32c) != crc:
            raise _wrong_sum(key, entry, crc, path)
        if self.is_swapped and array.dtype.itemsize > 1 and array.dtype != object:
            array = array.byteswap()
        return array.reshape(entry.shape)


@lru_cache(1024)
def _size(number: int, shape: tuple[int, ...]) -> int:
    """Return the bytes of a tensor of numbers."""
    return prod(shape) * tensor_types.STORAGE[number].itemsize


def _by_place(item: tuple[Entry, Any]) -> tuple[int, int]:
    entry = item[0]
    return entry.shard, entry.offset


def _columns(entries: Sequence[Entry]) -> Array:
    """Return the places of tensors: shards, offsets, sizes and masked checksums."""
    return np.array(list(zip(*entries))[2:6] or [()] * 4, np.int64)


def _runs(shards: Array, offsets: Array, sizes: Array, most: int) -> Iterator[slice]:
    """Yield the runs of tensors to read at once, of `most` bytes at most."""
    ends = offsets + sizes
    gaps = offsets[1:] - ends[:-1]
    apart = (shards[1:] != shards[:-1]) | (gaps < 0) | (gaps > _GAP)
    start = 0
    for stop in [*(np.flatnonzero(apart) + 1).tolist(), len(ends)]:
        while start < stop:
            fit = np.searchsorted(ends[start:stop], offsets[start] + most, side="right")
            run = slice(start, start + max(int(fit), 1))
            yield run
            start = run.stop


def is_cut_off(prefix: str) -> bool:
    """Return True if a checkpoint's files were truncated by a power failure."""
    path = index_path(prefix)
    try:
        if not os.path.getsize(path):
            return True
        reader = BundleReader(prefix)
        needed = dict.fromkeys(range(reader.shards), 0)
        for entry in reader.entries(list(reader.names())):
            needed[entry.shard] = max(needed.get(entry.shard, 0), entry.offset + entry.size)
    except (OSError, errors.OpError):
        return False  # damaged in other ways, or no checkpoint: reading it says so
    files = {data_path(prefix, shard, reader.shards): size for shard, size in needed.items()}
    return any(not os.path.exists(file) or os.path.getsize(file) < files[file] for file in files)


def _read_at(descriptor: int, target: memoryview, offset: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(descriptor, [target], offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    got = os.read(descriptor, len(target))
    target[: len(got)] = got
    return len(got)


_POPULATE_READ = 22  # MADV_POPULATE_READ of Linux 5.14


def _map(descriptor: int, size: int, start: int) -> mmap.mmap:
    """Map bytes of a file, all at once if possible; writes go to private pages."""
    mapped = mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY, offset=start)
    if sys.platform == "linux":
        try:
            mapped.madvise(_POPULATE_READ)
        except OSError:  # an older kernel: pages come one by one
            pass
    return mapped


def _map_all(descriptor: int, size: int, path: str) -> Array:
    """Return the bytes of a file, mapped to be read."""
    if not size:
        return np.empty(0, np.uint8)
    with os_errors(path):
        return np.frombuffer(mmap.mmap(descriptor, size, access=mmap.ACCESS_READ), np.uint8)


def _close_all(descriptors: list[int]) -> None:
    while descriptors:
        os.close(descriptors.pop())


def _corrupt(path: str, detail: str) -> errors.InternalError:
    return errors.internal(_UNREADABLE.format(path, f"{detail})"))


def _wrong_sum(key: bytes, entry: Entry, crc: int, path: str) -> errors.DataLossError:
    return data_loss(
        f"Checksum does not match: stored {crc32c.unmask(entry.crc32c):08d} vs. "
        f"calculated on the restored bytes {crc}\nof {key_text(key)}",
        path,
        entry.offset,
    )
