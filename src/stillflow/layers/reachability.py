"""Consumers of a tensor, direct and indirect."""

from __future__ import annotations

from collections import deque
from typing import Any

from stillflow import nest
from stillflow.graph.operation import Operation
from stillflow.graph.tensor_like import is_tensor
from stillflow.variables.base import VariableV2


def reachable_from(inputs: Any, targets: Any = None) -> set[int]:
    """Return the ids of the operations and tensors that depend on `inputs`, and of these.

    Both are structures of tensors, operations and variables, TypeError for other inputs; the search
    ends where all targets are found.
    """
    return set(_reachable(inputs, targets))


def get_reachable_from_inputs(inputs: Any, targets: Any = None) -> set[Any]:
    """Return the operations and tensors that depend on `inputs`, and these.

    See `reachable_from`.
    """
    return set(_reachable(inputs, targets).values())


def _reachable(inputs: Any, targets: Any) -> dict[int, Any]:
    queue = deque(nest.flatten(inputs, expand_composites=True))
    reachable = {id(x): x for x in queue}
    remaining = {id(x) for x in nest.flatten(targets)} if targets else None
    while queue:
        for y in _dependents(queue.popleft()):
            if id(y) not in reachable:
                reachable[id(y)] = y
                queue.append(y)
                if remaining is not None:
                    remaining.discard(id(y))
        if remaining is not None and not remaining:
            break
    return reachable


def _dependents(x: Any) -> list[Any]:
    if isinstance(x, Operation):
        return [*x.outputs, *x._control_outputs]
    if isinstance(x, VariableV2):
        return [x.op]
    if is_tensor(x):
        consumers: list[Any] = x.consumers()
        return consumers
    raise TypeError(f"Expected Operation, Variable, or Tensor, got {x}")
