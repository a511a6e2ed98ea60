"""Sets of classes, of labels and of predictions, and how many of their elements agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import (
    SparseTensor,
    SparseTensorValue,
    convert_to_tensor_or_sparse_tensor,
)
from stillflow.losses.weights import assert_broadcastable
from stillflow.metrics.variables import metric_variable
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import fill, ones_like, zeros_like
from stillflow.ops.arrays.select import where_v2
from stillflow.ops.arrays.shape import expand_dims, rank, reshape, shape, size
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.arrays.tile import tile
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.math.binary import minimum, multiply
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal, greater_equal
from stillflow.ops.math.reductions import reduce_max, reduce_sum, reduced_shape
from stillflow.ops.sparse import rearranging
from stillflow.ops.sparse.sets import set_difference, set_intersection, set_size
from stillflow.variables.state_ops import assign_add

# The counted classes, by name: of predictions, of labels or of both.
_COUNTED: dict[str, Callable[[Any, Any], SparseTensor]] = {
    "true_positive": lambda predicted, labels: set_intersection(predicted, labels),
    "false_positive": lambda predicted, labels: set_difference(predicted, labels, aminusb=True),
    "false_negative": lambda predicted, labels: set_difference(predicted, labels, aminusb=False),
}


def at_k_name(name: str, k: int | None = None, class_id: int | None = None) -> str:
    """Return the name of a metric of the `k` best predictions, perhaps of one class alone."""
    name = f"{name}_at_k" if k is None else f"{name}_at_{k:d}"
    return name if class_id is None else f"{name}_class{class_id:d}"


def expand_labels(labels: Any, predictions: Tensor) -> Tensor:
    """Return labels, dense or sparse, of the rank of predictions: one class is a set of one."""
    with name_scope(None, "expand_labels", (labels, predictions)) as scope:
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            actual = rank(predictions)
            wanted: Any = size(labels.dense_shape) + 1
            return cond(
                equal(actual, wanted),
                lambda: rearranging.sparse_reshape(
                    labels, shape=concat((labels.dense_shape, (1,)), 0), name=scope
                ),
                lambda: labels,
            )
        of_labels, of_predictions = labels.shape.ndims, predictions.shape.ndims
        if of_labels is not None and of_predictions is not None:
            if of_predictions == of_labels:
                return labels
            if of_predictions == of_labels + 1:
                return expand_dims(labels, -1, name=scope)
            raise ValueError(
                f"Unexpected labels shape {labels.shape} for predictions shape {predictions.shape}."
            )
        actual = rank(predictions)
        wanted = rank(labels) + 1
        return cond(
            equal(actual, wanted), lambda: expand_dims(labels, -1, name=scope), lambda: labels
        )


def _select_class(ids: Any, class_id: int) -> SparseTensor:
    """Return the sets without all other classes."""
    ids = convert_to_tensor_or_sparse_tensor(ids)
    if isinstance(ids, SparseTensor):
        selected: SparseTensor = rearranging.sparse_retain(ids, equal(ids.values, class_id))
        return selected
    ids_shape = shape(ids, out_type=dtypes.int64)
    last: Any = size(ids_shape) - 1
    of_one = reduced_shape(ids_shape, reshape(last, [1]))
    found = set_intersection(fill(of_one, cast(class_id, dtypes.int64)), ids)
    return SparseTensor(indices=found.indices, values=found.values, dense_shape=ids_shape)


def count_in_sets(
    which: str,
    labels: Any,
    predictions_idx: Any,
    class_id: int | None = None,
    weights: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the number of classes of the given kind in each pair of sets, times weights.

    `which` is "true_positive", "false_positive" or "false_negative". Sets are int64: `labels`,
    dense or sparse, `[..., number of labels]`, and `predictions_idx`, `[..., k]`; weights are
    broadcast to `[...]`, the result's shape, of float64. `class_id` is the one to count.
    """
    with name_scope(name, f"{which}s", (predictions_idx, labels, weights)):
        if class_id is not None:
            labels = _select_class(labels, class_id)
            predictions_idx = _select_class(predictions_idx, class_id)
        count = cast(set_size(_COUNTED[which](predictions_idx, labels)), dtypes.float64)
        if weights is not None:
            with control_dependencies((assert_broadcastable(weights, count),)):
                weights = cast(weights, dtypes.float64)
                count = multiply(count, weights)
        return count


