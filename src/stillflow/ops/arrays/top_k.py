"""The largest elements: TopKV2, and sorting, which TF does by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel
from stillflow.graph.static_value import static_value
from stillflow.graph.traits import Cost
from stillflow.ops import native_calls
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.indexing import slice_helper
from stillflow.ops.arrays.native_kernels import sorted_places
from stillflow.ops.arrays.scatter import scatter_nd
from stillflow.ops.arrays.search import ordered
from stillflow.ops.arrays.sequences import range as range_of
from stillflow.ops.arrays.shape import expand_dims, rank, reshape, shape, size
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.top_k_heaps import find_largest
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.constants import constant
from stillflow.ops.math.kernels import is_finite
from stillflow.ops.samples import Bad, Sample, Samples

_REAL = "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"

# ---- TopK, TopKV2

top_k_op = op(
    f"""
    TopK(input: T) -> (values: T, indices: int32)
    k: int >= 0
    sorted: bool = true
    T: {_REAL}
""",
    cost=Cost(counts="first input"),
)
top_k_v2_op = op(
    f"""
    TopKV2(input: T, k: int32) -> (values: T, indices: int32)
    sorted: bool = true
    T: {_REAL}
""",
    numbers=("k",),
    cost=Cost(counts="first input"),
)


def _known_count(node: Node) -> int | None:
    if node.op.type == "TopK":
        return int(node.k)
    value = node.value(1)
    if value is None:
        return None
    if value.ndim:
        raise ValueError(f"Input must be scalar but has rank {value.ndim}")
    if node.planning and value < 0:
        raise ValueError(f"Need k >= 0, got {value}")
    return dims_lib.make_dim(int(value), 1)


def top_k_shape(node: Node) -> list[tuple[int | None, ...] | None]:
    dims = dims_lib.with_rank_at_least(node.dims(0), 1)
    count = _known_count(node)
    last = dims_lib.dim(dims, -1)
    if last is not None and count is not None and last < count:
        if node.planning:
            raise ValueError(f"input must have at least k columns. Had {last}, needed {count}")
        raise ValueError(f"input must have last dimension >= k = {count} but is {last}")
    result = dims_lib.concat(dims_lib.subshape(dims, 0, -1), (count,))
    return [result, result]


# Rows are looked through in blocks of this width where that leaves a quarter of them at most.
_WIDTH = 64
# So few elements of so few are found by a loop in C before torch has been called three times.
_FEW, _SHORT = 16, 1 << 15


def _in_order(keys: Any, count: int) -> Any:
    """Return the indices of the largest elements of each row.

    Rows with equal elements are sorted.
    """
    if not keys.is_cpu:  # to ask for ties would wait for the device
        return torch.sort(keys, stable=True, dim=-1, descending=True)[1][..., :count]
    size = keys.shape[-1]
    if count == size or (4 * count > size and not _hold_no_numbers(keys)):
        return sorted_places(keys, descending=True)[..., :count]
    if count <= _FEW and keys.numel() <= _SHORT and native_calls.reach(keys):
        return find_largest(keys, count, True)
    more = min(count + 1, size)
    found, where = _largest_by_blocks(keys, more)
    where = where[..., :count]
    tied = ~(found[..., 1:] < found[..., :-1]).all(-1)  # or no numbers, which do not compare
    if tied.any():
        rows = keys[tied]
        few = 8 * count <= rows.shape[-1] and native_calls.reach(rows)  # a heap is faster then
        unknown = count < size and _hold_no_numbers(rows)
        if few or unknown:
            order = find_largest(rows, count, True)
        else:
            order = sorted_places(rows, descending=True)
        where = where.clone()
        where[tied] = order[..., :count]
    return where


def _hold_no_numbers(keys: Any) -> bool:
    """Return True if some keys are NaN: then the result depends on the heap's order."""
    return keys.is_floating_point() and not is_finite(keys) and bool(keys.isnan().any())


