"""Sessions' graphs as ONNX models."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow._hooks import Hook
from stillflow.export.capture import Program
from stillflow.export.dynamic import Names
from stillflow.export.package import new_file
from stillflow.export.problems import ExportError
from stillflow.export.torch_export import capture_of
from stillflow.export.verification import Comparison, as_array, compare, sample_inputs

_NEEDED = ("onnx", "onnxscript")
_LARGE = 1 << 31  # bytes; one message of protobuf can hold no more
# Makes a message of a program, with names of dimensions and the version of the operators.
model_of: Hook[Callable[[Program, Names, int | None], Any]] = Hook("export.onnx_export.model_of")


def require_packages(*names: str) -> None:
    """Raise FailedPreconditionError for packages that are not installed."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise errors.failed_precondition(
            f"{' and '.join(missing)} must be installed to export ONNX: "
            "pip install 'stillflow[onnx]'"
        )


def to_onnx(
    session: Any,
    inputs: Sequence[Any] | None,
    outputs: Sequence[Any],
    path: str,
    dynamic: Names | None = None,
    opset: int | None = None,
    samples: Mapping[str, Any] | None = None,
    verify: bool = True,
    force: bool = False,
) -> Comparison | None:
    """Write the function between tensors of a graph as an ONNX model.

        stillflow.export.to_onnx(session, ["images:0"], ["logits:0"], "model.onnx")

    Inputs and outputs of the model have the names of the tensors. Sizes that the graph leaves open
    may differ from run to run.

    Args:
      session: the session, which holds the variables.
      inputs: tensors or their names. None: all placeholders that the outputs depend on.
      outputs: tensors or their names; one that is named twice is there once.
      path: of the file.
      dynamic: names of dimensions by input and place; equal names mean equal sizes.
      opset: version of the operators; by default the one that the exporter writes.
      samples: arrays for the inputs, by name.
      verify: whether the model is run by onnxruntime and compared with the session.
      force: whether a file that exists is replaced.

    Returns:
      How far the outputs are apart; None if they are not compared.

    Raises:
      ExportError: if an operation cannot be exported, or outputs differ.
      FailedPreconditionError: if packages are missing.
    """
    require_packages(*_NEEDED, *(("onnxruntime",) if verify else ()))
    program = capture_of(session, inputs, outputs, samples, dynamic or {}, for_onnx=True)
    program.outputs = list(dict(program.outputs).items())
    fed = sample_inputs(program, samples)
    message = model_of.value(program, dynamic or {}, opset)
    comparison = None
    with new_file(path, force) as temporary:
        _save(message, temporary)
        if verify:
            comparison = compare(session, program, fed, _runner(temporary, list(fed)))
        _mark(message, comparison)
        with open(temporary, "wb") as file:
            file.write(message.SerializeToString())
    if comparison is not None and not comparison.equal:
        raise ExportError(comparison.message)
    return comparison


def _runner(path: str, inputs: Sequence[Any]) -> Callable[..., Any]:
    """Return a function that runs a model in onnxruntime, from tensors to arrays."""
    onnxruntime = importlib.import_module("onnxruntime")

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    runtime = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    kept = {each.name for each in runtime.get_inputs()}

    def run(*given: Any) -> Any:
        feeds = {
            tensor.name: _as_text(as_array(value), _decoded)
            for tensor, value in zip(inputs, given, strict=True)
            if tensor.name in kept
        }
        return [_as_text(value, str.encode) for value in runtime.run(None, feeds)]

    return run


def _decoded(item: Any) -> str:
    return item.decode() if isinstance(item, bytes) else str(item)


def _as_text(array: np.ndarray, change: Any) -> np.ndarray:
    """Return texts as bytes, or bytes as texts; numbers as they are."""
    if array.dtype != object:
        return array
    found = [change(item) for item in array.reshape(-1)]
    return np.array(found, object).reshape(array.shape)


def _mark(message: Any, comparison: Comparison | None) -> None:
    """Say in the model where it comes from, and whether it was compared."""
    verdict = "not compared" if comparison is None else comparison.message
    entries = {"source": "TensorFlow 1 graph", "verified": verdict}
    for key, value in entries.items():
        entry = message.metadata_props.add()
        entry.key, entry.value = key, value


def _save(message: Any, path: str) -> None:
    """Check a model and write it; the weights of a large one go into a second file."""
    onnx = importlib.import_module("onnx")

    large = message.ByteSize() >= _LARGE
    beside = f"{os.path.basename(path)}.data"
    onnx.save(message, path, save_as_external_data=large, location=beside if large else None)
    try:
        onnx.checker.check_model(path if large else message, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise ExportError(f"onnx.checker does not take the model: {error}") from error
