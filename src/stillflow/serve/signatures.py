"""Predict, classify and regress: a request's values checked against a signature, and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.protos import Example
from stillflow.serve.servable import CLASSIFY, PREDICT, REGRESS, Servable

Array = np.ndarray[Any, Any]

CLASSIFY_INPUT = "inputs"
CLASSES, SCORES = "classes", "scores"
REGRESS_OUTPUT = "outputs"


def predict_signature(servable: Servable, key: str) -> Any:
    """Return the signature of a prediction.

    Raises:
      FailedPreconditionError: if there is none of this key.
      InternalError: if it is of a method that predictions cannot use.
    """
    signature = servable.signature(key)
    if signature.method_name not in (PREDICT, CLASSIFY, REGRESS, ""):
        raise errors.internal(
            f"Expected prediction signature method_name to be one of {{{PREDICT}, {CLASSIFY}, "
            f"{REGRESS}}}. Was: {signature.method_name}"
        )
    return signature


def feeds_of(signature: Any, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays of a request by the names of the tensors that take them.

    Raises:
      InvalidArgumentError: if inputs are missing, unknown, or of another type.
    """
    if arrays.keys() != signature.inputs.keys():
        given, wanted = sorted(arrays), sorted(signature.inputs)
        raise errors.invalid_argument(
            f"input size does not match signature: {len(given)}!={len(wanted)} "
            f"len({{{','.join(given)}}}) != len({{{','.join(wanted)}}}). Sent extra: "
            f"{{{','.join(sorted(arrays.keys() - signature.inputs.keys()))}}}. Missing but "
            f"required: {{{','.join(sorted(signature.inputs.keys() - arrays.keys()))}}}."
        )
    feeds = {}
    for alias, array in arrays.items():
        info = signature.inputs[alias]
        if info.WhichOneof("encoding") != "name":
            raise errors.unimplemented(f"The input {alias!r} is not a dense tensor")
        wanted_type, given_type = dtypes.as_dtype(info.dtype), dtypes.as_dtype(array.dtype)
        if wanted_type.base_dtype is not given_type:
            raise errors.invalid_argument(
                f"Expects arg[{alias}] to be {wanted_type.name} but {given_type.name} is provided"
            )
        feeds[info.name] = array
    return feeds


def fetches_of(signature: Any, output_filter: Sequence[str]) -> dict[str, str]:
    """Return the tensors to fetch by their names in the signature.

    Raises:
      InvalidArgumentError: for outputs that are unknown or named twice.
    """
    aliases = list(output_filter) or sorted(signature.outputs)
    for index, alias in enumerate(aliases):
        if alias not in signature.outputs:
            raise errors.invalid_argument(
                f"output tensor alias not found in signature: {alias} Outputs expected to be in "
                f"the set {{{','.join(sorted(signature.outputs))}}}."
            )
        if alias in aliases[:index]:
            raise errors.invalid_argument(f"duplicate output tensor alias: {alias}")
        if signature.outputs[alias].WhichOneof("encoding") != "name":
            raise errors.unimplemented(f"The output {alias!r} is not a dense tensor")
    return {alias: signature.outputs[alias].name for alias in aliases}


# ---- Examples ----------------------------------------------------------------------------------


def examples_of(message: Any) -> Array:
    """Return the serialized examples of an `Input` message.

    Raises:
      InvalidArgumentError: if it has none.
    """
    kind = message.WhichOneof("kind")
    if kind == "example_list":
        examples = [example.SerializeToString() for example in message.example_list.examples]
    elif kind == "example_list_with_context":
        context = message.example_list_with_context.context
        examples = []
        for example in message.example_list_with_context.examples:
            both = Example()
            both.CopyFrom(context)
            both.MergeFrom(example)
            examples.append(both.SerializeToString())
    else:
        examples = []
    if not examples:
        raise errors.invalid_argument("Input is empty.")
    found = np.empty(len(examples), object)
    found[:] = examples
    return found


def example_signature(servable: Servable, key: str, method: str, checks_method: bool) -> Any:
    """Return the signature of a classification or regression, with its one input.

    Raises:
      InvalidArgumentError: if there is none, or it is of another form.
    """
    word = "classification" if method == CLASSIFY else "regression"
    try:
        signature = servable.signature(key)
    except errors.FailedPreconditionError:
        raise errors.invalid_argument(
            f"No signature was found with the name: {key or 'serving_default'}"
        ) from None
    if checks_method and signature.method_name != method:
        raise errors.invalid_argument(
            f"Expected {word} signature method_name to be {method}. Was: {signature.method_name}"
        )
    if len(signature.inputs) != 1:
        raise errors.invalid_argument("Expected one input Tensor.")
    if CLASSIFY_INPUT not in signature.inputs:
        raise errors.invalid_argument(f"No {word} inputs found in SignatureDef: {signature}")
    return signature


