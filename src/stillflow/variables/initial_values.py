"""Initial values that depend on other variables, made safe to run in any order."""

from __future__ import annotations

from typing import Any

from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor


def guarded(name: str, initial_value: Tensor) -> Tensor:
    """`initial_value` with every variable replaced by its `initialized_value()`.

    Where the expression has a cycle, or the variables are in no collection, it stays as it is.

    Raises:
      TypeError: if `initial_value` is not a tensor.
    """
    if not isinstance(initial_value, Tensor):
        raise TypeError(f"initial_value needs to be a Tensor: {initial_value}")
    ancestors = _ancestors(initial_value.op)
    if ancestors is None:
        return initial_value
    replaced: dict[Operation, Operation] = {}
    for op in ancestors:
        replaced[op] = _replacement(name, op, replaced)
    return replaced[initial_value.op].outputs[initial_value.value_index]


def _ancestors(op: Operation) -> list[Operation] | None:
    """All operations behind `op`, sources first; None if they form a cycle."""
    finished: dict[Operation, bool] = {}
    order: list[Operation] = []
    stack: list[tuple[Operation, bool]] = [(op, False)]
    while stack:
        current, leaving = stack.pop()
        if leaving:
            finished[current] = True
            order.append(current)
            continue
        state = finished.get(current)
        if state is not None:
            continue
        finished[current] = False
        stack.append((current, True))
        for source in [*(t.op for t in current._inputs), *current._control_inputs]:
            if finished.get(source) is False:
                return None
            stack.append((source, False))
    return order


def _replacement(name: str, op: Operation, replaced: dict[Operation, Operation]) -> Operation:
    if op.type in ("IsVariableInitialized", "VarIsInitializedOp", "ReadVariableOp", "If"):
        return op
    if op.type in ("Variable", "VariableV2", "VarHandleOp"):
        value = _initialized_value(op)
        return op if value is None else value.op
    inputs = [replaced[t.op].outputs[t.value_index] for t in op._inputs]
    if all(new is old for new, old in zip(inputs, op._inputs, strict=True)):
        return op
    op_type = "Switch" if op.type == "RefSwitch" else op.type
    new_name = f"{op.name}_{name}".replace(":", "_")
    return op.graph.create_op(
        op_type, inputs, op._output_types, name=new_name, attrs=dict(op.node_def.attr)
    )


def _initialized_value(op: Operation) -> Any:
    names = (op.name, f"{op.name}:0")
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        for variable in op.graph.get_collection(key):
            if getattr(variable, "name", None) in names:
                make = getattr(variable, "initialized_value", None)
                return None if make is None else make()
    return None
