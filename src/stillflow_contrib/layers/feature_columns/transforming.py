"""Transformation of features by columns, without a layer."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.platform import tf_logging as logging
from stillflow_contrib.layers.feature_columns.parsing import (
    create_feature_spec_for_parsing,
    sequence_feature_spec,
)
from stillflow_contrib.layers.feature_columns.real_valued import real_valued_column


def in_order(feature_columns: Any) -> list[Any]:
    """Columns in the order in which layers take them."""
    return sorted(set(feature_columns), key=lambda column: column.key)


class _Transformer:
    """Transforms columns, each once, and adds their tensors to those of the features, by name."""

    def __init__(self, columns_to_tensors: dict[Any, Any]) -> None:
        self._columns_to_tensors = columns_to_tensors

    def transform(self, feature_column: Any) -> Any:
        """Return the column's tensors.

        Raises:
          ValueError: if it gives none.
        """
        logging.debug("Transforming feature_column %s", feature_column)
        if feature_column not in self._columns_to_tensors:
            feature_column.insert_transformed_feature(self._columns_to_tensors)
        if feature_column not in self._columns_to_tensors:
            raise ValueError(f"Column {feature_column.name} is not supported.")
        return self._columns_to_tensors[feature_column]


@export("contrib.layers.check_feature_columns")
def check_feature_columns(feature_columns: Any) -> None:
    """Raise an error for columns with equal keys.

    Args:
      feature_columns: a list of columns.

    Raises:
      ValueError: for a dict, or if two columns have the same key.
    """
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    seen = set()
    for column in feature_columns:
        if column.key in seen:
            raise ValueError(
                f"Duplicate feature column key found for column: {column.name}. This usually means "
                "that the column is almost identical to another column, and one must be discarded."
            )
        seen.add(column.key)


@export("contrib.layers.transform_features")
def transform_features(features: dict[Any, Any], feature_columns: Any) -> dict[Any, Any]:
    """Return features transformed by columns, by column.

    Args:
      features: tensors or SparseTensors by name.
      feature_columns: the columns.
    """
    tensors = features.copy()
    _transform_all(tensors, feature_columns)
    return {key: tensor for key, tensor in tensors.items() if key in feature_columns}


def _transform_all(tensors: dict[Any, Any], feature_columns: Any) -> None:
    check_feature_columns(feature_columns)
    transformer = _Transformer(tensors)
    for column in in_order(feature_columns):
        transformer.transform(column)


@export("contrib.layers.parse_feature_columns_from_examples")
def parse_feature_columns_from_examples(
    serialized: Any, feature_columns: Any, name: str | None = None, example_names: Any = None
) -> dict[Any, Any]:
    """Parse the columns' features of examples, and transform them.

    Args:
      serialized: [batch], serialized Examples.
      feature_columns: the columns.
      name: a name scope.
      example_names: [batch], for error messages.

    Returns:
      The tensors of features by name, and those of columns.
    """
    check_feature_columns(feature_columns)
    tensors = tf.parse_example(
        serialized=serialized,
        features=create_feature_spec_for_parsing(feature_columns),
        name=name,
        example_names=example_names,
    )
    _transform_all(tensors, feature_columns)
    return tensors


@export("contrib.layers.parse_feature_columns_from_sequence_examples")
def parse_feature_columns_from_sequence_examples(
    serialized: Any,
    context_feature_columns: Any,
    sequence_feature_columns: Any,
    name: str | None = None,
    example_name: Any = None,
) -> tuple[dict[str, Tensor], dict[str, SparseTensor]]:
    """Parse the columns' features of one example of a sequence.

    Args:
      serialized: a serialized SequenceExample.
      context_feature_columns: columns of the features of the whole, or None.
      sequence_feature_columns: columns of the features of steps, or None.
      name: a name scope.
      example_name: for error messages.

    Returns:
      The tensors of both kinds of features by name, two dicts.

    Raises:
      ValueError: if there is more than one example.
    """
    try:
        serialized = tf.reshape(serialized, [])
    except ValueError as error:
        raise ValueError(
            "serialized must contain as single sequence example. Batching must be done after "
            f"parsing for sequence examples. Error: {error}"
        ) from error
    context, sequence = context_feature_columns or [], sequence_feature_columns or []
    check_feature_columns(context)
    context_spec = create_feature_spec_for_parsing(context)
    check_feature_columns(sequence)
    return tf.parse_single_sequence_example(
        serialized, context_spec, sequence_feature_spec(sequence), example_name, name
    )


def _real_valued_column_for(name: str, tensor: Any) -> Any:
    told = None
    if isinstance(tensor, tf.SparseTensor):
        told = "SparseTensor is not supported"
    elif not (tensor.dtype.is_integer or tensor.dtype.is_floating):
        told = "Non integer or non floating types are not supported"
    if told:
        raise ValueError(
            f"{told} for auto detection. Please define corresponding FeatureColumn for tensor "
            "{} {}.", name, tensor,
        )  # fmt: skip
    dimension = 1
    for size in tensor.get_shape().as_list()[1:]:
        dimension *= size
    return real_valued_column(name, dimension=dimension, dtype=tensor.dtype)


@export("contrib.layers.infer_real_valued_columns")
def infer_real_valued_columns(features: Any) -> list[Any]:
    """Columns of numbers for tensors.

    Args:
      features: a tensor [batch, ...], or tensors by name.

    Raises:
      ValueError: for tensors that are sparse or have no numbers.
    """
    if not isinstance(features, dict):
        return [_real_valued_column_for("", features)]
    return [_real_valued_column_for(key, value) for key, value in features.items()]
