"""Engines that run regions as ONNX models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow.graph.lazy import torch
from stillflow.runtime.engines.region import (
    Guarded,
    OnnxModel,
    Region,
    Unfit,
    check,
    onnx_converter,
)
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step


class Opened(NamedTuple):
    """A model that a runtime has opened.

    Attributes:
      inputs: the names of the inputs that it kept.
      run: from arrays by these names to the arrays of all outputs, in order.
    """

    inputs: Collection[str]
    run: Callable[[dict[str, np.ndarray]], list[np.ndarray]]


class OnnxEngine:
    """Engine that runs regions as ONNX models.

    Args:
      name: the name of the engine, and of its package.
      extra: the extra of Stillflow that installs it.
      open_model: opens a model for a number of threads.
    """

    any_sizes = True

    def __init__(
        self, name: str, extra: str, open_model: Callable[[OnnxModel, int], Opened]
    ) -> None:
        self.name, self.extra, self._open = name, extra, open_model
        self.packages = ("onnx", name)

    def problem(self, graph: StepGraph, step: Step) -> str:
        return onnx_converter.value.problem(graph, step)

    def function(self, region: Region) -> Callable[..., Any]:
        model = onnx_converter.value.model(region)
        return OnnxFunction(self.name, model, self.opened(model, region.threads))

    def opened(self, model: OnnxModel, threads: int) -> ArrayFunction:
        """Return the function of a model; Unfit if the runtime does not take it."""
        try:
            return ArrayFunction(self._open(model, threads), model.guards)
        except Exception as error:  # it has no kernel for a type, mostly
            raise Unfit(f"{self.name}: {str(error).strip().rpartition(chr(10))[2]}") from error


class ArrayFunction:
    """A model as a function of arrays, in the order of its inputs."""

    def __init__(self, opened: Opened, guards: Sequence[Guarded]) -> None:
        self._kept, self._run, self._guards = opened.inputs, opened.run, guards

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        names = [(f"input_{number}", array) for number, array in enumerate(arrays)]
        found = self._run({name: array for name, array in names if name in self._kept})
        if self._guards:
            count = len(found) - len(self._guards)
            check(self._guards, found[count:])
            return found[:count]
        return found


class OnnxFunction:
    """A region as a function of torch tensors.

    Args:
      engine: the name of the engine.
      model: the model, whose weights the runtime may share.
      run: the function of the model.
    """

    def __init__(self, engine: str, model: OnnxModel, run: ArrayFunction) -> None:
        self.engine, self.model, self._run = engine, model, run

    def __call__(self, *values: torch.Tensor) -> torch.Tensor | list[torch.Tensor]:
        found = self._run([value.numpy() for value in values])
        if len(found) == 1:
            return torch.from_numpy(found[0])
        return [torch.from_numpy(array) for array in found]
