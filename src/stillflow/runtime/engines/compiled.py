"""torch.compile with frozen weights as an engine."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from stillflow.runtime.engines.region import Region, Unfit
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Name, Step, taken_by


class Compile:
    """Engine that compiles the kernels of regions together; this takes up to minutes."""

    name, extra = "compile", ""
    packages = ()
    any_sizes = False

    def problem(self, graph: StepGraph, step: Step) -> str:
        assert step.op is not None and graph.facts is not None
        given = {graph.values[tensor].name for tensor in step.op._inputs if tensor in graph.values}
        if any(name not in given and name not in graph.constants for name in taken_by(step)):
            return f"{step.op.type} takes intermediate values"
        for tensor in (*step.op._inputs, *step.op._outputs):
            dims, dtype = graph.facts.dims(tensor), tensor.dtype.base_dtype
            if dims is None or None in dims:
                return f"{step.op.type} has unknown sizes"
            if dtype.name in ("string", "resource", "variant"):
                return f"{step.op.type} has no numbers"
        return ""

    def function(self, region: Region) -> Callable[..., Any]:
        module = _module(region)
        return CompiledFunction(torch.compile(module, options={"freezing": True}), module)


ENGINE = Compile()


def _module(region: Region) -> torch.fx.GraphModule:
    """Return a module that runs the kernels of a region; its constants are buffers."""
    graph, root = torch.fx.Graph(), torch.nn.Module()
    nodes: dict[str, Any] = {}
    for name, _ in region.inputs:
        nodes[name] = graph.placeholder(name)

    def constant(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        key = f"constant_{len(dict(root.named_buffers()))}"
        root.register_buffer(key, value.detach().clone())  # no tensor of inference mode
        return graph.get_attr(key)

    def argument(value: Any) -> Any:
        if not isinstance(value, Name):
            return constant(value)
        if str(value) not in nodes:
            nodes[str(value)] = constant(region.graph.constants[str(value)])
        return nodes[str(value)]

    for step in region.steps:
        assert step.function is not None
        arguments = tuple(map(argument, step.arguments))
        keywords = {key: argument(value) for key, value in step.keywords.items()}
        try:
            made = graph.call_function(step.function, arguments, keywords)
        except Exception as error:
            raise Unfit(f"torch.fx: {error}") from error
        if len(step.outputs) == 1:
            nodes[step.outputs[0]] = made
        else:
            for place, name in enumerate(step.outputs):
                nodes[name] = graph.call_function(operator.getitem, (made, place))
    outputs = [nodes[name] for name, _ in region.outputs]
    graph.output(outputs[0] if len(outputs) == 1 else tuple(outputs))
    return torch.fx.GraphModule(root, graph).eval()


class CompiledFunction:
    """A region as a function of torch tensors, compiled when it is first called."""

    engine = Compile.name

    def __init__(self, compiled: Callable[..., Any], module: torch.fx.GraphModule) -> None:
        self._compiled, self._module = compiled, module

    def __call__(self, *values: torch.Tensor) -> Any:
        with torch.inference_mode(False), torch.no_grad():
            return self._compiled(*[value.clone() if value.is_inference() else value
                                    for value in values])  # fmt: skip
