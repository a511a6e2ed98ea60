"""tf.io.parse_single_sequence_example and tf.io.parse_sequence_example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import tensor_shape
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.constants import constant
from stillflow.ops.io.parsing.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    Parameters,
    VarLenFeature,
    clean,
    parameters,
)
from stillflow.ops.io.parsing.functions import by_name
from stillflow.ops.io.parsing.sequences import (
    parse_sequence_example_op,
    parse_single_sequence_example_op,
)


def _described(
    context_features: Any, sequence_features: Any
) -> tuple[Parameters, Parameters, list[str]]:
    """Both kinds of features as the ops take them, and the lists that may be missing."""
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    context = parameters(context_features, (VarLenFeature, FixedLenFeature))
    lists = parameters(sequence_features, (VarLenFeature, FixedLenSequenceFeature))
    for key, value in lists.dense_defaults.items():
        if value is not None:
            raise ValueError(f"Value feature_list_dense_defaults[{key}] must be None")
    return context, lists, list(lists.dense_defaults)


def _defaults(context: Parameters, shapes: Sequence[Any] | None) -> list[Any]:
    """Defaults of context features, brought to their shapes if these are given."""
    made: list[Any] = []
    for i, (key, dtype) in enumerate(zip(context.dense_keys, context.dense_types, strict=True)):
        value = context.dense_defaults.get(key)
        if value is None:
            made.append(constant([], dtype=dtype))
        elif isinstance(value, Tensor):
            made.append(value)
        else:
            tensor = convert_to_tensor(value, dtype=dtype, name=f"key_{clean(key)}")
            made.append(tensor if shapes is None else reshape(tensor, shapes[i]))
    return made


def _attrs(context: Parameters, lists: Parameters) -> dict[str, Any]:
    as_shape = tensor_shape.as_shape
    return {
        "context_sparse_types": context.sparse_types,
        "context_dense_shapes": [as_shape(shape) for shape in context.dense_shapes],
        "feature_list_sparse_types": lists.sparse_types,
        "feature_list_dense_types": lists.dense_types,
        "feature_list_dense_shapes": [as_shape(shape) for shape in lists.dense_shapes],
    }


@export("io.parse_single_sequence_example", "parse_single_sequence_example")
def parse_single_sequence_example(
    serialized: Any, context_features: Any = None, sequence_features: Any = None,
    example_name: Any = None, name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """Parse features of one serialized `SequenceExample`.

    Args:
      serialized: a string scalar.
      context_features: `FixedLenFeature`s and `VarLenFeature`s by name.
      sequence_features: `FixedLenSequenceFeature`s and `VarLenFeature`s by name.
      example_name: for messages, a string scalar, or None.
      name: of the operation.

    Returns:
      Two dicts of tensors by name: those of the context, and those of the sequences with their
      steps along the first dimension.

    Raises:
      ValueError: if there are no features, or descriptions are not complete.
    """
    context, lists, optional = _described(context_features, sequence_features)
    with name_scope(name, "ParseSingleSequenceExample", [serialized]):
        fillers = _defaults(context, context.dense_shapes)
        outputs = parse_single_sequence_example_op(
            serialized, optional, context.sparse_keys, context.dense_keys, lists.sparse_keys,
            lists.dense_keys, fillers, "" if example_name is None else example_name, name=name,
            **_attrs(context, lists),
        )  # fmt: skip
        return by_name(context, *outputs[:4]), by_name(lists, *outputs[4:])


@export("io.parse_sequence_example")
def parse_sequence_example(
    serialized: Any, context_features: Any = None, sequence_features: Any = None,
    example_names: Any = None, name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:  # fmt: skip
    """Parse features of serialized `SequenceExample`s.

    Args:
      serialized: a string vector.
      context_features: `FixedLenFeature`s and `VarLenFeature`s by name.
      sequence_features: `FixedLenSequenceFeature`s and `VarLenFeature`s by name.
      example_names: for messages, a string vector, or None.
      name: of the operation.

    Returns:
      Three dicts by name: tensors of the context, tensors of the sequences with their steps along
      the second dimension, and the lengths of dense sequences.

    Raises:
      ValueError: if there are no features, or descriptions are not complete.
    """
    context, lists, optional = _described(context_features, sequence_features)
    with name_scope(name, "ParseSequenceExample", [serialized]):
        fillers = _defaults(context, None)
        outputs = parse_sequence_example_op(
            serialized, [] if example_names is None else example_names, fillers,
            Ncontext_sparse=len(context.sparse_keys), Ncontext_dense=len(context.dense_keys),
            Nfeature_list_sparse=len(lists.sparse_keys),
            Nfeature_list_dense=len(lists.dense_keys), context_sparse_keys=context.sparse_keys,
            context_dense_keys=context.dense_keys, feature_list_sparse_keys=lists.sparse_keys,
            feature_list_dense_keys=lists.dense_keys,
            feature_list_dense_missing_assumed_empty=optional, name=name,
            **_attrs(context, lists),
        )  # fmt: skip
        lengths = dict(zip(lists.dense_keys, outputs[8], strict=True))
        return by_name(context, *outputs[:4]), by_name(lists, *outputs[4:8]), lengths
