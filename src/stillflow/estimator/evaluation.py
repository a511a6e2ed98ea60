"""The evaluation of an estimator: metrics over rounds, and where their values go."""

from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from stillflow.estimator.spec import LOSS_METRIC_KEY, EstimatorSpec
from stillflow.graph import dtypes
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.tensor_proto import make_tensor_proto
from stillflow.metrics.means import mean
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.platform import tf_logging as logging
from stillflow.protos import Summary
from stillflow.summary.writer import FileWriterCache
from stillflow.train.evaluation import get_or_create_eval_step
from stillflow.train.scaffold import Scaffold

# Metrics of every estimator, as errors name them.
_TAKEN = {LOSS_METRIC_KEY: '"loss"', GraphKeys.GLOBAL_STEP: "`global_step`"}


def check_metrics(metrics: dict[str, Any]) -> dict[str, Any]:
    """Metrics by name; ValueError if one has a name that is taken."""
    for name, quoted in _TAKEN.items():
        if name in metrics:
            raise ValueError(
                f"Metric with name {quoted} is not allowed, because Estimator already defines a "
                "default metric with the same name."
            )
    return metrics


def metric_operations(spec: EstimatorSpec, step: Any) -> tuple[Any, dict[str, Any]]:
    """Return a round's fetches, and the final values: metrics, the loss, the global step.

    ValueError if a metric of the model has a name that is taken.
    """
    metrics = check_metrics(spec.eval_metric_ops)
    metrics[LOSS_METRIC_KEY] = mean(spec.loss)
    pairs = sorted(metrics.items())
    values = {name: value for name, (value, _) in pairs}
    values[GraphKeys.GLOBAL_STEP] = step
    return group(*(update for _, (_, update) in pairs)), values


def evaluation_scaffold(scaffold: Any) -> Scaffold:
    """Return the scaffold of a model.

    One with its own `local_init_op` initializes the metrics too.
    """
    if not scaffold.local_init_op:
        return scaffold
    get_or_create_eval_step()  # a local variable like the others, so it must be there by now
    return Scaffold(
        local_init_op=group(scaffold.local_init_op, Scaffold.default_local_init_op()),
        copy_from_scaffold=scaffold,
    )


def write_results(output_dir: str, results: dict[str, Any], checkpoint_path: Any) -> None:
    """Log the values of metrics by name, with the global step, and write them as summaries.

    `checkpoint_path` is None if variables were initialized.
    """
    step = results[GraphKeys.GLOBAL_STEP]
    shown = ", ".join(
        f"{name} = {value!s}" for name, value in sorted(results.items())
        if not isinstance(value, bytes)
    )  # fmt: skip
    logging.info("Saving dict for global step %d: %s", step, shown)
    summary = Summary()
    for name, value in results.items():
        if value is not None and name != GraphKeys.GLOBAL_STEP:
            _add(summary, name, value)
    writer = FileWriterCache.get(output_dir)
    writer.add_summary(summary, step)
    if checkpoint_path:
        logging.info(
            "Saving 'checkpoint_path' summary for global step %d: %s", step, checkpoint_path
        )
        path = make_tensor_proto(checkpoint_path, dtype=dtypes.string)
        writer.flush()
        writer.add_summary(Summary(value=[{"tag": "checkpoint_path", "tensor": path}]), step)
    writer.flush()


def _add(summary: Any, name: str, value: Any) -> None:
    if isinstance(value, (float, int, np.float32, np.int32, np.int64)):
        summary.value.add(tag=name, simple_value=float(value))
    elif isinstance(value, bytes):
        _add_serialized(summary, name, value)
    elif isinstance(value, np.ndarray):
        added = summary.value.add(tag=name, node_name=name)
        added.tensor.CopyFrom(make_tensor_proto(value))
        logging.info(
            "Summary for np.ndarray is not visible in Tensorboard by default. Consider using a "
            "Tensorboard plugin for visualization (see "
            "https://github.com/tensorflow/tensorboard-plugin-example/blob/master/README.md for "
            "more information)."
        )
    else:
        logging.warn(
            "Skipping summary for %s, must be a float, np.float32, np.int64, np.int32 or int or "
            "np.ndarray or a serialized string of Summary.", name,
        )  # fmt: skip


def _add_serialized(summary: Any, name: str, value: bytes) -> None:
    """Add a metric's value as a serialized `Summary`, each element under a number."""
    try:
        given = Summary.FromString(value)
    except DecodeError:
        logging.warn("Skipping summary for %s, cannot parse string to Summary.", name)
        return
    for index, item in enumerate(given.value):
        item.tag = f"{name}/{index}"
    summary.value.extend(given.value)
