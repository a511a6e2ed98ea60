"""Metrics that `tf.metrics` has under another name, with predictions before labels."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.util.deprecation import deprecated

_ANSWERS = ("predictions", "labels")
_AT_THRESHOLDS = (*_ANSWERS, "thresholds")
_AT_K = (*_ANSWERS, "k")
_WEIGHTS = {"weights": None}
_CLASS = {"class_id": None, **_WEIGHTS}
_NUM_THRESHOLDS = {"weights": None, "num_thresholds": 200}
_COLLECTIONS = {"metrics_collections": None, "updates_collections": None}
_CURVE = {**_NUM_THRESHOLDS, **_COLLECTIONS, "curve": "ROC"}

# Note on the order of arguments, where a function is deprecated.
_MOVED = ""
_SWITCHED = " Note that the order of the labels and predictions arguments has been switched."
_ARE_SWITCHED = " Note that the order of the labels and predictions arguments are switched."


def _signature(required: tuple[str, ...], options: dict[str, Any]) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [inspect.Parameter(name, kind) for name in required]
        + [inspect.Parameter(name, kind, default=value) for name, value in options.items()]
    )


def _streaming(
    name: str,
    required: tuple[str, ...] = _ANSWERS,
    options: dict[str, Any] | None = None,
    metric: str | None = None,
    note: str | None = None,
) -> Callable[..., Any]:
    """Return the metric `tf.metrics.<metric>` under the name `streaming_<name>`.

    Args:
      name: the new name.
      required, options: the arguments that have no default and those that have one, in order.
      metric: the name in `tf.metrics`; `name` by default.
      note: what its deprecation notice says besides the new name; None for no notice.
    """
    metric = metric or name
    # The collections and the name come last; `auc` alone has an argument between them.
    last = {**_COLLECTIONS, "name": None}
    signature = _signature(required, {**(options or _WEIGHTS), **last})

    def streaming(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        return getattr(tf.metrics, metric)(**signature.bind(*args, **kwargs).arguments)

    streaming.__name__ = streaming.__qualname__ = f"streaming_{name}"
    streaming.__signature__ = signature  # type: ignore[attr-defined]
    streaming.__doc__ = (
        f"`tf.metrics.{metric}`: its arguments, in another order, its results and its errors."
    )
    if note is None:
        return streaming
    notice = f"Please switch to tf.metrics.{metric}{'.' if note else ''}{note}"
    return deprecated(None, notice)(streaming)


streaming_true_positives = export(
    "contrib.metrics.streaming_true_positives", "contrib.slim.metrics.streaming_true_positives"
)(_streaming("true_positives", note=_SWITCHED))

streaming_true_negatives = export(
    "contrib.metrics.streaming_true_negatives", "contrib.slim.metrics.streaming_true_negatives"
)(_streaming("true_negatives", note=_SWITCHED))

streaming_false_positives = export(
    "contrib.metrics.streaming_false_positives", "contrib.slim.metrics.streaming_false_positives"
)(_streaming("false_positives", note=_SWITCHED))

streaming_false_negatives = export(
    "contrib.metrics.streaming_false_negatives", "contrib.slim.metrics.streaming_false_negatives"
)(_streaming("false_negatives", note=_SWITCHED))

streaming_mean = export("contrib.metrics.streaming_mean", "contrib.slim.metrics.streaming_mean")(
    _streaming("mean", ("values",), note=_MOVED)
)

streaming_mean_tensor = export(
    "contrib.metrics.streaming_mean_tensor", "contrib.slim.metrics.streaming_mean_tensor"
)(_streaming("mean_tensor", ("values",), note=_MOVED))

streaming_accuracy = export(
    "contrib.metrics.streaming_accuracy", "contrib.slim.metrics.streaming_accuracy"
)(_streaming("accuracy", note=_SWITCHED))

streaming_precision = export(
    "contrib.metrics.streaming_precision", "contrib.slim.metrics.streaming_precision"
)(_streaming("precision", note=_SWITCHED))

streaming_recall = export(
    "contrib.metrics.streaming_recall", "contrib.slim.metrics.streaming_recall"
)(_streaming("recall", note=_SWITCHED))

streaming_auc = export("contrib.metrics.streaming_auc", "contrib.slim.metrics.streaming_auc")(
    _streaming("auc", options=_CURVE, note=_SWITCHED)
)

streaming_specificity_at_sensitivity = export(
    "contrib.metrics.streaming_specificity_at_sensitivity",
    "contrib.slim.metrics.streaming_specificity_at_sensitivity",
)(_streaming("specificity_at_sensitivity", (*_ANSWERS, "sensitivity"), _NUM_THRESHOLDS))

streaming_sensitivity_at_specificity = export(
    "contrib.metrics.streaming_sensitivity_at_specificity",
    "contrib.slim.metrics.streaming_sensitivity_at_specificity",
)(_streaming("sensitivity_at_specificity", (*_ANSWERS, "specificity"), _NUM_THRESHOLDS))

streaming_precision_at_thresholds = export(
    "contrib.metrics.streaming_precision_at_thresholds",
    "contrib.slim.metrics.streaming_precision_at_thresholds",
)(_streaming("precision_at_thresholds", _AT_THRESHOLDS, note=_ARE_SWITCHED))

streaming_recall_at_thresholds = export(
    "contrib.metrics.streaming_recall_at_thresholds",
    "contrib.slim.metrics.streaming_recall_at_thresholds",
)(_streaming("recall_at_thresholds", _AT_THRESHOLDS, note=_SWITCHED))

streaming_sparse_recall_at_k = export(
    "contrib.metrics.streaming_sparse_recall_at_k",
    "contrib.slim.metrics.streaming_sparse_recall_at_k",
)(_streaming("sparse_recall_at_k", _AT_K, _CLASS, "recall_at_k"))

streaming_sparse_precision_at_k = export(
    "contrib.metrics.streaming_sparse_precision_at_k",
    "contrib.slim.metrics.streaming_sparse_precision_at_k",
)(_streaming("sparse_precision_at_k", _AT_K, _CLASS, "precision_at_k"))

streaming_sparse_average_precision_at_k = export(
    "contrib.metrics.streaming_sparse_average_precision_at_k",
    "contrib.slim.metrics.streaming_sparse_average_precision_at_k",
)(_streaming("sparse_average_precision_at_k", _AT_K, metric="average_precision_at_k"))

streaming_mean_absolute_error = export(
    "contrib.metrics.streaming_mean_absolute_error",
    "contrib.slim.metrics.streaming_mean_absolute_error",
)(_streaming("mean_absolute_error", note=_SWITCHED))

streaming_mean_relative_error = export(
    "contrib.metrics.streaming_mean_relative_error",
    "contrib.slim.metrics.streaming_mean_relative_error",
)(_streaming("mean_relative_error", (*_ANSWERS, "normalizer")))

streaming_mean_squared_error = export(
    "contrib.metrics.streaming_mean_squared_error",
    "contrib.slim.metrics.streaming_mean_squared_error",
)(_streaming("mean_squared_error", note=_SWITCHED))

streaming_root_mean_squared_error = export(
    "contrib.metrics.streaming_root_mean_squared_error",
    "contrib.slim.metrics.streaming_root_mean_squared_error",
)(_streaming("root_mean_squared_error", note=_SWITCHED))

streaming_percentage_less = export(
    "contrib.metrics.streaming_percentage_less", "contrib.slim.metrics.streaming_percentage_less"
)(_streaming("percentage_less", ("values", "threshold"), metric="percentage_below"))

streaming_mean_iou = export(
    "contrib.metrics.streaming_mean_iou", "contrib.slim.metrics.streaming_mean_iou"
)(_streaming("mean_iou", (*_ANSWERS, "num_classes")))
