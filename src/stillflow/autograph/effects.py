"""Operations with effects in the order of the program, for the feature `AUTO_CONTROL_DEPS`.

The body of a `tf.function` orders them by itself; here are those of a graph of TF 1, whose branches
are made of Switch and Merge.
"""

from __future__ import annotations

from typing import Any

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.control_flow.frames import while_context
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.control_flow.switch import merge


class OrderedEffects:
    """Context whose operations run in their order, and before the returned values."""

    def __enter__(self) -> OrderedEffects:
        self._graph = get_default_graph()
        self._orders = not (self._graph.runs_at_once or getattr(self._graph, "orders_effects", 0))  # type: ignore[arg-type]
        self._start = len(self._graph._operations) if self._orders else 0
        self._returned: list[Tensor] = []
        return self

    def __exit__(self, kind: Any, *details: Any) -> None:
        if not self._orders or kind is not None:
            return
        order = _Order()
        for op in self._graph._operations[self._start :]:
            if while_context(op) is None:
                order.add(op)
        for tensor in self._returned:
            context = tensor.op._control_flow_context
            must_run = [o for o in order.must_run if o._control_flow_context is context]
            tensor.op._add_control_inputs(must_run)

    def mark_as_return(self, value: Any) -> Tensor:
        """Return the value, to be read after the effects."""

        def mark(leaf: Any) -> Any:
            if not is_tensor(leaf):
                return leaf
            self._returned.append(identity(leaf))
            return self._returned[-1]

        return nest.map_structure(mark, value) if self._orders else value


class _Order:
    """Sequencer of operations; `must_run` are those that the function runs for effects."""

    def __init__(self) -> None:
        self.must_run: dict[Operation, None] = {}
        self._last: dict[Tensor | None, Operation] = {}  # to use a resource, or none
        # By a branch's name of a resource, the merge that waits for all its users there.
        self._merges: dict[Tensor, Operation] = {}

    def add(self, op: Operation) -> None:
        if op._is_stateful:
            self.must_run[op] = None
        if op.type == "Merge":
            self._merge(op)
        elif not (op.type == "Switch" and op._inputs[0].dtype == dtypes.resource):
            self._use(op)

    def _merge(self, op: Operation) -> None:
        """Run branches' effects before the branches merge."""
        op._add_control_inputs(list(self.must_run))
        for earlier in self.must_run:
            for tensor in earlier._inputs:
                if tensor in self._last:
                    self._last[tensor] = op
        self.must_run = {op: None}

    def _use(self, op: Operation) -> None:
        resources = dict.fromkeys(t for t in op._inputs if t.dtype == dtypes.resource)
        waits = []
        for resource in resources:
            if resource.op.type == "Switch":
                self._enter_branches(resource.op)
            if resource in self._last:
                waits.append(self._last[resource])
            if resource in self._merges:
                self._merges[resource]._add_control_inputs([op])
            self._last[resource] = op
        if op._is_stateful and not resources and op._control_flow_context is None:
            waits += [self._last[None]] if None in self._last else []
            self._last[None] = op
        context = op._control_flow_context
        op._add_control_inputs([o for o in waits if o._control_flow_context is context])

    def _enter_branches(self, switch: Operation) -> None:
        """Add a merge after all uses of a resource in the branches that a switch leads to."""
        resource = switch._inputs[0]
        if resource.op.type == "Switch":
            self._enter_branches(resource.op)
        if switch._outputs[0] in self._merges:
            return
        made = merge(switch._outputs, name="artificial_merge")[0].op
        made._control_flow_context = switch._control_flow_context.outer_context
        self.must_run[made] = None
        if resource in self._last:
            switch._add_control_inputs([self._last[resource]])
        self._last[resource] = made
        if resource in self._merges:
            self._merges[resource]._add_control_inputs([made])
        self._merges.update(dict.fromkeys(switch._outputs, made))
