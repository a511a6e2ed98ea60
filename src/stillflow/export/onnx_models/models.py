"""Messages of ONNX: inputs, outputs and weights around the nodes of a program."""

from __future__ import annotations

import functools
import importlib
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import __stillflow_version__
from stillflow.export.capture import Program
from stillflow.export.dynamic import Names, quiet, to_program
from stillflow.export.onnx_export import model_of
from stillflow.export.onnx_models.graph import Place, nodes_of, to_graph
from stillflow.export.onnx_models.regions.maths import ONNX_TYPES
from stillflow.export.problems import ExportError
from stillflow.export.torch_export import load_module
from stillflow.export.torch_writer import to_source

OPSET, _IR = 20, 10
_OPEN = 64  # elements where PyTorch's exporter is shown a size that is not known


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
        if dims is None:
            raise ExportError(f"the rank of {tensor.name} is unknown: give a sample (--samples)")
        dims = dims and tuple(named.get(place, size) for place, size in enumerate(dims))  # type: ignore[misc]
        taken.append(_info(helper, tensor, dims))
    weights = [
        onnx.numpy_helper.from_array(array, name) for name, array in writer.constants.items()
    ]
    graph = helper.make_graph(nodes_of(writer.nodes), "tensorflow", taken, results, weights)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", 3)]
    if any(node[0] == "Inverse" for node in writer.nodes if isinstance(node, tuple)):
        opsets.append(helper.make_opsetid("com.microsoft", 1))
    message = helper.make_model(graph, opset_imports=opsets, ir_version=_IR)
    message.producer_name, message.producer_version = "stillflow", __stillflow_version__
    message = _without_unused(message)
    if any(program.dims(tensor) is None for tensor, _ in program.outputs):
        message = onnx.shape_inference.infer_shapes(message)  # an output must have a rank
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


model_of.provide(to_model)
