"""Ids on their way into an embedding lookup, and gradients on their way out, in one step each.

`safe_embedding_lookup_sparse`, and with it every categorical feature column, leaves out negative
ids, gives rows without any an id, and finds the different ones: nine operations on as many numbers
as there are examples, each of which takes longer to call than to run. So do the three that make a
dense tensor of ids sparse, and the four by which optimizers add up the gradients of a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.ops.sparse import native_sparse
from stillflow.runtime.passes.simplifications import RowsUnless
from stillflow.runtime.plan.steps import Step, count_uses, in_turn, is_call, one_step, stays


def join_lookups(
    steps: Sequence[Step], constants: Mapping[str, Any], kept: Sequence[str]
) -> list[Step]:
    """Make one step of those that prepare ids for a lookup, and one of those that find them.

    Args:
      steps: in the order in which they run.
      constants: the plan's, by name.
      kept: names that the plan gives back.
    """
    if not any(is_call(step, kind) for step in steps for kind in _ENDS):
        return list(steps)
    plan = _Plan(steps, constants, kept)
    for step in steps:
        for kind, join in _ENDS.items():
            if is_call(step, kind):
                plan.replace(join(plan, step))
    return plan.steps()


@dataclass
class _Joined:
    """A step, the parts that it replaces, and at whose place it stands.

    It also computes the results of the `shared` steps, which are removed if they have no other
    consumers.
    """

    step: Step
    parts: list[Step]
    place: Step
    shared: Sequence[Step] = ()


class _Plan:
    """The steps of a plan, and how they depend on each other."""

    def __init__(
        self, steps: Sequence[Step], constants: Mapping[str, Any], kept: Sequence[str]
    ) -> None:
        self.constants, self.uses, self._kept = constants, count_uses(steps, kept), kept
        self.makers = {name: step for step in steps for name in step.outputs}
        self._places = {id(step): place for place, step in enumerate(steps)}
        self._takers: dict[str, list[Step]] = {}
        for step in steps:
            for name in step.inputs:
                self._takers.setdefault(name, []).append(step)
        self._left = {id(step): step for step in steps}
        self._shared: dict[int, Step] = {}

    def steps(self) -> list[Step]:
        """Return the steps, without shared ones whose consumers have all been replaced."""
        if self._shared:
            uses = count_uses(self._left.values(), self._kept)
            uses.update(name for step in self._left.values() for name, _ in step.guard or ())
            for step in sorted(self._shared.values(), key=self.place, reverse=True):
                if not any(uses[name] for name in step.outputs):
                    del self._left[id(step)]
                    uses.subtract(step.inputs)
        return list(self._left.values())

    def place(self, step: Step) -> int:
        return self._places[id(step)]

    def replace(self, joined: _Joined | None) -> None:
        if joined is None or len({id(part) for part in joined.parts} & self._left.keys()) < len(
            joined.parts
        ):
            return
        for part in joined.parts:
            if part is not joined.place:
                del self._left[id(part)]
        self._left[id(joined.place)] = joined.step
        self._shared.update((id(step), step) for step in joined.shared)

    def maker(self, step: Step, argument: int, kind: str) -> Step | None:
        """Return the step that makes an argument for `step` alone, under the same condition."""
        name = str(step.arguments[argument])
        maker = self.makers.get(name)
        if not is_call(maker, kind) or self.uses[name] != 1:
            return None
        return maker if maker is not None and maker.guard == step.guard else None

    def taker(self, step: Step, output: int, kind: str) -> Step | None:
        """Return the only step that takes an output of `step`, under the same condition."""
        name = step.outputs[output]
        takers = self._takers.get(name, ())
        if self.uses[name] != 1 or not takers or not is_call(takers[0], kind):
            return None
        return takers[0] if takers[0].guard == step.guard else None

    def can_wait(self, name: str, step: Step, besides: Step) -> bool:
        """Return True if nobody but `besides` takes a value before `step` runs."""
        place = self._places[id(step)]
        takers = [taker for taker in self._takers.get(name, ()) if taker is not besides]
        return all(self._places[id(taker)] > place for taker in takers)

    def is_there(self, name: str, step: Step) -> bool:
        """Return True if a value has been made when `step` runs."""
        maker = self.makers.get(name)
        return maker is None or self._places[id(maker)] < self._places[id(step)]

    def constant(self, step: Step, argument: int) -> list[int] | int | None:
        """Return an argument that is a constant of integers."""
        value = self.constants.get(str(step.arguments[argument]))
        if value is None or isinstance(value, np.ndarray) or value.is_floating_point():
            return None
        found: list[int] | int = value.tolist()
        return found


# ---- a dense tensor made sparse


def _found(plan: _Plan, gather: Step) -> _Joined | None:
    """`x[x != ignored]` and where that stands, for integers."""
    dense, indices = gather.arguments
    where = plan.makers.get(str(indices))
    if not is_call(where, "Where") or where is None or where.guard != gather.guard:
        return None
    unlike = plan.maker(where, 0, "NotEqual")
    if unlike is None or unlike.arguments[0] != dense or not stays(dense, plan.makers):
        return None
    ignored = plan.constant(unlike, 1)
    if not isinstance(ignored, int):
        return None
    parts = [unlike, where, gather]
    outputs = [*where.outputs, *gather.outputs]
    plain = in_turn(parts, [dense], outputs, plan.constants)

    def find(values: Any) -> Any:
        return native_sparse.elements_unlike(values, ignored) or plain(values)

    return _Joined(one_step(parts, outputs, find, [dense]), parts, where)


# ---- ids that are looked up


def _prepared(plan: _Plan, fill: Step) -> _Joined | None:
    """Return the fused step from ids to distinct ids, each row's segment and its emptiness."""
    default, size = plan.constant(fill, 3), fill.arguments[2]
    column, unique = plan.taker(fill, 0, "StridedSlice"), plan.taker(fill, 1, "Unique")
    if not isinstance(default, int) or not (column and unique):
        return None
    segments = plan.taker(column, 0, "Cast")
    gathered = [_made_by(plan, fill, argument, "GatherV2") for argument in (0, 1)]
    chosen = _not_negative(plan, gathered)
    if segments is None or chosen is None or plan.uses[fill.outputs[3]]:
        return None
    if not (_is_first_column(plan, column) and _are_int32(segments, 0) and _are_int32(unique, 1)):
        return None
    indices, ids = (each.arguments[0] for each in gathered if each is not None)
    if not (stays(indices, plan.makers) and stays(ids, plan.makers)):
        return None
    before = [*chosen, *(each for each in gathered if each)]
    alone = [fill, column, segments, unique]
    own = _own(plan, before, fill)
    outputs = [fill.outputs[2], *segments.outputs, *unique.outputs]
    taken = [indices, ids, size]
    plain = in_turn([*before, *alone], taken, outputs, plan.constants)
    known = plan.constant(fill, 2)
    rows = known[0] if isinstance(known, list) and known else None

    def prepare(indices: Any, ids: Any, size: Any) -> Any:
        found = None
        if size.shape == indices.shape[1:] and size.numel():
            count = int(size[0]) if rows is None else rows
            found = native_sparse.lookups(indices, ids, count, default)
        return found or plain(indices, ids, size)

    step = one_step([*own, *alone], outputs, prepare, taken)
    return _Joined(step, [*own, *alone], fill, [each for each in before if each not in own])


