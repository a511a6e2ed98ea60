"""Datasets of the names of files."""

from __future__ import annotations

from typing import Any

from stillflow.data.dataset import DatasetSource
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.data.matching_files import matching_files_dataset_op


class MatchingFilesDataset(DatasetSource):
    """The names of the files that match patterns, found while they are asked for."""

    def __init__(self, patterns: Any) -> None:
        """Make a dataset for a pattern, or for one after the other of a list."""
        self._patterns = convert_to_tensor(patterns, dtype=dtypes.string, name="patterns")
        super().__init__(matching_files_dataset_op(self._patterns))

    @property
    def element_spec(self) -> TensorSpec:
        return TensorSpec([], dtypes.string)
