"""Models of `tf.contrib.learn` as SavedModels: their signatures and their folders."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from stillflow.graph import dtypes
from stillflow.saved_model import names
from stillflow.saved_model.signatures import (
    classification_signature_def,
    predict_signature_def,
    regression_signature_def,
)
from stillflow_contrib.learn.input_fn_utils import InputFnOps
from stillflow_contrib.learn.keys import PredictionKey, ProblemType

_DEFAULT_INPUT = "default_input_alternative"
_DEFAULT_OUTPUT = "default_output_alternative"


class GraphRewriteSpec(NamedTuple):
    """A graph of an export: its tags, and how it is transformed."""

    tags: Any
    transforms: Any


def input_alternatives(inputs: Any) -> tuple[dict[str, Any], Any]:
    """Return the result of an input function as {name: inputs} and features.

    Raises:
      ValueError: if there are no features.
    """
    found = {_DEFAULT_INPUT: inputs[2]} if isinstance(inputs, InputFnOps) else {}
    if not inputs[0]:
        raise ValueError("Features must be defined.")
    return found, inputs[0]


def output_alternatives(model: Any, default: str | None = None) -> tuple[dict[Any, Any], Any]:
    """Return a model's outputs as {name: (problem type, tensors by name)}, and the default.

    Raises:
      ValueError: if there is no such default, or none is named and there are several.
    """
    outputs = model.output_alternatives
    if not outputs:
        if default:
            raise ValueError(
                f"Requested default_output_alternative: {default}, but available "
                "output_alternatives are: []"
            )
        predictions = model.predictions
        if not isinstance(predictions, dict):
            predictions = {PredictionKey.GENERIC: predictions}
        return {_DEFAULT_OUTPUT: (ProblemType.UNSPECIFIED, predictions)}, _DEFAULT_OUTPUT
    if default:
        if default in outputs:
            return outputs, default
        raise ValueError(
            f"Requested default_output_alternative: {default}, but available output_alternatives "
            f"are: {sorted(outputs)}"
        )
    if len(outputs) == 1:
        return outputs, next(iter(outputs))
    raise ValueError(
        "Please specify a default_output_alternative.  Available output_alternatives are: "
        f"{sorted(outputs)}"
    )


def all_signature_defs(
    inputs: dict[str, Any], outputs: dict[Any, Any], default_output: Any
) -> dict[str, Any]:
    """Return the signatures from each input to each output, and the one that is served by default.

    Raises:
      ValueError: if there is no default input.
    """

    def signature(name: str, output: Any) -> Any:
        problem, results = outputs[output]
        return _signature_def(inputs[name], results, problem)

    pairs = itertools.product(inputs, outputs)
    found = {f"{name}:{output or 'None'}": signature(name, output) for name, output in pairs}
    if not inputs.get(_DEFAULT_INPUT):
        raise ValueError("A default input_alternative must be provided.")
    served = signature(_DEFAULT_INPUT, default_output)
    return {**found, names.DEFAULT_SERVING_SIGNATURE_DEF_KEY: served}


def _signature_def(inputs: dict[str, Any], outputs: dict[str, Any], problem: int) -> Any:
    if not inputs:
        raise ValueError("input_tensors must be provided.")
    if not outputs:
        raise ValueError("output_tensors must be provided.")
    if len(inputs) != 1 or problem == ProblemType.UNSPECIFIED:
        return predict_signature_def(inputs, outputs)
    (examples,) = inputs.values()
    only = next(iter(outputs.values())) if len(outputs) == 1 else None
    if problem == ProblemType.LINEAR_REGRESSION:
        if only is None:
            return predict_signature_def(inputs, outputs)
        return regression_signature_def(examples, only)
    scores = outputs.get(PredictionKey.SCORES)
    if scores is None:
        scores = outputs.get(PredictionKey.PROBABILITIES)
    classes = outputs.get(PredictionKey.CLASSES)
    if classes is not None and classes.dtype != dtypes.string:
        classes = None
    if classes is None and scores is None:
        if only is None:
            return predict_signature_def(inputs, outputs)
        classes, scores = (only, None) if only.dtype == dtypes.string else (None, only)
    return classification_signature_def(examples, classes, scores)
