"""Simplification of operations whose result follows from the producers of their inputs.

An embedding lookup and its gradient are some fifty operations in a graph, most of which only bring
shapes into line: rows without an id are found in a table as large as the result, different ids are
asked for their different ones. Here an operation examines those before it and, where possible,
takes their inputs; their own results have no consumers then, and they are not run (see
`unused.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from stillflow.graph.node import Call
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.sparse import lookups
from stillflow.ops.sparse.rows import RowsUnless
from stillflow.runtime.ir.facts import Facts
from stillflow.runtime.ir.steps import Memory, Value

# An operation's own kernel, as a function of all its inputs.
Kernel = Callable[..., Any]


class Shortcut(NamedTuple):
    """A kernel instead of an operation's own.

    Attributes:
      call: it, and the tensors of the graph that it takes.
      view: whether its result may share their memory.
    """

    call: Call
    view: bool = False


class Shortcuts:
    """Simplifications found in one plan.

    Args:
      facts: known shapes and values.
      values: the plan's, by tensor.
      memory: which values share memory.
    """

    def __init__(self, facts: Facts, values: dict[Tensor, Value], memory: Memory) -> None:
        self.facts, self._values, self._memory = facts, values, memory
        self._distinct: set[str] = set()  # vectors in which no number comes twice
        self._counting: dict[str, str] = {}  # 0, 1, 2, ...: which vector's elements they number
        # other tensors of the shape of a value that need not be kept
        self._alike: dict[str, Tensor] = {}

    def find(
        self, op: Operation, function: Any, arguments: Sequence[Any], keywords: dict[str, Any]
    ) -> Shortcut | None:
        """Return the one for an operation, if there is one; the rest is its own kernel."""
        rule = _RULES.get(op.type)
        if rule is None or any(tensor.dtype._is_ref_dtype for tensor in op._inputs):
            return None
        own = tuple(arguments)

        def kernel(*values: Any) -> Any:
            given = dict(zip(op._inputs, values, strict=True))
            taken = [given[a] if isinstance(a, Tensor) else a for a in own]
            return taken[0] if function is None else function(*taken, **keywords)

        return rule(self, op, kernel)

    def name(self, tensor: Tensor) -> str | None:
        """Return the name of a value in the plan; None for one that may be another by now."""
        value = self._values.get(tensor)
        if value is None or self._memory.may_change(value.roots):
            return None
        return value.name

    def number(self, tensor: Tensor) -> Any:
        """Return a value that is known, as a Python number or lists of them; else None."""
        array = self.facts.value(tensor)
        return None if array is None else array.tolist()

    def producer(self, tensor: Tensor, kind: str) -> Operation | None:
        """Return the operation that makes a value in this run, if it is of this type."""
        while tensor not in self.facts.fed:
            if tensor.op.type == kind:
                return tensor.op
            source = tensor.op._inputs[0] if tensor.op.type == "Identity" else None
            if source is None or source.dtype._is_ref_dtype:
                return None
            tensor = source
        return None

    def shaped(self, tensor: Tensor, beside: Tensor) -> Tensor:
        """Return a tensor's shape source where `beside` exists; maybe the tensor itself."""
        other = self._alike.get(self.name(tensor) or "")
        if other is None or self.name(tensor) == self.name(beside):
            return tensor
        given, wanted = self._values[other].guard, self._values[beside].guard
        return other if set(given or ()) <= set(wanted or ()) else tensor

    def see_shape(self, tensor: Tensor, same: Tensor) -> None:
        """Record that `same`, which is about to be made, will have the shape of a tensor."""
        self._alike[self.name(tensor) or ""] = same

    def rank(self, tensor: Tensor) -> int | None:
        dims = self.facts.dims(tensor)
        return None if dims is None else len(dims)

    # ---- different numbers

    def see_unique(self, op: Operation) -> None:
        """Record the results of a Unique; of distinct numbers they are all of them."""
        given = self._values[op._inputs[0]]
        distinct, places = op._outputs
        if given.name in self._distinct and distinct not in self.facts.fed:
            self._values[distinct] = replace(given, guard=self._values[distinct].guard)
            self._counting[self._values[places].name] = given.name
        self._distinct.add(self._values[distinct].name)

    def counted(self, places: Tensor, size: Tensor) -> Tensor | None:
        """Return the vector whose elements `places` enumerates, if `size` is its length."""
        name = self._counting.get(self.name(places) or "")
        taken = self.producer(size, "StridedSlice")
        vector = None if name is None or taken is None else self.measured(taken)
        return vector if vector is not None and self.name(vector) == name else None

    def measured(self, taken: Operation) -> Tensor | None:
        """Return the tensor whose number of rows a slice takes as the first number of a shape."""
        sizes, begin, _, _ = taken._inputs
        shape = self.producer(sizes, "Shape")
        if shape is None or taken.attrs["shrink_axis_mask"] != 1 or self.number(begin) != [0]:
            return None
        return shape._inputs[0]


