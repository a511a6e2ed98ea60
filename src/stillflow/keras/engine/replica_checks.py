"""Checks of `Model.compile` for models that a strategy's replicas run."""

from __future__ import annotations

from typing import Any


def only_replica(strategy: Any) -> Any:
    """Return a strategy of one replica; NotImplementedError if it has several."""
    count = strategy.num_replicas_in_sync
    if count > 1:
        raise NotImplementedError(
            f"Model.compile: {count} replicas of {type(strategy).__name__} where operations run "
            "when they are called are not supported in Stillflow. Call "
            "tf.compat.v1.disable_eager_execution() first."
        )
    return strategy


def check_for_replicas(
    model: Any, sample_weight_mode: Any, weighted_metrics: Any, target_tensors: Any
) -> None:
    """Raise an error for arguments of `compile`, and models, that replicas do not support."""
    at_once = model.run_eagerly
    if not model._distribution_strategy:
        return
    given = {"sample_weight_mode": sample_weight_mode, "weighted_metrics": weighted_metrics}
    for name, value in given.items():
        if value:
            raise NotImplementedError(f"{name} is not supported with tf.distribute.Strategy.")
    if target_tensors:
        raise ValueError("target_tensors is not supported with tf.distribute.Strategy.")
    if at_once:
        raise ValueError(
            "We currently do not support enabling `run_eagerly` with distribution strategy."
        )
    if not model.built or not model.inputs or not model.outputs:
        raise ValueError(
            "We currently do not support distribution strategy with a `Sequential` model that is "
            "created without `input_shape`/`input_dim` set in its first layer or a subclassed "
            "model."
        )
