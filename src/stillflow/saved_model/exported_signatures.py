"""Signatures of a model's inputs and outputs, as estimators and Keras export them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from stillflow.platform import tf_logging as logging
from stillflow.saved_model import names
from stillflow.saved_model.signatures import is_valid_signature

_SINGLE_RECEIVER = "input"
_METHODS = {
    names.CLASSIFY_METHOD_NAME: "Classify",
    names.REGRESS_METHOD_NAME: "Regress",
    names.PREDICT_METHOD_NAME: "Predict",
    names.SUPERVISED_TRAIN_METHOD_NAME: "Train",
    names.SUPERVISED_EVAL_METHOD_NAME: "Eval",
}


def signatures_of(
    receivers: Any, outputs: Any, alternatives: Any = None, serving_only: bool = True
) -> dict[str, Any]:
    """Return the signatures from a model's inputs to its outputs, those that fit.

    Receivers are a tensor or {name: tensor}, outputs {signature: `ExportOutput`}, or ValueError;
    `alternatives` are other ways into the graph, whose signatures are named "name:signature". If
    `serving_only`, signatures that TensorFlow Serving knows alone stay.
    """
    if not isinstance(outputs, dict):
        raise ValueError(f"export_outputs must be a dict and not{type(outputs)}")
    ways = {"": receivers}
    ways.update({f"{name or 'None'}:": value for name, value in (alternatives or {}).items()})
    included, excluded = {}, {}
    for prefix, tensors in ways.items():
        tensors = tensors if isinstance(tensors, dict) else {_SINGLE_RECEIVER: tensors}
        for key, output in outputs.items():
            name = f"{prefix}{key or 'None'}"
            try:
                included[name] = output.as_signature_def(tensors)
            except ValueError as error:
                excluded[name] = str(error)
    _report(included, excluded)
    if not serving_only:
        return included
    return {name: value for name, value in included.items() if is_valid_signature(value)}


def _report(included: dict[str, Any], excluded: dict[str, str]) -> None:
    by_method: dict[str, list[str]] = defaultdict(list, {method: [] for method in _METHODS})
    for name, signature in included.items():
        by_method[signature.method_name].append(name)
    for method, found in by_method.items():
        logging.info(
            f"Signatures INCLUDED in export for {_METHODS.get(method, method)}: {found or 'None'}"
        )
    if excluded:
        logging.info(
            "Signatures EXCLUDED from export because they cannot be be served via TensorFlow "
            "Serving APIs:"
        )
        for name, reason in excluded.items():
            logging.info(f"'{name}' : {reason}")
    if not included:
        logging.warn("Export includes no signatures!")
    elif names.DEFAULT_SERVING_SIGNATURE_DEF_KEY not in included:
        logging.warn("Export includes no default signature!")
