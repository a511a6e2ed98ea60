"""tf.contrib.learn.ModelFnOps: the result of a model function of the first estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from stillflow.estimator.mode_keys import ModeKeys as CoreModeKeys
from stillflow.estimator.spec import EstimatorSpec
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.sparse_tensor import convert_to_tensor_or_sparse_tensor
from stillflow.ops.arrays.shape import reshape
from stillflow.platform import tf_logging as logging
from stillflow.saved_model import names
from stillflow.saved_model.export_outputs import (
    ClassificationOutput,
    PredictOutput,
    RegressionOutput,
)
from stillflow.train.session_run_hook import SessionRunHook
from stillflow.util.notices import noticed
from stillflow_contrib.framework.elsewhere import get_graph_from_inputs
from stillflow_contrib.learn.keys import MetricKey, PredictionKey, ProblemType
from stillflow_contrib.learn.mode_keys import ModeKeys

if TYPE_CHECKING:
    from stillflow.saved_model.export_outputs import ExportOutput


_CORE_MODES = {
    ModeKeys.TRAIN: CoreModeKeys.TRAIN,
    ModeKeys.EVAL: CoreModeKeys.EVAL,
    ModeKeys.INFER: CoreModeKeys.PREDICT,
}


class _Fields(NamedTuple):
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: dict[str, Any]
    output_alternatives: Any
    training_chief_hooks: list[Any]
    training_hooks: list[Any]
    scaffold: Any
    mode: str


@export("contrib.learn.ModelFnOps")
class ModelFnOps(_Fields):
    """The tensors and operations of a model.

    Args:
      mode: a `ModeKeys`.
      predictions: a tensor, or tensors by name; needed to evaluate and to infer.
      loss: a scalar; needed to train and to evaluate.
      train_op: the training step; needed to train.
      eval_metric_ops: {name: (value, update)}.
      output_alternatives: {name: (`ProblemType`, {name: tensor})} of an export.
      training_chief_hooks: `SessionRunHook`s that run in the chief.
      training_hooks: `SessionRunHook`s that run in every worker.
      scaffold: how variables are initialized and saved.

    Raises:
      ValueError: if a value that the mode needs is missing, or the loss is no scalar.
      TypeError: if a hook is none.
    """

    __slots__ = ()

    @noticed("contrib.learn.ModelFnOps")
    def __new__(
        cls, mode: str, predictions: Any = None, loss: Any = None, train_op: Any = None,
        eval_metric_ops: Any = None, output_alternatives: Any = None,
        training_chief_hooks: Any = None, training_hooks: Any = None, scaffold: Any = None,
    ) -> ModelFnOps:  # fmt: skip
        ModeKeys.validate(mode)
        get_graph_from_inputs((predictions, loss, train_op))
        return super().__new__(
            cls,
            train_op=_checked_train_op(mode, train_op),
            loss=_checked_loss(mode, loss),
            predictions=_checked_predictions(mode, predictions),
            eval_metric_ops=_checked_metrics(eval_metric_ops),
            output_alternatives=output_alternatives,
            training_hooks=_checked_hooks(training_hooks),
            training_chief_hooks=_checked_hooks(training_chief_hooks),
            scaffold=scaffold,
            mode=mode,
        )

    def estimator_spec(self, default_serving_output_alternative_key: Any = None) -> EstimatorSpec:
        """Return the same for `tf.estimator`.

        Args:
          default_serving_output_alternative_key: which output is served by default, if there are
            several and none has that name.

        Raises:
          ValueError: if an output is of an unknown problem type.
        """
        alternatives = dict(self.output_alternatives or {})
        default = names.DEFAULT_SERVING_SIGNATURE_DEF_KEY
        if len(alternatives) > 1 and default not in alternatives:
            alternatives[default] = alternatives[default_serving_output_alternative_key]
        outputs = {name: _export_output(*value) for name, value in alternatives.items()}
        return EstimatorSpec(
            mode=_CORE_MODES[self.mode], predictions=self.predictions, loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops={
                name: value for name, value in self.eval_metric_ops.items()
                if name != MetricKey.LOSS
            },
            export_outputs=outputs or None, training_chief_hooks=self.training_chief_hooks,
            training_hooks=self.training_hooks, scaffold=self.scaffold,
        )  # fmt: skip


def _checked_train_op(mode: str, train_op: Any) -> Operation | None:
    if train_op is None:
        if mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op.")
        return None
    return train_op if isinstance(train_op, Operation) else convert_to_tensor(train_op).op


def _checked_loss(mode: str, loss: Any) -> Tensor | None:
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        return None
    loss = convert_to_tensor(loss)
    if loss.shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar: {loss}.")
    return loss if loss.shape.is_compatible_with(()) else reshape(loss, [])


def _checked_predictions(mode: str, predictions: Any) -> Any:
    if predictions is None:
        if mode in (ModeKeys.INFER, ModeKeys.EVAL):
            raise ValueError("Missing predictions.")
        return None
    if isinstance(predictions, dict):
        return {
            name: convert_to_tensor_or_sparse_tensor(value) for name, value in predictions.items()
        }
    return convert_to_tensor_or_sparse_tensor(predictions)


def _checked_metrics(metrics: Any) -> dict[str, Any]:
    if metrics is not None and not isinstance(metrics, dict):
        raise ValueError("eval_metric_ops must be a dict.")
    return {} if metrics is None else metrics


def _checked_hooks(hooks: Any) -> list[Any]:
    hooks = [] if hooks is None else hooks
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(
                "All hooks returned from model_fn must be SessionRunHook instances, got instance "
                f"of {type(hook)}: {hook}"
            )
    return hooks


def _export_output(problem_type: int, outputs: dict[str, Any]) -> ExportOutput:
    if problem_type == ProblemType.UNSPECIFIED:
        return PredictOutput(outputs)
    scores = outputs.get(PredictionKey.SCORES)
    if scores is None:
        scores = outputs.get(PredictionKey.PROBABILITIES)
    if problem_type == ProblemType.LINEAR_REGRESSION:
        return RegressionOutput(scores)
    if problem_type not in (ProblemType.CLASSIFICATION, ProblemType.LOGISTIC_REGRESSION):
        raise ValueError(f"Unknown problem_type={problem_type}")
    classes = outputs.get(PredictionKey.CLASSES)
    if classes is None or classes.dtype != dtypes.string:
        lack = "None" if classes is None else "not string"
        logging.warning(f"classes is {lack}, Servo inference will not have class ids.")
        classes = None
    return ClassificationOutput(scores=scores, classes=classes)
