"""Columns of trained vectors of ids."""

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
from stillflow.feature_column.lookups import (
    check_embedding,
    look_up,
    refuse_no_sequence,
    refuse_sequence,
    restore,
    with_lengths,
)
from stillflow.feature_column.sequence import SequenceCategoricalColumn
from stillflow.feature_column.state import ScopeState
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape


class EmbeddingColumn(
    OfIds,
    Dense,
    SequenceDense,
    namedtuple(
        "EmbeddingColumn",
        (
            "categorical_column", "dimension", "combiner", "initializer", "ckpt_to_load_from",
            "tensor_name_in_ckpt", "max_norm", "trainable",
        ),
    ),
):  # fmt: skip
    """A vector for each example, or step: those of its ids combined."""

    @property
    def name(self) -> str:
        """The name of the ids' column with an ending."""
        return f"{self.categorical_column.name}_embedding"

    @property
    def variable_shape(self) -> TensorShape:
        """The vector's."""
        return tf.TensorShape([self.dimension])

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the transformed ids."""
        return transformation_cache.get(self.categorical_column, state_manager)

    def create_state(self, state_manager: Any) -> None:
        """Make the vectors."""
        state_manager.create_variable(
            self,
            name="embedding_weights",
            shape=(num_buckets_of(self.categorical_column), self.dimension),
            dtype=tf.float32,
            trainable=self.trainable,
            use_resource=True,
            initializer=self.initializer,
        )

    def _combined(self, sparse_tensors: Any, state_manager: Any) -> Tensor:
        weights = state_manager.get_variable(self, name="embedding_weights")
        restore(weights, self.ckpt_to_load_from, self.tensor_name_in_ckpt)
        return look_up(self, sparse_tensors, weights)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """Return the vectors [batch, dimension]."""
        column = self.categorical_column
        if isinstance(column, SequenceCategoricalColumn):
            refuse_sequence(self, "embedding_column", isinstance(state_manager, ScopeState))
        pair = sparse_tensors_of(column, transformation_cache, state_manager)
        return self._combined(pair, state_manager)

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the vectors [batch, steps, dimension], and the lengths."""
        column = self.categorical_column
        if not isinstance(column, SequenceCategoricalColumn):
            refuse_no_sequence(self, "embedding_column")
        pair = column.get_sparse_tensors(transformation_cache, state_manager)
        return with_lengths(self._combined(pair, state_manager), pair)


@export("feature_column.embedding_column")
def embedding_column(
    categorical_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> EmbeddingColumn:
    """Return a dense column of trained vectors, one for each id of a categorical column.

    Args:
      categorical_column: the ids.
      dimension: of the vectors.
      combiner: how the vectors of an example's ids are combined: "mean", "sum", "sqrtn".
      initializer: of the vectors; normal with deviation 1/sqrt(dimension) by default.
      ckpt_to_load_from, tensor_name_in_ckpt: a checkpoint that has the vectors, and their name.
      max_norm: longer vectors are cut down to this length.
      trainable: whether the vectors are trained.

    Raises:
      ValueError: for another dimension or initializer, or half of a checkpoint and name.
    """
    initializer = check_embedding(
        dimension, ckpt_to_load_from, tensor_name_in_ckpt, initializer,
        f" Embedding of column_name: {categorical_column.name}",
    )  # fmt: skip
    return EmbeddingColumn(
        categorical_column, dimension, combiner, initializer, ckpt_to_load_from,
        tensor_name_in_ckpt, max_norm, trainable,
    )  # fmt: skip
