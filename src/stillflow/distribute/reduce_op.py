"""Reductions of replicas' values."""

from __future__ import annotations

import enum
from typing import Any

from stillflow.distribute.context import get_strategy
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph


@export("distribute.ReduceOp")
class ReduceOp(enum.Enum):
    """Reduction of replicas' values: their sum, or their mean."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: Any) -> ReduceOp:
        """Return the reduction that a `tf.VariableAggregation` stands for.

        Raises:
          ValueError: if it stands for none.
        """
        found = ReduceOp.__members__.get(getattr(aggregation, "name", ""))
        if found is None:
            raise ValueError(
                f"Could not convert from `tf.VariableAggregation` {aggregation} "
                "to`tf.distribute.ReduceOp` type"
            )
        return found


def as_reduce_op(value: Any) -> ReduceOp:
    """Return a `ReduceOp`, given as such or by name."""
    return ReduceOp(value.upper()) if isinstance(value, str) else ReduceOp(value)


@export("distribute.get_loss_reduction", "contrib.distribute.get_loss_reduction")
def get_loss_reduction() -> ReduceOp:
    """Return the reduction of replicas' losses: sum, or mean in an estimator's training."""
    if not get_strategy()._scale_loss_for_estimator:
        return ReduceOp.SUM
    last = get_default_graph()._last_loss_reduction
    return ReduceOp.SUM if last in ("weighted_sum", "sum") else ReduceOp.MEAN
