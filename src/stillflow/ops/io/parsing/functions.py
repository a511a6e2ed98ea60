"""tf.io.parse_example and tf.io.parse_single_example."""

from __future__ import annotations

from typing import Any

from stillflow.graph import tensor_shape
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.arrays.shape import expand_dims, rank, squeeze
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.io.parsing.examples import parse_example_op
from stillflow.ops.io.parsing.features import (
    Parameters,
    clean,
    defaults,
    merged_sparse,
    parameters,
    with_row_dimension,
)
from stillflow.ops.io.parsing.single_example import parse_single_example_op
from stillflow.ops.math.comparison import equal


@export("io.parse_example", "parse_example")
def parse_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Parse features of serialized `Example`s.

    Args:
      serialized: a string vector.
      features: descriptions by name: `FixedLenFeature`, `VarLenFeature`, `SparseFeature`,
        `FixedLenSequenceFeature`.
      name: of the operation.
      example_names: names of the examples for messages, a string vector, or None.

    Returns:
      Tensors and sparse tensors by name, the examples along their first dimension.

    Raises:
      ValueError: if there are no features, or descriptions are not complete.
    """
    if not features:
        raise ValueError(f"Missing: features was {features}.")
    features = with_row_dimension(features)
    return merged_sparse(features, _batch(serialized, example_names, parameters(features), name))


def _batch(serialized: Any, names: Any, made: Parameters, name: str | None) -> dict[str, Any]:
    with name_scope(name, "ParseExample", [serialized, names]):
        made.check()
        shapes = [tensor_shape.as_shape(shape) for shape in made.dense_shapes]
        fillers = defaults(made, shapes)
        indices, values, sizes, dense = parse_example_op(
            serialized, [] if names is None else names, made.sparse_keys, made.dense_keys,
            fillers, sparse_types=made.sparse_types, dense_shapes=shapes, name=name,
        )  # fmt: skip
        return by_name(made, indices, values, sizes, dense)


def by_name(made: Parameters, indices: Any, values: Any, sizes: Any, dense: Any) -> dict[str, Any]:
    """Return an op's outputs by the names of the features."""
    sparse = [SparseTensor(*parts) for parts in zip(indices, values, sizes, strict=True)]
    return dict(zip([*made.sparse_keys, *made.dense_keys], [*sparse, *dense], strict=True))


@export("io.parse_single_example", "parse_single_example")
def parse_single_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Parse features of one serialized `Example`.

    Args:
      serialized: a string scalar.
      features: descriptions by name, as `parse_example` takes them.
      name: of the operation.
      example_names: the name of the example for messages, a string scalar, or None.

    Returns:
      Tensors and sparse tensors by name.

    Raises:
      ValueError: if there are no features, or descriptions are not complete.

    Example:
      >>> example, features = tf.train.Example(), {"label": tf.FixedLenFeature([], tf.int64)}
      >>> example.features.feature["label"].int64_list.value.append(7)
      >>> tf.parse_single_example(example.SerializeToString(), features)
      {'label': <tf.Tensor 'ParseSingleExample/ParseSingleExample:0' shape=() dtype=int64>}
    """
    if not features:
        raise ValueError("Missing features.")
    features = with_row_dimension(features)
    made = parameters(features)
    if example_names is None:
        found = _single(serialized, made, name)
    else:
        found = _named_single(serialized, example_names, made, name)
    return merged_sparse(features, found)


def _single(serialized: Any, made: Parameters, name: str | None) -> dict[str, Any]:
    with name_scope(name, "ParseSingleExample", [serialized]):
        text = convert_to_tensor(serialized, name="serialized")
        made.check()
        shapes = [tensor_shape.as_shape(shape) for shape in made.dense_shapes]
        fillers = defaults(made, shapes)
        outputs = parse_single_example_op(
            text, fillers, num_sparse=len(made.sparse_keys), sparse_keys=made.sparse_keys,
            dense_keys=made.dense_keys, sparse_types=made.sparse_types, dense_shapes=shapes,
            name=name,
        )  # fmt: skip
        return by_name(made, *outputs)


def _scalar(value: Any, what: str, label: str) -> Tensor:
    """Return a scalar as a vector of one; checked when it runs, where its rank is not known."""
    tensor = convert_to_tensor(value)
    ndims = tensor.get_shape().ndims
    if ndims is None:
        message = f"Input {what} must be a scalar"
        is_scalar = Assert(equal(rank(tensor), 0), [message], name=f"{label}IsScalar")
        tensor = with_dependencies([is_scalar], tensor, name=f"{label}Dependencies")
    elif ndims != 0:
        raise ValueError(f"Input {what} must be a scalar")
    return expand_dims(tensor, 0)


def _named_single(
    serialized: Any, names: Any, made: Parameters, name: str | None
) -> dict[str, Any]:
    """One example with a name goes through the op for batches."""
    with name_scope(name, "ParseSingleExample", [serialized, names]):
        text = _scalar(serialized, "serialized", "Serialized")
        outputs = _batch(text, _scalar(names, "names", "Names"), made, name)
        for key in made.dense_keys:
            outputs[key] = squeeze(outputs[key], [0], name=f"Squeeze_{clean(key)}")
        for key in made.sparse_keys:
            found, label = outputs[key], clean(key)
            outputs[key] = SparseTensor(
                slice_(found.indices, [0, 1], [-1, -1], name=f"Slice_Indices_{label}"),
                found.values,
                slice_(found.dense_shape, [1], [-1], name=f"Squeeze_Shape_{label}"),
            )
        return outputs
