"""Several steps in one run: a loop in the graph over the elements of an iterator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.distribute import context as contexts
from stillflow.graph.graph import get_default_graph
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.control_flow.while_loop import while_loop


class MultiStepContext:
    """Outputs of a step's function for loops over several steps.

    Attributes:
      run_op: the operation that runs the loop.
    """

    def __init__(self) -> None:
        self._last_step_outputs: dict[str, Any] = {}
        self._reduced: dict[str, Any] = {}
        self._non_tensor_outputs: dict[str, Any] = {}
        self.run_op: Any = None

    @property
    def last_step_outputs(self) -> dict[str, Any]:
        """The last step's outputs, by name."""
        return self._last_step_outputs

    def set_last_step_output(self, name: str, output: Any, reduce_op: Any = None) -> None:
        """Set an output of the step under a name.

        Args:
          name: the name.
          output: a tensor, or a value of each replica.
          reduce_op: how values of replicas become one; None leaves them apart.
        """
        if contexts.in_cross_replica_context():
            self._set(contexts.get_strategy(), name, output, reduce_op)
            return
        assert reduce_op is not None
        contexts.get_replica_context().merge_call(
            lambda strategy, value: self._set(strategy, name, value, reduce_op), args=(output,)
        )

    def _set(self, strategy: Any, name: str, output: Any, reduce_op: Any) -> None:
        if reduce_op is not None:
            output = strategy.reduce(reduce_op, output, axis=None)
        self._reduced[name] = reduce_op
        self._last_step_outputs[name] = output

    @property
    def non_tensor_outputs(self) -> dict[str, Any]:
        """The outputs that are no tensors, by name."""
        return self._non_tensor_outputs

    def set_non_tensor_output(self, name: str, output: Any) -> None:
        """Keep something that is no tensor under a name."""
        if contexts.in_cross_replica_context():
            self._non_tensor_outputs[name] = output
            return

        def keep(strategy: Any, value: Any) -> None:
            self._non_tensor_outputs[name] = strategy.experimental_local_results(value)

        contexts.get_replica_context().merge_call(keep, args=(output,))


def run_steps(
    extended: Any, fn: Callable[..., Any], iterator: Any, iterations: Any,
    initial_loop_values: Any, join: Callable[[Any], Any],
) -> MultiStepContext:  # fmt: skip
    """Build a loop of `fn(context, inputs)` over the elements of an iterator.

    Outputs are `initial_loop_values` before the first step; `join` makes one of all replicas'.
    """
    step = MultiStepContext()
    outputs = step.last_step_outputs

    def body(number: Any, *before: Any) -> list[Any]:
        del before
        result = fn(step, iterator.get_next())
        for name, output in outputs.items():
            outputs[name] = extended._local_results(output)
        flat = nest.flatten(outputs)
        with get_default_graph().control_dependencies([result]):
            return [number + 1, *flat]

    # Operations around the loop, rather than in it, are made in this context.
    extended._outer_control_flow_context = get_default_graph()._get_control_flow_context()
    try:
        initial = nest.flatten({} if initial_loop_values is None else initial_loop_values)
        last = while_loop(
            lambda number, *others: number < iterations,
            body,
            [constant(0), *initial],
            name="", parallel_iterations=1, back_prop=False, swap_memory=False,
            return_same_structure=True,
        )  # fmt: skip
    finally:
        del extended._outer_control_flow_context
    step.run_op = group(*last)
    for name, parts in nest.pack_sequence_as(outputs, last[1:]).items():
        reduced = step._reduced.get(name) is not None
        outputs[name] = parts[0] if reduced else join(parts)
    return step
