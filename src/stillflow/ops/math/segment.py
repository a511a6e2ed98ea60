"""Reductions over segments: rows of a tensor that carry the same number."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import Card, op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.lazy import LazyModule
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel
from stillflow.graph.traits import Cost
from stillflow.ops.arrays import fill as fills
from stillflow.ops.arrays import select as selects
from stillflow.ops.arrays import shape as shapes
from stillflow.ops.constants import constant
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.math import segment_kernels as kernels
from stillflow.ops.math.binary import maximum, maximum_op
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal, greater, greater_equal, logical_and
from stillflow.ops.math.division import divide
from stillflow.ops.math.kernels import ANY_NUMBER, REAL_NUMBER
from stillflow.ops.math.unary import sqrt_op
from stillflow.ops.samples import Bad, Sample, Samples

if TYPE_CHECKING:
    from stillflow.ops.arrays import concat as joins
    from stillflow.ops.arrays import gather as gathers
else:
    gathers = LazyModule("stillflow.ops.arrays.gather")
    joins = LazyModule("stillflow.ops.arrays.concat")

_X = np.array([[1.0, -2.0], [0.5, 4.0], [3.0, 1.5], [-1.0, 2.0]], np.float32)

# ---- sorted ids


def _segment_shape(node: Node) -> tuple[int | None, ...] | None:
    shape = dims.with_rank_at_least(node.dims(0), 1)
    if not node.planning:
        dims.with_rank(node.dims(1), 1)
    return None if shape is None else (None, *shape[1:])


def _segment_op(name: str, kinds: str, combine_of: Callable[[DType], Any], **traits: Any) -> Card:
    card = op(
        f"{name}(data: T, segment_ids: Tindices) -> output: T; T: {kinds}; "
        "Tindices: {int32, int64}",
        **traits,
        gpu_types="floats",
        numbers=("segment_ids",),
    )
    card.shape(_segment_shape)
    card.kernel(lambda node: kernels.sorted_segments(combine_of(node.T)))
    card.samples(_segment_samples)
    return card


def _segment_samples() -> Samples:
    yield Sample(_X, np.array([0, 0, 2, 2], np.int32))
    yield Sample(_X[:, 0], np.array([0, 1, 1, 1], np.int64))
    yield Bad(_X, np.array([1, 0, 2, 2], np.int32), match="segment ids are not increasing")
    yield Bad(_X, np.array([0, 0, 1], np.int32), match="same size as dimension 0")


segment_sum_op = _segment_op("SegmentSum", ANY_NUMBER, kernels.sums)
segment_mean_op = _segment_op("SegmentMean", ANY_NUMBER, kernels.means)
segment_prod_op = _segment_op(
    "SegmentProd", ANY_NUMBER, kernels.products, cost=Cost(soon=True, counts="first input")
)
segment_max_op = _segment_op(
    "SegmentMax",
    REAL_NUMBER,
    lambda t: kernels.sorted_extremes(t, True),
    cost=Cost(soon=True, counts="first input"),
)
segment_min_op = _segment_op(
    "SegmentMin",
    REAL_NUMBER,
    lambda t: kernels.sorted_extremes(t, False),
    cost=Cost(soon=True, counts="first input"),
)


@segment_sum_op.gradient
def segment_sum_gradient(node: Node, grad: Tensor) -> Gradients:
    return gathers.gather(grad, node.inputs[1]), None


@segment_mean_op.gradient
def segment_mean_gradient(node: Node, grad: Tensor) -> Gradients:
    data, ids = node.inputs
    rank = shapes.rank(data)
    ones_shape = joins.concat(
        [shapes.shape(ids), fills.fill(shapes.expand_dims(rank - 1, 0), 1)], 0
    )
    ones = fills.fill(ones_shape, constant(1, dtype=grad.dtype))
    scaled = divide(grad, segment_sum(ones, ids))
    return gathers.gather(scaled, ids), None


@segment_max_op.gradient
@segment_min_op.gradient
def segment_extreme_gradient(node: Node, grad: Tensor) -> Gradients:
    """Return the gradient goes to the selected elements, in equal parts if there are several."""
    data, ids = node.inputs
    zeros = fills.zeros_like(data, dtype=data.dtype)
    gathered = gathers.gather(node.outputs[0], ids)
    selected = equal(data, gathered)
    count = segment_sum(cast(selected, grad.dtype), ids)
    gathered_grads = gathers.gather(divide(grad, count), ids)
    return selects.where(selected, gathered_grads, zeros), None


# ---- ids in any order


def unsorted_segment_shape(node: Node) -> tuple[int | None, ...] | None:
    """Return the shape rule of reductions over (data, segment ids, number of segments)."""
    data, ids = node.dims(0), node.dims(1)
    if not node.planning:
        dims.with_rank(node.dims(2), 0)
        if ids is not None:
            data, ids = dims.merge_prefix(data, ids)
    elif node.dims(2) not in (None, ()):
        raise ValueError(
            f"num_segments should be a scalar, not shape {dims.to_string(node.dims(2))}"
        )
    if ids is None or data is None:
        return None
    count = node.value(2)
    rows = None
    if count is not None:
        if node.planning and count < 0:
            raise ValueError(f"Input num_segments == {int(count)} must not be negative.")
        rows = dims.make_dim(int(count), 2)
    return (rows, *data[len(ids) :])


def _unsorted_op(name: str, kinds: str, combine_of: Callable[[DType], Any], **traits: Any) -> Card:
    card = op(
        f"""
        {name}(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> output: T
        T: {kinds}
        Tindices: {{int32, int64}}
        Tnumsegments: {{int32, int64}} = int32
    """,
        **traits,
        gpu_types="floats",
        numbers=("num_segments",),
    )
    card.shape(unsorted_segment_shape)

    @card.kernel
    def kernel(node: Node) -> Kernel:
        run, count = kernels.unsorted_segments(combine_of(node.T)), node.value(2)
        if count is None:
            return run
        return node.call(run, *node.inputs[:2], int(count))

    card.samples(_unsorted_samples)
    return card


def _unsorted_samples() -> Samples:
    yield Sample(_X, np.array([1, 0, -1, 1], np.int32), np.int32(2), fixed=(2,))
    yield Sample(_X, np.array([1, 0, -1, 1], np.int32), np.int32(4), fixed=(2,), grad=False)
    yield Sample(_X, np.array([[0, 2], [1, 1], [2, 0], [0, 0]], np.int32), np.int32(3), fixed=(2,))
    yield Bad(_X, np.array([1, 0, 5, 1], np.int32), np.int32(3), match="is out of range")
    yield Bad(
        _X, np.array([1, 0], np.int32), np.int32(3), match="does not start with|must be equal"
    )


unsorted_segment_sum_op = _unsorted_op("UnsortedSegmentSum", ANY_NUMBER, kernels.sums)
unsorted_segment_prod_op = _unsorted_op(
    "UnsortedSegmentProd", ANY_NUMBER, kernels.products, cost=Cost(soon=True)
)
unsorted_segment_max_op = _unsorted_op(
    "UnsortedSegmentMax", REAL_NUMBER, lambda t: kernels.extremes(t, True), cost=Cost(soon=True)
)
unsorted_segment_min_op = _unsorted_op(
    "UnsortedSegmentMin", REAL_NUMBER, lambda t: kernels.extremes(t, False), cost=Cost(soon=True)
)


def _gather_kept(
    params: Tensor, ids: Any, clipped: Any = None, kept: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows of `params` by id, zeros where an id is negative.

    Returns the rows, the ids with negative ones replaced, and where ids are not negative (for
    every element of the rows); the last two may be handed in again.
    """
    if clipped is None:
        clipped = maximum(ids, fills.zeros_like(ids))
    gathered = gathers.gather(params, clipped)
    if kept is None:
        kept = greater_equal(ids, 0)
        assert gathered._dims is not None
        for _ in range(len(gathered._dims) - len(kept._dims)):
            kept = shapes.expand_dims(kept, -1)
        kept = kept & fills.ones_like(gathered, dtype=dtypes.bool)
    zeros = fills.zeros_like(gathered)
    return selects.where(kept, gathered, zeros), clipped, kept


@unsorted_segment_sum_op.gradient
def unsorted_segment_sum_gradient(node: Node, grad: Tensor) -> Gradients:
    return _gather_kept(grad, node.inputs[1])[0], None, None


@unsorted_segment_max_op.gradient
@unsorted_segment_min_op.gradient
def unsorted_segment_extreme_gradient(node: Node, grad: Tensor) -> Gradients:
    data, ids, count = node.inputs
    gathered, clipped, kept = _gather_kept(node.outputs[0], ids)
    selected = logical_and(equal(data, gathered), kept)
    number = unsorted_segment_sum(cast(selected, grad.dtype), ids, count)
    weighted = divide(grad, number)
    gathered_grads, _, _ = _gather_kept(weighted, None, clipped, kept)
    zeros = fills.zeros_like(gathered_grads)
    return selects.where(selected, gathered_grads, zeros), None, None


@unsorted_segment_prod_op.gradient
def unsorted_segment_prod_gradient(node: Node, grad: Tensor) -> Gradients:
    """Return the product of all others: divided by the element, or without the only zero."""
    data, ids, count = node.inputs
    is_zero = equal(data, 0)
    zeros = unsorted_segment_sum_op(cast(is_zero, dtype=dtypes.int32), ids, count)
    grad = selects.where(greater(zeros, 1), fills.zeros_like(grad), grad)
    nonzero = selects.where(is_zero, fills.ones_like(data), data)
    nonzero_prod = unsorted_segment_prod_op(nonzero, ids, count)
    clipped = maximum(ids, fills.zeros_like(ids))
    gathered_prod = gathers.gather(node.outputs[0], clipped)
    gathered_nonzero = gathers.gather(nonzero_prod, clipped)
    divided = gathered_prod / data
    partial = selects.where(is_zero, gathered_nonzero, divided)
    gathered_grad = _gather_kept(grad, ids, clipped)[0]
    return gathered_grad * partial, None, None


# ---- public functions


def _segments(card: Card, name: str, what: str) -> Callable[..., Any]:
    def function(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
        return card(data, segment_ids, name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{what} of the rows of `data` with the same segment number.\n\n"
        "Args:\n  data: a tensor of numbers.\n"
        "  segment_ids: for each row its segment: int32 or int64, sorted, from 0.\n"
        "  name: of the operation.\n\nReturns:\n  One row for each segment.\n\n"
        "Raises:\n  InvalidArgumentError: when run, if the ids are not sorted."
    )
    return dispatchable(function)


def _unsorted(card: Card, name: str, what: str) -> Callable[..., Any]:
    def function(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
        return card(data, segment_ids, num_segments, name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{what} of the rows of `data` with the same segment number.\n\n"
        "Args:\n  data: a tensor of numbers.\n"
        "  segment_ids: segments in any order; its shape is a prefix of that of `data`. Rows\n"
        "    with a negative number are left out.\n"
        "  num_segments: how many segments there are.\n"
        "  name: of the operation.\n\nReturns:\n  One row for each segment.\n\n"
        "Raises:\n  InvalidArgumentError: when run, if a number is `num_segments` or more."
    )
    return dispatchable(function)


segment_sum = export("math.segment_sum", "segment_sum")(
    _segments(segment_sum_op, "segment_sum", "The sums")
)
segment_mean = export("math.segment_mean", "segment_mean")(
    _segments(segment_mean_op, "segment_mean", "The means")
)
segment_prod = export("math.segment_prod", "segment_prod")(
    _segments(segment_prod_op, "segment_prod", "The products")
)
segment_max = export("math.segment_max", "segment_max")(
    _segments(segment_max_op, "segment_max", "The maxima")
)
segment_min = export("math.segment_min", "segment_min")(
    _segments(segment_min_op, "segment_min", "The minima")
)
unsorted_segment_sum = export("math.unsorted_segment_sum", "unsorted_segment_sum")(
    _unsorted(unsorted_segment_sum_op, "unsorted_segment_sum", "The sums")
)
unsorted_segment_prod = export("math.unsorted_segment_prod", "unsorted_segment_prod")(
    _unsorted(unsorted_segment_prod_op, "unsorted_segment_prod", "The products")
)
unsorted_segment_max = export("math.unsorted_segment_max", "unsorted_segment_max")(
    _unsorted(unsorted_segment_max_op, "unsorted_segment_max", "The maxima")
)
unsorted_segment_min = export("math.unsorted_segment_min", "unsorted_segment_min")(
    _unsorted(unsorted_segment_min_op, "unsorted_segment_min", "The minima")
)


def _sizes(data: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """Return each segment's number of rows, at least 1, broadcastable to the sums."""
    ones = fills.ones(shapes.shape_internal(segment_ids), dtype=data.dtype)
    count = unsorted_segment_sum_op(ones, segment_ids, num_segments)
    if data._dims is None or segment_ids._dims is None:
        raise TypeError("the ranks of data and segment_ids must be known")
    missing = len(data._dims) - len(segment_ids._dims)
    count = shapes.reshape(count, [num_segments] + [1] * missing)
    return maximum_op(count, 1)


@export("math.unsorted_segment_mean", "unsorted_segment_mean")
@dispatchable
def unsorted_segment_mean(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """Return the means of the rows of `data` with the same number; see `unsorted_segment_sum`."""
    with name_scope(name, "UnsortedSegmentMean"):
        data = convert_to_tensor(data)
        segment_ids = convert_to_tensor(segment_ids)
        sizes = _sizes(data, segment_ids, num_segments)
        return unsorted_segment_sum_op(data, segment_ids, num_segments) / sizes


@export("math.unsorted_segment_sqrt_n", "unsorted_segment_sqrt_n")
@dispatchable
def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """Return the sums over segments, each divided by the square root of the number of its rows."""
    with name_scope(name, "UnsortedSegmentSqrtN"):
        data = convert_to_tensor(data)
        segment_ids = convert_to_tensor(segment_ids)
        sizes = _sizes(data, segment_ids, num_segments)
        return unsorted_segment_sum_op(data, segment_ids, num_segments) / sqrt_op(sizes)