def classify_outputs(signature: Any) -> dict[str, str]:
    """Return the tensors of a classification: classes, scores, or both.

    Raises:
      InvalidArgumentError: if the signature has neither, or others.
    """
    if len(signature.outputs) not in (1, 2):
        raise errors.invalid_argument(
            f"Expected one or two output Tensors, found {len(signature.outputs)}"
        )
    there = [alias for alias in (CLASSES, SCORES) if alias in signature.outputs]
    if not there:
        raise errors.invalid_argument(
            "Expected classification signature outputs to contain at least one of "
            f'"{CLASSES}" or "{SCORES}". Signature was: {signature}'
        )
    return fetches_of(signature, there)


def regress_outputs(signature: Any) -> dict[str, str]:
    """Return the tensor of a regression.

    Raises:
      InvalidArgumentError: if the signature has others.
    """
    if len(signature.outputs) != 1:
        raise errors.invalid_argument("Expected one output Tensor.")
    if REGRESS_OUTPUT not in signature.outputs:
        raise errors.invalid_argument(f"No regression outputs found in SignatureDef: {signature}")
    return fetches_of(signature, [REGRESS_OUTPUT])


# ---- Answers -----------------------------------------------------------------------------------


def fill_classifications(result: Any, outputs: Mapping[str, Array], count: int) -> None:
    """Write classes and scores of each example into a `ClassificationResult`.

    Raises:
      InvalidArgumentError: if the model gave others than [batch, classes].
    """
    for alias, array in outputs.items():
        wanted, told = (object, "DT_STRING") if alias == CLASSES else (np.float32, "DT_FLOAT")
        _check_answer(alias, array, count, wanted, told)
    classes, scores = outputs.get(CLASSES), outputs.get(SCORES)
    if classes is not None and scores is not None and classes.shape != scores.shape:
        raise errors.invalid_argument(
            "Tensors class and score should match in dim_size(1). Got "
            f"{classes.shape[1]} vs. {scores.shape[1]}"
        )
    for row in range(count):
        found = result.classifications.add()
        labels = [] if classes is None else classes[row].tolist()
        values = [] if scores is None else scores[row].tolist()
        for index in range(max(len(labels), len(values))):
            one = found.classes.add()
            if labels:
                one.label = _text(labels[index])
            if values:
                one.score = values[index]


def _check_answer(alias: str, array: Array, count: int, wanted: Any, told: str) -> None:
    if array.ndim != 2:
        raise errors.invalid_argument(
            f"Expected Tensor shape: [batch_size num_classes] but got {list(array.shape)}"
        )
    if array.dtype != wanted:
        raise errors.invalid_argument(f"Expected {alias} Tensor of {told}. Got: {_dt(array)}")
    if len(array) != count:
        raise errors.invalid_argument(
            f"Expected {alias} output batch size of {count}. Got: {len(array)}"
        )


def _text(label: bytes | str) -> str:
    if isinstance(label, str):
        return label
    try:
        return label.decode("utf-8")
    except UnicodeDecodeError:
        raise errors.invalid_argument(f"The label {label!r} is not UTF-8") from None


def fill_regressions(result: Any, output: Array, count: int) -> None:
    """Write the value of each example into a `RegressionResult`.

    Raises:
      InvalidArgumentError: if the model gave others than [batch] or [batch, 1].
    """
    if output.ndim not in (1, 2) or (output.ndim == 2 and output.shape[1] != 1):
        raise errors.invalid_argument(
            "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got "
            f"{list(output.shape)}"
        )
    if len(output) != count:
        raise errors.invalid_argument(
            f"Input batch size did not match output batch size: {count} vs. {len(output)}"
        )
    if output.dtype != np.float32:
        raise errors.invalid_argument(f"Expected output Tensor of DT_FLOAT. Got: {_dt(output)}")
    for value in output.reshape(-1).tolist():
        result.regressions.add(value=value)


def _dt(array: Array) -> str:
    from stillflow.protos import DataType

    name: str = DataType.Name(dtypes.as_dtype(array.dtype).as_datatype_enum)
    return name
