"""Other shapes for sparse tensors: empty rows filled, shapes reset, ids merged, eye."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dims import shape_text
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.sparse_tensor import SparseTensor, is_sparse
from stillflow.graph.static_value import static_value
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import fill, ones, ones_like, zeros
from stillflow.ops.arrays.gather import in_range
from stillflow.ops.arrays.select import where_v2
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import expand_dims, shape
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.arrays.stack import stack
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import identity, with_dependencies
from stillflow.ops.debugging.comparisons import assert_equal, assert_less_equal
from stillflow.ops.input_ranks import checked_rank
from stillflow.ops.math.binary import add, maximum, minimum
from stillflow.ops.math.cast import cast
from stillflow.ops.math.reductions import reduce_max
from stillflow.ops.memory_limits import require_room
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.sparse import native_kernels
from stillflow.ops.sparse.conversion import as_sparse, parts
from stillflow.ops.sparse.dense import sparse_tensor_to_dense
from stillflow.ops.sparse.rearranging import sparse_reorder
from stillflow.ops.sparse.rows import check_parts, take_rows

sparse_fill_empty_rows_op = op(
    """
    SparseFillEmptyRows(indices: int64, values: T, dense_shape: int64, default_value: T)
        -> (output_indices: int64, output_values: T, empty_row_indicator: bool,
            reverse_index_map: int64)
    T: type
""",
    devices="host",
)
sparse_fill_empty_rows_grad_op = op(
    """
    SparseFillEmptyRowsGrad(reverse_index_map: int64, grad_values: T)
        -> (d_values: T, d_default_value: T)
    T: type
