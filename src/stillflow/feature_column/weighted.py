"""Columns of ids with a weight each."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import stillflow as tf
from stillflow.feature_column.base import IdWeightPair
from stillflow.feature_column.cache import as_sparse
from stillflow.feature_column.columns import Categorical, num_buckets_of, parse_spec_of
from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor


class WeightedCategoricalColumn(
    Categorical,
    namedtuple("WeightedCategoricalColumn", ("categorical_column", "weight_feature_key", "dtype")),
):
    """The ids of another column, weighted by a feature."""

    @property
    def name(self) -> str:
        """The name of the ids' column and the key of the weights."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parents(self) -> list[Any]:
        """The column of ids and the key of the weights."""
        return [self.categorical_column, self.weight_feature_key]

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Those of the ids and the weights.

        Raises:
          ValueError: if the weights are the ids.
        """
        spec, key = parse_spec_of(self.categorical_column), self.weight_feature_key
        if key in spec:
            raise ValueError(f"Parse config {spec[key]} already exists for {key}.")
        return {**spec, key: tf.io.VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return num_buckets_of(self.categorical_column)

    def transform_feature(
        self, transformation_cache: Any, state_manager: Any
    ) -> tuple[SparseTensor, SparseTensor]:
        """Return the ids and the weights."""
        weights = transformation_cache.get(self.weight_feature_key, state_manager)
        weights = self._transform_weight_tensor(weights)
        return transformation_cache.get(self.categorical_column, state_manager), weights

    def _transform_weight_tensor(self, weight_tensor: Any) -> SparseTensor:
        if weight_tensor is None:
            raise ValueError(f"Missing weights {self.weight_feature_key}.")
        weights = convert_to_tensor_or_sparse_tensor(weight_tensor)
        if self.dtype != weights.dtype.base_dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        weights = as_sparse(weights, ignore_value=0.0)
        return weights if weights.dtype.is_floating else tf.cast(weights, tf.float32)

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the ids and the weights."""
        return IdWeightPair(*transformation_cache.get(self, state_manager))


@export("feature_column.weighted_categorical_column")
def weighted_categorical_column(
    categorical_column: Any, weight_feature_key: str, dtype: Any = dtypes.float32
) -> WeightedCategoricalColumn:
    """Return a column of ids whose weights are another feature.

    Args:
      categorical_column: the ids.
      weight_feature_key: the key of the weights, a number for each id.
      dtype: the type of weights in examples.

    Raises:
      ValueError: for a type that is no number.
    """
    if dtype is None or not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, dtype)
