"""ONNX Runtime as an engine."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch

from stillflow.ops.kernels import torch_type
from stillflow.runtime.engines.region import OnnxModel, Region, Unfit, check, onnx_converter
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step

# From so many bytes of results on, binding torch's memory takes less time than copying them.
_BIND_FROM = 1 << 18


class OnnxRuntime:
    """Engine that runs regions as ONNX models."""

    name, extra = "onnxruntime", "onnx"
    packages = ("onnx", "onnxruntime")
    any_sizes = True

    def problem(self, graph: StepGraph, step: Step) -> str:
        return onnx_converter.value.problem(graph, step)

    def function(self, region: Region) -> Callable[..., Any]:
        try:
            model = onnx_converter.value.model(region)
            session = _session(model, region.threads)
        except Unfit:
            raise
        except Exception as error:  # it has no kernel for a type, mostly
            raise Unfit(f"onnxruntime: {str(error).strip().partition(chr(10))[0]}") from error
        return OnnxFunction(session, model, region)


ENGINE = OnnxRuntime()


def _session(model: OnnxModel, threads: int) -> Any:
    """Return the session of a model, which shares the memory of its weights."""
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.set_denormal_as_zero", "1")  # as in the plan
    if model.weights:
        values = [runtime.OrtValue.ortvalue_from_numpy(array) for array in model.weights.values()]
        options.add_external_initializers(list(model.weights), values)
    return runtime.InferenceSession(
        model.message.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


class OnnxFunction:
    """A region as a function of torch tensors.

    Args:
      session: the session of the model.
      model: the model; its weights live as long as the session.
      region: the steps that it does.
    """

    engine = OnnxRuntime.name

    def __init__(self, session: Any, model: OnnxModel, region: Region) -> None:
        self._session, self._model = session, model
        kept = {each.name for each in session.get_inputs()}
        self._inputs = [f"input_{n}" if f"input_{n}" in kept else None
                        for n in range(len(region.inputs))]  # fmt: skip
        self._outputs = [each.name for each in session.get_outputs()]
        self._count, self._guards = len(region.outputs), model.guards
        facts = region.graph.facts
        assert facts is not None
        self._shapes = [facts.dims(tensor) for _, tensor in region.outputs]
        self._types = [tensor.dtype for _, tensor in region.outputs]
        known = all(dims is not None and None not in dims for dims in self._shapes)
        sizes = [prod(dims or ()) * 4 for dims in self._shapes] if known else []  # type: ignore[arg-type]
        self._binds = sum(sizes) >= _BIND_FROM and not self._guards

    def __call__(self, *values: torch.Tensor) -> torch.Tensor | list[torch.Tensor]:
        if self._binds:
            return self._bound(values)
        feeds = {
            name: value.numpy() for name, value in zip(self._inputs, values, strict=True)
            if name is not None
        }  # fmt: skip
        found = self._session.run(self._outputs, feeds)
        if self._guards:
            check(self._guards, found[self._count :])
        if self._count == 1:
            return torch.from_numpy(found[0])
        return [torch.from_numpy(array) for array in found[: self._count]]

    def _bound(self, values: Sequence[torch.Tensor]) -> torch.Tensor | list[torch.Tensor]:
        """Run with results in the memory of new tensors."""
        binding = self._session.io_binding()
        for name, value in zip(self._inputs, values, strict=True):
            if name is not None:
                array = value.contiguous().numpy()
                binding.bind_cpu_input(name, array)
        found = []
        for name, dtype, dims in zip(self._outputs, self._types, self._shapes, strict=True):
            tensor = torch.empty(dims, dtype=torch_type(dtype))
            kind = dtype.as_numpy_dtype
            binding.bind_output(name, "cpu", 0, kind, dims, tensor.data_ptr())
            found.append(tensor)
        self._session.run_with_iobinding(binding)
        return found[0] if len(found) == 1 else found
