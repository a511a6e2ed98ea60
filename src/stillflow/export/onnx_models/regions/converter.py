"""Conversion of a region of a plan to an ONNX model."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from stillflow.export.onnx_models.regions import arrays, layers, maths  # noqa: F401 the rules
from stillflow.export.onnx_models.regions.builder import RULES, TYPES, Builder
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.engines.region import OnnxModel, Region, Unfit
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step

_OPSET, _IR = 18, 8
_LARGE = 1 << 10  # bytes; smaller constants stand in the message


class Converter:
    """Rules of operations as a converter of steps."""

    def problem(self, graph: StepGraph, step: Step) -> str:
        """Return the reason why a step cannot be part of a model; "" if it can."""
        op = step.op
        if op is None or op.type not in RULES:
            return f"{step.kind if op is None else op.type} has no ONNX form here"
        try:
            self._convert(_Scratch(graph), op, step)
        except Unfit as error:
            return f"{op.type}: {error}"
        except (IndexError, KeyError, TypeError, ValueError) as error:  # of an odd attribute
            return f"{op.type}: {error!r}"
        return ""

    def model(self, region: Region) -> OnnxModel:
        """Return the model of a region; Unfit if there is none."""
        builder = Builder(region.graph)
        for number, (name, _) in enumerate(region.inputs):
            builder.bind(name, f"input_{number}")
        for step in region.steps:
            assert step.op is not None
            self._convert(builder, step.op, step)
        outputs = [builder(tensor) for _, tensor in region.outputs]
        return OnnxModel(*_message(builder, region, outputs), guards=builder.guards)

    def _convert(self, builder: Builder, op: Operation, step: Step) -> None:
        wanted = [t for t, name in zip(op._outputs, step.outputs, strict=True)
                  if builder.graph.uses(name)]  # fmt: skip
        _check(builder, (*op._inputs, *wanted))
        made = RULES[op.type](builder, op)
        names = [made] if isinstance(made, str) else made or ()
        for tensor, name in zip(op._outputs, names, strict=False):
            if name is not None:
                builder.put(tensor, name)
        for tensor in wanted:
            if not builder.has(tensor):
                raise Unfit(f"{tensor.name} has no ONNX form here")


class _Scratch(Builder):
    """Builder that tries one step, all of whose inputs exist."""

    def __call__(self, tensor: Tensor) -> str:
        self._key(tensor)
        return "taken"

    def channels_second(self, tensor: Tensor) -> str:
        return self(tensor)


def _check(builder: Builder, tensors: Any) -> None:
    """Raise Unfit for types and shapes that engines do not all agree on."""
    for tensor in tensors:
        if tensor.dtype._is_ref_dtype or tensor.dtype.name not in TYPES:
            raise Unfit(f"{tensor.name} has type {tensor.dtype.name}")
        if builder.rank(tensor) and 0 in builder.dims(tensor):  # type: ignore[operator]
            raise Unfit(f"{tensor.name} is empty")


def _message(
    builder: Builder, region: Region, outputs: list[str]
) -> tuple[bytes, dict[str, np.ndarray]]:
    """Return the model as bytes, and the constants outside of it."""
    onnx = importlib.import_module("onnx")
    helper = onnx.helper
    nodes = [
        helper.make_node(kind, taken, made, **attrs) for kind, taken, made, attrs in builder.nodes
    ]
    given = [
        _info(onnx, builder, f"input_{number}", tensor)
        for number, (_, tensor) in enumerate(region.inputs)
    ]
    results = []
    for number, (name, (_, tensor)) in enumerate(zip(outputs, region.outputs, strict=True)):
        nodes.append(helper.make_node("Identity", [name], [f"output_{number}"]))
        results.append(_info(onnx, builder, f"output_{number}", tensor))
    for guard in builder.guards:
        results.append(helper.make_tensor_value_info(guard.name, onnx.TensorProto.INT64, []))
    inside, beside = [], {}
    for name, array in builder.constants.items():
        made = onnx.TensorProto(
            name=name, dims=array.shape, data_type=helper.np_dtype_to_tensor_dtype(array.dtype)
        )
        if array.nbytes < _LARGE:
            made.raw_data = array.tobytes()
        else:
            made.data_location = onnx.TensorProto.EXTERNAL
            made.external_data.add(key="location", value="weights")
            beside[name] = array
        inside.append(made)
    graph = helper.make_graph(nodes, "region", given, results, inside)
    opset = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=_IR)
    return model.SerializeToString(), beside


def _info(onnx: Any, builder: Builder, name: str, tensor: Tensor) -> Any:
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(tensor.dtype.as_numpy_dtype))
    return onnx.helper.make_tensor_value_info(name, kind, builder.dims(tensor))
