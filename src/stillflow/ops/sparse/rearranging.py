"""Moving the elements of sparse tensors: reorder, reshape, slice, split, concat, transpose."""

from __future__ import annotations

from math import prod
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
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.static_value import constant_value_as_shape, static_value
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.select import where_v2
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import rank, reshape, shape
from stillflow.ops.arrays.transpose import invert_permutation, transpose
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.input_ranks import checked_rank
from stillflow.ops.math.cast import cast
from stillflow.ops.math.reductions import reduce_max
from stillflow.ops.memory_limits import require_room
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.sparse import native_kernels
from stillflow.ops.sparse.conversion import as_sparse, parts
from stillflow.ops.sparse.dense import NUMBERS
from stillflow.ops.sparse.rows import (
    at_rows,
    check_inside,
    check_parts,
    reordered,
    row_numbers,
    take_rows,
)
from stillflow.util.renamed import renamed_argument

sparse_reorder_op = op(
    "SparseReorder(input_indices: int64, input_values: T, input_shape: int64) -> "
    "(output_indices: int64, output_values: T); T: type",
    devices="host",
)
sparse_reshape_op = op(
    "SparseReshape(input_indices: int64, input_shape: int64, new_shape: int64) -> "
    "(output_indices: int64, output_shape: int64)",
    devices="host",
)
sparse_slice_op = op(
    """
    SparseSlice(indices: int64, values: T, shape: int64, start: int64, size: int64)
        -> (output_indices: int64, output_values: T, output_shape: int64); T: type
""",
    devices="host",
)
sparse_slice_grad_op = op(
    "SparseSliceGrad(backprop_val_grad: T, input_indices: int64, input_start: int64, "
    f"output_indices: int64) -> val_grad: T\n{NUMBERS}",
    devices="host",
)
sparse_split_op = op(
    """
    SparseSplit(split_dim: int64, indices: int64, values: T, shape: int64) -> (output_indices:\
 num_split*int64, output_values: num_split*T, output_shape: num_split*int64)
    num_split: int >= 1; T: type
""",
    devices="host",
)
sparse_concat_op = op(
    """
    SparseConcat(indices: N*int64, values: N*T, shapes: N*int64)
        -> (output_indices: int64, output_values: T, output_shape: int64)
    concat_dim: int
    N: int >= 2
    T: type
    """,
    differentiable=False,
    devices="host",
)


# ---- SparseReorder


@sparse_reorder_op.shape
def sparse_reorder_shape(node: Node) -> OutputDims:
    indices = checked_rank(node, 0, 2, "Input indices should be a matrix but received shape ")
    values = checked_rank(node, 1, 1, "Input values should be a vector but received shape ")
    checked_rank(node, 2, 1, "Input shape should be a vector but received shape ")
    return [indices, values]


@sparse_reorder_op.kernel
def sparse_reorder_kernel(node: Node) -> Kernel:
    def run(indices: Any, values: Any, size: Any) -> tuple[torch.Tensor, Any]:
        if len(indices) != len(values):
            raise ValueError(
                "indices and values rows (indexing dimension) must match. (indices = "
                f"{len(indices)}, values = {len(values)})"
            )
        if indices.shape[1] != len(size):
            raise ValueError("Order length must be SparseTensor rank.")
        return reordered(indices, values, size)

    return run


@sparse_reorder_op.gradient
def sparse_reorder_gradient(node: Node, _: Any, grad: Tensor) -> Gradients:
    indices, _, size = node.inputs
    numbers = range_(shape(indices)[0])
    ordered = sparse_reorder(SparseTensor(indices, numbers, size))
    return [None, gather(grad, invert_permutation(ordered.values)), None]


@sparse_reorder_op.samples
def sparse_reorder_samples() -> Samples:
    yield Sample(np.array([[1, 0], [0, 1]]), np.array([2.0, 1.0]), np.array([2, 2]))
    yield Sample(np.array([[1, 0], [0, 5], [-1, 3]]), np.array([2.0, 1.0, 3.0]), np.array([2, 2]))


