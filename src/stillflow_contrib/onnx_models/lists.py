"""Forms of operations on lists of tensors, which are sequences."""

from __future__ import annotations

from stillflow_contrib.onnx_models.nodes import Nodes, form


@form("TensorListResize")
def resize(o: Nodes) -> str:
    """Cut a list, or fill it up with zeros; it must have an element."""
    rows, size = o.ConcatFromSequence(o.x, axis=0, new_axis=1), o.vec(o.y)
    first = o.Slice(rows, [0], [1], [0])
    blank = o.Expand(o.Sub(first, first), o.cat(size, o.Shape(rows, start=1)))
    wanted = o.Slice(o.Concat(rows, blank, axis=0), [0], size, [0])
    return str(o.SplitToSequence(wanted, axis=0, keepdims=0))