def _made_by(plan: _Plan, step: Step, argument: int, kind: str) -> Step | None:
    """Return the step that makes an argument, which others may take, under the same condition."""
    maker = plan.makers.get(str(step.arguments[argument]))
    return maker if maker and is_call(maker, kind) and maker.guard == step.guard else None


def _own(plan: _Plan, before: Sequence[Step], last: Step) -> list[Step]:
    """Those of the steps `before` another whose results go to it alone, through each other."""
    own, taken = [], Counter(last.inputs)
    for step in sorted(before, key=plan.place, reverse=True):
        if all(plan.uses[name] == taken[name] for name in step.outputs):
            own.append(step)
            taken.update(step.inputs)
    return own[::-1]


def _not_negative(plan: _Plan, gathered: Sequence[Step | None]) -> list[Step] | None:
    """Return the steps that select the non-negative ids, if rows are gathered by their result."""
    first, second = gathered
    if first is None or second is None or first.arguments[1:] != second.arguments[1:]:
        return None
    name, *axis = first.arguments[1:]
    flat = plan.makers.get(str(name))
    if axis != [0] or not is_call(flat, "Reshape") or flat is None:
        return None
    where = _made_by(plan, flat, 0, "Where")
    compared = None if where is None else _made_by(plan, where, 0, "GreaterEqual")
    if where is None or compared is None or flat.guard != first.guard:
        return None
    is_vector = flat.op is not None and flat.op._outputs[0]._rank == 1
    are_ids = compared.arguments[0] == second.arguments[0] and plan.constant(compared, 1) == 0
    return [compared, where, flat] if is_vector and are_ids else None


