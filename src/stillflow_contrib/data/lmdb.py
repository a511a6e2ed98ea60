"""Datasets of LMDB databases' contents."""

from __future__ import annotations

from typing import Any

from stillflow.data.dataset import DatasetSource
from stillflow.data.dataset_v1 import DatasetV1Adapter
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.data.lmdb import lmdb_dataset_op


class _Entries(DatasetSource):
    """Keys and values."""

    def __init__(self, filenames: Any) -> None:
        names = convert_to_tensor(filenames, dtype=dtypes.string, name="filenames")
        super().__init__(lmdb_dataset_op(names, **self._flat_structure))

    @property
    def element_spec(self) -> tuple[TensorSpec, TensorSpec]:
        return TensorSpec([], dtypes.string), TensorSpec([], dtypes.string)


@export("contrib.data.LMDBDataset")
class LMDBDataset(DatasetV1Adapter):
    """The keys and values of LMDB databases, by key.

    Args:
      filenames: files or directories, a string or a vector of strings.
    """

    def __init__(self, filenames: Any) -> None:
        super().__init__(_Entries(filenames))
