"""Losses and metrics of each output, from the arguments of `compile`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.distribute.context import get_strategy
from stillflow.eager import v2_behavior
from stillflow.graph.operation import Tensor
from stillflow.keras.engine.endpoints import compares_with
from stillflow.keras.losses import classes, functions
from stillflow.keras.losses.alignment import align_weights
from stillflow.keras.losses.base import (
    Loss,
    LossFunctionWrapper,
    Reduction,
    compute_weighted_loss,
    reduce_weighted_loss,
)
from stillflow.keras.metrics import registry
from stillflow.keras.metrics.base import MeanMetricWrapper, Metric, clone_metric
from stillflow.keras.metrics.functions import (
    binary_accuracy,
    categorical_accuracy,
    sparse_categorical_accuracy,
)
from stillflow.keras.utils.generic import check_for_unexpected_keys
from stillflow.platform import tf_logging as logging

_ACCURACY, _CROSSENTROPY = ("accuracy", "acc"), ("crossentropy", "ce")
# For binary outputs, integer classes, others.
_BY_OUTPUT = {
    "acc": (binary_accuracy, sparse_categorical_accuracy, categorical_accuracy),
    "ce": (
        functions.binary_crossentropy,
        functions.sparse_categorical_crossentropy,
        functions.categorical_crossentropy,
    ),
}


def loss_functions(loss: Any, output_names: list[str]) -> list[Any]:
    """Return the loss of each output: of one for all, a list, or a dictionary by their names."""
    if isinstance(loss, Mapping):
        check_for_unexpected_keys("loss", loss, output_names)
        for name in output_names:
            if name not in loss:
                logging.warning(
                    f"Output {name} missing from loss dictionary. We assume this was done on "
                    "purpose. The fit and evaluate APIs will not be expecting any data to be "
                    f"passed to {name}."
                )
        return [loss_function(loss.get(name)) for name in output_names]
    if isinstance(loss, Sequence) and not isinstance(loss, str):
        if len(loss) != len(output_names):
            raise ValueError(
                "When passing a list as loss, it should have one entry per model outputs. The "
                f"model has {len(output_names)} outputs, but you passed loss={loss}"
            )
        found: list[Any] = nest.map_structure(loss_function, loss)
        return found
    return [loss_function(loss) for _ in output_names]


def loss_function(loss: Any) -> LossFunctionWrapper:
    """Return a loss as an object; None stays None."""
    given = classes.get(loss) if isinstance(loss, Mapping) else loss
    is_object = callable(given) and not hasattr(given, "__name__")
    if given is None or is_object or isinstance(given, Loss):
        return given
    function = classes.get(given)
    reduction = Reduction.SUM_OVER_BATCH_SIZE
    return LossFunctionWrapper(function, name=function.__name__, reduction=reduction)


def metrics_by_output(
    metrics: Any,
    output_names: list[str],
    output_shapes: list[Any],
    losses: list[Any],
    weighted: bool = False,
) -> list[dict[str, Any]]:
    """Return the metrics of each output, by their names.

    `metrics` is a list, a list of one list for each output, or a dictionary by output names;
    `weighted` ones are weighted as the losses are. ValueError for too few or too many lists,
    TypeError for something else.
    """
    if not metrics:
        return [{} for _ in output_names]
    if isinstance(metrics, list):
        nested = _nested(metrics, output_names)
    elif isinstance(metrics, Mapping):
        check_for_unexpected_keys("metrics", metrics, output_names)
        nested = [_as_list(metrics.get(name, [])) for name in output_names]
    else:
        raise TypeError(
            "Type of `metrics` argument not understood. Expected a list or dictionary, found: "
            f"{metrics}"
        )
    found = []
    for i, of_output in enumerate(nested):
        named: dict[str, Any] = {}
        for metric in of_output:
            name = _metric_name(metric, weighted)
            function = _metric_function(metric, output_shapes[i], losses[i])
            if not isinstance(function, Metric):
                function = MeanMetricWrapper(function, name=name)
            named[name] = function
        found.append(named)
    return found


def _nested(metrics: list[Any], output_names: list[str]) -> list[list[Any]]:
    if any(isinstance(metric, list) for metric in metrics):
        if len(metrics) != len(output_names):
            raise ValueError(
                "When passing a list of lists as `metrics`, it should have one entry per model "
                f"output. The model has {len(output_names)} outputs, but you passed "
                f"metrics={metrics}"
            )
        return [_as_list(metric) for metric in metrics]
    if len(output_names) > 1:
        return [[clone_metric(metric) for metric in metrics] for _ in output_names]
    return [metrics]


def _as_list(x: Any) -> list[Any]:
    return x if isinstance(x, list) else [x]


def _metric_name(metric: Any, weighted: bool) -> str:
    if v2_behavior.is_enabled and isinstance(metric, str):
        return metric  # as the program calls it
    if metric in _ACCURACY:
        name = "acc"
    elif metric in _CROSSENTROPY:
        name = "ce"
    else:
        function = registry.get(metric)
        name = function.name if hasattr(function, "name") else function.__name__
    return f"weighted_{name}" if weighted and not v2_behavior.is_enabled else name


def _metric_function(metric: Any, output_shape: Any, loss: Any) -> Any:
    """Return the function or object of a metric; the meaning of "accuracy" depends on the loss."""
    if metric not in _ACCURACY + _CROSSENTROPY:
        return registry.get(metric)
    binary, sparse, categorical = _BY_OUTPUT["acc" if metric in _ACCURACY else "ce"]
    if output_shape[-1] == 1 or compares_with(
        loss, classes.BinaryCrossentropy, functions.binary_crossentropy
    ):
        return binary
    if compares_with(
        loss, classes.SparseCategoricalCrossentropy, functions.sparse_categorical_crossentropy
    ):
        return sparse
    return categorical


def with_mask(mask: Any, weights: Any, y_pred: Any) -> Tensor | None:
    """Weights that are 0 where an output is masked."""
    if mask is None:
        return weights
    mask = tf.cast(mask, y_pred.dtype)
    if weights is None:
        return mask
    return align_weights(mask, weights) * mask


def endpoint_loss(loss: Any, y_true: Any, y_pred: Any, weights: Any) -> Tensor:
    """Return the loss of an output as `compile` reduces it: that of a batch, a mean by default."""
    if not hasattr(loss, "reduction"):
        return loss(y_true, y_pred, sample_weight=weights)
    losses = compute_weighted_loss(
        loss.call(y_true, y_pred), sample_weight=weights, reduction=Reduction.NONE
    )
    reduction = loss.reduction
    if reduction == Reduction.AUTO:
        reduction = Reduction.SUM_OVER_BATCH_SIZE
    return reduce_weighted_loss(losses, reduction=reduction)


def is_mean(loss: Any) -> bool:
    """Return True if a loss is a mean over the batch."""
    how = getattr(loss, "reduction", Reduction.AUTO)
    return how in (Reduction.AUTO, Reduction.SUM_OVER_BATCH_SIZE)


def share_of_replica(loss: Any) -> Tensor:
    """Return a loss of which all replicas together make the whole."""
    count = get_strategy().num_replicas_in_sync
    return loss * (1.0 / count) if count > 1 else loss
