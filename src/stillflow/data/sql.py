"""Datasets of the results of database queries."""

from __future__ import annotations

from typing import Any

from stillflow.data import nest
from stillflow.data.dataset import DatasetSource
from stillflow.data.dataset_v1 import DatasetV1Adapter
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.data.sql import sql_dataset_op


@export("compat.v2.data.experimental.SqlDataset")
class SqlDatasetV2(DatasetSource):
    """The rows that a query of an SQLite database gives."""

    def __init__(
        self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any
    ) -> None:
        """Make a dataset with a tuple of scalars for each row.

        Args:
          driver_name: "sqlite".
          data_source_name: the database's file.
          query: in SQL.
          output_types: the types of the columns.
        """
        arguments = [
            convert_to_tensor(value, dtype=dtypes.string, name=name)
            for name, value in (
                ("driver_name", driver_name),
                ("data_source_name", data_source_name),
                ("query", query),
            )
        ]
        self._element_spec = nest.map_structure(lambda dtype: TensorSpec([], dtype), output_types)
        super().__init__(sql_dataset_op(*arguments, **self._flat_structure))

    @property
    def element_spec(self) -> tuple[TensorSpec]:
        return self._element_spec


@export("data.experimental.SqlDataset", "contrib.data.SqlDataset")
class SqlDatasetV1(DatasetV1Adapter):
    """The rows that a query of an SQLite database gives."""

    def __init__(
        self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any
    ) -> None:
        """Make a dataset with a tuple of scalars for each row.

        Args:
          driver_name: "sqlite".
          data_source_name: the database's file.
          query: in SQL.
          output_types: the types of the columns.
        """
        super().__init__(SqlDatasetV2(driver_name, data_source_name, query, output_types))


SqlDataset = SqlDatasetV1
