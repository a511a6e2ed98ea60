"""Reduction of elements' losses to one number, with weights."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.losses.collections import add_loss
from stillflow.losses.weights import assert_broadcastable, broadcast_weights
from stillflow.ops.arrays.fill import ones_like, zeros_like
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import rank, size
from stillflow.ops.math.binary import multiply
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.division import div_no_nan
from stillflow.ops.math.reductions import reduce_sum


@export("losses.Reduction")
class Reduction:
    """Reduction of the elements' weighted losses."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Every reduction."""
        return (
            *(cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE),
            *(cls.SUM_OVER_NONZERO_WEIGHTS, cls.SUM_BY_NONZERO_WEIGHTS),
        )

    @classmethod
    def validate(cls, key: Any) -> None:
        """Raise an error for a key that is not a reduction.

        Raises:
          ValueError: if `key` is none of them.
        """
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


def _num_elements(losses: Tensor) -> Tensor:
    with name_scope(None, "num_elements", [losses]) as scope:
        count: Tensor = cast(size(losses, name=scope), dtype=losses.dtype)
        return count


def num_present(losses: Tensor, weights: Any, per_batch: bool = False) -> Tensor:
    """Return the number of losses with a weight other than 0, in each row if `per_batch`."""
    if isinstance(weights, float) and weights != 0.0:
        return _num_elements(losses)
    with name_scope(None, "num_present", [losses, weights]) as scope:
        given = cast(weights, dtypes.float32)
        counted = where(equal(given, 0.0), zeros_like(given), ones_like(given))
        counted = broadcast_weights(counted, losses)
        rows = {"axis": range_(1, rank(counted)), "keepdims": True} if per_batch else {}
        return reduce_sum(counted, name=scope, **rows)


def _mean(losses: Tensor, count: Tensor) -> Tensor:
    return div_no_nan(reduce_sum(losses), count, name="value")


def _reduced(weighted: Tensor, losses: Tensor, weights: Tensor, reduction: str) -> Tensor:
    if reduction == Reduction.NONE:
        return weighted
    total = reduce_sum(weighted)
    if reduction == Reduction.MEAN:
        return _mean(total, reduce_sum(ones_like(losses) * weights))
    if reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
        return _mean(total, num_present(losses, weights))
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        return _mean(total, _num_elements(losses))
    return total


@export("losses.compute_weighted_loss")
def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Weights the losses of elements and reduces them.

    Args:
      losses: of any shape `[batch, ...]`.
      weights: a scalar, or of the rank of `losses`, each dimension 1 or equal.
      scope: a name for the operations.
      loss_collection: where the result is added.
      reduction: a value of `tf.losses.Reduction`.

    Returns:
      A scalar of the type of `losses`; of their shape for `Reduction.NONE`.

    Raises:
      ValueError: if the weights do not fit or the reduction is unknown.
    """
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss", [losses, weights]):
        get_default_graph()._last_loss_reduction = reduction
        with control_dependencies([assert_broadcastable(weights, losses)]):
            losses = convert_to_tensor(losses)
            dtype = losses.dtype
            losses = cast(losses, dtype=dtypes.float32)
            weights = cast(weights, dtype=dtypes.float32)
            loss = _reduced(multiply(losses, weights), losses, weights, reduction)
            loss = cast(loss, dtype)
            add_loss(loss, loss_collection)
            return loss
