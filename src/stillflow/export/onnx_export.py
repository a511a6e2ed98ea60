"""Sessions' graphs as ONNX models."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stillflow import __stillflow_version__, errors
from stillflow.export.capture import Program
from stillflow.export.dynamic import Names, quiet, to_program
from stillflow.export.onnx_graph import Place, nodes_of, to_graph
from stillflow.export.onnx_regions.maths import ONNX_TYPES
from stillflow.export.package import new_file
from stillflow.export.problems import ExportError
from stillflow.export.torch_export import capture_of, load_module
from stillflow.export.torch_writer import to_source
from stillflow.export.verification import Comparison, as_array, compare, sample_inputs

_NEEDED = ("onnx", "onnxscript")
OPSET, _IR = 20, 10
_OPEN = 64  # elements where PyTorch's exporter is shown a size that is not known
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
    program = capture_of(session, inputs, outputs, samples, dynamic or {}, for_onnx=True)
    fed = sample_inputs(program, samples)
    message = to_model(program, dynamic or {}, opset)
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


def to_model(program: Program, names: Names, opset: int | None) -> Any:
    """Return a program as a message of ONNX; ExportError if operations have no form there."""
    onnx = importlib.import_module("onnx")
    helper = onnx.helper
    writer = to_graph(program, functools.partial(_by_torch, {}))
    results = []
    for tensor, value in program.outputs:
        writer.nodes.append(("Identity", [writer.named(value.name)], [tensor.name], {}))
        results.append(_info(helper, tensor, program.dims(tensor)))
    taken = []
    for tensor, _ in program.inputs:
        dims, named = program.dims(tensor), names.get(tensor.name, {})
        dims = dims and tuple(named.get(place, size) for place, size in enumerate(dims))  # type: ignore[misc]
        taken.append(_info(helper, tensor, dims))
    weights = [
        onnx.numpy_helper.from_array(array, name) for name, array in writer.constants.items()
    ]
    graph = helper.make_graph(nodes_of(writer.nodes), "tensorflow", taken, results, weights)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", 3)]
    message = helper.make_model(graph, opset_imports=opsets, ir_version=_IR)
    message.producer_name, message.producer_version = "stillflow", __stillflow_version__
    message = _without_unused(message)
    if opset in (None, OPSET):
        return message
    try:
        return onnx.version_converter.convert_version(message, opset)
    except Exception as error:  # an operator that this version has not
        raise ExportError(f"version {opset} of ONNX's operators: {error}") from error


def _info(helper: Any, tensor: Any, dims: Any) -> Any:
    kind = tensor.dtype.base_dtype.name
    if kind not in ONNX_TYPES:
        raise ExportError(f"{tensor.name} has type {kind}, which ONNX cannot compute with")
    return helper.make_tensor_value_info(tensor.name, ONNX_TYPES[kind], dims)


def _without_unused(message: Any) -> Any:
    """Return a model without nodes and weights that no output depends on."""
    onnx_ir = importlib.import_module("onnx_ir")
    passes = importlib.import_module("onnx_ir.passes.common")
    model = onnx_ir.from_proto(message)
    passes.RemoveUnusedNodesPass()(model)
    return onnx_ir.to_proto(model)


def _by_torch(made: dict[Any, Any], program: Program, places: Sequence[Place]) -> Any:
    """Return the message that PyTorch's exporter makes of a program of one operation."""
    import torch

    op = program.steps[0].op
    if op in made:
        return made[op]
    if any(place._dims is None for place in places):
        raise ExportError("the rank of an input is unknown")
    exported = _traced(load_module(to_source(program)), places)
    level = logging.getLogger("torch.onnx").level
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    names = [f"out_{number}" for number in range(len(program.outputs))]
    try:
        with quiet():
            found = torch.onnx.export(
                exported, (), dynamo=True, verbose=False, opset_version=OPSET,
                input_names=[place.name for place in places], output_names=names,
            )  # fmt: skip
    except Exception as error:  # an operator that has no translation, mostly
        first = str(error).strip().partition("\n")[0]
        raise ExportError(f"torch.onnx cannot translate it: {first}") from error
    finally:
        logging.getLogger("torch.onnx").setLevel(level)
    assert found is not None
    made[op] = found.model_proto
    return made[op]


def _traced(model: Any, places: Sequence[Place]) -> Any:
    """Return the program of a module; sizes that are not known may have to be like known ones."""
    known = {size for place in places for size in place._dims or () if size}
    problem: ExportError | None = None
    for open_size in (_OPEN, *sorted(known - {1})):
        fed: dict[Any, np.ndarray] = {
            place: np.zeros([size or open_size for size in place._dims or ()], _plain(place.dtype))
            for place in places
        }
        try:
            return to_program(model, fed, {})
        except ExportError as error:
            problem = problem or error
        if all(None not in (place._dims or ()) for place in places):
            break
    assert problem is not None
    raise problem


def _plain(dtype: Any) -> np.dtype:
    """Return the type of a tensor's numbers; that of quantized ones has a name of its own."""
    kind = np.dtype(dtype.as_numpy_dtype)
    return kind if kind.names is None else kind[0]


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
