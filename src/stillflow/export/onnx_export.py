"""Sessions' graphs as ONNX models, by PyTorch's exporter."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stillflow import __stillflow_version__, errors
from stillflow.export.dynamic import Names, to_program
from stillflow.export.package import new_file
from stillflow.export.problems import ExportError
from stillflow.export.torch_export import capture_of, load_module
from stillflow.export.torch_writer import to_source
from stillflow.export.verification import Comparison, as_array, compare, sample_inputs

_NEEDED = ("onnx", "onnxscript")
_LARGE = 1 << 31  # bytes; one message of protobuf can hold no more


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
      outputs: tensors or their names.
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
    program = capture_of(session, inputs, outputs, samples)
    fed = sample_inputs(program, samples)
    model = load_module(to_source(program))
    made = _converted(model, fed, [tensor.name for tensor, _ in program.outputs], dynamic, opset)
    comparison = None
    if verify:
        run = _runner(made, list(fed))
        comparison = compare(session, program, fed, run)
    _mark(made, comparison)
    with new_file(path, force) as temporary:
        _save(made, temporary, path)
    if comparison is not None and not comparison.equal:
        raise ExportError(comparison.message)
    return comparison


def _converted(
    model: Any, fed: Mapping[Any, np.ndarray], outputs: list[str], dynamic: Names | None,
    opset: int | None,
) -> Any:  # fmt: skip
    """Return the model as a message of ONNX."""
    import torch

    exported = to_program(model, fed, dynamic or {})
    level = logging.getLogger("torch.onnx").level
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    try:
        made = torch.onnx.export(
            exported, (), dynamo=True, verbose=False, opset_version=opset,
            input_names=[tensor.name for tensor in fed], output_names=outputs,
        )  # fmt: skip
    except Exception as error:  # an operator that has no translation, mostly
        first = str(error).strip().partition("\n")[0]
        raise ExportError(f"torch.onnx cannot translate the module: {first}") from error
    finally:
        logging.getLogger("torch.onnx").setLevel(level)
    assert made is not None
    message = made.model_proto
    _name_dimensions(message, dynamic or {})
    message.producer_name, message.producer_version = "stillflow", __stillflow_version__
    return message


def _name_dimensions(message: Any, names: Names) -> None:
    """Give the sizes that may change the names that were asked for."""
    new: dict[str, str] = {}
    for each in message.graph.input:
        for place, name in names.get(each.name, {}).items():
            new[each.type.tensor_type.shape.dim[place].dim_param] = name
    graph = message.graph
    for each in (*graph.input, *graph.output, *graph.value_info):
        for dim in each.type.tensor_type.shape.dim:
            if dim.dim_param in new:
                dim.dim_param = new[dim.dim_param]


def _runner(message: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
    """Return a function that runs a model in onnxruntime, from tensors to arrays."""
    onnxruntime = importlib.import_module("onnxruntime")

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    runtime = onnxruntime.InferenceSession(
        message.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    kept = {each.name for each in runtime.get_inputs()}

    def run(*given: Any) -> Any:
        feeds = {
            tensor.name: as_array(value)
            for tensor, value in zip(inputs, given, strict=True)
            if tensor.name in kept
        }
        return runtime.run(None, feeds)

    return run


def _mark(message: Any, comparison: Comparison | None) -> None:
    """Say in the model where it comes from, and whether it was compared."""
    verdict = "not compared" if comparison is None else comparison.message
    entries = {"source": "TensorFlow 1 graph", "verified": verdict}
    for key, value in entries.items():
        entry = message.metadata_props.add()
        entry.key, entry.value = key, value


def _save(message: Any, temporary: str, path: str) -> None:
    onnx = importlib.import_module("onnx")

    if message.ByteSize() < _LARGE:
        onnx.checker.check_model(message, full_check=True)
        with open(temporary, "wb") as file:
            file.write(message.SerializeToString())
        return
    beside = f"{os.path.basename(path)}.data"
    onnx.save(message, temporary, save_as_external_data=True, location=beside)
    onnx.checker.check_model(temporary, full_check=True)