def streaming_count_in_sets(
    which: str,
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    name: str | None = None,
) -> tuple[Any, Tensor]:
    """Return the sum of `count_in_sets` over all steps, a float64 variable, and its update."""
    inputs = (predictions_idx, labels, weights)
    with name_scope(name, at_k_name(which, k, class_id=class_id), inputs) as scope:
        count = count_in_sets(which, labels, predictions_idx, class_id, weights)
        added = cast(reduce_sum(count), dtypes.float64)
        total = metric_variable([], dtypes.float64, name=scope)
        return total, assign_add(total, added, name="update")


def repeat(tensor: Any, multiple: int, dim: int = 0, name: str | None = None) -> Tensor:
    """Return a tensor, dense or sparse, repeated along a new axis before its axis `dim`."""
    if multiple < 1:
        raise ValueError(f"Invalid multiple {multiple}, must be > 0.")
    with name_scope(name, "expand_and_tile", (tensor, multiple, dim)) as scope:
        tensor = convert_to_tensor_or_sparse_tensor(tensor)
        repeated = _repeat_sparse if isinstance(tensor, SparseTensor) else _repeat_dense
        return repeated(tensor, multiple, dim, scope)


def _repeat_dense(tensor: Tensor, multiple: int, dim: int, scope: str) -> Tensor:
    expanded = expand_dims(tensor, dim - (dim < 0), name="expand")
    if multiple == 1:
        return expanded
    once: Any = ones_like(shape(tensor))
    times = concat([once[:dim], [multiple], once[dim:]], 0, "multiples")
    return tile(expanded, times, name=scope)


def _repeat_sparse(tensor: SparseTensor, multiple: int, dim: int, scope: str) -> Any:
    before: Any = [dim]
    if dim < 0:
        before = reshape(size(tensor.dense_shape) + dim, [1])
    sizes = (slice_(tensor.dense_shape, [0], before), [1], slice_(tensor.dense_shape, before, [-1]))
    expanded = rearranging.sparse_reshape(
        tensor, shape=concat(sizes, 0, name="expanded_shape"), name="expand"
    )
    if multiple == 1:
        return expanded
    axis = dim - 1 if dim < 0 else dim
    return rearranging.sparse_concat(axis, [expanded] * multiple, name=scope)


def count_relevant(labels: Any, k: int) -> Tensor:
    """Return the number of labels in each set, at most `k`; negative ones do not count."""
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    with name_scope(None, "num_relevant", (labels,)) as scope:
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            count = set_size(labels)
        else:
            is_label = greater_equal(labels, 0)
            count = reduce_sum(where_v2(is_label, ones_like(labels), zeros_like(labels)), -1)
        return minimum(count, k, name=scope)


def forget_unknown_classes(labels: Any, num_classes: Tensor) -> Tensor:
    """Labels with -1 for all numbers that are not below `num_classes`."""
    is_sparse = isinstance(labels, (SparseTensor, SparseTensorValue))

    def known(values: Any) -> Tensor:
        is_unknown = greater_equal(values, num_classes)
        return where_v2(is_unknown, -1 * ones_like(values), values)

    def known_labels() -> Tensor:
        if not is_sparse:
            return known(labels)
        return type(labels)(
            indices=labels.indices, values=known(labels.values), dense_shape=labels.dense_shape
        )

    largest = reduce_max(labels.values if is_sparse else labels)
    return cond(greater_equal(largest, num_classes), known_labels, lambda: labels)
