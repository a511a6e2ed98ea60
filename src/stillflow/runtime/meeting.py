"""Runs that put into queues and take from queues: what puts does not wait for what takes.

TensorFlow runs operations side by side, so one run may take what the same run puts, whichever was
made first, and put where only its own taking makes room. A plan runs one operation after another.
So what takes, and all that depends on it, comes last; and what puts only begins where it stands,
and is waited for at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from stillflow.graph.operation import Operation
from stillflow.ops.queues.attempts import Begun

# What their types begin with; what comes from another task may depend on what is taken here.
_TAKES = ("QueueDequeue", "_Recv")
_PUTS = ("QueueEnqueue",)


def takes_last(ops: Sequence[Operation]) -> tuple[list[Operation], Collection[Operation]]:
    """The operations in an order in which those that take from queues come as late as may be.

    Args:
      ops: in the order in which they would run.

    Returns:
      The operations; and those among them that put, and are to be waited for at the end.
    """
    unchanged = list(ops), ()
    puts = [op for op in ops if op.type.startswith(_PUTS)]
    if not puts or not any(op.type.startswith(_TAKES) for op in ops):
        return unchanged
    late: set[Operation] = set()
    for op in ops:
        sources = (*(tensor.op for tensor in op._inputs), *op._control_inputs)
        if op.type.startswith(_TAKES) or not late.isdisjoint(sources):
            late.add(op)
    waited_for = {source for op in ops for source in op._control_inputs}
    begun = {op for op in puts if op not in late and op not in waited_for}
    if not begun:
        return unchanged
    return [*(op for op in ops if op not in late), *(op for op in ops if op in late)], begun


def waiting_at_the_end(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """The plan's function, which waits at its end for what it began."""

    def run(*arrays: Any) -> list[Any]:
        with Begun():
            return function(*arrays)

    return run