""",
    devices="host",
)


# ---- SparseFillEmptyRows


@sparse_fill_empty_rows_op.shape
def sparse_fill_empty_rows_shape(node: Node) -> OutputDims:
    rows = checked_rank(node, 0, 2, "indices must be a matrix, saw: ")
    values = checked_rank(node, 1, 1, "values must be a vector, saw: ")
    if node.planning:
        checked_rank(node, 2, 1, "dense_shape must be a vector, saw: ")
    size = node.shape_value(2)
    if not node.planning:
        length = dims.with_rank(node.dims(2), 1)
        dims.with_rank(node.dims(3), 0)
        dims.merge_dim(rows[0], values[0])
        dims.merge_dim(rows[1], length[0])
    return [
        (None, rows[1] if rows else None),
        (None,),
        (size[0] if size else None,),
        (rows[0] if rows else None,),
    ]


@sparse_fill_empty_rows_op.kernel
def sparse_fill_empty_rows_kernel(node: Node) -> Kernel:
    def run(indices: Any, values: Any, size: Any, default: Any) -> tuple[Any, Any, Any, Any]:
        check_parts(indices, values, size)
        if default.ndim:
            raise ValueError(f"default_value must be a scalar, saw: {shape_text(default.shape)}")
        if not size.shape[0]:
            raise ValueError("Dense shape cannot be empty.")
        count, given = int(size[0]), indices.shape[0]
        require_room([count], dtypes.int64)
        if count == 0 and given:
            raise ValueError(
                f"Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = {given}"
            )
        found = native_kernels.fill_empty_rows(indices, values, count, default)
        if found is not None:
            return found
        rows = indices[:, 0]
        outside = (rows < 0) | (rows >= count)
        if bool(outside.any()):
            row = int(outside.int().argmax())
            raise ValueError(f"indices({row}, 0) is invalid: {int(rows[row])} >= {count}")
        filled = torch.bincount(rows, minlength=count) > 0
        empty = (~filled).nonzero()[:, 0]
        more = torch.zeros((len(empty), indices.shape[1]), dtype=indices.dtype)
        more[:, 0] = empty
        order = torch.argsort(torch.cat([rows, empty]), stable=True)
        if isinstance(values, np.ndarray):
            everything: Any = np.concatenate([values, np.full(len(empty), default.item(), object)])
        else:
            everything = torch.cat([values, default.expand(len(empty))])
        places = torch.empty_like(order)
        places[order] = torch.arange(len(order))
        return (
            torch.cat([indices, more])[order],
            take_rows(everything, order),
            ~filled,
            places[:given].clone(),
        )

    return run


@sparse_fill_empty_rows_op.gradient
def sparse_fill_empty_rows_gradient(node: Node, *grads: Any) -> Gradients:
    values_grad, default_grad = sparse_fill_empty_rows_grad_op(node.outputs[3], grads[1])
    return [None, values_grad, None, default_grad]


@sparse_fill_empty_rows_op.samples
def sparse_fill_empty_rows_samples() -> Samples:
    rows, values = np.array([[0, 1], [2, 0]]), np.array([1.0, 2.0])
    yield Sample(rows, values, np.array([4, 2]), np.float64(7))
    yield Bad(rows, values, np.array([2, 2]), np.float64(7), match="is invalid")


@sparse_fill_empty_rows_grad_op.shape
def sparse_fill_empty_rows_grad_shape(node: Node) -> OutputDims:
    if node.planning:
        return [node.dims(0), ()]
    dims.with_rank(node.dims(1), 1)
    return [dims.with_rank(node.dims(0), 1), ()]


@sparse_fill_empty_rows_grad_op.kernel
def sparse_fill_empty_rows_grad_kernel(node: Node) -> Kernel:
    def run(places: Any, grad: Any) -> tuple[torch.Tensor, torch.Tensor]:
        for name, value in (("reverse_index_map", places), ("grad_values", grad)):
            if value.ndim != 1:
                raise ValueError(f"{name} must be a vector, saw: {shape_text(value.shape)}")
        if not in_range(places, len(grad)):
            wrong = int(places[(places < 0) | (places >= len(grad))][0])
            raise ValueError(
                f"Elements in reverse index must be in [0, {len(grad)}) but got {wrong}"
            )
        taken = grad[places]
        rest = torch.ones(len(grad), dtype=torch.bool, device=grad.device)
        rest[places] = False
        return taken, grad[rest].sum(dtype=grad.dtype)

    return run


@export("sparse.fill_empty_rows", "sparse_fill_empty_rows")
def sparse_fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """Give each row without elements one, in its first column.

    Args:
      sp_input: sparse, of rank >= 1.
      default_value: the value of what is added.
      name: of the operations.

    Returns:
      The sparse tensor, and which rows were empty.
    """
    sp_input = as_sparse(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [sp_input]):
        default_value = convert_to_tensor(default_value, dtype=sp_input.values.dtype)
        indices, values, empty, _ = sparse_fill_empty_rows_op(*parts(sp_input), default_value)
        return SparseTensor(indices, values, sp_input.dense_shape), empty


# ---- compositions


@export("sparse.reset_shape", "sparse_reset_shape")
def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """Return the same elements in a larger shape, or in the smallest that holds them.

    Args:
      sp_input: sparse.
      new_shape: no dimension smaller than before; if None, as small as possible.

    Raises:
      ValueError: if a dimension is known to be too small.
    """
    sp_input = as_sparse(sp_input)
    indices = identity(sp_input.indices)
    values = identity(sp_input.values)
    size = identity(sp_input.dense_shape)
    if new_shape is None:
        largest = reduce_max(indices, axis=0)
        zero = constant(0, dtype=dtypes.int64)
        return SparseTensor(indices, values, maximum(zero, add(largest, ones_like(size))))
    wanted = convert_to_tensor(new_shape)
    wanted.get_shape().assert_has_rank(1)
    wanted = cast(wanted, dtypes.int64)
    wanted.get_shape().merge_with(size.get_shape())
    known = static_value(wanted)
    if known is not None and sp_input.get_shape().is_fully_defined():
        old = np.array(sp_input.get_shape().as_list())
        if not np.all(old <= known):
            raise ValueError(
                "Requested new_shape should have dimension sizes >= sp_input.shape.  "
                f"Found new_shape ({old}), sp_input.shape ({known})."
            )
        return SparseTensor(indices, values, known)
    wanted = with_dependencies([assert_equal(shape(size), shape(wanted))], wanted)
    wanted = with_dependencies([assert_less_equal(size, wanted)], wanted)
    return SparseTensor(indices, values, wanted)


@export("sparse.expand_dims")
def sparse_expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """Return the same elements with an axis of size 1 more.

    Args:
      sp_input: sparse.
      axis: where, the last if None: an integer or a scalar tensor.
      name: of the operations.

    Raises:
      TypeError: if `axis` is no integer.
    """
    rank_ = sp_input.dense_shape.get_shape()[0]
    axis = -1 if axis is None else axis
    with name_scope(name, "expand_dims", [sp_input]):
        if isinstance(axis, numbers.Integral):
            axis = convert_to_tensor(axis, name="axis", dtype=dtypes.int32)
        elif not isinstance(axis, Tensor):
            raise TypeError(
                "axis must be an integer value in range [-rank(sp_input) - 1, rank(sp_input)]"
            )
        place = where_v2(axis >= 0, axis, axis + rank_ + 1)
        column = zeros([shape(sp_input.indices)[0], 1], dtype=dtypes.int64)
        before, after = _split_at(sp_input.indices, place, [0])
        indices = concat([before, column, after], axis=1)
        before, after = _split_at(sp_input.dense_shape, place, [])
        one = convert_to_tensor([1], name="new_shape", dtype=dtypes.int64)
        size = concat([before, one, after], axis=0)
        return SparseTensor(indices, sp_input.values, size)


def _split_at(tensor: Any, place: Any, start: list[int]) -> tuple[Tensor, Tensor]:
    """Return the parts of the last axis before and from a place; `start` is of other axes."""
    everything = [-1] * len(start)
    before = slice_(tensor, [*start, 0], [*everything, place])
    return before, slice_(tensor, [*start, place], [*everything, -1])


def _as_int64(value: Any, name: str) -> Tensor:
    if isinstance(value, numbers.Integral):
        return convert_to_tensor(value, name=name, dtype=dtypes.int64)
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be an integer value")
    return value if value.dtype == dtypes.int64 else cast(value, dtypes.int64)


@export("sparse.eye")
def sparse_eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = dtypes.float32, name: str | None = None
) -> SparseTensor:
    """Ones on the diagonal.

    Args:
      num_rows, num_columns: the size of the matrix, square if the latter is None.
      dtype: of the elements.
      name: of the operations.
    """
    with name_scope(name, "eye", [num_rows, num_columns]):
        num_rows = _as_int64(num_rows, "num_rows")
        num_columns = num_rows if num_columns is None else _as_int64(num_columns, "num_columns")
        length = minimum(num_rows, num_columns)
        places = range_(length, dtype=dtypes.int64)
        indices = stack([places, places], axis=1)
        return SparseTensor(indices, ones(length, dtype=dtype), [num_rows, num_columns])


def _checked_sizes(sp_ids: Any, vocab_size: Any) -> tuple[list[Any], list[Any]]:
    def check(size: Any, what: str) -> Any:
        if not isinstance(size, (Tensor, numbers.Integral)):
            raise TypeError(f"vocab_size has to be {what}. Found {type(size)}")
        return size

    if is_sparse(sp_ids):
        return [sp_ids], [check(vocab_size, "a Tensor or Python int")]
    if not isinstance(sp_ids, Iterable):
        raise TypeError(f"sp_ids has to be a SparseTensor or list thereof. Found {type(sp_ids)}")
    what = "a list of Tensors or Python ints"
    if not isinstance(vocab_size, Iterable):
        raise TypeError(f"vocab_size has to be {what}. Found {type(vocab_size)}")
    sizes = [check(size, what) for size in vocab_size]
    ids = list(sp_ids)
    if len(ids) != len(sizes):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    return ids, sizes


@export("sparse.merge", "sparse_merge")
def sparse_merge(
    sp_ids: Any,
    sp_values: Any,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Put values where ids say, in the last dimensions.

    Args:
      sp_ids: integers, sparse, or a list of such, one for each new dimension.
      sp_values: sparse, with the indices of `sp_ids`.
      vocab_size: the size of each new dimension.
      name: of the operations.
      already_sorted: whether the result need not be brought into row-major order.

    Raises:
      TypeError, ValueError: if ids and sizes do not match.
    """
    ids, sizes = _checked_sizes(sp_ids, vocab_size)
    with name_scope(name, "SparseMerge", [ids, sp_values]):
        ids = [as_sparse(one) for one in ids]
        sp_values = as_sparse(sp_values)
        columns = []
        for one in ids:
            values = one.values if one.dtype == dtypes.int64 else cast(one.values, dtypes.int64)
            columns.append(expand_dims(values, axis=1))
        sizes = [cast(size, dtypes.int64) for size in sizes]
        indices = concat([ids[0].indices[:, :-1], *columns], 1)
        size = concat([ids[0].dense_shape[:-1], sizes], 0)
        result = SparseTensor(indices, sp_values.values, size)
        if already_sorted:
            return result
        ordered = sparse_reorder(result)
        return SparseTensor(ordered.indices, ordered.values, size)


@export("sparse.to_indicator", "sparse_to_indicator")
def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """Return the ids that occur, as a dense tensor of bools with last dimension `vocab_size`."""
    sp_input = as_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", [sp_input]) as scope:
        indices, size = sp_input.indices, sp_input.dense_shape
        marks = fill(expand_dims(shape(indices)[0], 0), True)
        occurring = sparse_merge(sp_input, SparseTensor(indices, marks, size), vocab_size, scope)
        return sparse_tensor_to_dense(occurring, False, False, scope)
