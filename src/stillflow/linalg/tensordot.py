"""Products of tensors summed over chosen axes, by one matrix product."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays import concat as joins
from stillflow.ops.arrays import gather as gathers
from stillflow.ops.arrays import select as selects
from stillflow.ops.arrays import sequences
from stillflow.ops.arrays import shape as shapes
from stillflow.ops.arrays import stack as packing
from stillflow.ops.arrays import transpose as transposes
from stillflow.ops.arrays import unique as sets
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.math.reductions import reduce_prod


@export("tensordot", "linalg.tensordot")
@dispatchable
def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """Return the sum of products of `a` and `b` over pairs of axes.

    Args:
      a, b: tensors of one type.
      axes: how many of the last axes of `a` go with the first ones of `b`; or two lists (or a
        matrix of two rows): the axes of `a` and, in the same order, those of `b`.
      name: of the operation.

    Returns:
      A tensor with the other axes of `a`, then those of `b`.

    Raises:
      ValueError: if the axes do not fit.
    """
    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, name="b")
        a_axes, b_axes = _pairs(a, axes)
        a_matrix, a_free, a_static = _as_matrix(a, a_axes, summed_first=False)
        b_matrix, b_free, b_static = _as_matrix(b, b_axes, summed_first=True)
        product = matmul(a_matrix, b_matrix)
        if isinstance(a_free, list) and isinstance(b_free, list):
            return shapes.reshape(product, a_free + b_free, name=scope)
        a_free = convert_to_tensor(a_free, dtype=dtypes.int32)
        b_free = convert_to_tensor(b_free, dtype=dtypes.int32)
        result = shapes.reshape(product, joins.concat([a_free, b_free], 0), name=scope)
        if a_static is not None and b_static is not None:
            result.set_shape(a_static + b_static)
        return result


def _pairs(a: Tensor, axes: Any) -> tuple[Any, Any]:
    """Return the summed axes of `a` and those of `b`."""
    if isinstance(axes, (int, np.integer)):
        if axes < 0:
            raise ValueError("'axes' must be at least 0.")
        rank = dims.rank(a._dims)
        if rank is None:
            dynamic = shapes.rank(a)
            return (
                sequences.range(dynamic - axes, dynamic, dtype=dtypes.int32),
                sequences.range(axes, dtype=dtypes.int32),
            )
        if axes > rank:
            raise ValueError(
                f"'axes' must not be larger than the number of dimensions of tensor {a}."
            )
        return list(range(rank - axes, rank)), list(range(axes))
    if not isinstance(axes, (list, tuple)):
        axes = convert_to_tensor(axes, name="axes", dtype=dtypes.int32)
        return axes[0], axes[1]
    if len(axes) != 2:
        raise ValueError("'axes' must be an integer or have length 2.")
    a_axes, b_axes = axes
    if all(isinstance(item, (int, np.integer)) for item in axes):
        a_axes, b_axes = [a_axes], [b_axes]
    if len(a_axes) != len(b_axes):
        raise ValueError(
            f"Different number of contraction axes 'a' and 'b', {len(a_axes)} != {len(b_axes)}."
        )
    return a_axes, b_axes


def _as_matrix(x: Tensor, axes: Any, summed_first: bool) -> tuple[Tensor, Any, Any]:
    """`x` as a matrix of its free by its summed axes (or the other way round).

    The sizes of the free axes are returned too: a list or a tensor, and the static ones.
    """
    listed = isinstance(axes, (list, tuple))
    if not listed or not dims.is_known(x._dims):
        return _as_matrix_at_run_time(x, axes, summed_first)
    size = x._dims
    assert size is not None
    axes = [i if i >= 0 else i + len(size) for i in axes]
    free = [i for i in range(len(size)) if i not in axes]
    free_sizes = [size[i] for i in free]
    counts = [prod([size[i] for i in part]) for part in (free, axes)]
    order = [free, list(axes)]
    if summed_first:
        counts.reverse()
        order.reverse()
    matrix = shapes.reshape(transposes.transpose(x, order[0] + order[1]), counts)
    return matrix, free_sizes, free_sizes


def _as_matrix_at_run_time(x: Tensor, axes: Any, summed_first: bool) -> tuple[Tensor, Any, Any]:
    static: Any = None
    free: Any
    if x._dims is not None and isinstance(axes, (list, tuple)):
        count = len(x._dims)
        axes = [i if i >= 0 else i + count for i in axes]
        free = [i for i in range(count) if i not in axes]
        static = [x._dims[i] for i in free]
        axes = convert_to_tensor(axes, dtype=dtypes.int32, name="axes")
        free = convert_to_tensor(free, dtype=dtypes.int32, name="free")
        size = shapes.shape(x)
    else:
        size = shapes.shape(x)
        rank = shapes.rank(x)
        axes = convert_to_tensor(axes, dtype=dtypes.int32, name="axes")
        axes = selects.where(axes >= 0, axes, axes + rank)
        free, _ = sets.setdiff1d(sequences.range(rank), axes)
    free_sizes = gathers.gather(size, free)
    summed_sizes = gathers.gather(size, axes)
    counts = [reduce_prod(free_sizes), reduce_prod(summed_sizes)]
    order = [free, axes]
    if summed_first:
        counts.reverse()
        order.reverse()
    perm = joins.concat(order, 0)
    new_shape = packing.stack(counts)
    return shapes.reshape(transposes.transpose(x, perm), new_shape), free_sizes, static
