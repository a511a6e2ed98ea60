"""Operations of a step that still run when its input is exhausted.

TensorFlow runs operations concurrently: while one waits for input and finds none, those that do not
need it have run. A plan runs them one by one and stops there. Programs see the difference in
counters: a step that fails for missing input has counted in TensorFlow, and savers that check the
count then write the changes of the step before it.
"""

from __future__ import annotations

from collections.abc import Iterable

from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.schedule.prune import needed_ops


def counters_left(
    tensors: Iterable[Tensor],
    targets: Iterable[Operation],
    fed: Iterable[Tensor],
    failed: Operation,
) -> list[Operation]:
    """Return the operations after a failed one that count by a constant and need nothing else.

    The step was asked for `tensors` and `targets`; `failed` found no input.
    """
    ops = needed_ops(tensors, targets, fed)
    if failed not in ops:  # it is in the body of a function
        return []
    return [op for op in ops[ops.index(failed) + 1 :] if _counts(op)]


def _counts(op: Operation) -> bool:
    sources = [tensor.op for tensor in op._inputs]
    return (
        op.card.access in ("add", "subtract")
        and all(source.type == "Const" or source.card.gives == "variable" for source in sources)
        and not any(each._control_inputs for each in (op, *sources))
    )
