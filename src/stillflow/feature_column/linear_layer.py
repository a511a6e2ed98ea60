"""A linear model of features as a layer of Keras, which canned estimators are made of."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.feature_column.base import CategoricalColumn, DenseColumn
from stillflow.feature_column.cache import FeatureTransformationCache
from stillflow.feature_column.checks import as_columns, check_batch_sizes
from stillflow.feature_column.serialization import (
    deserialize_feature_columns,
    serialize_feature_columns,
)
from stillflow.feature_column.state import LayerState
from stillflow.feature_column.weighted_sums import categorical_weighted_sum, dense_weighted_sum
from stillflow.graph.operation import Tensor
from stillflow.keras.engine.model import Model
from stillflow.layers.base_layer import Layer
from stillflow.variables.variable_scope import PureVariableScope


class _LinearModelLayer(Layer):
    """Predictions [batch, units] of a linear model of columns.

    Args:
      feature_columns: dense or categorical columns.
      units: the number of predictions for an example.
      sparse_combiner: how the weights of an example's ids are combined: "sum", "mean", "sqrtn".
      trainable: whether variables are trained.
      name: of the layer, and the variable scope.

    Raises:
      ValueError: for columns of another kind.
    """

    def __init__(
        self,
        feature_columns: Any,
        units: int = 1,
        sparse_combiner: str = "sum",
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._feature_columns = as_columns(feature_columns)
        kinds = DenseColumn, CategoricalColumn
        others = [column for column in self._feature_columns if not isinstance(column, kinds)]
        if others:
            raise ValueError(
                "Items of feature_columns must be either a DenseColumn or CategoricalColumn. "
                f"Given: {others[0]}"
            )
        self.bias: Any = None
        self._units, self._sparse_combiner = units, sparse_combiner
        self._state_manager = LayerState(self, self.trainable)

    def build(self, input_shape: Any) -> None:
        """Make the variables of columns, their weights and the bias."""
        zeros = {
            "dtype": tf.float32, "initializer": tf.zeros_initializer(), "trainable": self.trainable,
        }  # fmt: skip
        with PureVariableScope(self.name):
            for column in self._feature_columns:
                with PureVariableScope(column.name):
                    column.create_state(self._state_manager)
                    shape = (_width(column), self._units)
                    self._state_manager.create_variable(column, "weights", shape, **zeros)
            self.bias = self.add_weight(
                name="bias_weights", shape=[self._units], use_resource=True,
                getter=tf.get_variable, **zeros,
            )  # fmt: skip
        super().build(None)

    def call(self, features: Any) -> Tensor:
        """Return the predictions.

        Args:
          features: tensors or SparseTensors by key.

        Raises:
          ValueError: for features that are no dict, or batch sizes that differ.
        """
        if not isinstance(features, dict):
            raise ValueError(f"We expected a dictionary here. Instead we got: {features}")
        with tf.name_scope(self.name):
            cache, sums = FeatureTransformationCache(features), []
            for column in self._feature_columns:
                with tf.name_scope(column.name):
                    sums.append(self._weighted_sum(column, cache))
            check_batch_sizes(sums, self._feature_columns)
            total = tf.add_n(sums, name="weighted_sum_no_bias")
            return tf.nn.bias_add(total, self.bias, name="weighted_sum")

    def _weighted_sum(self, column: Any, cache: FeatureTransformationCache) -> Tensor:
        state = self._state_manager
        weights = state.get_variable(column, "weights")
        if isinstance(column, CategoricalColumn):
            pair = column.get_sparse_tensors(cache, state)
            return categorical_weighted_sum(pair, weights, self._sparse_combiner)
        return dense_weighted_sum(column.get_dense_tensor(cache, state), _width(column), weights)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "feature_columns": serialize_feature_columns(self._feature_columns),
            "units": self._units,
            "sparse_combiner": self._sparse_combiner,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Return the layer of a configuration from `get_config`."""
        columns = deserialize_feature_columns(config["feature_columns"], custom_objects)
        return cls(**{**config, "feature_columns": columns})


def _width(column: Any) -> int:
    """Return the number of weights of a column for each prediction."""
    if isinstance(column, CategoricalColumn):
        return column.num_buckets
    width: int = column.variable_shape.num_elements()
    return width


class LinearModel(Model):
    """A linear model of columns as a model of Keras; see `tf.feature_column.linear_model`."""

    def __init__(
        self,
        feature_columns: Any,
        units: int = 1,
        sparse_combiner: str = "sum",
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.layer = _LinearModelLayer(
            feature_columns, units, sparse_combiner, trainable, name=self.name, **kwargs
        )

    def call(self, features: Any) -> Tensor:
        """Return the predictions."""
        return self.layer(features)

    @property
    def bias(self) -> Any:
        """The variable of the bias."""
        return self.layer.bias
