"""Sessions' graphs as PyTorch modules."""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from stillflow.export.capture import (
    Program,
    capture,
    changes,
    is_training_switch,
    placeholders,
)
from stillflow.export.dynamic import Names
from stillflow.export.package import write_package
from stillflow.export.problems import ExportError
from stillflow.export.torch_writer import Written, to_source
from stillflow.export.verification import compare, sample_inputs
from stillflow.graph.constant_value import Dims
from stillflow.graph.operation import Operation, Tensor

_numbers = itertools.count(1)


def to_torch(
    session: Any,
    inputs: Sequence[Any] | None,
    outputs: Sequence[Any],
    path: str | None = None,
    samples: Mapping[str, Any] | None = None,
    verify: bool = True,
    force: bool = False,
    layout: str = "nhwc",
) -> torch.nn.Module:
    """Write the function between tensors of a graph as a PyTorch module.

        model = stillflow.export.to_torch(session, ["images:0"], ["logits:0"], path="exported")
        logits = model(torch.zeros(8, 224, 224, 3))

    Args:
      session: the session, which holds the variables.
      inputs: tensors or their names, in the order of the module's arguments. None: all placeholders
        that the outputs depend on.
      outputs: tensors or their names. The module returns a tensor for one, a tuple for more.
        Operations such as a training step run at each call.
      path: a folder to write: `model.py`, `model.safetensors` and a test.
      samples: arrays for the inputs, by name, with which the model is compared.
      verify: whether the module's outputs are compared with the session's.
      force: whether a folder that exists is replaced.
      layout: "nchw" for a module that takes and returns images with their channels first.

    Returns:
      The module with its weights, in evaluation mode. Its `source` is the text of `model.py`, its
      `comparison` tells how far its outputs are from the session's.

    Raises:
      ExportError: if an operation cannot be exported, or outputs differ.
    """
    program = capture_of(session, inputs, outputs, samples)
    if layout not in ("nhwc", "nchw"):
        raise ValueError(f"layout must be nhwc or nchw, not {layout!r}")
    first = layout == "nchw"
    written = to_source(program, first)
    model = load_module(written)
    comparison = None
    if verify:
        fed = sample_inputs(program, samples)
        comparison = compare(session, program, fed, model, first)
        if not comparison.equal and path is None:
            raise ExportError(comparison.message)
    if path is not None:
        write_package(path, written, comparison, force)
    if comparison is not None and not comparison.equal:
        raise ExportError(comparison.message)
    model.source, model.comparison = written.text, comparison
    return model


def capture_of(
    session: Any,
    inputs: Sequence[Any] | None,
    outputs: Sequence[Any],
    samples: Mapping[str, Any] | None = None,
    dynamic: Names = MappingProxyType({}),
    for_onnx: bool = False,
) -> Program:
    """Return the program between tensors of a session's graph.

    `dynamic` names dimensions that may change although the graph knows their sizes.
    """
    if not outputs:
        raise ValueError("name at least one output")
    found = [as_tensor(session.graph, each, targets=True) for each in outputs]
    wanted = [each for each in found if isinstance(each, Tensor)]
    targets = [each for each in found if isinstance(each, Operation)]
    if inputs is None:
        given = [t for t in placeholders(wanted, targets) if not is_training_switch(t)]
    else:
        given = [as_tensor(session.graph, each) for each in inputs]
    with session.graph.as_default():
        shapes = _shapes(given, samples or {}, dynamic)
        return capture(session._get_resources(), given, wanted, shapes, for_onnx, targets)


def _shapes(
    inputs: Sequence[Tensor], samples: Mapping[str, Any], dynamic: Names
) -> dict[Tensor, Dims]:
    """Return the shapes of inputs: as the graph has them, or of the rank that a sample has."""
    found = {}
    for tensor in inputs:
        dims, named = tensor._dims, dynamic.get(tensor.name, {})
        sample = samples.get(tensor.name, samples.get(tensor.op.name))
        if dims is None and sample is not None:
            dims = (None,) * np.ndim(sample)
        found[tensor] = dims and tuple(None if i in named else s for i, s in enumerate(dims))
    return found


def as_tensor(graph: Any, named: Any, targets: bool = False) -> Any:
    """Return a tensor of a graph, from itself, its name, or its operation's; else ExportError.

    With `targets`, an operation without outputs is returned itself, and one that changes variables.
    """
    if isinstance(named, Tensor):
        return named
    if hasattr(named, "_as_graph_element"):  # a variable
        return named._as_graph_element()
    name = named.name if isinstance(named, Operation) else str(named)
    try:
        found = graph.as_graph_element(name, allow_tensor=True, allow_operation=True)
    except (KeyError, ValueError) as error:
        raise ExportError(f"there is no tensor {named}: {error}") from None
    if isinstance(found, Operation):
        if targets and (not found._outputs or changes(found)):
            return found
        if not found._outputs:
            raise ExportError(f"the operation {named} has no output")
        return found._outputs[0]
    return found


def load_module(written: Written) -> torch.nn.Module:
    """Return the module that a source defines, with its weights."""
    name = f"stillflow_exported_{next(_numbers)}"
    module = types.ModuleType(name)
    sys.modules[name] = module  # classes are looked up there
    exec(compile(written.text, f"<{name}>", "exec"), module.__dict__)
    model = module.Model()
    model.load_state_dict(written.tensors)
    return model.eval()