# ---- sizes and shapes


def _elements(shortcuts: Shortcuts, length: Tensor) -> Tensor | None:
    """Return the vector of which `length`, a vector of one number, is the number of elements."""
    expanded = shortcuts.producer(length, "ExpandDims")
    size = None if expanded is None else shortcuts.producer(expanded._inputs[0], "Size")
    vector = None if size is None else size._inputs[0]
    if vector is None or shortcuts.name(vector) is None or shortcuts.rank(vector) != 1:
        return None
    return vector


def _reshape(shortcuts: Shortcuts, op: Operation, kernel: Kernel) -> Shortcut | None:
    """Simplify a Reshape to the length of a vector: mostly the shape is right already."""
    x, shape = op._inputs
    size = _size_of_rows(shortcuts, x, shape)
    if size is not None:
        return Shortcut(Call(lookups.as_many_rows(kernel), (x, size), {}), view=True)
    rest: tuple[int, ...] = ()
    joined = shortcuts.producer(shape, "ConcatV2")
    if joined is not None:
        shape, *others, axis = joined._inputs
        sizes = [shortcuts.number(other) for other in others]
        if shortcuts.number(axis) != 0 or None in sizes:
            return None
        rest = tuple(size for part in sizes for size in part)
    vector, dims = _elements(shortcuts, shape), shortcuts.facts.dims(x)
    if vector is None or not dims or dims[1:] != rest or -1 in rest:
        return None
    if not rest and shortcuts.name(vector) == shortcuts.name(x):
        return Shortcut(Call(None, (x,), {}))
    return Shortcut(Call(lookups.as_long_as(rest, kernel), (x, vector), {}), view=True)


def _size_of_rows(shortcuts: Shortcuts, x: Tensor, shape: Tensor) -> Tensor | None:
    """Return the shape of a sparse matrix whose rows a lookup is brought to.

    It keeps its own columns.
    """
    joined = shortcuts.producer(shape, "ConcatV2")
    if joined is None or len(joined._inputs) != 3 or not shortcuts.rank(x):
        return None
    rows, columns, axis = joined._inputs
    first, others = shortcuts.producer(rows, "Slice"), shortcuts.producer(columns, "Slice")
    if first is None or others is None or shortcuts.number(axis) != 0:
        return None
    bounds = [[shortcuts.number(each) for each in part._inputs[1:]] for part in (first, others)]
    measured = shortcuts.producer(others._inputs[0], "Shape")
    if bounds != [[[0], [1]], [[1], [-1]]] or measured is None:
        return None
    if shortcuts.name(x) is None or shortcuts.name(measured._inputs[0]) != shortcuts.name(x):
        return None
    size = _uncast(shortcuts, first._inputs[0])
    is_known = shortcuts.name(size) is not None and shortcuts.rank(size) == 1
    return size if is_known and size.dtype.name in ("int32", "int64") else None


def _uncast(shortcuts: Shortcuts, tensor: Tensor) -> Tensor:
    """Return the tensor of which this one is a cast, or the tensor itself."""
    cast = shortcuts.producer(tensor, "Cast")
    return tensor if cast is None else cast._inputs[0]


def _sparse_reshape(shortcuts: Shortcuts, op: Operation, kernel: Kernel) -> Shortcut | None:
    """Return a sparse matrix to a matrix of its own shape, as every lookup of a matrix has it."""
    indices, size, wanted = op._inputs
    if shortcuts.facts.dims(size) != (2,) or shortcuts.name(size) is None:
        return None
    packed = shortcuts.producer(_uncast(shortcuts, wanted), "Pack")
    if packed is None or len(packed._inputs) != 2:
        return None
    rows, columns = packed._inputs
    gather = shortcuts.producer(columns, "GatherV2")
    if gather is not None:
        is_same = [shortcuts.number(each) for each in gather._inputs[1:]] == [1, 0]
        is_same = is_same and shortcuts.name(gather._inputs[0]) == shortcuts.name(size)
    else:
        is_same = shortcuts.number(columns) == -1
    if not is_same or not _is_first(shortcuts, rows, size):
        return None
    same = lookups.same_matrix(getattr(torch, rows.dtype.name), gather is not None, kernel)
    return Shortcut(Call(same, (indices, size), {}), view=True)


def _is_first(shortcuts: Shortcuts, number: Tensor, size: Tensor) -> bool:
    """Return True for the first of two sizes: a slice, or the product of all but the last."""
    product, part = shortcuts.producer(number, "Prod"), shortcuts.producer(number, "StridedSlice")
    if product is not None:
        part = shortcuts.producer(product._inputs[0], "Slice")
        bounds = [] if part is None else [shortcuts.number(each) for each in part._inputs[1:]]
        is_first = bounds == [[0], [1]] and shortcuts.number(product._inputs[1]) in (0, [0])
    else:
        is_first = part is not None and part.attrs["shrink_axis_mask"] == 1
        is_first = is_first and part is not None and shortcuts.number(part._inputs[1]) == [0]
    if part is None or not is_first:
        return False
    return shortcuts.name(_uncast(shortcuts, part._inputs[0])) == shortcuts.name(size)


