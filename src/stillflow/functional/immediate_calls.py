"""Calls of traced functions where operations run when they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.eager import callbacks
from stillflow.eager.eager_tensor import EagerTensor
from stillflow.eager.immediate import context, held_by, unshare
from stillflow.functional.backward import Extended
from stillflow.functional.executors import check_executor
from stillflow.functional.recorded_calls import RecordedCalls
from stillflow.graph import tapes
from stillflow.graph.operation import Tensor
from stillflow.ops.functional.nodes import copy_handle_data
from stillflow.ops.functional.traced_graph import TracedGraph
from stillflow.runtime.functions.callables import CompiledFunction


class Body:
    """A body that runs on tensors with values.

    Args:
      body: the graph of the function.
      outputs: tensors of it that a run gives.
      inputs: what a run is given; all that the body takes if None.
    """

    def __init__(
        self,
        body: TracedGraph,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        self._outputs = list(outputs)
        self._extended: Any = Extended(body, self._outputs, inputs)
        self._compiled: CompiledFunction | None = None
        self._changes = any(op.card.writes or op.card.calls for op in body._operations)

    def __call__(self, inputs: Sequence[Any]) -> list[Tensor]:
        """Run it on its arguments and captures; OpError if an operation fails."""
        if self._compiled is None:
            self._compiled = CompiledFunction(context().state, self._extended, True)
        held = [held_by(tensor) for tensor in inputs]
        if self._changes:
            for value in held:
                unshare(value)
        outputs: list[Tensor] = []
        for inner, value in zip(self._outputs, self._compiled(*held), strict=True):
            outputs.append(EagerTensor(value, inner.dtype))
            copy_handle_data(inner, outputs[-1])
        return outputs


class ImmediateCalls:
    """The calls of one traced function; tapes that watch its arguments can differentiate them."""

    def __init__(self, name: str, body: TracedGraph) -> None:
        self.name, self._graph = name, body
        self._plain = Body(body, body.outputs)
        self._recorded: dict[bool, RecordedCalls] = {}

    def __call__(self, inputs: Sequence[Any]) -> list[Tensor]:
        """Return the results for these arguments and captured tensors."""
        check_executor(self.name)
        for variable in self._graph.watched_variables:
            tapes.variable_accessed(variable)
        recording = [tape for tape in tapes.active.tapes if tape.should_record(inputs)]
        outputs = self._recorded_run(inputs, recording) if recording else self._plain(inputs)
        if callbacks.active:
            callbacks.tell(self.name, inputs, {}, outputs, None)
        return outputs

    def _recorded_run(self, inputs: Sequence[Any], recording: Sequence[Any]) -> list[Tensor]:
        """Return the results, and word of them to the tapes."""
        again = len(recording) > 1 or recording[0].persistent
        if again not in self._recorded:
            with tapes.stopped():
                self._recorded[again] = RecordedCalls(self._graph, again, Body)
        return self._recorded[again](self.name, inputs)
