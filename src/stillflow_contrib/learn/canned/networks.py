"""The networks of ready-made estimators: hidden layers over columns, and sums of weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.variables.partitioned import min_max_variable_partitioner
from stillflow_contrib.layers.feature_columns.base import _FeatureColumn
from stillflow_contrib.layers.feature_columns.embedding import _EmbeddingColumn
from stillflow_contrib.learn.mode_keys import ModeKeys

if TYPE_CHECKING:
    from stillflow.variables.ref_variable import RefVariable
    from stillflow.variables.variable_scope import variable_scope


DEEP, WIDE = "dnn", "linear"
SLICE_BYTES = 64 << 20


def as_dict(features: Any) -> dict[str, Any]:
    """Features by name; a single tensor has the empty one."""
    return features if isinstance(features, dict) else {"": features}


def partitions(config: Any, **slices: int) -> Callable[..., Any]:
    """Return a partitioner of variables over parameter servers."""
    servers = config.num_ps_replicas if config else 0
    return min_max_variable_partitioner(max_partitions=servers, **slices)


def _are_contrib(columns: Any) -> bool:
    return all(isinstance(column, _FeatureColumn) for column in columns)


def add_layer_summary(value: Any, tag: str, separator: str = "/") -> None:
    """Add how many activations are zero, and their histogram."""
    tf.summary.scalar(f"{tag}{separator}fraction_of_zero_values", tf.nn.zero_fraction(value))
    tf.summary.histogram(f"{tag}{separator}activation", value)


def deep_logits(
    features: dict[str, Any],
    columns: Any,
    hidden_units: Any,
    logits_dimension: int,
    mode: str,
    *,
    activation_fn: Any,
    dropout: float | None,
    input_partitioner: Any,
    separator: str = "/",
) -> tuple[Any, str]:
    """Logits of a network of fully connected layers, in the variable scope that is open.

    Args:
      features: tensors by name.
      columns: dense columns, of `tf.contrib.layers` or of `tf.feature_column`.
      hidden_units: the widths of the layers.
      logits_dimension: how many logits there are.
      mode: a `ModeKeys`.
      activation_fn: of the layers.
      dropout: the share of activations that are left out in training.
      input_partitioner: of the columns' variables.
      separator: text between a layer's name and those of its summaries.

    Returns:
      The logits [batch, logits_dimension], and the scope of the columns.
    """
    values = tuple(features.values())
    layers = tf.contrib.layers
    with tf.variable_scope(
        "input_from_feature_columns", values=values, partitioner=input_partitioner
    ) as input_scope:
        if _are_contrib(columns):
            net = layers.input_from_feature_columns(
                features, columns, weight_collections=[DEEP], scope=input_scope
            )
        else:
            net = tf.feature_column.input_layer(features, columns, weight_collections=[DEEP])
    for place, units in enumerate(hidden_units):
        with tf.variable_scope(f"hiddenlayer_{place}", values=(net,)) as scope:
            net = layers.fully_connected(
                net, units, activation_fn=activation_fn, variables_collections=[DEEP],
                scope=scope,
            )  # fmt: skip
            if dropout is not None and mode == ModeKeys.TRAIN:
                net = layers.dropout(net, keep_prob=1.0 - dropout)
        add_layer_summary(net, scope.name, separator)
    with tf.variable_scope("logits", values=(net,)) as scope:
        logits = layers.fully_connected(
            net, logits_dimension, activation_fn=None, variables_collections=[DEEP],
            scope=scope,
        )  # fmt: skip
    add_layer_summary(logits, scope.name, separator)
    return logits, input_scope.name


def open_scope(name: str, features: dict[str, Any], config: Any, **slices: int) -> variable_scope:
    """Return the variable scope of a network, whose variables are spread over parameter servers."""
    partitioner = partitions(config, **slices)
    return tf.variable_scope(name, values=tuple(features.values()), partitioner=partitioner)


def wide_logits(
    features: dict[str, Any], columns: Any, logits_dimension: int, joint: Any, scope: Any
) -> Tensor:
    """Logits of a linear model.

    Args:
      features: tensors by name.
      columns: columns, of `tf.contrib.layers` or of `tf.feature_column`.
      logits_dimension: how many logits there are.
      joint: whether all columns' weights are in one variable.
      scope: the variable scope, which is open.
    """
    if not _are_contrib(columns):
        return tf.feature_column.linear_model(
            features=features, feature_columns=columns, units=logits_dimension,
            weight_collections=[WIDE],
        )  # fmt: skip
    layers = tf.contrib.layers
    layer = (
        layers.joint_weighted_sum_from_feature_columns
        if joint
        else layers.weighted_sum_from_feature_columns
    )
    logits, _, _ = layer(
        columns_to_tensors=features, feature_columns=columns, num_outputs=logits_dimension,
        weight_collections=[WIDE], scope=scope,
    )  # fmt: skip
    return logits


def gradient_multipliers(
    embedding_lr_multipliers: Any, input_scope: str
) -> dict[RefVariable, float] | None:
    """Return the factors of the gradients of columns' vectors, by variable, or None.

    Args:
      embedding_lr_multipliers: {column: factor}, or None.
      input_scope: the scope of the columns.

    Raises:
      ValueError: for other columns, or those that have no variable.
    """
    if not embedding_lr_multipliers:
        return None
    multipliers = {}
    for column, factor in embedding_lr_multipliers.items():
        if not isinstance(column, _EmbeddingColumn):
            raise ValueError(
                "learning rate multipler can only be defined for embedding columns. It is defined "
                f"for {column}"
            )
        variables = tf.get_collection(DEEP, f"{input_scope}/{column.name}")
        if not variables:
            raise ValueError(f"Couldn't find a variable for column {column}")
        multipliers.update(dict.fromkeys(variables, factor))
    return multipliers


def optimizer_of(spec: Any) -> Any:
    """Return an optimizer, or the result of a function."""
    return spec() if callable(spec) else spec