def _size(shortcuts: Shortcuts, op: Operation, _kernel: Kernel) -> Shortcut | None:
    """Return the number of gathered rows: that of the indices."""
    measured = shortcuts.measured(op)
    if measured is None:
        return None
    makers = (shortcuts.producer(measured, kind) for kind in _GATHERS)
    gather = next((op for op in makers if op is not None), None)
    if gather is None or gather.attrs.get("batch_dims"):
        return None
    _, indices, *axis = gather._inputs
    if any(shortcuts.number(each) != 0 for each in axis) or shortcuts.rank(indices) != 1:
        return None
    return Shortcut(Call(lookups.length(op._outputs[0].dtype), (indices,), {}))


_GATHERS = ("Gather", "GatherV2", "ResourceGather")


# ---- sums of rows


def _segment_sum(shortcuts: Shortcuts, op: Operation, kernel: Kernel) -> Shortcut | None:
    """Return the sum over segments of one row each, in order: these rows."""
    rows, places, size = op._inputs
    vector = shortcuts.counted(places, size)
    if vector is None:
        return None
    return Shortcut(Call(lookups.rows_in_order(kernel), (rows, vector), {}), view=True)


# ---- rows without an id


def _select(shortcuts: Shortcuts, op: Operation, kernel: Kernel) -> Shortcut | None:
    """Zeros in the rows that a vector names."""
    condition, zeros, x = op._inputs
    dims, like = shortcuts.facts.dims(x), zeros
    while (made := shortcuts.producer(like, "ZerosLike")) is not None:
        like = made._inputs[0]
    if like is zeros or dims is None or len(dims) != 2 or x.dtype.torch_name is None:
        return None
    flags = _flags(shortcuts, condition, dims[1])
    if flags is None or shortcuts.name(like) is None or like.dtype._is_ref_dtype:
        return None

    if shortcuts.name(like) == shortcuts.name(x):
        shortcuts.see_shape(x, op._outputs[0])
    like = shortcuts.shaped(like, x)
    return Shortcut(Call(RowsUnless(kernel), (flags, like, x), {}))


def _flags(shortcuts: Shortcuts, condition: Tensor, width: int | None) -> Tensor | None:
    """Return the vector that stands in every one of the columns of a table of conditions."""
    dims = shortcuts.facts.dims(condition)
    if dims is None or len(dims) != 2 or dims[1] is None or dims[1] != width:
        return None
    tiled = shortcuts.producer(condition, "Tile")
    if tiled is not None:
        condition, multiples = tiled._inputs
        if shortcuts.number(multiples) != [1, width]:
            return None
    column, dims = shortcuts.producer(condition, "Reshape"), shortcuts.facts.dims(condition)
    if column is None or dims is None or dims[1:] != (1,):
        return None
    flags = column._inputs[0]
    known = shortcuts.name(flags) is not None and shortcuts.rank(flags) == 1
    return flags if known else None


# ---- bounds of ids


def _all(shortcuts: Shortcuts, op: Operation, kernel: Kernel) -> Shortcut | None:
    """Return True if all integers are below a bound, or not below it: one of them decides."""
    condition, axes = op._inputs
    compared = shortcuts.producer(condition, condition.op.type)
    rule = _BOUNDS.get(condition.op.type)
    is_whole = shortcuts.rank(op._outputs[0]) == 0 and shortcuts.facts.value(axes) is not None
    if rule is None or compared is None or not is_whole:
        return None
    x, limit = compared._inputs
    bound = shortcuts.number(limit)
    if not isinstance(bound, int) or bound == _LEAST or x.dtype.name not in ("int32", "int64"):
        return None
    if shortcuts.name(x) is None or not shortcuts.rank(x):
        return None

    return Shortcut(Call(lookups.within(*rule(bound)), (x,), {}))


_LEAST, _MOST = -(2**63), 2**63 - 1

# The least and the largest number for which it is true.
_BOUNDS: dict[str, Callable[[int], tuple[int, int]]] = {
    "Less": lambda bound: (_LEAST, bound - 1),
    "GreaterEqual": lambda bound: (bound, _MOST),
}

_RULES: dict[str, Callable[[Shortcuts, Operation, Kernel], Shortcut | None]] = {
    "Reshape": _reshape, "UnsortedSegmentSum": _segment_sum, "Select": _select, "All": _all,
    "StridedSlice": _size, "SparseReshape": _sparse_reshape,
}  # fmt: skip
