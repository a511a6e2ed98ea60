"""`tf.estimator.experimental.LinearSDCA`: dual coordinate ascent for linear estimators."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.estimator.sdca.model import LinearModel
from stillflow.estimator.sdca.sparse_features import SparseFeatures, distinct_features
from stillflow.feature_column.base import CategoricalColumn, DenseColumn
from stillflow.feature_column.cache import FeatureTransformationCache
from stillflow.feature_column.transforming import is_feature_column_v2
from stillflow.graph.export import export


@export("estimator.experimental.LinearSDCA")
class LinearSDCA:
    """Optimizer of linear estimators: stochastic dual coordinate ascent.

    Args:
      example_id_column: the feature that tells examples apart, strings [batch].
      num_loss_partitions: how many workers train at once.
      num_table_shards: of how many tables the state of examples consists.
      symmetric_l1_regularization: draws weights to zero.
      symmetric_l2_regularization: keeps them small; must be positive.
      adaptive: whether examples that are far from their optimum are trained on more often.
    """

    def __init__(
        self, example_id_column: Any, num_loss_partitions: int = 1,
        num_table_shards: int | None = None, symmetric_l1_regularization: float = 0.0,
        symmetric_l2_regularization: float = 1.0, adaptive: bool = False,
    ) -> None:  # fmt: skip
        self._example_id_column = example_id_column
        self._num_loss_partitions = num_loss_partitions
        self._num_table_shards = num_table_shards
        self._symmetric_l1_regularization = symmetric_l1_regularization
        self._symmetric_l2_regularization = symmetric_l2_regularization
        self._adaptive = adaptive

    def get_train_step(
        self, state_manager: Any, weight_column_name: Any, loss_type: str, feature_columns: Any,
        features: Any, targets: Any, bias_var: Any, global_step: Any,
    ) -> tuple[LinearModel, Any]:  # fmt: skip
        """Return a model of columns, and the operation that trains it.

        Args:
          state_manager: holds the variables of columns.
          weight_column_name: the feature that weights examples, or None.
          loss_type: "squared_loss", "logistic_loss", ...
          feature_columns: the columns.
          features: tensors by name.
          targets: labels [batch] or [batch, 1].
          bias_var: the variable of the bias.
          global_step: is counted up.

        Raises:
          ValueError: for columns of another kind, or of more than one dimension.
        """
        batch_size = tf.shape(targets)[0]
        cache = FeatureTransformationCache(features)
        sparse, sparse_weights, dense, dense_weights = [], [], [], []
        for column in sorted(feature_columns, key=lambda each: each.name):
            if isinstance(column, CategoricalColumn):
                sparse.append(_ids_of(column.get_sparse_tensors(cache, state_manager)))
                sparse_weights.append(state_manager.get_variable(column, "weights"))
            elif isinstance(column, DenseColumn):
                _check_rank(column)
                dense.append(column.get_dense_tensor(cache, state_manager))
                dense_weights.append(state_manager.get_variable(column, "weights"))
            else:
                raise ValueError(
                    f"LinearSDCA does not support column type {type(column).__name__}."
                )
        dense.append(tf.ones([batch_size, 1]))
        dense_weights.append(bias_var)
        if weight_column_name:
            weights = tf.reshape(features[weight_column_name], shape=[-1])
        else:
            weights = tf.ones([batch_size])
        examples = {
            "sparse_features": sparse, "dense_features": dense,
            "example_labels": tf.to_float(tf.reshape(targets, shape=[-1])),
            "example_weights": weights, "example_ids": features[self._example_id_column],
        }  # fmt: skip
        variables = {
            "sparse_features_weights": sparse_weights, "dense_features_weights": dense_weights,
        }  # fmt: skip
        model = LinearModel(examples, variables, self._options(loss_type))
        return model, model.minimize(global_step=global_step)

    def _options(self, loss_type: str) -> dict[str, Any]:
        return {
            "symmetric_l1_regularization": self._symmetric_l1_regularization,
            "symmetric_l2_regularization": self._symmetric_l2_regularization,
            "adaptive": self._adaptive, "num_loss_partitions": self._num_loss_partitions,
            "num_table_shards": self._num_table_shards, "loss_type": loss_type,
        }  # fmt: skip


def _ids_of(pair: Any) -> SparseFeatures:
    """Return the ids of a categorical column, each once in an example."""
    ids, weights = pair.id_tensor, pair.weight_tensor
    if weights is None:
        values = tf.ones([tf.shape(ids.indices)[0]], tf.float32)
    else:
        values = weights.values
    return SparseFeatures(*distinct_features(ids, values, tf.to_int64))


def _check_rank(column: Any) -> None:
    rank = column.variable_shape.ndims
    if rank != 1:
        raise ValueError(f"Column {type(column).__name__} has rank {rank}, larger than 1.")


def check_linear_sdca(
    optimizer: Any, feature_columns: Any, sparse_combiner: str, outputs: int, most: int, why: str
) -> None:
    """Raise ValueError for arguments that `LinearSDCA` does not support.

    `outputs` counts classes or numbers, `most` at most; else `why` is the message.
    """
    if not isinstance(optimizer, LinearSDCA):
        return
    if sparse_combiner != "sum":
        raise ValueError('sparse_combiner must be "sum" when optimizer is a LinearSDCA object.')
    if not is_feature_column_v2(feature_columns):
        raise ValueError("V2 feature columns required when optimizer is a LinearSDCA object.")
    if outputs > most:
        raise ValueError(why)