@export("sparse.reorder", "sparse_reorder")
def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Return the same elements in row-major order."""
    sp_input = as_sparse(sp_input)
    indices, values = sparse_reorder_op(*parts(sp_input), name=name)
    if sp_input.get_shape().is_fully_defined():
        return SparseTensor(indices, values, sp_input.get_shape().as_list())
    return SparseTensor(indices, values, identity(sp_input.dense_shape))


# ---- SparseReshape


@sparse_reshape_op.shape
def sparse_reshape_shape(node: Node) -> OutputDims:
    count, _ = checked_rank(node, 0, 2, "Input indices should be a matrix but received shape ")
    checked_rank(node, 1, 1, "Input shape should be a vector but received shape ")
    (rank_,) = checked_rank(node, 2, 1, "Target shape should be a vector but received shape ")
    return [(count, rank_), (rank_,)]


def _resolved(size: list[int], wanted: list[int]) -> list[int]:
    """Return a new shape with its one unknown dimension found."""
    total = prod(size)
    unknown = [axis for axis, dim in enumerate(wanted) if dim == -1]
    if len(unknown) > 1:
        raise ValueError(
            f"only one output dimension may be -1, not both {unknown[0]} and {unknown[1]}"
        )
    for axis, dim in enumerate(wanted):
        if dim < -1:
            raise ValueError(f"size {axis} must be non-negative, not {dim}")
    known = prod(dim for dim in wanted if dim != -1)
    shapes = f"input_shape={shape_text(size)} output_shape={shape_text(list(map(abs, wanted)))}"
    if unknown:
        if known == 0:
            raise ValueError(
                "reshape cannot infer the missing input size for an empty tensor unless all "
                "specified input sizes are non-zero"
            )
        if total % known:
            raise ValueError(
                f"Input to reshape is a SparseTensor with {total} dense values, but the "
                f"requested shape requires a multiple of {known}. {shapes}"
            )
        return [total // known if dim == -1 else dim for dim in wanted]
    if known != total:
        raise ValueError(
            f"Input to reshape is a tensor with {total} dense values, but the requested "
            f"shape has {known}. {shapes}"
        )
    return wanted


@sparse_reshape_op.value
def sparse_reshape_value(node: Node) -> list[Any] | None:
    size, wanted = node.value(1), node.value(2)
    if size is None or wanted is None or not node.planning:
        return None  # while graphs are built, nothing is known of it: as in TensorFlow
    try:
        return [None, np.array(_resolved(size.tolist(), wanted.tolist()), np.int64)]
    except (ValueError, OverflowError):
        return None  # the kernel raises the error


@sparse_reshape_op.kernel
def sparse_reshape_kernel(node: Node) -> Kernel:
    def run(indices: Any, size: Any, wanted: Any) -> tuple[torch.Tensor, torch.Tensor]:
        if indices.shape[1] != size.shape[0]:
            raise ValueError(
                f"Input shape has {len(size)} dimensions, but indices have "
                f"{indices.shape[1]} columns"
            )
        given = size.tolist()
        require_room(given, dtypes.bool, touched=False)
        sizes = _resolved(given, wanted.tolist())
        if sizes == given:  # even indices outside of the shape stay unchanged
            return indices.clone(), size.clone()
        rows = native_kernels.reshape_indices(indices, given, sizes)
        if rows is not None:
            return rows, torch.from_numpy(np.array(sizes, np.int64))
        places = row_numbers(indices, given)
        columns = []
        for dim in reversed(sizes[1:]):
            columns.append(torch.fmod(places, max(dim, 1)))
            places = torch.div(places, max(dim, 1), rounding_mode="trunc")
        rows = torch.stack([places, *columns[::-1]], 1) if sizes else indices[:, :0]
        return rows, torch.tensor(sizes, dtype=torch.int64)

    return run


@sparse_reshape_op.samples
def sparse_reshape_samples() -> Samples:
    rows = np.array([[0, 1], [1, 2]])
    yield Sample(rows, np.array([2, 3]), np.array([3, -1]))
    yield Sample(rows, np.array([2, 2]), np.array([2, -1]))  # outside of the shape
    yield Sample(np.array([[1, 1], [-1, -7]]), np.array([2, 3]), np.array([3, -1]))
    yield Bad(rows, np.array([2, 3]), np.array([4, -1]), match="multiple of 4. input_shape=.2,3.")


@export("sparse.reshape", "sparse_reshape")
def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """Return the same elements in another shape.

    Args:
      sp_input: sparse.
      shape: int64, one dimension may be -1.
      name: of the operation.

    Raises:
      ValueError: if the number of elements is known to differ.
    """
    sp_input = as_sparse(sp_input)
    shape = cast(shape, dtype=dtypes.int64)
    with name_scope(name, "SparseReshape", [sp_input]) as scope:
        indices, new_shape = sparse_reshape_op(
            sp_input.indices, sp_input.dense_shape, shape, name=scope
        )
        known = _known_new_shape(sp_input, shape)
        if known is not None:
            new_shape = constant(known, dtype=dtypes.int64)
        return SparseTensor(indices, identity(sp_input.values), new_shape)


def _known_new_shape(sp_input: SparseTensor, wanted: Tensor) -> list[int] | None:
    partial = constant_value_as_shape(wanted)
    if partial.ndims is None or not sp_input.shape.is_fully_defined():
        return None
    given = static_value(wanted)
    if given is not None and (given == -1).sum() > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {given}")
    total = sp_input.shape.num_elements() or 0
    known: list[Any] = partial.as_list()
    if known.count(None) > 1:
        return None
    if None in known:
        axis = known.index(None)
        known[axis] = int(total // np.prod(known[:axis] + known[axis + 1 :]))
    result = [int(dim) for dim in known if dim is not None]
    if int(np.prod(result)) != total:
        raise ValueError(
            f"Cannot reshape a tensor with {total} elements to shape {partial.as_list()} "
            f"({int(np.prod(result))} elements)."
        )
    return result


# ---- SparseSlice


@sparse_slice_op.shape
def sparse_slice_shape(node: Node) -> OutputDims:
    size = node.dims(2)
    rank_ = size[0] if size else None
    return [(None, rank_), (None,), (rank_,)]


@sparse_slice_op.kernel
def sparse_slice_kernel(node: Node) -> Kernel:
    def run(indices: Any, values: Any, size: Any, start: Any, count: Any) -> tuple[Any, ...]:
        for name, vector in (("start", start), ("size", count)):
            if len(vector) != len(size):
                raise ValueError(
                    f"Expected {name} to be a vector of length {len(size)} "
                    f"but got length {len(vector)}"
                )
        if bool((count < 0).any()):
            raise ValueError(f"expected size to be non-negative, got {shape_text(count)}")
        inside = ((indices >= start) & (indices < start + count)).all(1)
        kept = inside.nonzero()[:, 0]
        left = torch.minimum(count, size - start).clamp(min=0)
        return indices[kept] - start, take_rows(values, kept), left

    return run


@sparse_slice_op.gradient
def sparse_slice_gradient(node: Node, *grads: Any) -> Gradients:
    values_grad = sparse_slice_grad_op(grads[1], node.inputs[0], node.inputs[3], node.outputs[0])
    values_grad.set_shape(node.inputs[1].get_shape())
    return [None, values_grad, None, None, None]


@sparse_slice_grad_op.shape
def sparse_slice_grad_shape(node: Node) -> OutputDims:
    rows = node.dims(1)
    return (rows[0] if rows else None,)


@sparse_slice_grad_op.kernel
def sparse_slice_grad_kernel(node: Node) -> Kernel:
    def run(grad: Any, indices: Any, start: Any, taken: Any) -> Any:
        return at_rows(indices, taken + start, grad)

    return run


@export("sparse.slice", "sparse_slice")
def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """Return a block of a sparse tensor.

    Args:
      sp_input: sparse.
      start: int64, where the block begins in each dimension.
      size: int64, how far it goes; it ends with the tensor.
      name: of the operation.
    """
    sp_input = as_sparse(sp_input)
    start = convert_to_tensor(start, dtypes.int64)
    size = convert_to_tensor(size, dtypes.int64)
    with name_scope(name, "SparseSlice", [sp_input]) as scope:
        return SparseTensor(*sparse_slice_op(*parts(sp_input), start, size, name=scope))


# ---- SparseSplit


@sparse_split_op.shape
def sparse_split_shape(node: Node) -> OutputDims:
    count, size = node.num_split, node.dims(3)
    rank_ = size[0] if size else None
    return [(None, rank_)] * count + [(None,)] * count + [(rank_,)] * count


@sparse_split_op.kernel
def sparse_split_kernel(node: Node) -> Kernel:
    count = node.num_split

    def run(axis: Any, indices: Any, values: Any, size: Any) -> list[torch.Tensor]:
        sizes = size.tolist()
        if axis.ndim and len(axis) != 1:
            raise ValueError("Input split_dim should be a scalar")
        axis = int(axis)
        check_parts(indices, values, size)
        require_room(sizes, dtypes.bool, touched=False)
        if not 0 <= axis < len(sizes):
            raise ValueError(
                f"Input split_dim should be between 0 and rank ({len(sizes)}), got {axis}"
            )
        if not 1 <= count <= sizes[axis]:
            raise ValueError(
                "Input num_split should be between 1 and the splitting dimension size "
                f"({sizes[axis]}), got {count}"
            )
        check_inside(indices, sizes)
        each, more = divmod(sizes[axis], count)
        results, begin = [], 0
        for part in range(count):
            end = begin + each + (part < more)
            column = indices[:, axis]
            kept = ((column >= begin) & (column < end)).nonzero()[:, 0]
            rows, part_size = indices[kept], size.clone()
            rows[:, axis] -= begin
            part_size[axis] = end - begin
            results.append((rows, take_rows(values, kept), part_size))
            begin = end
        return [item for kind in zip(*results, strict=True) for item in kind]

    return run


class KeywordRequired:
    """Default value of an argument that no program gives."""

    def __repr__(self) -> str:
        return "KeywordRequired()"


@export("sparse.split", "sparse_split")
def sparse_split(
    keyword_required: Any = KeywordRequired(),  # noqa: B008 - as TF shows it
    sp_input: Any = None,
    num_split: int | None = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """Split a sparse tensor along an axis; the first parts are larger if it does not divide.

    Args:
      sp_input: sparse.
      num_split: into how many parts.
      axis: an integer or a scalar; `split_dim` is its old name.
      name: of the operation.

    Raises:
      ValueError: if an argument is missing or given by position.
    """
    if not isinstance(keyword_required, KeywordRequired):
        raise ValueError("Keyword arguments are required for this function.")
    for label, value in (("sp_input", sp_input), ("num_split", num_split), ("axis", axis)):
        if value is None and not (label == "axis" and split_dim is not None):
            raise ValueError(f"{label} is required")
    axis = renamed_argument("axis", axis, "split_dim", split_dim)
    split = sparse_split_op(axis, *parts(as_sparse(sp_input)), num_split=num_split, name=name)
    return [SparseTensor(*of_one) for of_one in zip(*split, strict=True)]


# ---- SparseConcat


@sparse_concat_op.shape
def sparse_concat_shape(node: Node) -> OutputDims:
    count = node.N
    rows: Any = 0
    columns: Any = None
    ranks: Any = (None,)
    for index in range(count):
        matrix = dims.with_rank(node.dims(index), 2)
        rows = dims.add(rows, matrix[0])
        columns = dims.merge_dim(columns, matrix[1])
        ranks = dims.merge(ranks, dims.with_rank(node.dims(2 * count + index), 1))
    return [(rows, columns), (rows,), ranks]


def _check_concat(sizes: list[list[int]], axis: int) -> int:
    ranks = len(sizes[0])
    if not -ranks <= axis < ranks:
        raise ValueError(f"Concat dimension must be in range [{-ranks}, {ranks}), got {axis}")
    axis %= ranks
    for position, size in enumerate(sizes):
        if len(size) != ranks:
            raise ValueError(
                "Ranks of all input tensors must match: expected "
                f"{ranks} but got {len(size)} at position {position}"
            )
        for dim in range(ranks):
            if dim != axis and size[dim] != sizes[0][dim]:
                raise ValueError(
                    f"Input shapes must match: expected {sizes[0][dim]} for dimension {dim} "
                    f"but got {size[dim]} at position {position}"
                )
    return axis


@sparse_concat_op.kernel
def sparse_concat_kernel(node: Node) -> Kernel:
    count, concat_dim = node.N, node.concat_dim

    def run(*inputs: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        indices, values, shapes = inputs[:count], inputs[count:-count], inputs[-count:]
        for each in zip(indices, values, shapes, strict=True):
            check_parts(*each)
        sizes = [size.tolist() for size in shapes]
        axis = _check_concat(sizes, concat_dim)
        moved, begin = [], 0
        for rows, size in zip(indices, sizes, strict=True):
            rows = rows.clone()
            rows[:, axis] += begin
            moved.append(rows)
            begin += size[axis]
        total = [*sizes[0][:axis], begin, *sizes[0][axis + 1 :]]
        rows = torch.cat(moved)
        order = torch.argsort(row_numbers(rows, total), stable=True)
        strings = isinstance(values[0], np.ndarray)
        everything = np.concatenate(values) if strings else torch.cat(values)
        return rows[order], take_rows(everything, order), torch.tensor(total)

    return run


def _expanded(shapes: list[Any], axis: int) -> list[Any]:
    """Return the shapes with all dimensions but the concatenated one as large as the largest."""
    rows = concat([reshape(size, [1, -1]) for size in shapes], 0)
    largest = reduce_max(rows, 0)
    return [
        concat(
            [
                largest[:axis],
                size[-1:] if axis == -1 else size[axis : axis + 1],
                [] if axis == -1 else largest[axis + 1 :],
            ],
            0,
        )
        for size in shapes
    ]


@export("sparse.concat", "sparse_concat")
def sparse_concat(
    axis: Any,
    sp_inputs: Any,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: Any = None,
    expand_nonconcat_dims: Any = None,
) -> SparseTensor:
    """Join sparse tensors along an axis.

    Args:
      axis: the axis; `concat_dim` is its old name.
      sp_inputs: a list or tuple of sparse tensors.
      name: of the operation.
      expand_nonconcat_dim: whether the other dimensions may differ, the largest counting;
        `expand_nonconcat_dims` is its newer name.

    Raises:
      TypeError: if something is not sparse.
    """
    if expand_nonconcat_dims is not None:
        expand_nonconcat_dim = expand_nonconcat_dims
    axis = renamed_argument("axis", axis, "concat_dim", concat_dim)
    if not isinstance(sp_inputs, (list, tuple)):
        raise TypeError("Inputs must be a list or tuple.")
    inputs = [as_sparse(sp_input) for sp_input in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    shapes = [sp.dense_shape for sp in inputs]
    if expand_nonconcat_dim:
        shapes = _expanded(shapes, axis)
    indices, values, size = sparse_concat_op(
        [sp.indices for sp in inputs],
        [sp.values for sp in inputs],
        shapes,
        concat_dim=axis,
        name=name,
    )
    known = [static_value(one) for one in shapes]
    if all(one is not None for one in known):
        total = np.array(known[0])
        total[axis] = sum(one[axis] for one in known if one is not None)
        size = convert_to_tensor(total)
    return SparseTensor(indices, values, size)


# ---- compositions


@export("sparse.transpose", "sparse_transpose")
def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """Return the same elements with their axes permuted.

    Args:
      sp_input: sparse.
      perm: the order of the axes; reversed if None.
      name: of the operations.
    """
    with name_scope(name, "SparseTranspose", [sp_input]):
        if perm is None:
            axes = rank(sp_input)
            perm = axes - 1 - range_(0, axes, 1)
        indices = transpose(gather(transpose(sp_input.indices), perm))
        known = static_value(convert_to_tensor(perm))
        if known is not None and sp_input.get_shape().is_fully_defined():
            old = sp_input.get_shape().as_list()
            size: Any = [old[axis] for axis in known]
        else:
            size = gather(sp_input.dense_shape, perm)
        return sparse_reorder(SparseTensor(indices, sp_input.values, size))


@export("sparse.retain", "sparse_retain")
def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """Keep some of the elements of a sparse tensor.

    Args:
      sp_input: sparse, of `n` elements.
      to_retain: `n` bools.
    """
    sp_input = as_sparse(sp_input)
    to_retain = convert_to_tensor(to_retain)
    to_retain.get_shape().assert_has_rank(1)
    sp_input.values.get_shape()[:1].merge_with(to_retain.get_shape())
    kept = reshape(where_v2(to_retain), [-1])
    indices = gather(sp_input.indices, kept)
    values = gather(sp_input.values, kept)
    return SparseTensor(indices, values, identity(sp_input.dense_shape))
