"""Outputs of a served model, which become signatures of a SavedModel."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.constants import constant
from stillflow.saved_model.names import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from stillflow.saved_model.signatures import (
    classification_signature_def,
    predict_signature_def,
    regression_signature_def,
    supervised_eval_signature_def,
    supervised_train_signature_def,
)


@export("estimator.export.ExportOutput")
class ExportOutput:
    """Outputs of a model, which make a signature with the tensors it receives."""

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        """Return the `SignatureDef` from `receiver_tensors`, {name: tensor}, to the outputs.

        Raises:
          ValueError: if the receivers do not suit the outputs.
        """
        raise NotImplementedError


@export("estimator.export.ClassificationOutput")
class ClassificationOutput(ExportOutput):
    """Classes, and how much speaks for each; it takes serialized examples.

    Args:
      scores: [batch, classes] of a floating type.
      classes: [batch, classes] of strings.

    Raises:
      ValueError: if both are missing, or of another type.
    """

    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        if scores is not None and not _is_floating(scores):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not _is_string(classes):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self.scores = scores
        self.classes = classes

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        examples = _examples(receiver_tensors, "Classification")
        return classification_signature_def(examples, self.classes, self.scores)


@export("estimator.export.RegressionOutput")
class RegressionOutput(ExportOutput):
    """Numbers; it takes serialized examples.

    Args:
      value: [batch, ...] of a floating type.

    Raises:
      ValueError: if it is of another type.
    """

    def __init__(self, value: Any) -> None:
        if not _is_floating(value):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self.value = value

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        return regression_signature_def(_examples(receiver_tensors, "Regression"), self.value)


@export("estimator.export.PredictOutput")
class PredictOutput(ExportOutput):
    """Any tensors by name.

    Args:
      outputs: {name: tensor}, or a tensor, which is named "output".

    Raises:
      ValueError: if one is no tensor, or its name no string.
    """

    def __init__(self, outputs: Any) -> None:
        self.outputs = _by_name(outputs, "output", "Prediction")

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        return predict_signature_def(receiver_tensors, self.outputs)


class SupervisedOutput(ExportOutput):
    """Loss, predictions and metrics of a model that is trained or evaluated.

    Args:
      loss, predictions: {name: tensor}, or a tensor.
      metrics: {name: (value, update)}, or one pair.

    Raises:
      ValueError: if one is no tensor, or its name no string.
    """

    def __init__(self, loss: Any = None, predictions: Any = None, metrics: Any = None) -> None:
        self.loss = None if loss is None else _prefixed(loss, "loss")
        self.predictions = None if predictions is None else _prefixed(predictions, "predictions")
        self.metrics = None if metrics is None else _metric_tensors(metrics)


class TrainOutput(SupervisedOutput):
    """The outputs of training."""

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        return supervised_train_signature_def(
            receiver_tensors, self.loss, self.predictions, self.metrics
        )


class EvalOutput(SupervisedOutput):
    """The outputs of evaluation."""

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        return supervised_eval_signature_def(
            receiver_tensors, self.loss, self.predictions, self.metrics
        )


def with_default_output(export_outputs: Any, predictions: Any) -> dict[str, Any]:
    """Return outputs by signature, for None all predictions; one is the default for serving.

    `predictions` is a tensor, or {name: tensor}.
    """
    if export_outputs is None:
        export_outputs = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"export_outputs must be dict, given: {export_outputs}")
    if not all(isinstance(value, ExportOutput) for value in export_outputs.values()):
        raise TypeError(
            f"Values in export_outputs must be ExportOutput objects. Given: {export_outputs}"
        )
    if len(export_outputs) == 1:
        export_outputs.setdefault(
            DEFAULT_SERVING_SIGNATURE_DEF_KEY, next(iter(export_outputs.values()))
        )
    elif export_outputs and DEFAULT_SERVING_SIGNATURE_DEF_KEY not in export_outputs:
        raise ValueError(
            "Multiple export_outputs were provided, but none of them is specified as the default. "
            " Do this by naming one of them with "
            "signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY."
        )
    return export_outputs


def _is_floating(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.is_floating


def _is_string(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.base_dtype == dtypes.string


def _examples(receivers: dict[str, Any], kind: str) -> Tensor:
    values = list(receivers.values())
    if len(values) != 1 or values[0].dtype.base_dtype != dtypes.string:
        raise ValueError(f"{kind} input must be a single string Tensor; got {receivers}")
    return values[0]


def _key(key: Any, label: str) -> str:
    key = "/".join(key) if isinstance(key, tuple) else key
    if not isinstance(key, str):
        raise ValueError(f"{label} output key must be a string; got {key}.")
    return key


def _by_name(outputs: Any, single: str, label: str) -> dict[str, Any]:
    result = {}
    for key, value in (outputs if isinstance(outputs, dict) else {single: outputs}).items():
        key = _key(key, label)
        if not isinstance(value, Tensor):
            raise ValueError(f"{label} output value must be a Tensor; got {value}.")
        result[key] = value
    return result


def _under(key: str, prefix: str) -> str:
    return key if key.startswith(prefix) else f"{prefix}/{key}"


def _prefixed(outputs: Any, prefix: str) -> dict[str, Any]:
    return {_under(key, prefix): value for key, value in _by_name(outputs, prefix, prefix).items()}


def _metric_tensors(metrics: Any) -> dict[str, Any]:
    result = {}
    for key, pair in (metrics if isinstance(metrics, dict) else {"metrics": metrics}).items():
        value, update = pair if isinstance(pair, tuple) else (pair.result(), pair.updates[0])
        key = _under(_key(key, "metrics"), "metrics")
        if not isinstance(value, Tensor):
            raise ValueError(f"{key} output value must be a Tensor; got {value}.")
        if not isinstance(update, (Tensor, Operation)):
            raise ValueError(f"{key} update_op must be a Tensor or Operation; got {update}.")
        if isinstance(update, Operation):  # a signature names tensors only
            with control_dependencies([update]):
                update = constant([], name="metric_op_wrapper")
        result[f"{key}/value"] = value
        result[f"{key}/update_op"] = update
    return result
