"""Columns that count ids."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import stillflow as tf
from stillflow.feature_column.columns import (
    Dense,
    OfIds,
    SequenceDense,
    num_buckets_of,
    sparse_tensors_of,
)
from stillflow.feature_column.lookups import refuse_no_sequence, refuse_sequence, with_lengths
from stillflow.feature_column.sequence import SequenceCategoricalColumn
from stillflow.feature_column.state import ScopeState
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape


class IndicatorColumn(
    OfIds, Dense, SequenceDense, namedtuple("IndicatorColumn", ("categorical_column",))
):
    """A vector for each example, or step: how often it has each id."""

    @property
    def name(self) -> str:
        """The name of the ids' column with an ending."""
        return f"{self.categorical_column.name}_indicator"

    @property
    def variable_shape(self) -> TensorShape:
        """One row of as many numbers as there are ids."""
        return tf.TensorShape([1, num_buckets_of(self.categorical_column)])

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """Return the counts, or sums of weights if the ids have these."""
        ids, weights = sparse_tensors_of(
            self.categorical_column, transformation_cache, state_manager
        )
        depth = num_buckets_of(self.categorical_column)
        if weights is None:
            dense = tf.sparse.to_dense(ids, default_value=-1)
            one_hot = tf.one_hot(dense, depth=depth, on_value=1.0, off_value=0.0)
            return tf.reduce_sum(one_hot, axis=[-2])
        merged = tf.sparse_merge(sp_ids=ids, sp_values=weights, vocab_size=depth)
        # Ids of -1, which have no place, are cut off.
        merged = tf.sparse.slice(merged, [0, 0], merged.dense_shape)
        return tf.scatter_nd(merged.indices, merged.values, merged.dense_shape)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """Return the counts [batch, ids]."""
        if isinstance(self.categorical_column, SequenceCategoricalColumn):
            refuse_sequence(self, "indicator_column", isinstance(state_manager, ScopeState))
        return transformation_cache.get(self, state_manager)

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the counts [batch, steps, ids], and the lengths."""
        if not isinstance(self.categorical_column, SequenceCategoricalColumn):
            refuse_no_sequence(self, "indicator_column", isinstance(state_manager, ScopeState))
        dense = transformation_cache.get(self, state_manager)
        pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return with_lengths(dense, pair)


@export("feature_column.indicator_column")
def indicator_column(categorical_column: Any) -> IndicatorColumn:
    """Return a dense column that counts the ids of a categorical one.

    Args:
      categorical_column: the ids.
    """
    return IndicatorColumn(categorical_column)
