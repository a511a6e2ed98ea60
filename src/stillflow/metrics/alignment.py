"""Predictions, labels and weights brought to shapes that fit each other."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.losses.weights import broadcast_weights
from stillflow.ops.arrays.shape import expand_dims, rank, squeeze
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.confusion import remove_squeezable_dimensions


def align(predictions: Any, labels: Any, weights: Any) -> tuple[Tensor, Any, Any]:
    """Drop or add a last axis of size 1, so that the ranks of all three are equal.

    Labels, of the same shape but for such an axis, and weights, a scalar or of a rank that differs
    by at most 1, may be None. ValueError if known shapes do not fit.
    """
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is not None:
        weights = _like(predictions, convert_to_tensor(weights))
    return predictions, labels, weights


def _like(predictions: Tensor, weights: Tensor) -> Tensor:
    """Weights of the rank of predictions; scalars stay as they are."""
    known, wanted = weights.shape.ndims, predictions.shape.ndims
    if known == 0:
        return weights
    if known is not None and wanted is not None:
        if known - wanted == 1:
            return squeeze(weights, [-1])
        return expand_dims(weights, [-1]) if wanted - known == 1 else weights
    actual = rank(weights)
    difference: Any = actual - rank(predictions)
    can_squeeze = known is None or weights.shape.dims[-1].is_compatible_with(1)

    def expanded() -> Tensor:
        return cond(equal(difference, -1), lambda: expand_dims(weights, [-1]), lambda: weights)

    def squeezed() -> Tensor:
        return squeeze(weights, [-1]) if can_squeeze else weights

    def adjusted() -> Tensor:
        return cond(equal(difference, 1), squeezed, expanded)

    result: Tensor = cond(equal(actual, 0), lambda: weights, adjusted)
    return result


def align_bool(predictions: Any, labels: Any, weights: Any) -> tuple[Tensor, Any, Any]:
    """`align` of predictions and labels that are cast to bool first."""
    return align(
        predictions=cast(predictions, dtype=dtypes.bool),
        labels=cast(labels, dtype=dtypes.bool),
        weights=weights,
    )


def float_weights(weights: Any, values: Tensor, dtype: Any = dtypes.float32) -> Tensor:
    """Weights of type `dtype` in the shape of `values`."""
    return broadcast_weights(cast(weights, dtype), values)
