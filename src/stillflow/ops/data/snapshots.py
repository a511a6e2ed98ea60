"""Datasets whose elements are written to files, and read from there the next time.

    PATH/<hash of the dataset's graph>/snapshot.metadata         which run counts
    PATH/<hash of the dataset's graph>/<run>/00000000.snapshot   its elements

Both hold records: a length of eight bytes and a message; those of elements may be compressed.
"""

from __future__ import annotations

import secrets
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from stillflow import errors
from stillflow.files import gfile
from stillflow.files.compression import CompressedWriter
from stillflow.files.failures import data_loss
from stillflow.files.filesystem import open_file
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.as_graph import telling_graph
from stillflow.ops.data.files import open_bytes
from stillflow.ops.data.graph_hash import graph_hash
from stillflow.ops.data.pipeline import (
    TYPED,
    Context,
    Dataset,
    as_dataset,
    dataset_op,
    invalid,
    scalar,
)
from stillflow.ops.data.walk import Element, State, Walk
from stillflow.ops.io.variants import from_message, to_message
from stillflow.protos import file

snapshot_dataset_op = dataset_op(
    f"SnapshotDataset(input_dataset: variant, path: string) -> handle: variant{TYPED}"
    """
    compression: string = ""
    reader_path_prefix: string = ""
    writer_path_prefix: string = ""
    shard_size_bytes: int = 10737418240
    pending_snapshot_expiry_seconds: int = 86400
    num_reader_threads: int = 1
    reader_buffer_size: int = 1
    num_writer_threads: int = 1
    writer_buffer_size: int = 1""",
    effect="writes files",
)

_MESSAGES = "tensorflow/core/protobuf/data/experimental/snapshot.proto"
_METADATA = "snapshot.metadata"
_LENGTH = struct.Struct("<Q")
_MOST = 1 << 40  # bytes of a record; more are a length that is none
_DEFAULTS = {
    "shard_size_bytes": 10 << 30, "pending_snapshot_expiry_seconds": 86400,
    "num_reader_threads": 1, "reader_buffer_size": 1, "num_writer_threads": 1,
    "writer_buffer_size": 1,
}  # fmt: skip


class Settings(NamedTuple):
    """Settings of a snapshot's writer and reader; times in microseconds.

    Attributes:
      folder: of the snapshots of a dataset.
      graph: the hash of the dataset.
    """

    folder: str
    graph: str
    compression: str
    reader_prefix: str
    writer_prefix: str
    shard_bytes: int
    expiry: int
    writers: int


def _now() -> int:
    return time.time_ns() // 1000


# ---- which run there is


def _write_metadata(folder: str, message: Any) -> None:
    content = message.SerializeToString()
    gfile.recursive_create_dir(folder)
    path = f"{folder}/{_METADATA}"
    gfile.atomic_write_string_to_file(path, _LENGTH.pack(len(content)) + content)


def _metadata(folder: str) -> Any:
    """Return the metadata of the run in a folder; None if there was none."""
    path = f"{folder}/{_METADATA}"
    if not gfile.file_exists(path):
        return None
    for content in _records(path, ""):
        return file(_MESSAGES)["SnapshotMetadataRecord"].FromString(content)
    raise data_loss("A snapshot without metadata", path)


def _records(path: str, compression: str) -> Iterator[bytes]:
    """Yield the records of a file; DataLossError if the last one is not whole."""
    with open_bytes(path, compression, 0) as opened:
        while True:
            header = _read(opened, _LENGTH.size)
            if not header:
                return
            size = _LENGTH.unpack(header)[0] if len(header) == _LENGTH.size else _MOST
            content = _read(opened, size) if size < _MOST else b""
            if len(content) != size:
                raise data_loss("The last record of a snapshot is not whole", path)
            yield content


