"""Writing of V2 checkpoints.

Nothing that a reader could see changes before everything is written; then the index takes its
name, in one step. A new checkpoint goes to the disk after that, see `durability`.

Where a checkpoint of the same prefix stands there already, its index names the very data files
that are to be written. So the new data first take names under another count of shards, which an
index may give as it likes, the index that names these is put in place, and only then do data and
index get the names that TensorFlow gives them. With STILLFLOW_SYNC_SAVES=1 each step waits for the
disk, so that a loss of power leaves the old checkpoint or the new one, too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow import errors
from stillflow.files import (
    atomic,
    bundle_entry,
    bundle_format,
    crc32c,
    durability,
    sstable,
    stray,
    tensor_types,
)
from stillflow.files.bundle_format import HEADER_KEY, Array, data_path, index_path
from stillflow.files.failures import os_errors
from stillflow.files.new_file import NewFile, Sum
from stillflow.files.tensor_slice import Shape, TensorSlice

_LARGE = 1 << 16  # tensors of at least so many bytes are copied and summed by threads


class _Pending(NamedTuple):
    """A tensor whose checksum is known once it is written."""

    number: int
    shape: Shape
    offset: int
    size: int
    crc: Sum

    def encode(self) -> bytes:
        crc = self.crc.result()
        return bundle_entry.encode(self.number, self.shape, self.offset, self.size, crc)


class BundleWriter:
    """Writer of a checkpoint: `add` the tensors, then `finish`. Inside `with`, errors undo it all.

    Args:
      prefix: Where: the path less `.index`. Its directory is made if only that is missing.
      size: How many bytes the tensors have, if that is known; about.

    Raises:
      OpError: If there is no such directory, or it cannot be written to.
    """

    def __init__(self, prefix: str, size: int = 0) -> None:
        self.prefix = prefix
        self._entries: dict[bytes, bytes | _Pending] = {}
        self._wholes: dict[bytes, Any] = {}  # entries of tensors that are saved in parts
        make_directory(os.path.dirname(prefix))
        self._sync = durability.waits()
        self._file = NewFile(atomic.temporary_name(data_path(prefix, 0, 1)), self._sync, size)

    def add(self, key: bytes, array: Array, number: int) -> None:
        """Add a tensor.

        Args:
          key: Its name.
          array: Its value: the stored form of quantized types, objects of bytes for strings and for
            the messages of variants. If it is large it must stay as it is until `finish`.
          number: Its type in the `DataType` enum.

        Raises:
          InvalidArgumentError: If the name is taken.
        """
        if key in self._entries or key in self._wholes:
            raise _duplicate(key)
        offset, shape = self._file.size, array.shape
        if number in tensor_types.OF_BYTES:
            strings = number == tensor_types.STRING
            encode = bundle_format.encode_strings if strings else bundle_format.encode_variants
            content, crc = encode(array)
        elif array.dtype != tensor_types.STORAGE.get(number):
            raise errors.invalid_argument(
                f"{array.dtype} does not store {tensor_types.name_of(number)}"
            )
        elif array.nbytes >= _LARGE:
            octets = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            pending = self._file.append_array(octets)
            self._entries[key] = _Pending(number, shape, offset, octets.size, pending)
            return
        else:
            content = array.tobytes()
            crc = crc32c.crc32c(content)
        self._file.append(content)
        self._entries[key] = bundle_entry.encode(number, shape, offset, len(content), crc)

    def add_all(
        self, keys: Sequence[bytes], shapes: Sequence[Shape], number: int, content: bytes
    ) -> None:
        """Add many small tensors of one type of numbers; see `add`.

        Args:
          keys: Their names.
          shapes: Their shapes.
          number: Their type in the `DataType` enum.
          content: The bytes of all of them, one after the other.
        """
        raws = bundle_entry.encode_all(number, shapes, self._file.size, content)
        for key, raw in zip(keys, raws, strict=True):
            if key in self._entries or key in self._wholes:
                raise _duplicate(key)
            self._entries[key] = raw
        self._file.append(content)

    def add_slice(
        self, key: bytes, full_shape: Shape, part: TensorSlice, array: Array, number: int
    ) -> None:
        """Add a part of the tensor `key` of shape `full_shape`; see `add`."""
        if part.is_full or part.shape_in(full_shape) == tuple(full_shape):
            self.add(key, array, number)
            return
        if key in self._entries:
            raise _duplicate(key)
        whole = self._wholes.get(key)
        if whole is None:
            whole = self._wholes[key] = bundle_entry.describe(number, full_shape)
        elif (whole.dtype, bundle_entry.shape_of(whole.shape)) != (number, tuple(full_shape)):
            raise errors.invalid_argument(
                f"Slices of {key.decode(errors='replace')} differ in type or shape"
            )
        part.to_proto(whole.slices.add())
        self.add(part.key(key), array, number)

    def finish(self) -> None:
        """Make the checkpoint appear."""
        try:
            self._file.close()
            entries = {
                key: entry if isinstance(entry, bytes) else entry.encode()
                for key, entry in self._entries.items()
            }
            entries.update((key, whole.SerializeToString()) for key, whole in self._wholes.items())
            commit(self.prefix, [self._file.path], bundle_format.new_header(1), entries, self._sync)
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Leaves everything as it was."""
        self._file.abandon()

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.finish()
        else:
            self.abandon()


