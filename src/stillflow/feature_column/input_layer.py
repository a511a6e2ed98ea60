"""`tf.feature_column.input_layer`: dense columns side by side, in the current variable scope."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.feature_column.base import _DenseColumn, _FeatureColumn
from stillflow.feature_column.cache import _LazyBuilder
from stillflow.feature_column.checks import as_columns, check_batch_sizes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor


def collections_of_weights(given: Any) -> list[str]:
    """Return the collections that the variables of a layer are added to."""
    keys = tf.GraphKeys
    standard = [keys.GLOBAL_VARIABLES, keys.MODEL_VARIABLES]
    given = list(given or [])
    return given + [name for name in standard if name not in given]


def _dense_columns(feature_columns: Any) -> list[Any]:
    columns = as_columns(feature_columns, _FeatureColumn)
    for column in columns:
        if not isinstance(column, _DenseColumn):
            raise ValueError(
                "Items of feature_columns must be a _DenseColumn. You can wrap a categorical "
                f"column with an embedding_column or indicator_column. Given: {column}"
            )
    return columns


def _side_by_side(
    features: dict[str, Any],
    columns: list[Any],
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Tensor:
    """Dense columns' tensors as one matrix; see `input_layer`."""
    collections = collections_of_weights(weight_collections)
    builder, outputs = _LazyBuilder(features), []
    for column in columns:
        with tf.variable_scope(None, default_name=column._var_scope_name) as scope:
            tensor = column._get_dense_tensor(
                builder, weight_collections=collections, trainable=trainable
            )
            width = column._variable_shape.num_elements()
            outputs.append(tf.reshape(tensor, (tf.shape(tensor)[0], width)))
            if cols_to_vars is not None:
                cols_to_vars[column] = tf.global_variables(scope.name)
            if cols_to_output_tensors is not None:
                cols_to_output_tensors[column] = outputs[-1]
    check_batch_sizes(outputs, columns)
    return tf.concat(outputs, 1)


@export("feature_column.input_layer")
def input_layer(
    features: dict[str, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Any:
    """Return a matrix [batch, sum of widths] of dense columns, in the order of their names.

    Args:
      features: tensors or SparseTensors by key.
      feature_columns: dense columns.
      weight_collections: collections of the variables, in addition to the usual ones.
      trainable: whether variables are trained.
      cols_to_vars: takes up {column: its variables}.
      cols_to_output_tensors: takes up {column: its matrix}.

    Raises:
      ValueError: for a column that is not dense, or batch sizes that differ.
    """
    columns = _dense_columns(feature_columns)
    with tf.variable_scope(None, default_name="input_layer", values=features.values()):
        return _side_by_side(
            features, columns, weight_collections, trainable, cols_to_vars,
            cols_to_output_tensors,
        )  # fmt: skip


class InputLayer:
    """`input_layer` as an object, whose calls share variables.

    Args:
      feature_columns, weight_collections, trainable: see `input_layer`.
      cols_to_vars: nothing.
      name: of its variable scope.
      create_scope_now: whether that is opened now, or at the first call.
    """

    def __init__(
        self,
        feature_columns: Any,
        weight_collections: Any = None,
        trainable: bool = True,
        cols_to_vars: Any = None,
        name: str = "feature_column_input_layer",
        create_scope_now: bool = True,
    ) -> None:
        self._feature_columns = feature_columns
        self._weight_collections, self._trainable = weight_collections, trainable
        self._name = name
        self._template = tf.make_template(name, _side_by_side, create_scope_now_=create_scope_now)

    def __call__(self, features: dict[str, Any]) -> Tensor:
        """Return the matrix of the columns."""
        columns = _dense_columns(self._feature_columns)
        return self._template(features, columns, self._weight_collections, self._trainable)

    @property
    def name(self) -> str:
        """The name of the variable scope."""
        return self._name

    @property
    def trainable_variables(self) -> Any:
        """The variables that are trained."""
        return self._template.trainable_variables

    @property
    def non_trainable_variables(self) -> Any:
        """The variables that are not trained."""
        return self._template.non_trainable_variables

    @property
    def variables(self) -> Any:
        """All variables."""
        return self._template.variables

    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables
    weights = variables