def _read(opened: Any, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0:
        part = opened.read(min(size, 1 << 20))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


# ---- elements


class _Reading(Walk):
    """Elements of the files of a run."""

    inputs = ()

    def __init__(self, settings: Settings, run: str, types: list[Any]) -> None:
        folder = f"{settings.folder}/{run}"
        self.settings = settings
        self.types = types
        names = sorted(gfile.list_directory(folder)) if gfile.is_directory(folder) else []
        if not names:
            raise invalid(f"Could not find any files in dir: {folder}")
        self.paths = [f"{settings.reader_prefix}{folder}/{name}" for name in names]
        self.records = self._all()

    def _all(self) -> Iterator[bytes]:
        for path in self.paths:
            yield from _records(path, self.settings.compression)

    def __next__(self) -> Element:
        content = next(self.records)
        record = file(_MESSAGES)["SnapshotRecord"].FromString(content)
        if len(record.tensor) != len(self.types):
            raise errors.data_loss(f"An element of a snapshot has {len(record.tensor)} components")
        return tuple(map(from_message, record.tensor))


class _Shard:
    """A file that is written, and the next ones when it is full."""

    def __init__(self, open_next: Callable[[], Any], settings: Settings) -> None:
        self.open_next = open_next
        self.settings = settings
        self.file = open_next()
        self.size = 0

    def write(self, element: Element, types: list[Any]) -> None:
        """Add an element."""
        tensors = [
            to_message(value, dtype, packed=True)
            for value, dtype in zip(element, types, strict=True)
        ]
        content = file(_MESSAGES)["SnapshotRecord"](tensor=tensors).SerializeToString()
        self.size += sum(map(_size, element))
        if self.size > self.settings.shard_bytes:
            self.file.close()
            self.file, self.size = self.open_next(), 0
        self.file.write(_LENGTH.pack(len(content)))
        self.file.write(content)


def _size(value: Any) -> int:
    """About how many bytes a value takes in memory."""
    if isinstance(value, torch.Tensor):
        return int(value.numel() * value.element_size())
    return sum(8 + len(item) for item in value.flat) if value.dtype == object else value.nbytes


class _Writing(Walk):
    """Elements of a dataset, which are written to the files of a new run.

    The run counts once the last element was given: it is asked for together with the one after it.
    """

    def __init__(self, settings: Settings, types: list[Any], source: Walk) -> None:
        self.settings = settings
        self.types = types
        self.source = source
        self.run = f"{secrets.randbits(64):04x}"
        self.folder = f"{settings.writer_prefix}{settings.folder}/{self.run}"
        self.files = 0
        self.count = 0
        self.waiting: Element | None = None
        gfile.recursive_create_dir(self.folder)
        self._note(finalized=False, creation_timestamp=_now())
        self.shards = [_Shard(self._open, settings) for _ in range(settings.writers)]

    def _note(self, **values: Any) -> None:
        message = file(_MESSAGES)["SnapshotMetadataRecord"](
            graph_hash=self.settings.graph, run_id=self.run, **values
        )
        _write_metadata(self.settings.folder, message)

    def _open(self) -> Any:
        opened = open_file(f"{self.folder}/{self.files:08d}.snapshot", "wb")
        self.files += 1
        compression = self.settings.compression
        return CompressedWriter(opened, compression) if compression else opened

    def __next__(self) -> Element:
        if self.waiting is None:
            self._fetch()
        found, self.waiting = self.waiting, None
        if found is None:
            raise StopIteration
        self._fetch()
        return found

    def _fetch(self) -> None:
        """Read the next element and write it."""
        try:
            element = next(self.source)
        except StopIteration:
            self._finish()
            return
        if self.shards:
            self.shards[self.count % len(self.shards)].write(element, self.types)
            self.count += 1
        self.waiting = element

    def _finish(self) -> None:
        if not self.shards:
            return
        self.close()
        found = _metadata(self.settings.folder)
        if found is not None and found.run_id == self.run:  # nobody has begun another one
            self._note(finalized=True, creation_timestamp=found.creation_timestamp)

    def close(self) -> None:
        """Close the files; a run that did not come to its end does not count."""
        for shard in self.shards:
            shard.file.close()
        self.shards = []

    __del__ = close


class _Snapshot(Walk):
    """Elements from the files of a dataset, or of the dataset while they are written."""

    def __init__(self, context: Context, settings: Settings, source: Dataset) -> None:
        self.context = context
        self.settings = settings
        self.source = source
        self.inner: Walk | None = None

    def __next__(self) -> Element:
        if self.inner is None:
            self.inner = self._begin()
        return next(self.inner)

    def _begin(self) -> Walk:
        settings, types = self.settings, self.source.types
        known = _metadata(settings.folder)
        if known is not None and known.finalized:
            return _Reading(settings, known.run_id, types)
        pending = known is not None and known.creation_timestamp >= _now() - settings.expiry
        kind = "PassthroughImpl" if pending else "WriterImpl"
        elements = self.source.iterate(self.context, f"{self.prefix}{kind}")
        if pending:  # somebody else writes
            return elements
        writing = _Writing(settings, types, elements)
        self.context.on_close(writing)
        return writing

    def save(self, state: State) -> None:
        """Write nothing, as TensorFlow 1.15 does."""

    def restore(self, state: State) -> None:
        """Leaves the walk at its beginning, as TensorFlow 1.15 does."""


def _numbers(node: Any) -> dict[str, int]:
    """Return attributes' numbers, with defaults for -1, or raise InvalidArgumentError."""
    found = {name: node.op.attrs[name] for name in _DEFAULTS}
    found = {name: _DEFAULTS[name] if value == -1 else value for name, value in found.items()}
    if node.compression not in (b"", b"GZIP"):
        raise invalid("compression must be either '' or 'GZIP'.")
    if found["shard_size_bytes"] < 1 << 20:
        raise invalid("shard_size_bytes must be at least 1 MiB.")
    if found["pending_snapshot_expiry_seconds"] < 1:
        raise invalid("pending_snapshot_expiry_seconds must be at least 1 second.")
    return found


@snapshot_dataset_op.kernel
def snapshot_dataset_kernel(node: Node) -> Kernel:
    numbers = _numbers(node)
    compression, reader, writer = (
        text.decode()
        for text in (node.compression, node.reader_path_prefix, node.writer_path_prefix)
    )
    expiry = numbers["pending_snapshot_expiry_seconds"] * 1_000_000
    writers = max(1, numbers["num_writer_threads"])

    def run(value: Any, path: Any) -> Dataset:
        source = as_dataset(value)
        graph = graph_hash(telling_graph(source))
        settings = Settings(
            f"{scalar(path).decode()}/{graph}", graph, compression, reader, writer,
            numbers["shard_size_bytes"], expiry, writers,
        )  # fmt: skip
        make = lambda context, prefix: _Snapshot(context, settings, source)
        return source.like("Snapshot", make, source.size)

    return run
