"""Calls of functions whose gradients are to be differentiated as well, for tapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.functional.backward import Backward
from stillflow.graph import tapes
from stillflow.graph.operation import Tensor
from stillflow.ops.functional.traced_graph import TracedGraph

# From a body and tensors of it to the function from arguments to these tensors.
Maker = Callable[[TracedGraph, list[Tensor]], Callable[[Sequence[Any]], list[Tensor]]]


class RecordedCalls:
    """Calls of a body that also return its gradient's inputs, and notify the tapes.

    Args:
      body: the graph of the function.
      again: whether the gradient is to be differentiated as well: then all that it needs counts
        among the results.
      maker: makes the executor of the body.
    """

    def __init__(self, body: TracedGraph, again: bool, maker: Maker) -> None:
        self._inputs, self._count = body.inputs, len(body.outputs)
        results = list(body.outputs)
        self._backward = Backward(body, results)
        while again and self._missing(results):
            results = [*results, *self._missing(results)]
            self._backward = Backward(body, results)
        self._results = results
        self._outputs = [*results, *self._missing(results)]
        self._run = maker(body, self._outputs)

    def _missing(self, results: Sequence[Tensor]) -> list[Tensor]:
        """Return the tensors that the gradient needs in addition to results and arguments."""
        known = {*results, *self._inputs}
        return [tensor for tensor in self._backward.passed if tensor not in known]

    def __call__(self, name: str, inputs: Sequence[Any]) -> list[Tensor]:
        outputs = self._run(inputs)
        backward = self._backward
        values = dict(zip(self._inputs, inputs, strict=True))
        values.update(zip(self._outputs, outputs, strict=True))
        captured = [values.get(tensor, tensor) for tensor in backward.captured]

        def gradient(*grads: Any) -> list[Any]:
            given = [grads[index] for index in backward.trainable]
            return backward.gradients(backward.backward.outputs_for([*given, *captured]))

        recorded = outputs[: len(self._results)]
        tapes.record(name, recorded, inputs, gradient)
        return recorded[: self._count]
