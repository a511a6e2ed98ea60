"""Confusion matrices: how often each class was taken for each other."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import get
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.arrays import fill as fills
from stillflow.ops.arrays import shape as shapes
from stillflow.ops.arrays import stack as packing
from stillflow.ops.control_flow import cond as control_flow
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.debugging import comparisons as checks
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.reductions import reduce_max


def remove_squeezable_dimensions(
    labels: Any, predictions: Any, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Drop a last axis of size 1 where one of two tensors has one axis more than expected.

    `expected_rank_diff` is the rank of `predictions` less that of `labels`.
    """
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        predictions = convert_to_tensor(predictions)
        labels = convert_to_tensor(labels)
        known = predictions._dims, labels._dims
        if known[0] is not None and known[1] is not None:
            surplus = len(known[0]) - len(known[1]) - expected_rank_diff
            if surplus == 1:
                predictions = shapes.squeeze(predictions, [-1])
            elif surplus == -1:
                labels = shapes.squeeze(labels, [-1])
            return labels, predictions
        rank_diff = shapes.rank(predictions) - shapes.rank(labels)
        predictions = _squeezed_if(expected_rank_diff + 1, rank_diff, predictions)
        labels = _squeezed_if(expected_rank_diff - 1, rank_diff, labels)
        return labels, predictions


def _squeezed_if(expected: int, rank_diff: Tensor, x: Tensor) -> Tensor:
    if x._dims is not None and x._dims[-1] not in (None, 1):
        return x
    return control_flow.cond(equal(expected, rank_diff), lambda: shapes.squeeze(x, [-1]), lambda: x)


@export("compat.v2.math.confusion_matrix")
def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    weights: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Return the matrix whose element `[i, j]` counts labels `i` that were predicted as `j`.

    Args:
      labels, predictions: vectors of class numbers.
      num_classes: how many classes there are; by default the largest number plus 1.
      weights: what each prediction counts, by default 1.
      dtype: of the matrix.
      name: of the scope.

    Raises:
      ValueError: if shapes do not fit.
      InvalidArgumentError: when run, for numbers that are negative or too large.
    """
    with name_scope(name, "confusion_matrix", (predictions, labels, num_classes, weights)):
        labels, predictions = remove_squeezable_dimensions(
            convert_to_tensor(labels, name="labels"),
            convert_to_tensor(predictions, name="predictions"),
        )
        predictions = cast(predictions, dtypes.int64)
        labels = cast(labels, dtypes.int64)
        labels = _not_negative(labels, "labels")
        predictions = _not_negative(predictions, "predictions")
        if num_classes is None:
            num_classes = maximum(reduce_max(predictions), reduce_max(labels)) + 1
        else:
            limit = cast(num_classes, dtypes.int64)
            labels = _below(labels, limit, "labels")
            predictions = _below(predictions, limit, "predictions")
        if weights is not None:
            weights = convert_to_tensor(weights, name="weights")
            predictions.get_shape().assert_is_compatible_with(weights.get_shape())
            weights = cast(weights, dtype)
        shape = packing.stack([num_classes, num_classes])
        indices = packing.stack([labels, predictions], axis=1)
        values = fills.ones_like(predictions, dtype) if weights is None else weights
        counts = SparseTensor(indices, values, cast(shape, dtypes.int64))
        zeros = fills.zeros(cast(shape, dtypes.int32), dtype)
        return _add_sparse(zeros, counts)


@export("math.confusion_matrix", "confusion_matrix")
@dispatchable
def confusion_matrix_v1(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """`tf.compat.v2.math.confusion_matrix` with its arguments in TF 1's order."""
    return confusion_matrix(labels, predictions, num_classes, weights, dtype, name)


def _not_negative(x: Tensor, what: str) -> Tensor:
    check = checks.assert_non_negative(x, message=f"`{what}` contains negative values")
    return with_dependencies([check], x)


def _below(x: Tensor, limit: Tensor, what: str) -> Tensor:
    check = checks.assert_less(x, limit, message=f"`{what}` out of bound")
    return with_dependencies([check], x)


def _add_sparse(dense: Tensor, sparse: SparseTensor) -> Tensor:
    return get("SparseTensorDenseAdd")(sparse.indices, sparse.values, sparse.dense_shape, dense)