def _place_of_largest(keys: Any) -> torch.Tensor:
    """Return the index of the largest number of each row; 0 if there is none."""
    best, where = torch.max(keys, -1, keepdim=True)
    if keys.is_floating_point() and best.isnan().any():
        where = torch.max(torch.where(keys.isnan(), -torch.inf, keys), -1, keepdim=True)[1]
    return where


def _largest_by_blocks(keys: Any, count: int) -> tuple[Any, Any]:
    """`torch.topk`, which keeps a heap of each row, among the blocks with the largest maxima.

    The maximum of a block takes one vector instruction for many elements. No element of another
    block is among the largest: each of these blocks has one that is at least as large.
    """
    size = keys.shape[-1]
    whole = size - size % _WIDTH
    if 4 * count * _WIDTH > size:
        return torch.topk(keys, count, -1)
    maxima = keys[..., :whole].unflatten(-1, (-1, _WIDTH)).amax(-1)
    best = torch.topk(maxima, count, -1, sorted=False)[1]
    offsets = torch.arange(_WIDTH, device=keys.device)
    places = (best.unsqueeze(-1) * _WIDTH + offsets).flatten(-2)
    if whole < size:
        rest = torch.arange(whole, size, device=keys.device)
        places = torch.cat([places, rest.expand(*places.shape[:-1], -1)], -1)
    found, where = torch.topk(keys.gather(-1, places), count, -1)
    return found, places.gather(-1, where)


