"""Gradients of concatenation: each part gets its piece of the gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.static_value import static_value
from stillflow.ops.arrays.concat import concat, concat_offset_op
from stillflow.ops.arrays.fill import fill
from stillflow.ops.arrays.shape import expand_dims, rank, shape, squeeze
from stillflow.ops.arrays.shape_n import shape_n
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.arrays.splitting import split
from stillflow.ops.arrays.stack import stack
from stillflow.ops.constants import constant

if TYPE_CHECKING:
    from stillflow.ops.control_flow.contexts import ControlFlowContext


# With more parts than this, one Split is faster than that many slices.
MAX_SLICES = 16


def concat_gradients(grad: Any, values: Sequence[Tensor], axis: Tensor) -> list[Any]:
    """Return the gradients of the parts; ValueError for a sparse `grad` along an unknown axis."""
    if len(values) == 1:
        return [grad]
    if isinstance(grad, Tensor):
        return _dense(grad, values, axis)
    if isinstance(grad, IndexedSlices):
        return _sparse(grad, values, axis)
    raise TypeError(f"Expected Tensor or IndexedSlices, got {type(grad)}")


def _output_context(op: Operation) -> ControlFlowContext | None:
    context = op._get_control_flow_context()
    if context is not None and op.type in ("Exit", "RefExit"):
        return context.outer_context
    return context


def _dense(grad: Tensor, values: Sequence[Tensor], axis: Tensor) -> list[Tensor]:
    if grad.holds_value and axis.holds_value:
        where = int(static_value(axis))
        return split(grad, [(value._dims or ())[where] for value in values], where)
    if (
        not axis.holds_value
        and axis.op.type == "Const"
        and _output_context(axis.op) is not _output_context(grad.op)
    ):
        # A constant of another loop is made again here instead of being carried in.
        axis = constant(static_value(axis), dtype=axis.dtype)
    positive: Any = axis % rank(values[0])
    sizes = _shapes(values)
    if len(sizes) > MAX_SLICES:
        column = slice_(stack(sizes, axis=1), [positive, 0], [1, -1])
        return split(grad, squeeze(column), positive)
    offsets = concat_offset_op(positive, sizes)
    return [slice_(grad, begin, size) for begin, size in zip(offsets, sizes, strict=True)]


def _shapes(values: Sequence[Tensor]) -> list[Tensor]:
    """Return the shapes of all parts: constants if all are known, else by one operation."""
    sizes = []
    for value in values:
        size = shape(value)
        if size.holds_value or size.op.type != "Const":
            return shape_n(values)
        sizes.append(size)
    return sizes


def _sparse(grad: IndexedSlices, values: Sequence[Tensor], axis: Tensor) -> list[IndexedSlices]:
    positive: Any = axis % rank(values[0])
    known = static_value(axis)
    if known is None:
        raise ValueError("Can only compute IndexedSlices gradient with statically-known concat_dim")
    static = int(known)
    if static < 0:
        dims_rank = static_value(rank(values[0]))
        if dims_rank is None:
            raise ValueError(
                "Can only compute IndexedSlices gradient with negative concat_dim when first "
                "value rank is statically-known."
            )
        static %= int(dims_rank)
    sizes = [shape(value) for value in values]
    if static > 0:
        return _sparse_columns(grad, sizes, positive)
    return _sparse_rows(grad, sizes, positive)


def _sparse_columns(grad: IndexedSlices, sizes: Sequence[Tensor], axis: Any) -> list[IndexedSlices]:
    """Concatenate along columns: every part has all the rows, and its own columns of them."""
    from stillflow.ops.math.binary import add

    shape_of_shape: Any = shape(sizes[0])
    mask = concat([fill(expand_dims(axis, 0), 0), [1], fill(shape_of_shape - axis - 1, 0)], 0)
    begin = fill(shape_of_shape, 0)
    grads = []
    for size in sizes:
        extent = concat([[-1], slice_(size, [1], [-1])], 0)
        grads.append(IndexedSlices(slice_(grad.values, begin, extent), grad.indices, size))
        begin = add(begin, size * mask)
    return grads


def _sparse_rows(grad: IndexedSlices, sizes: Sequence[Tensor], axis: Any) -> list[IndexedSlices]:
    """Concatenate along rows: every part has the rows that lie in it."""
    from stillflow.ops.arrays.gather import gather
    from stillflow.ops.arrays.select import where
    from stillflow.ops.math.cast import cast
    from stillflow.ops.math.comparison import logical_and

    indices: Any = grad.indices
    start: Any = constant(0, dtype=indices.dtype)
    grads = []
    for size in sizes:
        rows: Any = gather(size, axis)
        if rows.dtype != indices.dtype:
            rows = cast(rows, dtype=indices.dtype)
        end = start + rows
        chosen = squeeze(where(logical_and(indices >= start, indices < end)), axis=[1])
        new_indices: Any = gather(indices, chosen)
        new_indices = new_indices - start
        grads.append(IndexedSlices(gather(grad.values, chosen), new_indices, size))
        start = end
    return grads
