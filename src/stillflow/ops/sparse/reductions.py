"""Sums and maxima of sparse tensors along axes."""

from __future__ import annotations

from collections.abc import Callable
from math import fmod
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.card import Card, op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.arrays.gather_nd import gather_nd
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.math import reductions as dense
from stillflow.ops.math.cast import cast
from stillflow.ops.sparse.conversion import parts
from stillflow.ops.sparse.dense import NUMBERS
from stillflow.ops.sparse.rows import check_inside, check_parts, row_numbers
from stillflow.util.renamed import renamed_argument

_INPUTS = "(input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32)"
_SPARSE = "(output_indices: int64, output_values: T, output_shape: int64)"
_REAL = (
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"
)


def _card(name: str, result: str, types: str) -> Card:
    return op(
        f"SparseReduce{name}{_INPUTS} -> {result}\nkeep_dims: bool = false\n{types}", devices="host"
    )


sparse_reduce_sum_op = _card("Sum", "output: T", NUMBERS)
sparse_reduce_max_op = _card("Max", "output: T", _REAL)
sparse_reduce_sum_sparse_op = _card("SumSparse", _SPARSE, NUMBERS)
sparse_reduce_max_sparse_op = _card("MaxSparse", _SPARSE, _REAL)


def _axes(axes: Any, rank: int) -> set[int]:
    numbers = axes.tolist() if axes.ndim else [axes.item()]
    for axis in numbers:
        if not -rank <= axis < rank:
            raise ValueError(
                f"Invalid reduction dimension {axis}, for input with {rank} dimensions."
            )
    return {axis % rank for axis in numbers} if numbers else set(range(rank))


def _dense_shape(node: Node) -> tuple[int, ...] | None:
    value, axes = node.value(2), node.value(3)  # TF wants all sizes, or gives no shape at all
    if value is None or axes is None or value.ndim != 1:  # the kernel says what is wrong
        return None
    size = value.tolist()
    if node.planning:
        reduced = _axes(axes, len(size))
    elif not size:
        raise ValueError("Number of dims in shape tensor must not be 0")
    else:  # TF's rule does not reject an axis, and reduces nothing if there is none.
        reduced = {int(fmod(axis + len(size), len(size))) for axis in axes.reshape(-1).tolist()}
    if node.keep_dims:
        return tuple(1 if axis in reduced else dim for axis, dim in enumerate(size))
    return tuple(dim for axis, dim in enumerate(size) if axis not in reduced)


def _sparse_shape(node: Node) -> list[None]:
    return [None, None, None]


def _sum(values: Any, group: Any, count: int) -> torch.Tensor:
    return torch.zeros(count, dtype=values.dtype, device=values.device).index_add_(0, group, values)


def _max(values: Any, group: Any, count: int) -> torch.Tensor:
    result = torch.zeros(count, dtype=values.dtype, device=values.device)
    return result.scatter_reduce_(0, group, values, "amax", include_self=False)


def _kernel(combine: Callable[..., Any], sparse: bool) -> Callable[[Node], Any]:
    def kernel(node: Node) -> Callable[..., Any]:
        keep_dims = node.keep_dims

        def run(indices: Any, values: Any, size: Any, axes: Any) -> Any:
            check_parts(indices, values, size)
            sizes = size.tolist()
            check_inside(indices, sizes)
            reduced = _axes(axes, len(sizes))
            kept = [axis for axis in range(len(sizes)) if axis not in reduced]
            rows = indices[:, kept]
            places = row_numbers(rows, [sizes[axis] for axis in kept])
            result_sizes = [
                1 if axis in reduced else dim
                for axis, dim in enumerate(sizes)
                if keep_dims or axis not in reduced
            ]
            if not sparse:
                count = 1
                for axis in kept:
                    count *= sizes[axis]
                return combine(values, places, count).reshape(result_sizes)
            found, group = torch.unique(places, return_inverse=True)
            first = torch.zeros_like(found).index_copy_(
                0, group.flip(0), torch.arange(len(group), device=group.device).flip(0)
            )
            columns = rows[first]
            if keep_dims:
                whole = torch.zeros((len(found), len(sizes)), dtype=torch.int64)
                whole[:, kept] = columns
                columns = whole
            size = torch.tensor(result_sizes, dtype=torch.int64)  # of a scalar, too
            return columns, combine(values, group, len(found)), size

        return run

    return kernel