def make_directory(path: str) -> None:
    """Make the last component of a path if it is missing."""
    if path and not os.path.isdir(path):
        with os_errors(path):
            try:
                os.mkdir(path)
            except FileExistsError:
                if not os.path.isdir(path):
                    raise NotADirectoryError(20, "Not a directory") from None


def commit(
    prefix: str, paths: Sequence[str], header: Any, entries: dict[bytes, bytes], synced: bool
) -> None:
    """Make finished data files the checkpoint `prefix`; one that exists is replaced at once.

    `paths` are complete files under other names; they are moved. The header's count of shards is
    set here; `entries` have shards as in `paths`. `synced` says that the data are on the disk
    already.
    """
    count = len(paths)
    old_count = _shards_of(prefix)
    if durability.waits() and not synced:
        durability.sync(paths)
        synced = True
    first_count = count + 1 if old_count == count else count
    index = index_path(prefix)
    for shard, path in enumerate(paths):
        target = data_path(prefix, shard, first_count)
        with os_errors(target):
            os.replace(path, target)
    header.num_shards = first_count
    atomic.write_file(index, sstable.build(_sorted_items(header, entries)), sync=synced)
    if first_count != count and _link_all(prefix, count, first_count):
        header.num_shards = count
        atomic.write_file(index, sstable.build(_sorted_items(header, entries)), sync=synced)
    if old_count is not None:
        for shard in range(max(old_count, first_count)):
            for shards in {old_count, first_count} - {header.num_shards}:
                atomic.remove(data_path(prefix, shard, shards))
    if not synced:
        files = [data_path(prefix, shard, header.num_shards) for shard in range(count)]
        durability.write_back.add(prefix, [*files, index])
    stray.sweep(os.path.dirname(prefix))


def _link_all(prefix: str, count: int, first_count: int) -> bool:
    """Link data files to their usual names; return False if the file system has no links."""
    for shard in range(count):
        target = data_path(prefix, shard, count)
        temporary = atomic.temporary_name(target)
        try:
            os.link(data_path(prefix, shard, first_count), temporary)
            os.replace(temporary, target)
        except OSError:
            atomic.remove(temporary)
            return False
    return True


def _shards_of(prefix: str) -> int | None:
    """Return the number of data files of the checkpoint at `prefix`; None if there is none."""
    from google.protobuf.message import DecodeError

    from stillflow.protos import BundleHeaderProto

    path = index_path(prefix)
    try:
        with open(path, "rb") as file:
            header = sstable.Table(file.read(), path).get(HEADER_KEY)
        return None if header is None else BundleHeaderProto.FromString(bytes(header)).num_shards
    except (OSError, DecodeError, errors.OpError):
        return None  # nothing that could be lost


def _sorted_items(header: Any, entries: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    return [(HEADER_KEY, header.SerializeToString()), *sorted(entries.items())]


def _duplicate(key: bytes) -> errors.InvalidArgumentError:
    return errors.invalid_argument(f"Adding duplicate key: {key.decode(errors='replace')}")
