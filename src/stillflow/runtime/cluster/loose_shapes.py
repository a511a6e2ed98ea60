"""Tensors whose values may have other shapes than the graph tells.

`tf.assign(variable, value, validate_shape=False)` gives a variable another shape than it was
declared with. The task that has the variable knows it when it makes its plans. A task that
receives such a value would rely on the shape in the graph, so these tensors are sent without one.
"""

from __future__ import annotations

from collections.abc import Sequence

from stillflow.graph import dims
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation

# Their results have the shapes that variables had when they were saved.
_RESTORES = frozenset(("Restore", "RestoreV2", "RestoreSlice"))


def with_loose_shapes(ops: Sequence[Operation], graph: Graph) -> set[Operation]:
    """Return the operations that depend on a variable that the graph gives other shapes.

    Assignments of `graph` count, in this run or another one.
    """
    names = {op._inputs[0].op.name for op in graph._operations if _changes_shape(op)}
    found: set[Operation] = set()
    if not names:
        return found
    count = -1
    while count != len(found):  # loops hand values back to operations that come before
        count = len(found)
        for op in ops:
            if op.name in names or any(tensor.op in found for tensor in op._inputs):
                found.add(op)
    return found


def _changes_shape(op: Operation) -> bool:
    """Return True for an assignment of a value that may have another shape than the variable."""
    if op.card.access == "write" and op.card.handle == "variable":
        variable, value = op._inputs
        return not op.attrs["validate_shape"] and not dims.same(variable._dims, value._dims)
    if op.card.access == "replace":
        handle, value = op._inputs
        if value.op.type in _RESTORES:
            return False
        declared = handle._handle_dims
        if value._dims is None:
            return declared is not None
        return not dims.is_compatible(declared, value._dims)
    return False
