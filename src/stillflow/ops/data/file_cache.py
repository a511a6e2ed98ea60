"""Caches of elements in files.

A cache is a checkpoint: `<name>.index` and a data file, with a tensor for each component of each
element. It is written in parts, one after each time that the place of the iterator was written
down: `<name>_0`, `<name>_1` and so on; `<name>_0.lockfile` says that somebody writes the first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from stillflow import errors
from stillflow.files import file_io, gfile
from stillflow.files.bundle_format import data_path, index_path
from stillflow.files.bundle_merge import merge
from stillflow.files.bundle_reader import BundleReader
from stillflow.files.bundle_writer import BundleWriter
from stillflow.graph import dtypes
from stillflow.graph.lazy import torch
from stillflow.ops.data.walk import Element, State, Walk
from stillflow.ops.io.stored import from_stored, to_stored
from stillflow.ops.io.variants import decode_array, encode_array
from stillflow.platform import tf_logging

_READ, _WRITE = 0, 1
_MOST = 10_000_000
_DIGITS = len(str(_MOST - 1))


class FileCache(Walk):
    """Elements of a file, or of a dataset while the file is written.

    Args:
      context: of the walk.
      name: the prefix of the file names.
      types: of the components.
      start: begins to walk the dataset.
    """

    def __init__(
        self, context: Any, name: str, types: Sequence[Any], start: Callable[[], Walk]
    ) -> None:
        self.context = context
        self.name = name
        self.types = types
        self.start = start
        self.inner: Walk | None = None

    def _begin(self, mode: int) -> Walk:
        if mode == _READ:
            self.inner = _Reading(self.name, self.types)
        else:
            self.inner = _Writing(self.name, self.types, self.start)
            self.context.on_close(self.inner)
        self.inner.prefix = f"{self.prefix}Impl"
        return self.inner

    def _mode(self) -> int:
        return _READ if gfile.file_exists(index_path(self.name)) else _WRITE

    def __next__(self) -> Element:
        return next(self.inner or self._begin(self._mode()))

    def save(self, state: State) -> None:
        inner = self.inner or self._begin(self._mode())
        self.put(state, "Mode", _WRITE if isinstance(inner, _Writing) else _READ)
        inner.save(state)

    def restore(self, state: State) -> None:
        mode = self.integer(state, "Mode")
        if mode == _WRITE and self._mode() == _READ:
            tf_logging.warning(
                f"It looks like the cache was already completely written({index_path(self.name)}) "
                "after the last checkpoint was saved. Attempting to read the cache instead of "
                "continuing to write. If this is a mistake, please remove the above file and try "
                "running again."
            )
            mode = _READ
        self._begin(mode).restore(state)


def _keys(types: Sequence[Any], index: int) -> list[bytes]:
    """Return the names of an element's components."""
    digits = len(str(len(types) - 1))
    return [f"{index:{_DIGITS}d}_{place:{digits}d}".encode() for place in range(len(types))]


class _Reading(Walk):
    """Elements of a file."""

    inputs = ()
    numbers: ClassVar[dict[str, str]] = {"index": "cur_index"}

    def __init__(self, name: str, types: Sequence[Any]) -> None:
        self.reader = BundleReader(name)
        self.types = types
        self.index = 0

    def __next__(self) -> Element:
        keys = _keys(self.types, self.index)
        if keys[0] not in self.reader:
            raise StopIteration
        self.index += 1
        return tuple([
            _from_array(self.reader.lookup(key), dtype)
            for key, dtype in zip(keys, self.types, strict=True)
        ])  # fmt: skip


def _from_array(array: Any, dtype: Any) -> torch.Tensor:
    return decode_array(array) if dtype == dtypes.variant else from_stored(array, dtype, "cpu")


class _Writing(Walk):
    """Elements of a dataset, which are written to a file."""

    numbers: ClassVar[dict[str, str]] = {"index": "cur_index"}
    flags: ClassVar[dict[str, str]] = {"completed": "iteration_completed"}

    def __init__(self, name: str, types: Sequence[Any], start: Callable[[], Walk]) -> None:
        self.name = name
        self.types = types
        self.index = 0
        self.part = 0
        self.writer: BundleWriter | None = None
        self.completed = False
        self.source = start()

    def __next__(self) -> Element:
        if self.completed:
            raise StopIteration
        if self.writer is None:
            self.writer = self._open()
        try:
            element: Element = next(self.source)
        except StopIteration:
            self._finish()
            raise
        if self.index >= _MOST:
            self._finish()
            raise errors.invalid_argument(
                f"Upstream iterator is producing more than {_MOST} items, which is more than the "
                "cache limit."
            )
        for key, value, dtype in zip(
            _keys(self.types, self.index), element, self.types, strict=True
        ):
            encode = encode_array if dtype == dtypes.variant else to_stored
            self.writer.add(key, encode(value), dtype.as_datatype_enum)
        self.index += 1
        return element

    def _prefix(self, part: int) -> str:
        return f"{self.name}_{part}"

    def _lockfile(self, part: int) -> str:
        return f"{self._prefix(part)}.lockfile"

    def _open(self) -> BundleWriter:
        prefix, lock = self._prefix(self.part), self._lockfile(self.part)
        if gfile.file_exists(index_path(prefix)):
            raise errors.already_exists(
                f"Existing cache files found: \n{index_path(prefix)}\n{data_path(prefix, 0, 1)}\n"
                "To continue delete the above files."
            )
        if gfile.file_exists(lock):
            with file_io.FileIO(lock, "r") as file:
                contents = file.read(150)
            raise errors.already_exists(
                "There appears to be a concurrent caching iterator running - cache lockfile "
                f"already exists ('{lock}'). If you are sure no other running TF computations are "
                "using this cache prefix, delete the lockfile and re-initialize the iterator. "
                f"Lockfile contents: {contents}"
            )
        with file_io.FileIO(lock, "w") as file:
            file.write(f"Created at: {int(time.time())}")
        return BundleWriter(prefix)

    def _finish(self) -> None:
        """Make one file of all parts."""
        assert self.writer is not None
        self.completed = True
        self.writer.finish()
        self.writer = None
        parts = range(self.part + 1)
        merge([self._prefix(part) for part in parts], self.name)
        for part in parts:
            gfile.delete_file(self._lockfile(part))

    def close(self) -> None:
        """Discard an incomplete cache."""
        if self.writer is not None:
            self.writer.abandon()
            self.writer = None
            self.completed = True
            gfile.delete_file(self._lockfile(self.part))

    __del__ = close

    def save(self, state: State) -> None:
        if self.completed:
            self.put(state, "cur_index", self.index)
            self.put(state, "iteration_completed", b"")
            return
        if self.writer is not None:
            self.writer.finish()
            self.writer = None
            self.part += 1
        super().save(state)
        self.put(state, "shard_id", self.part)

    def restore(self, state: State) -> None:
        if self.has(state, "iteration_completed"):
            self.completed = True
            return
        super().restore(state)
        self.part = self.integer(state, "shard_id")
