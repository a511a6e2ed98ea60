"""Caches of elements in files.

Beside `<name>` lie `<name>.index` and one data file, which hold the elements; while they are being
written, `<name>.lockfile` says so. An element is the serialized TensorProto messages of its
components, a TFRecord each.
"""

from __future__ import annotations

import os
from typing import Any

from stillflow import errors
from stillflow.files import file_io, gfile
from stillflow.files.records import Cursor, TFRecordWriter, open_records
from stillflow.graph import dtypes
from stillflow.graph.lazy import torch
from stillflow.graph.tensor_proto import make_ndarray, make_tensor_proto
from stillflow.ops.data.pipeline import Context, Dataset, Element, Elements
from stillflow.ops.printing import as_array


class FileCache:
    """Elements of a file, or of a dataset while the file is written.

    Args:
      name: what the names of the files begin with.
      source: where the elements come from at first.

    Raises:
      AlreadyExistsError: somebody else is writing the file.
    """

    def __init__(self, name: str, source: Dataset, context: Context, prefix: str) -> None:
        self.name = name
        self.types = source.types
        self.data, self.lock = f"{name}.data-00000-of-00001", f"{name}.lockfile"
        self.writer: Any = None
        self.records: Any = None
        self.elements: Elements | None = None
        if gfile.file_exists(f"{name}.index"):
            self.records = self._read()
        else:
            self.elements = source.iterate(context, prefix)

    def __iter__(self) -> FileCache:
        return self

    def __next__(self) -> Element:
        if self.elements is None:
            return next(self.records)  # type: ignore[no-any-return]
        if self.writer is None:
            self._begin()
        try:
            element = next(self.elements)
        except StopIteration:
            self._finish()
            raise
        for value, dtype in zip(element, self.types, strict=True):
            proto = make_tensor_proto(as_array(value), dtypes.as_dtype(dtype))
            self.writer.write(proto.SerializeToString())
        return element

    def _begin(self) -> None:
        if gfile.file_exists(self.lock):
            raise errors.AlreadyExistsError(
                None,
                None,
                f"There appears to be a concurrent caching iterator running - cache lockfile "
                f"already exists ('{self.lock}'). If you are sure no other running TF "
                f"computations are using this cache prefix, delete the lockfile and "
                "re-initialize the iterator.",
            )
        with file_io.FileIO(self.lock, "w") as file:
            file.write(f"Created at process {os.getpid()}\n")
        self.writer = TFRecordWriter(self.data)

    def _finish(self) -> None:
        self.writer.close()
        with file_io.FileIO(f"{self.name}.index", "w") as file:
            file.write(f"{len(self.types)}\n")
        gfile.delete_file(self.lock)
        self.records, self.elements = iter(()), None

    def _read(self) -> Any:
        from stillflow.protos import TensorProto

        with open_records(self.data) as file:
            element: list[Any] = []
            for record in Cursor(file, self.data):
                element.append(_value(make_ndarray(TensorProto.FromString(record))))
                if len(element) == len(self.types):
                    yield tuple(element)
                    element = []


def _value(array: Any) -> Any:
    """An array as a run-time value."""
    if array.dtype.hasobject:
        return array
    return torch.from_numpy(array.copy())
