"""Ids on their way into an embedding lookup, and gradients on their way out, in one step each.

`safe_embedding_lookup_sparse`, and with it every categorical feature column, leaves out negative
ids, gives rows without any an id, and finds the different ones: nine operations on as many numbers
as there are examples, each of which takes longer to call than to run. So do the three that make a
dense tensor of ids sparse, and the four by which optimizers add up the gradients of a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.ops.sparse import lookups
from stillflow.ops.sparse.rows import RowsUnless
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step, fuse, in_order, is_call


def fuse_lookups(graph: StepGraph) -> None:
    """Replace what prepares ids for a lookup by one step, and what finds their rows by another."""
    shared: dict[int, Step] = {}
    for step in graph.calls(tuple(_ENDS)):
        assert step.op is not None
        found = _ENDS[step.op.type](graph, step)
        if found is not None:
            graph.replace(found.parts, found.step, at=found.place)
            shared.update((id(each), each) for each in found.shared)
    left = [step for step in shared.values() if step in graph]
    for step in sorted(left, key=graph.place, reverse=True):
        if not any(map(graph.uses, step.outputs)):
            graph.remove(step)


@dataclass
class _Fused:
    """A step, the parts that it replaces, and at whose place it stands.

    It computes the results of the `shared` ones too, which are removed unless others take them.
    """

    step: Step
    parts: list[Step]
    place: Step
    shared: Sequence[Step] = ()


def _can_wait(graph: StepGraph, name: str, step: Step, besides: Step) -> bool:
    """Return True if nobody but `besides` takes a value before `step` runs."""
    consumers = [consumer for consumer in graph.consumers(name) if consumer is not besides]
    return all(graph.place(consumer) > graph.place(step) for consumer in consumers)


def _integers(graph: StepGraph, step: Step, argument: int) -> list[int] | int | None:
    """Return an argument that is a constant of integers."""
    value = graph.constants.get(str(step.arguments[argument]))
    if value is None or isinstance(value, np.ndarray) or value.is_floating_point():
        return None
    found: list[int] | int = value.tolist()
    return found


# ---- a dense tensor made sparse


def _found(graph: StepGraph, gather: Step) -> _Fused | None:
    """`x[x != ignored]` and where that stands, for integers."""
    dense = gather.arguments[0]
    where = graph.shared_producer(gather, 1, "Where")
    unlike = None if where is None else graph.sole_producer(where, 0, "NotEqual")
    if where is None or unlike is None or unlike.arguments[0] != dense:
        return None
    ignored = _integers(graph, unlike, 1)
    if not isinstance(ignored, int) or not graph.is_stable(dense):
        return None
    parts = [unlike, where, gather]
    outputs = [*where.outputs, *gather.outputs]
    plain = in_order(parts, [dense], outputs, graph.constants)
    find = lookups.elements_unlike(ignored, plain)
    return _Fused(fuse(parts, outputs, find, [dense]), parts, where)


# ---- ids that are looked up


def _prepared(graph: StepGraph, fill: Step) -> _Fused | None:
    """Find the different ids, each row's segment, and the rows without ids."""
    default, size = _integers(graph, fill, 3), fill.arguments[2]
    column = graph.sole_consumer(fill, 0, "StridedSlice")
    unique = graph.sole_consumer(fill, 1, "Unique")
    if not isinstance(default, int) or not (column and unique):
        return None
    segments = graph.sole_consumer(column, 0, "Cast")
    gathered = [graph.shared_producer(fill, argument, "GatherV2") for argument in (0, 1)]
    chosen = _not_negative(graph, gathered)
    if segments is None or chosen is None or graph.uses(fill.outputs[3]):
        return None
    if not (_is_first_column(graph, column) and _are_int32(segments, 0) and _are_int32(unique, 1)):
        return None
    indices, ids = (each.arguments[0] for each in gathered if each is not None)
    if not (graph.is_stable(indices) and graph.is_stable(ids)):
        return None
    before = [*chosen, *(each for each in gathered if each)]
    alone = [fill, column, segments, unique]
    own = _own(graph, before, fill)
    outputs = [fill.outputs[2], *segments.outputs, *unique.outputs]
    taken = [indices, ids, size]
    plain = in_order([*before, *alone], taken, outputs, graph.constants)
    known = _integers(graph, fill, 2)
    rows = known[0] if isinstance(known, list) and known else None
    step = fuse([*own, *alone], outputs, lookups.prepared_ids(rows, default, plain), taken)
    return _Fused(step, [*own, *alone], fill, [each for each in before if each not in own])


def _own(graph: StepGraph, before: Sequence[Step], last: Step) -> list[Step]:
    """Those of the steps `before` another whose results go to it alone, through each other."""
    own, taken = [], Counter(last.inputs)
    for step in sorted(before, key=graph.place, reverse=True):
        if all(graph.uses(name) == taken[name] for name in step.outputs):
            own.append(step)
            taken.update(step.inputs)
    return own[::-1]


def _not_negative(graph: StepGraph, gathered: Sequence[Step | None]) -> list[Step] | None:
    """Return the steps that select the non-negative ids, if rows are gathered by their result."""
    first, second = gathered
    if first is None or second is None or first.arguments[1:] != second.arguments[1:]:
        return None
    flat = graph.shared_producer(first, 1, "Reshape")
    where = None if flat is None else graph.shared_producer(flat, 0, "Where")
    compared = None if where is None else graph.shared_producer(where, 0, "GreaterEqual")
    if flat is None or where is None or compared is None or first.arguments[2:] != [0]:
        return None
    is_vector = flat.op is not None and flat.op._outputs[0]._rank == 1
    are_ids = compared.arguments[0] == second.arguments[0] and _integers(graph, compared, 1) == 0
    return [compared, where, flat] if is_vector and are_ids else None


