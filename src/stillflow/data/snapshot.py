"""Datasets whose elements are written to files, and read from there the next time."""

from __future__ import annotations

from typing import Any

from stillflow.data.dataset import UnaryUnchangedStructureDataset
from stillflow.data.experimental import Transformation
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.ops.data.snapshots import snapshot_dataset_op

COMPRESSION_GZIP = "GZIP"
COMPRESSION_NONE = None
_DEFAULT = -1  # selects the operation's default


class _SnapshotDataset(UnaryUnchangedStructureDataset):
    """A dataset that writes its elements to files, or reads them."""

    def __init__(
        self, input_dataset: Any, path: Any, compression: Any = None,
        reader_path_prefix: Any = None, writer_path_prefix: Any = None,
        shard_size_bytes: Any = None, pending_snapshot_expiry_seconds: Any = None,
        num_reader_threads: Any = None, reader_buffer_size: Any = None,
        num_writer_threads: Any = None, writer_buffer_size: Any = None,
    ) -> None:  # fmt: skip
        self._input_dataset = input_dataset
        self._path = convert_to_tensor(path, dtype=dtypes.string, name="path")
        texts = {
            "compression": compression, "reader_path_prefix": reader_path_prefix,
            "writer_path_prefix": writer_path_prefix,
        }  # fmt: skip
        numbers = {
            "shard_size_bytes": shard_size_bytes,
            "pending_snapshot_expiry_seconds": pending_snapshot_expiry_seconds,
            "num_reader_threads": num_reader_threads, "reader_buffer_size": reader_buffer_size,
            "num_writer_threads": num_writer_threads, "writer_buffer_size": writer_buffer_size,
        }  # fmt: skip
        attrs = {name: "" if text is None else text for name, text in texts.items()}
        for name, number in numbers.items():
            attrs[name] = _DEFAULT if number is None else number
        super().__init__(
            input_dataset,
            snapshot_dataset_op(
                input_dataset._variant_tensor, self._path, **attrs, **self._flat_structure
            ),
        )


def snapshot(
    path: Any, compression: Any = None, reader_path_prefix: Any = None,
    writer_path_prefix: Any = None, shard_size_bytes: Any = None,
    pending_snapshot_expiry_seconds: Any = None, num_reader_threads: Any = None,
    reader_buffer_size: Any = None, num_writer_threads: Any = None, writer_buffer_size: Any = None,
) -> Transformation:  # fmt: skip
    """Write the elements of a dataset to files, or read them if the same dataset did before.

    Args:
      path: a folder; snapshots of different datasets may lie in it.
      compression: "GZIP" or None.
      reader_path_prefix, writer_path_prefix: what to put before the names of files of elements.
      shard_size_bytes: how many bytes of elements a file holds, 10 GiB by default.
      pending_snapshot_expiry_seconds: after which time a snapshot that somebody writes counts as
        given up, one day by default.
      num_reader_threads, num_writer_threads: how many files are read or written at a time.
      reader_buffer_size, writer_buffer_size: how many elements may wait.
    """
    return lambda dataset: _SnapshotDataset(
        dataset, path, compression, reader_path_prefix, writer_path_prefix, shard_size_bytes,
        pending_snapshot_expiry_seconds, num_reader_threads, reader_buffer_size,
        num_writer_threads, writer_buffer_size,
    )  # fmt: skip