def _is_first_column(plan: _Plan, column: Step) -> bool:
    """Return True if a slice is `[:, 0]`."""
    if column.op is None or len(column.arguments) != 4:
        return False
    masks = [column.op.attrs[f"{name}_mask"] for name in ("begin", "end", "shrink_axis")]
    others = [column.op.attrs[f"{name}_mask"] for name in ("ellipsis", "new_axis")]
    bounds = [plan.constant(column, argument) for argument in (1, 2, 3)]
    begins = isinstance(bounds[0], list) and bounds[0][1:] == [0]
    return masks == [1, 1, 2] and others == [0, 0] and begins and bounds[2] == [1, 1]


def _are_int32(step: Step, output: int) -> bool:
    return step.op is not None and step.op._outputs[output].dtype == dtypes.int32


# ---- gradients of rows


def _added_up(plan: _Plan, total: Step) -> _Joined | None:
    """Return gradients of rows, some of them repeated, and the numbers of the rows."""
    if len(total.arguments) != 3:
        return None  # it takes a shortcut
    values, places, _ = total.arguments
    unique = plan.makers.get(str(places))
    size = plan.maker(total, 2, "StridedSlice")
    shape = None if size is None else plan.maker(size, 0, "Shape")
    if unique is None or size is None or shape is None or not is_call(unique, "Unique"):
        return None
    different, numbered = unique.outputs
    rows = unique.arguments[0]
    if shape.arguments[0] != different or numbered != places or plan.uses[numbered] != 1:
        return None
    is_first = size.arguments[1:] == [0]
    if (
        not is_first
        or not plan.can_wait(different, total, besides=shape)
        or any(step.guard != total.guard for step in (unique, shape, size))
    ):
        return None
    if not (stays(values, plan.makers) and stays(rows, plan.makers)):
        return None
    parts = [unique, shape, size, total]
    outputs = [different, *total.outputs]
    plain = in_turn(parts, [rows, values], outputs, plan.constants)

    def add_up(rows: Any, values: Any) -> Any:
        return native_sparse.add_up(rows, values) or plain(rows, values)

    return _Joined(one_step(parts, outputs, add_up, [rows, values]), parts, total)


# ---- rows of a table, and their gradients


