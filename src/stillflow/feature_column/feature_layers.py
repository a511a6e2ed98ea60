"""Layers that make dense tensors of features: `tf.keras.layers.DenseFeatures` and the like."""

from __future__ import annotations

import json
from typing import Any

import stillflow as tf
from stillflow.feature_column.base import DenseColumn, SequenceDenseColumn
from stillflow.feature_column.cache import FeatureTransformationCache
from stillflow.feature_column.checks import as_columns, check_batch_sizes
from stillflow.feature_column.serialization import (
    deserialize_feature_columns,
    serialize_feature_columns,
)
from stillflow.feature_column.state import LayerState
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.layers.base_layer import Layer
from stillflow.variables.variable_scope import PureVariableScope


def check_features(features: Any) -> None:
    """Raise an error for features that are not a dict."""
    if not isinstance(features, dict):
        raise ValueError("We expected a dictionary here. Instead we got: ", features)


class _FeaturesLayer(Layer):
    """The columns' tensors side by side; subclasses say of which kind.

    Args:
      feature_columns: the columns.
      trainable: whether variables are trained.
      name: of the layer.
    """

    _column_type: type
    _is_feature_layer = True

    def __init__(
        self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        self._feature_columns = as_columns(feature_columns)
        self._state_manager = self._state()
        for column in self._feature_columns:
            if not isinstance(column, self._column_type):
                raise ValueError(
                    f"Items of feature_columns must be a {self._column_type}. You can wrap a "
                    "categorical column with an embedding_column or indicator_column. "
                    f"Given: {column}"
                )

    def _state(self) -> LayerState:
        return LayerState(self, self.trainable)

    def build(self, input_shape: Any) -> None:
        """Make the columns' variables, in variable scopes of the layer and the column."""
        for column in self._feature_columns:
            with PureVariableScope(self.name), PureVariableScope(column.name):
                column.create_state(self._state_manager)
        super().build(None)

    def _target_shape(self, input_shape: Any, width: int) -> Any:
        """Return the shape of a tensor with `width` numbers an example."""
        raise NotImplementedError("Calling an abstract method.")

    def compute_output_shape(self, input_shape: Any) -> tuple[int, ...]:
        """Return the shape of all columns' tensors side by side."""
        widths = [column.variable_shape.num_elements() for column in self._feature_columns]
        return self._target_shape(input_shape, sum(widths))

    def _flattened(self, column: Any, tensor: Any) -> Tensor:
        width = column.variable_shape.num_elements()
        return tf.reshape(tensor, self._target_shape(tf.shape(tensor), width))

    def _side_by_side(self, tensors: list[Any]) -> Tensor:
        check_batch_sizes(tensors, self._feature_columns)
        return tf.concat(tensors, -1)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        columns = serialize_feature_columns(self._feature_columns)
        return {**super().get_config(), "feature_columns": columns}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Layer:
        """Return the layer of a configuration from `get_config`."""
        columns = deserialize_feature_columns(config["feature_columns"], custom_objects)
        return cls(**{**config, "feature_columns": columns})


@export("keras.layers.DenseFeatures")
class DenseFeatures(_FeaturesLayer):
    """A matrix [batch, sum of widths] of dense columns, in the order of their names.

    Args:
      feature_columns: dense columns.
      trainable: whether variables are trained.
      name: of the layer.

    Raises:
      ValueError: for columns of another kind.
    """

    _column_type = DenseColumn

    @property
    def _tracking_metadata(self) -> str:
        """The layer's description in SavedModels, as JSON."""
        return json.dumps({**json.loads(super()._tracking_metadata), "_is_feature_layer": True})

    def _target_shape(self, input_shape: Any, width: int) -> tuple[Tensor | int, ...]:
        return input_shape[0], width

    def call(self, features: Any, cols_to_output_tensors: dict[Any, Any] | None = None) -> Tensor:
        """Return the matrix.

        Args:
          features: tensors or SparseTensors by key.
          cols_to_output_tensors: takes up {column: its matrix}.

        Raises:
          ValueError: for features that are no dict, or batch sizes that differ.
        """
        check_features(features)
        cache, outputs = FeatureTransformationCache(features), []
        for column in self._feature_columns:
            with tf.name_scope(column.name):
                tensor = column.get_dense_tensor(cache, self._state_manager)
                outputs.append(self._flattened(column, tensor))
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = outputs[-1]
        return self._side_by_side(outputs)


@export("compat.v2.keras.layers.DenseFeatures")
class DenseFeaturesV2(DenseFeatures):
    """`tf.keras.layers.DenseFeatures` whose variables have Keras' names."""

    def _state(self) -> LayerState:
        return LayerState(self, self.trainable, getter=None)

    def build(self, input_shape: Any) -> None:
        """Make the columns' variables, in name scopes of the columns."""
        for column in self._feature_columns:
            with tf.name_scope(column.name):
                column.create_state(self._state_manager)
        super(_FeaturesLayer, self).build(None)


DenseFeaturesV2.__name__ = "DenseFeatures"  # the name in configurations and names of layers


@export("keras.experimental.SequenceFeatures")
class SequenceFeatures(_FeaturesLayer):
    """A tensor [batch, steps, sum of widths] of columns of sequences, and the lengths.

    Args:
      feature_columns: columns of dense steps.
      trainable: whether variables are trained.
      name: of the layer.

    Raises:
      ValueError: for columns of another kind.
    """

    _column_type = SequenceDenseColumn

    def _target_shape(self, input_shape: Any, width: int) -> tuple[Tensor, Tensor, int]:
        return input_shape[0], input_shape[1], width

    def _steps_of(self, column: Any, cache: FeatureTransformationCache) -> tuple[Any, Any]:
        with tf.name_scope(column.name):
            tensor, length = column.get_sequence_dense_tensor(cache, self._state_manager)
            return self._flattened(column, tensor), length

    def call(self, features: Any) -> tuple[Tensor, Tensor]:
        """Return the tensor, and the lengths [batch], which all columns must agree on.

        Args:
          features: tensors or SparseTensors by key.

        Raises:
          ValueError: for features that are no dict, or batch sizes that differ.
        """
        check_features(features)
        cache = FeatureTransformationCache(features)
        steps = [self._steps_of(column, cache) for column in self._feature_columns]
        outputs, lengths = map(list, zip(*steps, strict=True))
        check_batch_sizes(lengths, self._feature_columns)
        length = all_equal(lengths)
        return self._side_by_side(outputs), length


def all_equal(tensors: list[Any], name: str | None = None) -> Any:
    """Return the first of several tensors; at run time an error is raised unless all are equal."""
    with tf.name_scope(name, "assert_all_equal", values=tensors):
        if len(tensors) == 1:
            return tensors[0]
        checks = [tf.assert_equal(tensors[0], other) for other in tensors[1:]]
        with tf.control_dependencies(checks):
            return tf.identity(tensors[0])
