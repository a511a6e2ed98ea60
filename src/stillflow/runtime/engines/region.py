"""Regions of a plan, and the interface of the engines that run them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from stillflow._hooks import Hook
from stillflow.graph.operation import Tensor
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step

if TYPE_CHECKING:
    import numpy as np


class Unfit(Exception):
    """Error: an engine cannot run a step or a region; the message says why."""


class OutOfBounds(Exception):
    """Error: a value of a run has no answer in an engine; the plan raises TensorFlow's error."""


@dataclass
class Region:
    """Steps in a row without state and effect.

    Attributes:
      graph: the plan that they are part of.
      steps: in order.
      inputs: names of what is taken from elsewhere, with a tensor of each.
      outputs: names of what is handed on, with a tensor of each.
      threads: the number of threads of kernels.
    """

    graph: StepGraph
    steps: list[Step]
    inputs: list[tuple[str, Tensor]]
    outputs: list[tuple[str, Tensor]]
    threads: int


class Guarded(NamedTuple):
    """An additional integer of a model, and its bounds, which are included."""

    name: str
    lowest: int
    highest: int


def check(guards: Sequence[Guarded], found: Sequence[Any]) -> None:
    """Raise OutOfBounds if a guarded integer is out of its bounds."""
    for guard, number in zip(guards, found, strict=True):
        if not guard.lowest <= number <= guard.highest:
            raise OutOfBounds(f"{int(number)} is not from {guard.lowest} to {guard.highest}")


class OnnxModel(NamedTuple):
    """A region as an ONNX model.

    Inputs are `input_0`, `input_1`, ..., outputs `output_0`, ... and then the guards.

    Attributes:
      content: the model as bytes.
      weights: large constants by name, outside of these.
      guards: integers that are to be checked.
    """

    content: bytes
    weights: dict[str, np.ndarray]
    guards: list[Guarded]

    def whole(self) -> bytes:
        """Return the model with the weights in it, for those that read no others."""
        if not self.weights:
            return self.content
        message = importlib.import_module("onnx").ModelProto.FromString(self.content)
        for each in message.graph.initializer:
            if each.name in self.weights:
                each.ClearField("external_data")
                each.ClearField("data_location")
                each.raw_data = self.weights[each.name].tobytes()
        content: bytes = message.SerializeToString()
        return content


class OnnxConverter(Protocol):
    """Converter of steps to ONNX."""

    def problem(self, graph: StepGraph, step: Step) -> str:
        """Return the reason why a step has no form in ONNX; "" if it has one."""

    def model(self, region: Region) -> OnnxModel:
        """Return the model of a region; Unfit if there is none."""


# Exporters stand above the runtime.
onnx_converter: Hook[OnnxConverter] = Hook("runtime.engines.region.onnx_converter")


class Engine(Protocol):
    """Runtime that may run regions.

    Attributes:
      name: as programs choose it.
      packages: those that it imports.
      extra: the extra of Stillflow that installs these.
      any_sizes: whether one function of a region serves all sizes that the graph leaves open.
    """

    name: str
    packages: Sequence[str]
    extra: str
    any_sizes: bool

    def problem(self, graph: StepGraph, step: Step) -> str:
        """Return the reason why a step stays with the plan; "" if the engine may run it."""

    def function(self, region: Region) -> Callable[..., Any]:
        """Return the function of a region, from torch tensors to one tensor or a list.

        Raises:
          Unfit: if the engine does not take it.
        """


class Assignment:
    """Engine of a plan that is being made, and the regions that it gets.

    Attributes:
      engine: the engine.
      taken, steps: how many steps the engine runs, of how many.
      regions: the regions that it runs, with their functions.
      reason: why other steps stay with the plan.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.taken = self.steps = 0
        self.regions: list[tuple[Region, Callable[..., Any]]] = []
        self.reason = ""

    @property
    def is_whole(self) -> bool:
        """True if the engine runs everything."""
        return bool(self.regions) and self.taken == self.steps

    def assign(self, graph: StepGraph) -> None:
        """Replace the steps of a plan that the engine runs: a pass."""
        from stillflow.runtime.engines.assign import assign_regions

        assign_regions(graph, self)

    def __str__(self) -> str:
        count = f"{self.engine.name} runs {self.taken} of {self.steps} steps"
        return f"{count}; the plan keeps the others: {self.reason}" if self.reason else count