def _rows_looked_up(plan: _Plan, select: Step) -> _Joined | None:
    """Return the rows of a table, reduced to one for each example; zeros where it had no id."""
    if not isinstance(select.function, RowsUnless) or select.arguments[1] != select.arguments[2]:
        return None
    flags, _, reduced = select.arguments
    reduce = plan.makers.get(str(reduced))
    if reduce is None or reduce.op is None or plan.uses[str(reduced)] != 1:
        return None
    mode = _REDUCTIONS.get(reduce.op.type)
    if mode is None or len(reduce.arguments) != 3 or reduce.guard != select.guard:
        return None
    _, places, segments = reduce.arguments
    gather = plan.maker(reduce, 0, "GatherV2") or plan.maker(reduce, 0, "ResourceGather")
    if gather is None or gather.arguments[2:] not in ([], [0]):
        return None
    table, names = gather.arguments[:2]
    taken = [table, names, places, segments, flags]
    if not all(plan.is_there(str(each), gather) for each in taken):
        return None
    parts = [gather, reduce, select]
    plain = in_turn(parts, taken, select.outputs, plan.constants)
    is_handle = gather.op is not None and gather.op.type == "ResourceGather"

    def look_up(table: Any, names: Any, places: Any, segments: Any, flags: Any) -> Any:
        rows = table.read() if is_handle else table
        found = native_sparse.reduce_picked(rows, places, segments, mode, len(flags), flags, names)
        return plain(table, names, places, segments, flags)[0] if found is None else found

    return _Joined(one_step(parts, select.outputs, look_up, taken), parts, gather)


_REDUCTIONS = {
    "SparseSegmentSum": "sum", "SparseSegmentMean": "mean", "SparseSegmentSqrtN": "sqrtn"
}  # fmt: skip


def _gradient_spread(plan: _Plan, spread: Step) -> _Joined | None:
    """Return the gradients of the rows of a table, from those of examples that had an id."""
    if len(spread.arguments) != 4:
        return None
    _, places, segments, size = spread.arguments
    select = plan.maker(spread, 0, "Select")
    mode = "mean" if is_call(spread, "SparseSegmentMeanGrad") else "sqrtn"
    parts = [] if select is None else [select, spread]
    return _spread(plan, parts, mode, [places, segments, size])


def _gradient_added_up(plan: _Plan, total: Step) -> _Joined | None:
    """Return the same where rows were added up."""
    if len(total.arguments) != 3:
        return None
    _, places, size = total.arguments
    gather = plan.maker(total, 0, "GatherV2")
    select = None if gather is None else plan.maker(gather, 0, "Select")
    if gather is None or select is None or gather.arguments[2:] != [0]:
        return None
    return _spread(plan, [select, gather, total], "sum", [places, gather.arguments[1], size])


def _spread(plan: _Plan, parts: list[Step], mode: str, others: list[Any]) -> _Joined | None:
    if not parts or not isinstance(parts[0].function, RowsUnless):
        return None
    flags, like, grad = parts[0].arguments
    taken, outputs = [flags, like, grad, *others], parts[-1].outputs
    if not all(stays(each, plan.makers) for each in (flags, like, grad)):
        return None
    plain = in_turn(parts, taken, outputs, plan.constants)

    def spread(flags: Any, like: Any, grad: Any, places: Any, segments: Any, size: Any) -> Any:
        found = None
        if like.shape == grad.shape and len(flags) == len(grad):
            found = native_sparse.spread_picked(grad, places, segments, mode, int(size), flags)
        if found is not None:
            return found
        return plain(flags, like, grad, places, segments, size)[0]

    return _Joined(one_step(parts, outputs, spread, taken), parts, parts[-1])


# The operations by which what can be joined is found.
_ENDS: dict[str, Callable[[_Plan, Step], _Joined | None]] = {
    "SparseFillEmptyRows": _prepared,
    "GatherNd": _found,
    "UnsortedSegmentSum": lambda plan, step: (
        _added_up(plan, step) or _gradient_added_up(plan, step)
    ),
    "Select": _rows_looked_up,
    "SparseSegmentMeanGrad": _gradient_spread,
    "SparseSegmentSqrtNGrad": _gradient_spread,
}
