"""Forms of operations on sets: the last axes of dense tensors."""

from __future__ import annotations

import numpy as np

from stillflow_contrib.onnx_models.nodes import Nodes, form


def _has(o: Nodes, elements: str, others: str) -> str:
    """Return a truth for each element that is among the others of its row."""
    same = o.Equal(o.Unsqueeze(elements, [-1]), o.Unsqueeze(others, [-2]))
    return str(o.Greater(o.ReduceSum(o.i64(same), [-1], keepdims=0), [0]))


@form("DenseToDenseSetOperation")
def set_operation(o: Nodes) -> list[str]:
    """Keep the first of equal elements, and sort each row."""
    o.only(o.T in ("int32", "int64"), "of other types")
    left, right, kind = o.i64(o.x), o.i64(o.y), o.a.set_operation.lower()
    if kind == b"b-a":
        left, right, kind = right, left, b"a-b"
    if kind == b"union":
        elements = o.Concat(left, right, axis=-1)
        kept = o.Equal(elements, elements)
    else:
        elements, kept = left, _has(o, left, right)
        kept = o.Not(kept) if kind == b"a-b" else kept
    count = o.Shape(elements, start=-1)
    places = o.numbers(count)
    before = o.Less(o.Unsqueeze(places, [0]), o.Unsqueeze(places, [1]))
    same = o.Equal(o.Unsqueeze(elements, [-1]), o.Unsqueeze(elements, [-2]))
    earlier = o.ReduceSum(o.i64(o.And(same, before)), [-1], keepdims=0)
    kept = o.And(kept, o.Equal(earlier, [0]))
    last = np.int64(np.iinfo(np.int64).max)
    ordered, _ = o.TopK(o.Where(kept, elements, last), count, largest=0, outputs=2)
    counts = o.ReduceSum(o.i64(kept), [-1], keepdims=1)
    inside = o.Less(o.Expand(places, o.Shape(elements)), counts)
    indices = o.Transpose(o.NonZero(inside), perm=[1, 0])
    widest = o.ReduceMax(o.Concat([0], o.Reshape(counts, [-1]), axis=0), keepdims=1)
    values = o.to(o.GatherND(ordered, indices), o.dtype(1))
    return [indices, values, o.cat(o.Shape(elements, end=-1), widest)]
