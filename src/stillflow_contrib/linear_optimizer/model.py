"""`tf.contrib.linear_optimizer.SdcaModel`, with its features and its table."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.estimator.sdca.model import LinearModel, as_tensor, column_predictions
from stillflow.estimator.sdca.sparse_features import SparseFeatures
from stillflow.estimator.sdca.tables import ShardedTable
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.lookup.mutable_tables import DenseHashTable
from stillflow.ops.sdca.cards import sdca_shrink_l1_op
from stillflow.util.deprecation import deprecated

_deprecated = deprecated(
    None,
    "This class is deprecated. To UPDATE or USE linear optimizers, please check its latest "
    "version in core: tensorflow_estimator/python/estimator/canned/linear_optimizer/.",
)


@export("contrib.linear_optimizer.SparseFeatureColumn")
class SparseFeatureColumn(SparseFeatures):
    """The features of which every example has a few.

    Args:
      example_indices: int64 [n], the example of each, ascending.
      feature_indices: int64 [n], the number of each.
      feature_values: float32 [n], or None for ones.
    """

    @_deprecated
    def __init__(self, example_indices: Any, feature_indices: Any, feature_values: Any) -> None:
        super().__init__(example_indices, feature_indices, feature_values)


class ShardedMutableDenseHashTable(ShardedTable):
    """A table whose keys are spread over some tables; their number must be known.

    Args:
      key_dtype, value_dtype: types.
      default_value: the value of keys that are not there.
      empty_key, deleted_key: two keys that the tables need.
      num_shards: of how many tables it consists.
      checkpoint: whether checkpoints hold it.
      name: the beginning of the names of the tables.
    """

    _shard = DenseHashTable

    @_deprecated
    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, empty_key: Any,
        deleted_key: Any, num_shards: int = 1, checkpoint: bool = True,
        name: str = "ShardedMutableHashTable",
    ) -> None:  # fmt: skip
        super().__init__(
            key_dtype, value_dtype, default_value, empty_key, deleted_key, num_shards, checkpoint,
            name,
        )  # fmt: skip

    def _check_keys(self, keys: Any) -> None:
        if not keys.get_shape().is_fully_defined():
            raise ValueError(f"Key shape must be fully defined, got {keys.get_shape()}.")
        super()._check_keys(keys)

    def _first_words(self, keys: Any) -> Tensor:
        return tf.reshape(tf.slice(keys, [0, 0], [self._number(keys), 1]), [-1])

    def _number(self, keys: Any) -> Any:
        return keys.get_shape().dims[0].value

    def _stitched(self, keys: Any, indices: Any, values: Any) -> Tensor:
        result = super()._stitched(keys, indices, values)
        result.set_shape(tf.TensorShape([self._number(keys)]).concatenate(self._value_shape))
        return result


@export("contrib.linear_optimizer.SdcaModel")
class SdcaModel(LinearModel):
    """Linear model whose weights are trained by dual coordinate ascent.

    Args:
      examples: a dict of `sparse_features`, a list of `SparseFeatureColumn`; `dense_features`, a
        list of float32 [batch, width]; `example_labels`, `example_weights` [batch];
        `example_ids`, strings [batch].
      variables: a dict of `sparse_features_weights` and `dense_features_weights`, lists of
        variables (or of lists of their parts), one for each of the features.
      options: a dict of `loss_type`, `symmetric_l1_regularization`,
        `symmetric_l2_regularization`, and perhaps `num_loss_partitions`, `num_table_shards`,
        `adaptive`.

    Raises:
      ValueError: if an argument is missing, or for unsupported numbers and losses.
    """

    _suffix = "_unshrinked/SDCAOptimizer"
    _table = ShardedMutableDenseHashTable

    @_deprecated
    def __init__(self, examples: Any, variables: Any, options: Any) -> None:
        super().__init__(examples, variables, options)

    def _check_options(self, options: Any) -> None:
        for name in ("symmetric_l1_regularization", "symmetric_l2_regularization"):
            if options[name] < 0.0:
                raise ValueError(f"{name} should be non-negative. Found ({options[name]:f})")

    def _l2(self) -> float:
        return max(super()._l2(), 1.0)  # less would not do

    def _make_variable(self, initial_value: Any, name: str) -> Any:
        return tf.Variable(initial_value, name=name)

    def _as_double(self, values: Any) -> Tensor:
        return tf.cast(values, tf.float64)

    def _where(self, condition: Any, x: Any, y: Any) -> Tensor:
        return tf.where(condition, x, y)

    def _has_no(self, global_step: Any) -> bool:
        return not global_step

    def _linear_predictions(self, examples: Any) -> Tensor:
        with tf.name_scope("sdca/prediction"):
            weights = [as_tensor(each) for each in self._variables["sparse_features_weights"]]
            sparse: Any = 0.0
            for column, variable in zip(examples["sparse_features"], weights):
                sparse += column_predictions(column, variable)
            rows = [as_tensor(each) for each in examples["dense_features"]]
            weights = [as_tensor(each) for each in self._variables["dense_features_weights"]]
            dense: Any = 0.0
            for place, variable in enumerate(weights):
                dense += tf.matmul(rows[place], tf.expand_dims(variable, -1))
        return tf.reshape(dense, [-1]) + sparse

    def _shrink(self, updates: list[Any]) -> Operation:
        with tf.control_dependencies(updates):
            shrunk = []
            for part in self._parts():
                with tf.device(part.device):
                    weights = [convert_to_tensor(part, as_ref=True)]
                    shrunk.append(sdca_shrink_l1_op(weights, l1=self._l1(), l2=self._l2()))
            return tf.group(*shrunk)
