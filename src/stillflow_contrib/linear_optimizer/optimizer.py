"""`tf.contrib.linear_optimizer.SDCAOptimizer`: dual coordinate ascent for `tf.contrib.learn`."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.estimator.sdca.sparse_features import distinct_features
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.layers.feature_columns.bucketized import _BucketizedColumn
from stillflow_contrib.layers.feature_columns.crossed import _CrossedColumn
from stillflow_contrib.layers.feature_columns.real_valued import _RealValuedColumn
from stillflow_contrib.layers.feature_columns.sparse import _SparseColumn
from stillflow_contrib.layers.feature_columns.weighted import _WeightedSparseColumn
from stillflow_contrib.linear_optimizer.model import SdcaModel, SparseFeatureColumn


@export("contrib.linear_optimizer.SDCAOptimizer")
class SDCAOptimizer:
    """Optimizer of `LinearClassifier` and `LinearRegressor` that uses `SdcaModel`.

    Args:
      example_id_column: the feature that tells examples apart, strings [batch].
      num_loss_partitions: how many workers train at once.
      num_table_shards: of how many tables the state of examples consists.
      symmetric_l1_regularization: draws weights to zero.
      symmetric_l2_regularization: keeps them small.
      adaptive: whether examples that are far from their optimum are trained on more often.
      partitioner: cuts the weights in parts.
    """

    def __init__(
        self, example_id_column: Any, num_loss_partitions: int = 1,
        num_table_shards: int | None = None, symmetric_l1_regularization: float = 0.0,
        symmetric_l2_regularization: float = 1.0, adaptive: bool = True, partitioner: Any = None,
    ) -> None:  # fmt: skip
        self.example_id_column = example_id_column
        self.num_loss_partitions = num_loss_partitions
        self.num_table_shards = num_table_shards
        self.symmetric_l1_regularization = symmetric_l1_regularization
        self.symmetric_l2_regularization = symmetric_l2_regularization
        self.adaptive = adaptive
        self.partitioner = partitioner

    def get_name(self) -> str:
        """Its name."""
        return "SDCAOptimizer"

    def get_train_step(
        self, columns_to_variables: dict[Any, Any], weight_column_name: str | None,
        loss_type: str, features: dict[Any, Any], targets: Any, global_step: Any,
    ) -> tuple[SdcaModel, Any]:  # fmt: skip
        """Return a model of columns, and the operation that trains it.

        Args:
          columns_to_variables: the parts of each column's variable.
          weight_column_name: the feature that weights examples, or None.
          loss_type: as of `SdcaModel`.
          features: tensors by column, and by name.
          targets: labels [batch] or [batch, 1].
          global_step: is counted up.

        Raises:
          ValueError: for columns of another kind.
        """
        batch_size = targets.get_shape()[0]
        found = _Columns()
        for column in sorted(columns_to_variables, key=lambda each: each.key):
            found.add(column, features[column], columns_to_variables[column])
        if weight_column_name:
            weights = tf.reshape(features[weight_column_name], shape=[-1])
        else:
            weights = tf.ones([batch_size])
        examples = {
            "sparse_features": found.sparse, "dense_features": found.dense,
            "example_labels": tf.cast(tf.reshape(targets, shape=[-1]), tf.float32),
            "example_weights": weights, "example_ids": features[self.example_id_column],
        }  # fmt: skip
        variables = {
            "sparse_features_weights": found.sparse_weights,
            "dense_features_weights": found.dense_weights,
        }
        options = {
            name: getattr(self, name)
            for name in (
                "symmetric_l1_regularization", "symmetric_l2_regularization", "adaptive",
                "num_loss_partitions", "num_table_shards",
            )
        }  # fmt: skip
        model = SdcaModel(examples, variables, {**options, "loss_type": loss_type})
        return model, model.minimize(global_step=global_step)


class _Columns:
    """Features and weights of columns, as `SdcaModel` takes them."""

    def __init__(self) -> None:
        self.sparse: list[Any] = []
        self.sparse_weights: list[Any] = []
        self.dense: list[Any] = []
        self.dense_weights: list[Any] = []

    def add(self, column: Any, transformed: Any, variables: Any) -> None:
        """Add a column.

        Args:
          column: of `tf.contrib.layers`.
          transformed: its features.
          variables: the parts of its weights.
        """
        if isinstance(column, _RealValuedColumn):
            self.dense.append(_matrix(transformed))
            self.dense_weights.append(variables[0])
            return
        if isinstance(column, _BucketizedColumn):
            features = _nonzero(column._to_dnn_input_layer(transformed))
        elif isinstance(column, (_WeightedSparseColumn, _CrossedColumn, _SparseColumn)):
            features = _ids(column, transformed)
        else:
            raise ValueError(f"SDCAOptimizer does not support column type {type(column).__name__}.")
        self.sparse.append(features)
        self.sparse_weights.append(variables if len(variables) > 1 else variables[0])


def _matrix(tensor: Any) -> Tensor:
    """Return a feature of numbers as [batch, width]."""
    check = tf.Assert(
        tf.less_equal(tf.rank(tensor), 2), ["transformed_tensor should have rank at most 2."]
    )
    with tf.control_dependencies([check]):
        return tf.reshape(tensor, [tf.shape(tensor)[0], -1])


def _nonzero(matrix: Any) -> SparseFeatureColumn:
    """Return the nonzero elements of a matrix."""
    places = tf.where(tf.not_equal(matrix, tf.cast(0.0, matrix.dtype)))
    values = tf.gather_nd(matrix, places)
    examples, features = (
        tf.reshape(tf.split(value=places, num_or_size_splits=2, axis=1)[which], [-1])
        for which in (0, 1)
    )
    return SparseFeatureColumn(examples, features, tf.reshape(tf.cast(values, tf.float32), [-1]))


def _ids(column: Any, transformed: Any) -> SparseFeatureColumn:
    if isinstance(column, _WeightedSparseColumn):
        ids = column.id_tensor(transformed)
        weights = tf.reshape(column.weight_tensor(transformed).values, [-1])
    else:
        ids = transformed
        weights = tf.ones([tf.shape(ids.indices)[0]], tf.float32)
    return SparseFeatureColumn(*distinct_features(ids, weights))
