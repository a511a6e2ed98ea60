"""tf.contrib.tpu.TPUEstimatorSpec: the result of a TPUEstimator's model function."""

from __future__ import annotations

from typing import Any, NamedTuple

from stillflow.estimator.spec import (
    EstimatorSpec,
    checked_hooks,
    checked_loss,
    checked_outputs,
    checked_predictions,
    checked_train_op,
)
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.train.session_run_hook import SessionRunArgs, SessionRunHook


class _Fields(NamedTuple):
    mode: Any
    predictions: Any
    loss: Any
    train_op: Any
    eval_metrics: Any
    export_outputs: Any
    scaffold_fn: Any
    host_call: Any
    training_hooks: Any
    evaluation_hooks: Any
    prediction_hooks: Any


class HeadTPUEstimatorSpec(_Fields):
    """Spec of canned heads for such a device, with metrics of named tensors.

    Args:
      mode, predictions, loss, train_op, export_outputs: as in `EstimatorSpec`.
      eval_metrics: (function, {its argument: tensor}); it gives {name: (value, update)}.
      scaffold_fn, host_call: kept for code that makes more of them.
      training_hooks, evaluation_hooks, prediction_hooks: as in `EstimatorSpec`.

    Raises:
      ValueError: if something is missing for the mode, or of the wrong form.
      TypeError: if something is of the wrong kind.
    """

    __slots__ = ()

    def __new__(
        cls, mode: Any, predictions: Any = None, loss: Any = None, train_op: Any = None,
        eval_metrics: Any = None, export_outputs: Any = None, scaffold_fn: Any = None,
        host_call: Any = None, training_hooks: Any = None, evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> Any:  # fmt: skip
        train_op = checked_train_op(train_op, mode)
        loss = checked_loss(loss, mode)
        predictions = checked_predictions(predictions, mode)
        return super().__new__(
            cls, mode, predictions, loss, train_op, eval_metrics,
            checked_outputs(export_outputs, predictions, mode), scaffold_fn, host_call,
            checked_hooks(training_hooks), checked_hooks(evaluation_hooks),
            checked_hooks(prediction_hooks),
        )  # fmt: skip

    def as_estimator_spec(self) -> EstimatorSpec:
        """Return the spec without the device: with metrics, but no host calls or scaffolds."""
        metrics = _called(self.eval_metrics) if self.eval_metrics else None
        return EstimatorSpec(
            mode=self.mode, predictions=self.predictions, loss=self.loss, train_op=self.train_op,
            eval_metric_ops=metrics, export_outputs=self.export_outputs,
            training_hooks=self.training_hooks, evaluation_hooks=self.evaluation_hooks,
            prediction_hooks=self.prediction_hooks,
        )  # fmt: skip


@export("contrib.tpu.TPUEstimatorSpec", "estimator.tpu.TPUEstimatorSpec")
class TPUEstimatorSpec(HeadTPUEstimatorSpec):
    """`EstimatorSpec` with functions for the host.

    Args:
      mode, predictions, loss, train_op, export_outputs: as in `EstimatorSpec`.
      eval_metrics: (function, tensors), the tensors as a list or dict of its arguments; it gives
        {name: (value, update)}.
      scaffold_fn: gives a `Scaffold`.
      host_call: (function, tensors) in the same way; it returns the fetches of each step.
      training_hooks, evaluation_hooks, prediction_hooks: as in `EstimatorSpec`.

    Raises:
      ValueError: if something is missing for the mode, or of the wrong form.
      TypeError: if something is of the wrong kind.
    """

    __slots__ = ()

    def __new__(
        cls, mode: Any, predictions: Any = None, loss: Any = None, train_op: Any = None,
        eval_metrics: Any = None, export_outputs: Any = None, scaffold_fn: Any = None,
        host_call: Any = None, training_hooks: Any = None, evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> TPUEstimatorSpec:  # fmt: skip
        for name, call in (("eval_metrics", eval_metrics), ("host_call", host_call)):
            _check_call(name, call)
        return super().__new__(
            cls, mode, predictions, loss, train_op, eval_metrics, export_outputs, scaffold_fn,
            host_call, training_hooks, evaluation_hooks, prediction_hooks,
        )  # fmt: skip

    def as_estimator_spec(self) -> EstimatorSpec:
        """Return the same without such a device: the functions are called, where they belong."""
        metrics = None if self.eval_metrics is None else _called(self.eval_metrics)
        hooks = () if self.host_call is None else (_HostCallHook(_called(self.host_call)),)
        return EstimatorSpec(
            mode=self.mode, predictions=self.predictions, loss=self.loss, train_op=self.train_op,
            eval_metric_ops=metrics, export_outputs=self.export_outputs,
            training_hooks=self.training_hooks + hooks,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
            evaluation_hooks=self.evaluation_hooks + hooks,
            prediction_hooks=self.prediction_hooks + hooks,
        )  # fmt: skip


class _HostCallHook(SessionRunHook):
    """Hook that runs the results of a host call with each step."""

    def __init__(self, operations: Any) -> None:
        self._operations = operations

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._operations)


def _check_call(name: str, call: Any) -> None:
    if call is None:
        return
    if not isinstance(call, (tuple, list)):
        raise ValueError(f"{name} should be tuple or list")
    if len(call) != 2:
        raise ValueError(f"{name} should have two elements.")
    function, tensors = call
    if not callable(function):
        raise TypeError(f"{name}[0] should be callable.")
    if not isinstance(tensors, (tuple, list, dict)):
        raise ValueError(f"{name}[1] should be tuple or list, or dict.")


def _called(call: Any) -> Tensor | dict[str, tuple[Tensor, Tensor]]:
    function, tensors = call
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)
