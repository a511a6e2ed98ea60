"""Forms of operations on sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow_contrib.onnx_models.nodes import Nodes, form


def _products(o: Nodes, sizes: str, rank: int) -> list[Any]:
    """Return how far the next index of each axis is in row-major order, int64 [1] each."""
    made: list[Any] = [[1]]
    for axis in range(rank - 1, 0, -1):
        made.insert(0, o.Mul(made[0], o.Slice(sizes, [axis], [axis + 1])))
    return made


@form("SparseReshape")
def sparse_reshape(o: Nodes) -> list[str]:
    """Compute indices of the new shape from places in row-major order."""
    indices, size, wanted = o.x, o.y, o.z
    before, after = (o.sizes(tensor)[0] for tensor in o.op._inputs[1:3])
    known = o.ReduceProd(o.Where(o.Equal(wanted, [-1]), [1], wanted), [0])
    wanted = o.Where(
        o.Equal(wanted, [-1]), o.Div(o.ReduceProd(size, [0]), o.Max(known, [1])), wanted
    )
    steps = o.Concat(*_products(o, size, before), axis=0)
    place = o.ReduceSum(o.Mul(indices, steps), [1], keepdims=1)
    columns = []
    for axis, step in enumerate(_products(o, wanted, after)):
        found = o.Div(place, step)
        limit = o.Slice(wanted, [axis], [axis + 1])
        columns.append(o.Mod(found, o.Max(limit, [1])) if axis else found)
    return [o.Concat(*columns, axis=1), wanted]


@form("SparseFillEmptyRows")
def sparse_fill_empty_rows(o: Nodes) -> list[str]:
    """Add a first element to each empty row, and sort by rows without exchanging elements."""
    indices, values, size, default = o.x, o.y, o.z, o.w
    rows = o.Reshape(o.Slice(indices, [0], [1], [1]), [-1])
    count, given = o.Slice(size, [0], [1]), o.Shape(rows)
    ones = o.Expand(np.int64(1), given)
    zeros = o.Expand(np.int64(0), count)
    filled = o.ScatterND(zeros, o.Unsqueeze(rows, [1]), ones, reduction="max")
    is_empty = o.Equal(filled, [0])
    empty = o.Reshape(o.NonZero(is_empty), [-1])
    width = o.Sub(o.size(indices, 1), [1])
    more = o.Concat(
        o.Unsqueeze(empty, [1]), o.Expand(np.int64(0), o.cat(o.Shape(empty), width)), axis=1
    )
    all_rows = o.Concat(rows, empty, axis=0)
    total = o.Shape(all_rows)
    keys = o.Add(o.Mul(all_rows, o.Add(total, [1])), o.numbers(total))
    order = o.TopK(keys, total, largest=0, outputs=2)[1]
    places = o.ScatterND(order, o.Unsqueeze(order, [1]), o.numbers(total))
    everything = o.Concat(values, o.Expand(default, o.Shape(empty)), axis=0)
    return [
        o.Gather(o.Concat(indices, more, axis=0), order, axis=0),
        o.Gather(everything, order, axis=0), is_empty, o.Slice(places, [0], given),
    ]  # fmt: skip
