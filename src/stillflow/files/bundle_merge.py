"""Several V2 checkpoints, one a device, made one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from stillflow import errors
from stillflow.files import atomic, bundle_format, bundle_writer, durability, sstable
from stillflow.files.bundle_format import HEADER_KEY, data_path, index_path
from stillflow.files.failures import data_loss, os_errors


class _Merge:
    def __init__(self) -> None:
        self.header: Any = None
        self.entries: dict[bytes, Any] = {}
        self.shards: dict[str, int] = {}  # data file: its number in the result

    def add(self, prefix: str) -> None:
        """Add the tensors of one checkpoint."""
        from google.protobuf.message import DecodeError

        from stillflow.protos import BundleEntryProto, BundleHeaderProto

        path = index_path(prefix)
        with os_errors(path):
            with open(path, "rb") as file:
                items = dict(sstable.Table(file.read(), path).items())
        try:
            header = BundleHeaderProto.FromString(bytes(items.pop(HEADER_KEY, b"")))
            entries = {
                key: BundleEntryProto.FromString(bytes(value)) for key, value in items.items()
            }
        except DecodeError:
            raise data_loss("Entry not parseable.", path) from None
        self._add_header(header)
        for key, entry in entries.items():
            self._add_entry(prefix, header.num_shards, key, entry)

    def _add_header(self, header: Any) -> None:
        if self.header is None:
            self.header = header
        elif self.header.endianness != header.endianness:
            raise errors.invalid_argument(
                "Merging bundles with conflicting endianness; inputs corrupted?"
            )
        elif self.header.version != header.version:
            raise errors.invalid_argument(
                f"Merging bundles with different format versions: merged {self.header.version} "
                f"vs. curr {header.version}"
            )

    def _add_entry(self, prefix: str, shards: int, key: bytes, entry: Any) -> None:
        name = key.decode(errors="replace")
        known = self.entries.get(key)
        if known is None:
            path = data_path(prefix, entry.shard_id, shards)
            entry.shard_id = self.shards.setdefault(path, len(self.shards))
            self.entries[key] = entry
        elif not known.slices:
            raise errors.invalid_argument(
                f"Duplicate tensor keyed by {name} encountered, when merging prefix: {prefix}"
            )
        elif not entry.slices:
            raise errors.internal(
                f"Duplicate tensor keyed by {name}; attempting to merge in a non-slice bundle entry"
            )
        elif (known.dtype, known.shape) != (entry.dtype, entry.shape):
            raise errors.invalid_argument(f"Slices of {name} differ in type or shape")
        else:
            known.slices.extend(entry.slices)


def merge(prefixes: Sequence[str], target: str) -> None:
    """Merge several checkpoints into one and delete their files.

    A tensor is in one of them only, but parts of one may be in many. A checkpoint that stands at
    the prefix `target` is replaced at once. OpError if one is missing or damaged, or they do not
    fit.
    """
    found = _Merge()
    bundle_writer.make_directory(os.path.dirname(target))
    for prefix in prefixes:
        found.add(prefix)
    header = found.header or bundle_format.new_header(0)
    entries = {key: entry.SerializeToString() for key, entry in found.entries.items()}
    bundle_writer.commit(target, list(found.shards), header, entries, synced=False)
    for prefix in prefixes:
        atomic.remove(index_path(prefix))
        durability.write_back.forget(prefix)
