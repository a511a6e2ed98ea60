"""Initial values that depend on other variables, made safe to run in any order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor


def guarded(name: str, initial_value: Tensor) -> Tensor:
    """Return `initial_value`, a tensor, with variables replaced by their `initialized_value()`.

    Where the expression has a cycle, or the variables are in no collection, it stays as it is.
    """
    if not isinstance(initial_value, Tensor):
        raise TypeError(f"initial_value needs to be a Tensor: {initial_value}")
    if _has_cycle(initial_value.op):
        return initial_value
    replaced: dict[Operation, Operation] = {}
    for op in _sources_first(initial_value.op):
        replaced[op] = _replacement(name, op, replaced)
    return replaced[initial_value.op].outputs[initial_value.value_index]


# Operations that are not searched, because they are safe to run or are replaced by safe ones.
_SAFE = ("IsVariableInitialized", "VarIsInitializedOp", "ReadVariableOp", "If")
_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")


def _has_cycle(op: Operation) -> bool:
    """Return True if `op` depends on itself through inputs and control inputs."""
    finished: dict[Operation, bool] = {}
    stack: list[tuple[Operation, bool]] = [(op, False)]
    while stack:
        current, leaving = stack.pop()
        if leaving:
            finished[current] = True
            continue
        if current in finished:
            continue
        finished[current] = False
        stack.append((current, True))
        for source in [*(t.op for t in current._inputs), *current._control_inputs]:
            if finished.get(source) is False:
                return True
            stack.append((source, False))
    return False


def _sources_first(op: Operation) -> Iterator[Operation]:
    """Yield the operations behind `op`, each after its inputs, first inputs first."""
    seen: set[Operation] = set()
    stack: list[tuple[Operation, bool]] = [(op, False)]
    while stack:
        current, leaving = stack.pop()
        if leaving:
            yield current
        elif current not in seen:
            seen.add(current)
            stack.append((current, True))
            if current.type not in (*_SAFE, *_VARIABLES):
                stack.extend((t.op, False) for t in reversed(current._inputs))


def _replacement(name: str, op: Operation, replaced: dict[Operation, Operation]) -> Operation:
    if op.type in _SAFE:
        return op
    if op.type in _VARIABLES:
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


def check_first_value(initial_value: Any) -> None:
    """Raise ValueError for a tensor of a function's body, where the variable is not made."""
    home = initial_value.home if isinstance(initial_value, Tensor) else None
    if home is not None and home.building_function:
        raise ValueError(
            "Tensor-typed variable initializers must either be wrapped in an init_scope or "
            "callable (e.g., `tf.Variable(lambda : tf.truncated_normal([10, 40]))`) when building "
            "functions. Please file a feature request if this restriction inconveniences you."
        )
