"""OpenVINO as an engine."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any

import torch

from stillflow.runtime.engines.region import OnnxModel, Region, Unfit, check, onnx_converter
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step


class OpenVino:
    """Engine that runs regions as models of OpenVINO, which reads ONNX."""

    name = extra = "openvino"
    packages = ("onnx", "openvino")
    any_sizes = True

    def problem(self, graph: StepGraph, step: Step) -> str:
        return onnx_converter.value.problem(graph, step)

    def function(self, region: Region) -> Callable[..., Any]:
        try:
            model = onnx_converter.value.model(region)
            compiled = _compiled(model, region.threads)
        except Unfit:
            raise
        except Exception as error:  # an operator that it does not have, mostly
            raise Unfit(f"openvino: {str(error).strip().rpartition(chr(10))[2]}") from error
        return OpenVinoFunction(compiled, model, region)


ENGINE = OpenVino()


def _compiled(model: OnnxModel, threads: int) -> Any:
    """Return the compiled model."""
    runtime = importlib.import_module("openvino")
    message = type(model.message)()
    message.CopyFrom(model.message)
    for each in message.graph.initializer:  # memory of its own: OpenVINO reads no other
        if each.name in model.weights:
            each.ClearField("external_data")
            each.ClearField("data_location")
            each.raw_data = model.weights[each.name].tobytes()
    core = runtime.Core()
    # On processors that have bfloat16 it would otherwise compute with that.
    settings = {
        "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }  # fmt: skip
    return core.compile_model(core.read_model(message.SerializeToString()), "CPU", settings)


class OpenVinoFunction:
    """A region as a function of torch tensors.

    Args:
      compiled: the compiled model.
      model: the model.
      region: the steps that it does.
    """

    engine = OpenVino.name

    def __init__(self, compiled: Any, model: OnnxModel, region: Region) -> None:
        self._compiled, self._guards = compiled, model.guards
        self._count = len(region.outputs)
        kept = {name for each in compiled.inputs for name in each.get_names()}
        self._inputs = [f"input_{n}" if f"input_{n}" in kept else None
                        for n in range(len(region.inputs))]  # fmt: skip
        names = [f"output_{n}" for n in range(self._count)] + [g.name for g in model.guards]
        self._outputs = [compiled.output(name) for name in names]
        self._of_thread = threading.local()  # a request serves one thread at a time

    def __call__(self, *values: torch.Tensor) -> torch.Tensor | list[torch.Tensor]:
        request = getattr(self._of_thread, "request", None)
        if request is None:
            request = self._of_thread.request = self._compiled.create_infer_request()
        feeds = {
            name: value.numpy() for name, value in zip(self._inputs, values, strict=True)
            if name is not None
        }  # fmt: skip
        results = request.infer(feeds, share_inputs=True)
        found = [results[output] for output in self._outputs]
        if self._guards:
            check(self._guards, found[self._count :])
        made = [torch.from_numpy(array) for array in found[: self._count]]
        return made[0] if self._count == 1 else made