def _is_first_column(graph: StepGraph, column: Step) -> bool:
    """Return True if a slice is `[:, 0]`."""
    if column.op is None or len(column.arguments) != 4:
        return False
    masks = [column.op.attrs[f"{name}_mask"] for name in ("begin", "end", "shrink_axis")]
    others = [column.op.attrs[f"{name}_mask"] for name in ("ellipsis", "new_axis")]
    bounds = [_integers(graph, column, argument) for argument in (1, 2, 3)]
    begins = isinstance(bounds[0], list) and bounds[0][1:] == [0]
    return masks == [1, 1, 2] and others == [0, 0] and begins and bounds[2] == [1, 1]


def _are_int32(step: Step, output: int) -> bool:
    return step.op is not None and step.op._outputs[output].dtype == dtypes.int32


# ---- gradients of rows


def _added_up(graph: StepGraph, total: Step) -> _Fused | None:
    """Return gradients of rows, some of them repeated, and the numbers of the rows."""
    if len(total.arguments) != 3:
        return None  # it takes a shortcut
    values, places, _ = total.arguments
    unique = graph.shared_producer(total, 1, "Unique")
    size = graph.sole_producer(total, 2, "StridedSlice")
    shape = None if size is None else graph.sole_producer(size, 0, "Shape")
    if unique is None or size is None or shape is None:
        return None
    different, numbered = unique.outputs
    rows = unique.arguments[0]
    if shape.arguments[0] != different or numbered != places or graph.uses(numbered) != 1:
        return None
    if size.arguments[1:] != [0] or not _can_wait(graph, different, total, besides=shape):
        return None
    if not (graph.is_stable(values) and graph.is_stable(rows)):
        return None
    parts = [unique, shape, size, total]
    outputs = [different, *total.outputs]
    plain = in_order(parts, [rows, values], outputs, graph.constants)
    add_up = lookups.sums_of_rows(plain)
    return _Fused(fuse(parts, outputs, add_up, [rows, values]), parts, total)


# ---- rows of a table, and their gradients


def _rows_looked_up(graph: StepGraph, select: Step) -> _Fused | None:
    """Return the rows of a table, reduced to one for each example; zeros where it had no id."""
    if not isinstance(select.function, RowsUnless) or select.arguments[1] != select.arguments[2]:
        return None
    flags, _, reduced = select.arguments
    reduce = graph.producer(reduced)
    if reduce is None or reduce.op is None or graph.uses(str(reduced)) != 1:
        return None
    mode = _REDUCTIONS.get(reduce.op.type)
    if mode is None or len(reduce.arguments) != 3 or reduce.guard != select.guard:
        return None
    _, places, segments = reduce.arguments
    gather = graph.sole_producer(reduce, 0, ("GatherV2", "ResourceGather"))
    if gather is None or gather.arguments[2:] not in ([], [0]):
        return None
    table, names = gather.arguments[:2]
    taken = [table, names, places, segments, flags]
    if not all(graph.is_produced_before(each, gather) for each in taken):
        return None
    parts = [gather, reduce, select]
    plain = in_order(parts, taken, select.outputs, graph.constants)
    is_handle = gather.op is not None and gather.op.type == "ResourceGather"
    look_up = lookups.rows_looked_up(mode, is_handle, plain)
    return _Fused(fuse(parts, select.outputs, look_up, taken), parts, gather)


_REDUCTIONS = {
    "SparseSegmentSum": "sum", "SparseSegmentMean": "mean", "SparseSegmentSqrtN": "sqrtn"
}  # fmt: skip


def _gradient_spread(graph: StepGraph, spread: Step) -> _Fused | None:
    """Return the gradients of the rows of a table, from those of examples that had an id."""
    if len(spread.arguments) != 4:
        return None
    _, places, segments, size = spread.arguments
    select = graph.sole_producer(spread, 0, "Select")
    mode = "mean" if is_call(spread, "SparseSegmentMeanGrad") else "sqrtn"
    parts = [] if select is None else [select, spread]
    return _spread(graph, parts, mode, [places, segments, size])


def _gradient_added_up(graph: StepGraph, total: Step) -> _Fused | None:
    """Return the same where rows were added up."""
    if len(total.arguments) != 3:
        return None
    _, places, size = total.arguments
    gather = graph.sole_producer(total, 0, "GatherV2")
    select = None if gather is None else graph.sole_producer(gather, 0, "Select")
    if gather is None or select is None or gather.arguments[2:] != [0]:
        return None
    return _spread(graph, [select, gather, total], "sum", [places, gather.arguments[1], size])


def _spread(graph: StepGraph, parts: list[Step], mode: str, others: list[Any]) -> _Fused | None:
    if not parts or not isinstance(parts[0].function, RowsUnless):
        return None
    flags, like, grad = parts[0].arguments
    taken, outputs = [flags, like, grad, *others], parts[-1].outputs
    if not all(graph.is_stable(each) for each in (flags, like, grad)):
        return None
    plain = in_order(parts, taken, outputs, graph.constants)
    spread = lookups.spread_gradients(mode, plain)
    return _Fused(fuse(parts, outputs, spread, taken), parts, parts[-1])


# The operations that end each fusion.
_ENDS: dict[str, Callable[[StepGraph, Step], _Fused | None]] = {
    "SparseFillEmptyRows": _prepared,
    "GatherNd": _found,
    "UnsortedSegmentSum": lambda graph, step: (
        _added_up(graph, step) or _gradient_added_up(graph, step)
    ),
    "Select": _rows_looked_up,
    "SparseSegmentMeanGrad": _gradient_spread,
    "SparseSegmentSqrtNGrad": _gradient_spread,
}
