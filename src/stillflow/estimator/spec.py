"""tf.estimator.EstimatorSpec: the result of a model function."""

from __future__ import annotations

from typing import Any, NamedTuple

from stillflow.estimator.mode_keys import ModeKeys
from stillflow.graph.api import add_to_collection, get_collection
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_like import is_dense_tensor_like
from stillflow.nest import flatten
from stillflow.ops.arrays.shape import reshape
from stillflow.saved_model.export_outputs import with_default_output
from stillflow.train.scaffold import Scaffold
from stillflow.train.session_run_hook import SessionRunHook
from stillflow.variables.base import VariableV2

LOSS_METRIC_KEY = "loss"


class _Fields(NamedTuple):
    mode: Any
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: Any
    export_outputs: Any
    training_chief_hooks: Any
    training_hooks: Any
    scaffold: Any
    evaluation_hooks: Any
    prediction_hooks: Any


@export("estimator.EstimatorSpec")
class EstimatorSpec(_Fields):
    """The operations and objects that an estimator runs, checked.

    Args:
      mode: one of `ModeKeys`.
      predictions: a tensor, or a dict of them; needed to predict.
      loss: a scalar, or a tensor of one element; needed to train and evaluate.
      train_op: an operation or tensor that makes a step; needed to train.
      eval_metric_ops: {name: (value, update)} as tf.metrics give them, or `Metric`s.
      export_outputs: {signature: `ExportOutput`} for serving; all predictions if None.
      training_chief_hooks: hooks that only the chief runs.
      training_hooks: hooks of all workers.
      scaffold: a `Scaffold`; one of defaults if None.
      evaluation_hooks: hooks of evaluation.
      prediction_hooks: hooks of prediction.

    Raises:
      ValueError: if something is missing for the mode, or comes from another graph.
      TypeError: if something is of the wrong kind.

    Example:
      >>> predictions = {"class": tf.constant([2, 0])}
      >>> spec = tf.estimator.EstimatorSpec(tf.estimator.ModeKeys.PREDICT, predictions=predictions)
      >>> spec.mode, spec.predictions["class"], spec.train_op
      ('infer', <tf.Tensor 'Const:0' shape=(2,) dtype=int32>, None)
    """

    __slots__ = ()

    def __new__(
        cls, mode: Any, predictions: Any = None, loss: Any = None, train_op: Any = None,
        eval_metric_ops: Any = None, export_outputs: Any = None, training_chief_hooks: Any = None,
        training_hooks: Any = None, scaffold: Any = None, evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> EstimatorSpec:  # fmt: skip
        train_op = checked_train_op(train_op, mode)
        loss = checked_loss(loss, mode)
        predictions = checked_predictions(predictions, mode)
        return super().__new__(
            cls, mode, predictions, loss, train_op, _checked_metrics(eval_metric_ops),
            checked_outputs(export_outputs, predictions, mode), checked_hooks(training_chief_hooks),
            checked_hooks(training_hooks), _checked_scaffold(scaffold),
            checked_hooks(evaluation_hooks), checked_hooks(prediction_hooks),
        )  # fmt: skip

    def _replace(self, **kwds: Any) -> EstimatorSpec:
        """Return a copy with other fields, checked again; the mode stays."""
        if kwds.get("mode", self.mode) != self.mode:
            raise ValueError("mode of EstimatorSpec cannot be changed.")
        return EstimatorSpec(**{**self._asdict(), **kwds})


def checked_train_op(train_op: Any, mode: Any) -> Tensor | Operation | None:
    """Return the operation of a step, if the mode needs none or it is there."""
    if train_op is None:
        if mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op.")
        return None
    if not (isinstance(train_op, Operation) or is_dense_tensor_like(train_op)):
        raise TypeError(f"train_op must be Operation or Tensor, given: {train_op}")
    if isinstance(train_op, VariableV2):
        train_op = train_op.op
    _check_graph(train_op, "train_op", train_op.name)
    return train_op


def checked_loss(loss: Any, mode: Any) -> Tensor | None:
    """Return the loss as a scalar, if the mode needs none or it is there."""
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        return None
    _check_tensor(loss, "loss")
    shape = loss.get_shape()
    if shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar, given: {loss}")
    if not shape.is_compatible_with([]):
        loss = reshape(loss, [])
    _check_graph(loss, "loss", loss.name)
    return loss


def checked_predictions(predictions: Any, mode: Any) -> Any:
    """Return the predictions; {} if there are none and the mode needs none."""
    if predictions is None:
        if mode == ModeKeys.PREDICT:
            raise ValueError("Missing predictions.")
        return {}
    if not isinstance(predictions, dict):
        _check_tensor(predictions, "predictions")
        _check_graph(predictions, "prediction values", predictions.name)
        return predictions
    for key, value in predictions.items():
        _check_tensor(value, f"predictions[{key}]")
        _check_graph(value, "prediction values", f"{key}: {value.name}")
    return dict(predictions)


def checked_outputs(outputs: Any, predictions: Any, mode: Any) -> dict[str, Any] | None:
    """Return the outputs to serve; in other modes than prediction they are not looked at."""
    return with_default_output(outputs, predictions) if mode == ModeKeys.PREDICT else outputs


def checked_hooks(hooks: Any) -> tuple[Any, ...]:
    """Return the hooks as a tuple."""
    hooks = tuple(hooks or ())
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook}")
    return hooks


def _checked_scaffold(scaffold: Any) -> Scaffold:
    scaffold = scaffold or Scaffold()
    if not isinstance(scaffold, Scaffold):
        raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
    return scaffold


def _checked_metrics(metrics: Any) -> dict[str, Any]:
    """Return the metrics as (value, update).

    Variables of `Metric`s become local ones of the graph.
    """
    metrics = {} if metrics is None else metrics
    if not isinstance(metrics, dict):
        raise TypeError(f"eval_metric_ops must be a dict, given: {metrics}")
    for key, value in metrics.items():
        if _is_metric(value):
            if not value.updates:
                raise ValueError(f'Please call update_state(...) on the "{value.name}" metric')
        elif not isinstance(value, tuple) or len(value) != 2:
            raise TypeError(
                "Values of eval_metric_ops must be (metric_value, update_op) tuples, given: "
                f"{value} for key: {key}"
            )
    for key, value in metrics.items():
        # Like TF's, a graph has the result of a metric twice: this one is only looked at.
        for part in [*value.updates, value.result()] if _is_metric(value) else flatten(value):
            _check_graph(part, "eval_metric_ops", f"{key}: {part.name}")
    variables: list[Any] = []
    for key, value in metrics.items():
        if _is_metric(value):
            variables.extend(value.variables)
            metrics[key] = (value.result(), value.updates[0])
    for collection in (GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES):
        known = {id(variable) for variable in get_collection(collection)}
        for variable in variables:
            if id(variable) not in known:
                known.add(id(variable))  # metrics may share one
                add_to_collection(collection, variable)
    return metrics


def _is_metric(value: Any) -> bool:
    """Return True if this is a metric of Keras."""
    return hasattr(value, "update_state")


def _check_tensor(value: Any, name: str) -> None:
    if not is_dense_tensor_like(value):
        raise TypeError(f"{name} must be Tensor, given: {value}")


def _check_graph(value: Any, kind: str, name: str) -> None:
    if value.graph is not get_default_graph():
        raise ValueError(
            f'{kind} with "{name}" must be from the default graph. Possible causes of this error '
            f"include: \n\n1) {kind} was created outside the context of the default graph.\n\n"
            "2) The object passed through to EstimatorSpec was not created in the most recent "
            'call to "model_fn".'
        )
