"""Operations of a run, and their order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from operator import attrgetter

from stillflow.errors import invalid_argument
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.schedule.dependencies import schedule

_number = attrgetter("_id")


def needed_ops(
    tensors: Iterable[Tensor], targets: Iterable[Operation], fed: Iterable[Tensor]
) -> list[Operation]:
    """Return the operations that `tensors` and `targets` depend on, not looking behind fed tensors.

    They come in the order in which they run: by creation, within data and control dependencies.
    """
    fed = set(fed)
    return order(reachable(tensors, targets, fed), fed)


def reachable(
    tensors: Iterable[Tensor],
    targets: Iterable[Operation],
    fed: Collection[Tensor],
    waits_for: Callable[[Operation], bool] | None = None,
) -> set[Operation]:
    """Return the operations that tensors and targets depend on, not looking behind fed tensors.

    Args:
      tensors, targets: tensors to compute, and operations to run.
      fed: tensors that are not computed.
      waits_for: control inputs that count; None for all of them.
    """
    makers = {tensor.op for tensor in fed}  # quicker to look up than the tensors
    stack = [t.op for t in tensors if t not in fed] + list(targets)
    found: set[Operation] = set(stack)
    while stack:
        op = stack.pop()
        for tensor in op._inputs:
            source = tensor.op
            if source not in found and not (source in makers and tensor in fed):
                found.add(source)
                stack.append(source)
        for control in op._control_inputs:
            if control not in found and (waits_for is None or waits_for(control)):
                found.add(control)
                stack.append(control)
    return found


def order(ops: set[Operation], fed: set[Tensor]) -> list[Operation]:
    """Sorts by creation; where wiring was changed later, topologically with creation as tie-break.

    Raises:
      InvalidArgumentError: if the operations depend on each other in a circle.
    """
    by_creation = sorted(ops, key=_number)
    done: set[Operation] = set()
    for op in by_creation:
        needed = [tensor.op for tensor in op._inputs] + op._control_inputs
        # Feeds, and the value of the iteration before, need not come before.
        if not done.issuperset(needed) and not done.issuperset(_before(op, fed)):
            return _topological(by_creation, fed)
        done.add(op)
    return by_creation


def sources(op: Operation, fed: Collection[Tensor] = ()) -> list[Operation]:
    """Return the dependencies of an operation: the producers of its inputs that are not fed."""
    return [tensor.op for tensor in op._inputs if tensor not in fed] + op._control_inputs


def _before(op: Operation, fed: set[Tensor]) -> list[Operation]:
    """Return the dependencies of an operation without back edges of loops."""
    if op.card.flow == "merge":
        fed = fed | {t for t in op._inputs if t.op.card.flow == "next iteration"}
    return sources(op, fed)


def _topological(ops: Sequence[Operation], fed: set[Tensor]) -> list[Operation]:
    places = {op: place for place, op in enumerate(ops)}  # operations of functions share numbers
    before = [  # exporters leave operations out that others only wait for
        {places[source] for source in _before(op, fed) if source in places} for op in ops
    ]
    result = [ops[place] for place in schedule(before)]
    if len(result) != len(ops):
        ran = set(result)
        stuck = [op for op in ops if op not in ran]
        raise invalid_argument(
            f"Graph is invalid, contains a cycle with {len(stuck)} nodes, including: "
            + ", ".join(op.name for op in stuck[:3])
        )
    return result