def largest(x: Any, count: int, in_order: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the largest elements along the last dimension, and where they stand.

    Of equal elements the first comes first, which torch promises for a stable sort only. Where no
    order is asked for they come in TF's.
    """
    if not 0 <= count <= x.shape[-1]:
        raise ValueError(
            f"Need k >= 0, got {count}" if count < 0 else
            f"input must have at least k columns. Had {x.shape[-1]}, needed {count}"
        )  # fmt: skip
    keys = ordered(x)
    if not count:
        return x[..., :0], torch.zeros((*x.shape[:-1], 0), dtype=torch.int32, device=x.device)
    if count == 1:
        where = _place_of_largest(keys)
    elif in_order or count == x.shape[-1]:
        where = _in_order(keys, count)
    else:
        where = find_largest(keys, count, False)
    if keys is x:
        return torch.gather(x, -1, where), where.to(torch.int32)
    signed = {torch.uint16: torch.int16, torch.uint32: torch.int32}.get(x.dtype, torch.int64)
    return torch.gather(x.view(signed), -1, where).view(x.dtype), where.to(torch.int32)


@top_k_op.kernel
def top_k_kernel(node: Node) -> Kernel:
    return node.call(largest, node.inputs[0], node.k, node.sorted)


@top_k_v2_op.kernel
def top_k_v2_kernel(node: Node) -> Kernel:
    count = _known_count(node)
    if count is not None:
        return node.call(largest, node.inputs[0], count, node.sorted)
    in_order = node.sorted
    return lambda x, k: largest(x, int(k), in_order)


def top_k_gradient(node: Node, grad: Any, _: Any) -> list[Tensor]:
    from stillflow.ops.math.cast import cast
    from stillflow.ops.math.reductions import reduce_prod

    found = node.outputs[1]
    in_shape: Any = shape(node.inputs[0])
    found_shape: Any = shape(found)
    columns = gather(cast(found_shape, dtypes.int64), size(found_shape) - 1)
    table: Any = reshape(found, stack([-1, columns]))
    width: Any = gather(cast(in_shape, dtypes.int64), size(in_shape) - 1)
    rows = slice_helper(shape(table), 0)
    starts = range_of(0, cast(rows, dtypes.int64) * width, width)
    flat = reshape(table + cast(expand_dims(starts, -1), dtypes.int32), [-1])
    places, grads = expand_dims(flat, -1), reshape(grad, [-1])
    spread = scatter_nd(places, grads, [reduce_prod(in_shape)])
    result = [reshape(spread, in_shape), zeros([], dtype=dtypes.int32)]
    return result[: len(node.inputs)]


for _card in (top_k_op, top_k_v2_op):
    _card.shape(top_k_shape)
    _card.gradient(top_k_gradient)


@top_k_v2_op.samples
def top_k_v2_samples() -> Samples:
    x = np.array([[1, 5, 3, 4], [2, 2, 9, 2]], np.float32)
    yield Sample(x[:1], np.int32(2), fixed=(1,))
    yield Sample(x, np.int32(3), fixed=(1,), grad=False)
    yield Bad(x, np.int32(5), match="last dimension >= k|at least k columns")


@top_k_op.samples
def top_k_samples() -> Samples:
    yield Sample(np.array([1, 5, 3], np.int32), k=1)


@export("nn.top_k", "math.top_k")
def top_k(input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> Any:
    """Return the `k` largest elements along the last dimension.

    Args:
      input: numbers, at least a vector.
      k: how many, an int32 scalar.
      sorted: whether they have to come in order.
      name: of the operation.

    Returns:
      A named tuple: `values`, and `indices` (int32). Of equal elements the first comes first.

    Example:
      >>> values, indices = tf.Session().run(tf.nn.top_k([1, 9, 4, 7], k=2))
      >>> print(values, indices)
      [9 7] [1 3]
    """
    return top_k_v2_op(input, k, sorted=sorted, name=name)


# ---- Sorting


@export("sort")
def sort(
    values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """Sorts a tensor along an axis.

    Args:
      values: numbers.
      axis: which one, a constant.
      direction: "ASCENDING" or "DESCENDING".
      name: of the scope.

    Raises:
      ValueError: if the axis is not constant or the direction does not exist.
    """
    with name_scope(name, "sort"):
        return _sorted(values, axis, direction, False)


@export("argsort")
def argsort(
    values: Any,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the indices that sort a tensor along an axis, int32.

    Args:
      values: numbers.
      axis: which one, a constant.
      direction: "ASCENDING" or "DESCENDING".
      stable: the order is stable in any case.
      name: of the scope.

    Raises:
      ValueError: if the axis is not constant or the direction does not exist.
    """
    del stable
    with name_scope(name, "argsort"):
        return _sorted(values, axis, direction, True)


def _sorted(values: Any, axis: Any, direction: str, positions: bool) -> Tensor:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"{direction} should be one of ASCENDING, DESCENDING")
    axis = convert_to_tensor(axis, name="axis")
    known = static_value(axis)
    if axis._dims != () or known is None:
        raise ValueError("axis must be a constant scalar")
    values = convert_to_tensor(values, name="values")
    if direction == "DESCENDING":
        return _descending(values, int(known), positions)
    negated = _descending(-values, int(known), positions)
    return negated if positions else -negated


def _descending(values: Any, axis: int, positions: bool) -> Tensor:
    count = slice_helper(shape(values), axis)
    values_rank: Any = rank(values)
    static_rank = dims_lib.rank(values._dims)
    order = None
    if axis != -1 and axis + 1 != static_rank:
        order = _swapped(axis, static_rank, values_rank)
        values = transpose(values, order)
    found, indices = top_k(values, count)
    result = indices if positions else found
    return result if order is None else transpose(result, order)


def _swapped(axis: Any, static_rank: int | None, values_rank: Any) -> Tensor:
    """Return the permutation that swaps an axis with the last one."""
    if axis < 0:
        axis = axis + (static_rank or values_rank)
    if static_rank is not None:
        middle = np.arange(axis + 1, static_rank - 1)
        order = np.r_[np.arange(axis), [static_rank - 1], middle, [axis]]
        return constant(order, name="transposition")
    parts = [range_of(axis), [values_rank - 1], range_of(axis + 1, values_rank - 1), [axis]]
    return concat(parts, axis=0)
