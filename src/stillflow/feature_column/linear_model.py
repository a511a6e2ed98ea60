"""`tf.feature_column.linear_model`: a linear model whose variables are in variable scopes."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.feature_column.base import _CategoricalColumn, _DenseColumn, _FeatureColumn
from stillflow.feature_column.cache import _LazyBuilder
from stillflow.feature_column.checks import as_columns, check_batch_sizes
from stillflow.feature_column.input_layer import collections_of_weights
from stillflow.feature_column.weighted_sums import categorical_weighted_sum, dense_weighted_sum
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.engine.model import Model
from stillflow.layers.base import Layer
from stillflow.variables.partitioned import PartitionedVariable


def _parts(variable: Any) -> list[Any]:
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


class _Weights(Layer):
    """A layer with one variable of zeros, which it adds to collections."""

    def __init__(self, collections: list[str], trainable: bool, name: str, **kwargs: Any) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._collections = collections
        self._weights_variable: Any = None

    def _make(self, name: str, shape: Any) -> None:
        self._weights_variable = variable = self.add_weight(
            name, shape, initializer=tf.zeros_initializer(), trainable=self.trainable
        )
        for collection in self._collections:
            if collection != tf.GraphKeys.GLOBAL_VARIABLES:  # it is there already
                for part in _parts(variable):
                    tf.add_to_collection(collection, part)
        self.built = True


class _ColumnLayer(_Weights):
    """The share of one column."""

    def __init__(
        self, column: Any, units: int, combiner: str, collections: list[str], trainable: bool,
        name: str, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(collections, trainable, name, **kwargs)
        self._feature_column, self._units, self._combiner = column, units, combiner

    def build(self, _: Any) -> None:
        """Make the weights."""
        column = self._feature_column
        is_categorical = isinstance(column, _CategoricalColumn)
        rows = column._num_buckets if is_categorical else column._variable_shape.num_elements()
        self._make("weights", [rows, self._units])

    def call(self, builder: Any) -> Tensor:
        """Return the weighted sum of the column's values."""
        column, weights = self._feature_column, self._weights_variable
        options = {"weight_collections": self._collections, "trainable": self.trainable}
        if isinstance(column, _CategoricalColumn):
            pair = column._get_sparse_tensors(builder, **options)
            return categorical_weighted_sum(pair, weights, self._combiner)
        tensor = column._get_dense_tensor(builder, **options)
        return dense_weighted_sum(tensor, column._variable_shape.num_elements(), weights)


class _BiasLayer(_Weights):
    """The bias."""

    def __init__(
        self, units: int, collections: list[str], trainable: bool, name: str, **kwargs: Any
    ) -> None:
        super().__init__(collections, trainable, name, **kwargs)
        self._units = units

    def build(self, _: Any) -> None:
        """Make the bias."""
        self._make("bias_weights", [self._units])

    def call(self, _: Any) -> Any:
        """Return the bias."""
        return self._weights_variable


def _last_part(name: str) -> str:
    return name.rsplit("/", 1)[-1]


class _LinearModel(Model):
    """The model behind `linear_model`; see there for the arguments."""

    def __init__(
        self,
        feature_columns: Any,
        units: int = 1,
        sparse_combiner: str = "sum",
        weight_collections: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self._feature_columns = as_columns(feature_columns, _FeatureColumn)
        collections = collections_of_weights(weight_collections)
        self._column_layers: dict[str, Any] = {}
        for column in self._feature_columns:
            with tf.variable_scope(None, default_name=column._var_scope_name) as scope:
                layer_name = _last_part(scope.name)
            layer = _ColumnLayer(
                column, units, sparse_combiner, collections, trainable, layer_name, **kwargs
            )
            self._column_layers[layer_name] = layer
            setattr(self, f"layer-{layer_name}", layer)  # its name in checkpoints
        self._bias_layer = _BiasLayer(units, collections, trainable, "bias_layer", **kwargs)
        self._cols_to_vars: dict[Any, Any] = {}

    def cols_to_vars(self) -> dict[Any, Any]:
        """Return the variables by column, and those of the bias by "bias"."""
        return self._cols_to_vars

    def call(self, features: Any) -> Tensor:
        """Return the model's predictions."""
        with tf.variable_scope(self.name):
            for column in self._feature_columns:
                if not isinstance(column, (_DenseColumn, _CategoricalColumn)):
                    raise ValueError(
                        "Items of feature_columns must be either a _DenseColumn or "
                        f"_CategoricalColumn. Given: {column}"
                    )
            builder, sums, columns = _LazyBuilder(features), [], []
            for _, layer in sorted(self._column_layers.items()):
                columns.append(layer._feature_column)
                sums.append(layer(builder))
                self._cols_to_vars[columns[-1]] = tf.global_variables(layer.scope_name)
            check_batch_sizes(sums, columns)
            total = tf.add_n(sums, name="weighted_sum_no_bias")
            bias = self._bias_layer(builder, scope=tf.get_variable_scope())
            predictions = tf.nn.bias_add(total, bias, name="weighted_sum")
            self._cols_to_vars["bias"] = _parts(self._bias_layer.variables[0])
        return predictions


@export("feature_column.linear_model")
def linear_model(
    features: dict[str, Any],
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Tensor:
    """Predictions [batch, units] of a linear model of columns.

    Args:
      features: tensors or SparseTensors by key.
      feature_columns: dense or categorical columns; the ids of these have weights each.
      units: the number of predictions for an example.
      sparse_combiner: how the weights of an example's ids are combined: "sum", "mean", "sqrtn".
      weight_collections: collections of the variables, in addition to the usual ones.
      trainable: whether variables are trained.
      cols_to_vars: takes up {column: its variables} and {"bias": those of the bias}.

    Raises:
      ValueError: for a column of another kind, or batch sizes that differ.
    """
    with tf.variable_scope(None, "linear_model") as scope:
        name = _last_part(scope.name)
    model = _LinearModel(
        feature_columns, units, sparse_combiner, weight_collections, trainable, name
    )
    predictions = model(features)
    if cols_to_vars is not None:
        cols_to_vars.update(model.cols_to_vars())
    return predictions
