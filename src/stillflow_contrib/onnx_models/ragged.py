"""Forms of operations on ragged tensors with one ragged dimension."""

from __future__ import annotations

import numpy as np

from stillflow_contrib.onnx_models.nodes import Nodes, form


def _rows(o: Nodes, splits: str, count: str) -> str:
    """Return the row of each of `count` values, int64 [count]."""
    ends = o.Slice(splits, [1], [1 << 62])
    passed = o.GreaterOrEqual(o.Unsqueeze(o.numbers(count), [1]), o.Unsqueeze(ends, [0]))
    return str(o.ReduceSum(o.i64(passed), [1], keepdims=0))


def _splits(o: Nodes, lengths: str) -> str:
    return str(o.Concat([0], o.CumSum(lengths, np.int64(0)), axis=0))


@form("RaggedRange")
def ragged_range(o: Nodes) -> list[str]:
    starts, limits, deltas = (o.Reshape(each, [-1]) for each in o.ins())
    span = o.Sub(limits, starts)
    if "int" in o.T:
        up = o.Sub(deltas, o.Sign(deltas))
        span = o.Div(o.Add(span, up), deltas)
    else:
        span = o.Ceil(o.Div(span, deltas))
    lengths = o.Max(o.i64(span), [0])
    splits = _splits(o, lengths)
    total = o.ReduceSum(lengths, keepdims=0)
    rows = _rows(o, splits, total)
    steps = o.to(o.Sub(o.numbers(total), o.Gather(splits, rows)), o.T)
    shape = o.Shape(lengths)
    starts, deltas = o.Expand(starts, shape), o.Expand(deltas, shape)
    values = o.Add(o.Gather(starts, rows), o.Mul(steps, o.Gather(deltas, rows)))
    return [o.to(splits, o.dtype(0)), values]


def _ranges(o: Nodes, starts: str, ends: str) -> tuple[str, str]:
    """Return all numbers between starts and ends, one range after the other, and their splits."""
    made = _splits(o, o.Sub(ends, starts))
    total = o.Slice(made, [-1], [1 << 62])
    rows = _rows(o, made, total)
    return o.Add(o.Sub(o.numbers(total), o.Gather(made, rows)), o.Gather(starts, rows)), made


@form("RaggedGather")
def ragged_gather(o: Nodes) -> list[str]:
    *nested, values, chosen = o.ins()
    o.only(o.b.rank(o.op._inputs[-1]) == 1, "of indices of other ranks")
    starts = o.i64(chosen)
    ends, outputs = o.Add(starts, [1]), []
    for splits in map(o.i64, nested):
        places, _ = _ranges(o, starts, ends)
        lengths = o.Sub(o.Gather(splits, o.Add(places, [1])), o.Gather(splits, places))
        outputs.append(o.to(_splits(o, lengths), o.dtype(0)))
        starts, ends = o.Gather(splits, starts), o.Gather(splits, ends)
    return [*outputs, o.Gather(values, _ranges(o, starts, ends)[0], axis=0)]


def _columns(o: Nodes, levels: list[tuple[str, str]], place: str) -> list[str]:
    """Return the columns of values, those of the outermost dimension first, int64 [n, 1] each.

    `levels` are the rows and columns of the values below each partition.
    """
    found: list[str] = []
    for rows, columns in reversed(levels):
        found.insert(0, o.Unsqueeze(o.Gather(columns, place), [1]))
        place = o.Gather(rows, place)
    return [o.Unsqueeze(place, [1]), *found]


def _level(o: Nodes, splits: str) -> tuple[str, str]:
    """Return the row and the column of each value below a partition by splits."""
    total = o.Slice(splits, [-1], [1 << 62])
    rows = _rows(o, splits, total)
    return rows, o.Sub(o.numbers(total), o.Gather(splits, rows))


def _widest(o: Nodes, columns: str) -> str:
    return str(o.Add(o.ReduceMax(o.Concat([-1], columns, axis=0), keepdims=1), [1]))


@form("RaggedTensorToSparse")
def ragged_tensor_to_sparse(o: Nodes) -> list[str]:
    *nested, values = o.ins()
    levels = [_level(o, o.i64(splits)) for splits in nested]
    sizes, place = o.Shape(values), o.numbers(o.Size(values))
    inner: list[str] = []
    for axis in range(o.b.rank(o.op._inputs[-1]) - 1, 0, -1):
        size = o.Slice(sizes, [axis], [axis + 1])
        inner.insert(0, o.Unsqueeze(o.Mod(place, size), [1]))
        place = o.Div(place, size)
    indices = o.Concat(*_columns(o, levels, place), *inner, axis=1)
    widths = [_widest(o, columns) for _, columns in levels]
    rows, depths = o.Sub(o.Shape(nested[0]), [1]), o.Slice(sizes, [1], [1 << 62])
    return [indices, o.Reshape(values, [-1]), o.cat(rows, *widths, depths)]


@form("RaggedTensorToTensor")
def ragged_tensor_to_tensor(o: Nodes) -> str:
    """Put values at their places; those beyond the wanted size are left out."""
    _, values, default, *partitions = o.ins()
    kinds = list(o.a.row_partition_types)
    total, levels, count = o.size(values, 0), [], None
    if kinds[0] == b"FIRST_DIM_SIZE":
        count = o.vec(partitions.pop(0))
        del kinds[0]
    for kind, each in zip(kinds, map(o.i64, partitions), strict=True):
        if kind == b"ROW_SPLITS":
            levels.append(_level(o, each))
            count = o.Sub(o.Shape(each), [1]) if count is None else count
            continue
        ends = o.Concat([0], o.Add(each, [1]), axis=0)
        numbers = o.numbers(o.ReduceMax(ends, keepdims=1))
        before = o.Less(o.Unsqueeze(each, [0]), o.Unsqueeze(numbers, [1]))
        starts = o.ReduceSum(o.i64(before), [1], keepdims=0)
        levels.append((each, o.Sub(o.numbers(o.Shape(each)), o.Gather(starts, each))))
    sizes = o.cat(count, *(_widest(o, columns) for _, columns in levels))
    if o.rank(0):
        wanted = o.Slice(o.i64(o.x), [0], [len(levels) + 1])
        sizes = o.Where(o.Less(wanted, [0]), sizes, wanted)
    places = o.Concat(*_columns(o, levels, o.numbers(total)), axis=1)
    inside = o.ReduceMin(o.to(o.Less(places, sizes), "int32"), [1], keepdims=0)
    chosen = o.Reshape(o.NonZero(inside), [-1])
    blank = o.Expand(default, o.cat(sizes, o.Shape(values, start=1)))
    return str(o.ScatterND(blank, o.Gather(places, chosen), o.Gather(values, chosen)))
