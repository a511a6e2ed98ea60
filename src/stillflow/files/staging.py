"""Checkpoints on file systems that are no disks: made on the disk, then copied, and back.

Checkpoints are mapped into memory and appear by renaming, which only disks can do. Remote
checkpoints are read file by file, when a tensor in them is requested.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from stillflow.files import bundle_merge, durability, whole_file
from stillflow.files.bundle_format import data_path, index_path
from stillflow.files.bundle_reader import BundleReader
from stillflow.files.filesystem import copy_bytes, file_system, open_file
from stillflow.files.gfile import get_matching_files_v2
from stillflow.files.local_path import is_remote, plain_path, plain_prefix
from stillflow.files.v1_checkpoint import V1Reader


@contextmanager
def written(prefix: str) -> Iterator[str]:
    """Give a path to write a checkpoint to, which afterwards is at `prefix`, or raise OpError."""
    if not is_remote(prefix):
        yield plain_prefix(prefix)
        return
    with tempfile.TemporaryDirectory(prefix="checkpoint") as folder:
        local = os.path.join(folder, os.path.basename(prefix))
        yield local
        durability.write_back.forget(local)
        stale = set(get_matching_files_v2(f"{prefix}.data-?????-of-?????"))
        # The index comes last: it makes the rest a checkpoint.
        for name in sorted(os.listdir(folder), key=lambda name: (name.endswith(".index"), name)):
            target = f"{os.path.dirname(prefix)}/{name}"
            _copy(os.path.join(folder, name), target)
            stale.discard(target)
        for path in stale:
            file_system(path).remove_file(path)


def _copy(source: str, target: str) -> None:
    with open_file(source) as reader, open_file(target, "wb") as writer:
        copy_bytes(reader, writer)


def _folder_of(owner: object) -> str:
    """Return a directory that lasts as long as something does."""
    folder = tempfile.mkdtemp(prefix="checkpoint")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return folder


class RemoteBundleReader(BundleReader):
    """A V2 checkpoint elsewhere; its data files come when they are asked for."""

    def _read_index(self) -> bytes:
        self._folder = _folder_of(self)
        return whole_file.read(self.path)

    def _open_file(self, path: str) -> int:
        local = os.path.join(self._folder, os.path.basename(path))
        _copy(path, local)
        return super()._open_file(local)


class RemoteV1Reader(V1Reader):
    """A V1 checkpoint elsewhere."""

    def __init__(self, pattern: str) -> None:
        folder = _folder_of(self)
        for path in get_matching_files_v2(pattern):
            _copy(path, os.path.join(folder, os.path.basename(path)))
        super().__init__(os.path.join(folder, os.path.basename(pattern)))


def open_remote(prefix: str) -> BundleReader | V1Reader:
    """Open a checkpoint that is not on the disk: of V2 if it has an index, else of V1."""
    if whole_file.exists(index_path(prefix)):
        return RemoteBundleReader(prefix)
    return RemoteV1Reader(prefix)


def open_bundle(prefix: str) -> BundleReader:
    """Open a checkpoint of format V2, on the disk or elsewhere."""
    return RemoteBundleReader(prefix) if is_remote(prefix) else BundleReader(plain_prefix(prefix))


def open_v1(pattern: str) -> V1Reader:
    """Open a V1 checkpoint, on the disk or elsewhere."""
    return RemoteV1Reader(pattern) if is_remote(pattern) else V1Reader(plain_path(pattern))


def merge(prefixes: Sequence[str], target: str) -> None:
    """Make one checkpoint of several, wherever they are; see `bundle_merge.merge`."""
    if not is_remote(target):
        bundle_merge.merge([plain_prefix(prefix) for prefix in prefixes], plain_prefix(target))
        return
    with tempfile.TemporaryDirectory(prefix="checkpoint") as folder, written(target) as local:
        parts = []
        for number, prefix in enumerate(prefixes):
            parts.append(os.path.join(folder, str(number)))
            for path in _files(prefix):
                _copy(path, parts[-1] + path[len(prefix) :])
        bundle_merge.merge(parts, local)
    for prefix in prefixes:
        for path in _files(prefix):
            file_system(path).remove_file(path)


def _files(prefix: str) -> list[str]:
    """Return the files of a V2 checkpoint."""
    reader = RemoteBundleReader(prefix)
    data = [data_path(prefix, shard, reader.shards) for shard in range(reader.shards)]
    return [*data, index_path(prefix)]
