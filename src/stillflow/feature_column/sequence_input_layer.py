"""`tf.contrib.feature_column.sequence_input_layer`, and additions to its output."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.feature_column.base import _FeatureColumn, _SequenceDenseColumn
from stillflow.feature_column.cache import _LazyBuilder
from stillflow.feature_column.checks import as_columns, check_batch_sizes
from stillflow.feature_column.feature_layers import all_equal
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor


@export("contrib.feature_column.sequence_input_layer")
def sequence_input_layer(
    features: dict[str, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
) -> tuple[Any, Any]:
    """Return columns of sequences, [batch, steps, sum of widths], and the lengths [batch].

    Args:
      features: SparseTensors by key.
      feature_columns: columns of dense steps.
      weight_collections: collections of the variables, in addition to the usual ones.
      trainable: whether variables are trained.

    Raises:
      ValueError: for columns of another kind, or batch sizes that differ.
    """
    columns = as_columns(feature_columns, _FeatureColumn)
    for column in columns:
        if not isinstance(column, _SequenceDenseColumn):
            raise ValueError(
                "All feature_columns must be of type _SequenceDenseColumn. You can wrap a "
                "sequence_categorical_column with an embedding_column or indicator_column. "
                f"Given (type {type(column)}): {column}"
            )
    with tf.variable_scope(None, default_name="sequence_input_layer", values=features.values()):
        builder, outputs, lengths = _LazyBuilder(features), [], []
        for column in columns:
            with tf.variable_scope(None, default_name=column._var_scope_name):
                dense, length = column._get_sequence_dense_tensor(
                    builder, weight_collections=weight_collections, trainable=trainable
                )
                width, shape = column._variable_shape.num_elements(), tf.shape(dense)
                outputs.append(tf.reshape(dense, [shape[0], shape[1], width]))
                lengths.append(length)
        check_batch_sizes(outputs, columns)
        check_batch_sizes(lengths, columns)
        length = all_equal(lengths)
        return tf.concat(outputs, -1), length


def concatenate_context_input(context_input: Any, sequence_input: Any) -> Tensor:
    """Append features of whole examples, [batch, numbers], to those of each step.

    Both are float32; the result is [batch, steps, both numbers]. TypeError for another type,
    ValueError for another rank.
    """
    checks = []
    for tensor, name, rank in ((sequence_input, "sequence", 3), (context_input, "context", 2)):
        checks.append(
            tf.assert_rank(
                tensor, rank, data=[tf.shape(tensor)],
                message=f"{name}_input must have rank {rank}",
            )
        )  # fmt: skip
        said = f"{name}_input must have dtype float32; got {tensor.dtype}."
        checks.append(tf.assert_type(tensor, tf.float32, message=said))
    with tf.control_dependencies(checks):
        steps = tf.shape(sequence_input)[1]
        of_steps = tf.tile(tf.expand_dims(context_input, 1), tf.concat([[1], [steps], [1]], 0))
    return tf.concat([sequence_input, of_steps], 2)