for _op, _combine, _is_sparse in (
    (sparse_reduce_sum_op, _sum, False),
    (sparse_reduce_max_op, _max, False),
    (sparse_reduce_sum_sparse_op, _sum, True),
    (sparse_reduce_max_sparse_op, _max, True),
):
    _op.shape(_sparse_shape if _is_sparse else _dense_shape)
    _op.kernel(_kernel(_combine, _is_sparse))


@sparse_reduce_sum_op.gradient
def sparse_reduce_sum_gradient(node: Node, grad: Tensor) -> Gradients:
    indices, _, size, axes = node.inputs
    kept_shape = dense.reduced_shape(size, axes)
    grad = reshape(grad, kept_shape)
    scale = size // cast(kept_shape, dtypes.int64)
    return [None, gather_nd(grad, indices // scale), None, None]


def _reduce(
    card: Any, sp_input: Any, axis: Any, keepdims: Any, old_axis: Any, keep_dims: Any
) -> Any:
    keepdims = renamed_argument("keepdims", keepdims, "keep_dims", keep_dims)
    return _reduce_named(card, sp_input, axis, keepdims, old_axis, None)


def _reduce_named(
    card: Any, sp_input: Any, axis: Any, keepdims: Any, old_axis: Any, name: str | None
) -> Any:
    axes = dense.reduction_axes(sp_input, axis, old_axis)
    return card(*parts(sp_input), axes, keep_dims=bool(keepdims), name=name)


@export("compat.v2.sparse.reduce_sum")
def sparse_reduce_sum_v2(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Return the sum along axes.

    Args:
      sp_input: sparse numbers.
      axis: one or several, all if None.
      keepdims: whether reduced axes stay, with size 1.
      output_is_sparse: whether the result is a sparse tensor.
    """
    if not output_is_sparse:
        return _reduce_named(sparse_reduce_sum_op, sp_input, axis, keepdims, None, name)
    return SparseTensor(
        *_reduce_named(sparse_reduce_sum_sparse_op, sp_input, axis, keepdims, None, name)
    )


@export("compat.v2.sparse.reduce_max")
def sparse_reduce_max_v2(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Return the largest element along axes. Arguments are those of `sparse_reduce_sum_v2`."""
    if not output_is_sparse:
        return _reduce_named(sparse_reduce_max_op, sp_input, axis, keepdims, None, name)
    return SparseTensor(
        *_reduce_named(sparse_reduce_max_sparse_op, sp_input, axis, keepdims, None, name)
    )


@export("sparse.reduce_sum", "sparse_reduce_sum")
def sparse_reduce_sum(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    reduction_axes: Any = None,
    keep_dims: Any = None,
) -> Tensor:
    """Return the sum along axes, as a dense tensor.

    Args:
      sp_input: sparse numbers.
      axis: one or several, all if None; `reduction_axes` is its old name.
      keepdims: whether reduced axes stay, with size 1; `keep_dims` is its old name.
    """
    result: Tensor = _reduce(
        sparse_reduce_sum_op, sp_input, axis, keepdims, reduction_axes, keep_dims
    )
    return result


@export("sparse.reduce_max", "sparse_reduce_max")
def sparse_reduce_max(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    reduction_axes: Any = None,
    keep_dims: Any = None,
) -> Tensor:
    """Return the largest given element along axes, as a dense tensor, 0 where there is none.

    Args: see `sparse_reduce_sum`.
    """
    result: Tensor = _reduce(
        sparse_reduce_max_op, sp_input, axis, keepdims, reduction_axes, keep_dims
    )
    return result


@export("sparse.reduce_sum_sparse", "sparse_reduce_sum_sparse")
def sparse_reduce_sum_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    reduction_axes: Any = None,
    keep_dims: Any = None,
) -> SparseTensor:
    """Return the sum along axes, as a sparse tensor.

    Args: see `sparse_reduce_sum`.
    """
    return SparseTensor(
        *_reduce(sparse_reduce_sum_sparse_op, sp_input, axis, keepdims, reduction_axes, keep_dims)
    )


@export("sparse.reduce_max_sparse", "sparse_reduce_max_sparse")
def sparse_reduce_max_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    reduction_axes: Any = None,
    keep_dims: Any = None,
) -> SparseTensor:
    """Return the largest given element along axes, as a sparse tensor.

    Args: see `sparse_reduce_sum`.
    """
    return SparseTensor(
        *_reduce(sparse_reduce_max_sparse_op, sp_input, axis, keepdims, reduction_axes, keep_dims)
    )
