"""Small values that leave a task together: one packet takes them, and wakes the other task once."""

from __future__ import annotations

from typing import Any

from stillflow.graph import card, dims
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.send_recv import SEND, task_of

_SMALL = 1 << 16  # bytes


def is_small(source: Tensor | Operation) -> bool:
    """Return True for a value that is known to be small, and for the end of an operation."""
    if isinstance(source, Operation):
        return True
    count = dims.num_elements(source._dims)
    return count is not None and count * (source.dtype.base_dtype.size or _SMALL) <= _SMALL


def join_sends(graph: Any) -> None:
    """Leave the mark `_more` on those `_Send`s alone that can wait for the next one to their task.

    Only quick operations, which wait for nothing themselves, may be between the two.

    Args:
      graph: the `GraphDef` of a task's part, in the order in which it is run.
    """
    followed: set[str] = set()
    for node in reversed(graph.node):
        if node.op == SEND:
            task = task_of(node.attr["recv_device"].s.decode())
            if "_more" in node.attr and task not in followed:
                del node.attr["_more"]
            followed.add(task)
        elif not _is_quick(node.op):
            followed.clear()


def _is_quick(kind: str) -> bool:
    """Return True for a pure operation, and for a variable and its reading."""
    found = card.find(kind)
    if found is None or found.calls:
        return False
    if found.handle == "variable":
        return found.access in (None, "read")
    return found.foldable and found.flow in (None, "identity")
