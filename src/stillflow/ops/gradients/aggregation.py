"""Adding up the gradients that reach one tensor from several sides."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape


@export("AggregationMethod")
class AggregationMethod:
    """Method by which `tf.gradients` adds gradients of one tensor: all at once, or pair by pair."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def aggregate(slots: list[Any] | None, op: Operation, method: int | None) -> list[Any]:
    """One gradient (or None) for each output of `op`; `slots` keeps them."""
    method = AggregationMethod.DEFAULT if method is None else method
    if method not in (0, 1, 2):
        raise ValueError(f"Invalid aggregation_method specified {method}.")
    if slots is None:
        return [None] * len(op._outputs)
    for i, slot in enumerate(slots):
        if isinstance(slot, (Tensor, IndexedSlices)):
            continue  # the gradient of a loop variable's Switch is complete already
        grads = [grad for grad in slot or () if grad is not None]
        if not all(isinstance(grad, (Tensor, IndexedSlices)) for grad in grads):
            raise TypeError("gradients have to be either all Tensors or all IndexedSlices")
        slots[i] = _sum(grads, op, method)
    return slots


def _sum(grads: list[Any], op: Operation, method: int) -> Tensor | IndexedSlices | None:
    from stillflow.ops.math.reductions import accumulate_n, add_n

    if len(grads) < 2:
        return grads[0] if grads else None
    if not all(isinstance(grad, Tensor) for grad in grads):
        return sum_slices(grads)
    if method == AggregationMethod.DEFAULT:
        return _sum_by_device(grads)
    if method == AggregationMethod.EXPERIMENTAL_ACCUMULATE_N and len(grads) > 2:
        merged = TensorShape(None)
        for grad in grads:
            merged = merged.merge_with(grad.shape)
        if merged.is_fully_defined():
            return accumulate_n(grads)
    with name_scope(op.name + "_gradient_sum"):
        total = grads[0]
        for grad in grads[1:]:
            total = add_n([total, grad])
    return total


def _sum_by_device(grads: Sequence[Tensor]) -> Tensor:
    """Add the values of each device first, then the partial sums."""
    from stillflow.ops.math.reductions import add_n

    by_device: dict[str, list[Tensor]] = collections.defaultdict(list)
    for grad in grads:
        by_device[grad.device].append(grad)
    sums = []
    for device in sorted(by_device):
        group = by_device[device]
        with get_default_graph().colocate_with(group[0].op, ignore_existing=True):
            sums.append(add_n(group))
    return add_n(sums)


def sum_slices(grads: list[Any]) -> Any:
    """Return the sum of sparse gradients: concatenated slices, or dense if any of them is dense."""
    from stillflow.ops.arrays.concat import concat
    from stillflow.ops.math.reductions import add_n

    if len(grads) == 1:
        return grads[0]
    if any(isinstance(grad, Tensor) for grad in grads):
        return add_n(grads)
    slices = [_flat(grad) for grad in _same_index_type(grads)]
    return IndexedSlices(
        concat([item.values for item in slices], axis=0),
        concat([item.indices for item in slices], axis=0),
        slices[0].dense_shape,
    )


def as_slices_list(values: Sequence[Any]) -> list[Any]:
    """Dense tensors as slices of all their rows, all with indices of one type."""
    from stillflow.ops.arrays.fill import range as range_
    from stillflow.ops.arrays.shape import shape_internal

    slices = []
    for value in values:
        if isinstance(value, Tensor):
            size = shape_internal(value, optimize=False)
            value = IndexedSlices(value, range_(0, size[0]), size)
        slices.append(value)
    return _same_index_type(slices)


def _same_index_type(grads: list[Any]) -> list[Any]:
    from stillflow.ops.math.cast import cast

    kinds = {grad.indices.dtype for grad in grads}
    if len(kinds) == 1:
        return grads
    return [
        IndexedSlices(grad.values, cast(grad.indices, dtypes.int64), grad.dense_shape)
        if grad.indices.dtype == dtypes.int32
        else grad
        for grad in grads
    ]


def _flat(grad: Any) -> Any:
    """Slices of slices as plain slices."""
    if isinstance(grad.values, Tensor):
        return grad
    from stillflow.ops.arrays.gather import gather

    inner = _flat(grad.values)
    return IndexedSlices(inner.values, gather(grad.indices, inner.indices), inner.dense_shape)


def as_indexed_slices(x: Any, optimize: bool = True) -> IndexedSlices:
    """Return a tensor as slices that hold all of its rows; slices as they are."""
    if isinstance(x, IndexedSlices):
        return x
    if not isinstance(x, Tensor):
        raise TypeError(f"Not a Tensor or IndexedSlices: {type(x)}")
    from stillflow.ops.arrays.sequences import range as range_
    from stillflow.ops.arrays.shape import shape_internal

    shape = shape_internal(x, optimize=optimize)
    return IndexedSlices(x, range_(0, shape[0]), shape)


def as_indexed_slices_list(inputs: Any, optimize: bool = True) -> list[IndexedSlices]:
    """Each of `inputs` as slices; indices become int64 unless all of them are int32."""
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Expected a list or tuple, not a {type(inputs)}")
    from stillflow.ops.math.cast import cast

    outputs = [as_indexed_slices(item, optimize=optimize) for item in inputs]
    short = [item for item in outputs if item.indices.dtype == dtypes.int32]
    if not short or len(short) == len(outputs):
        return outputs
    return [
        IndexedSlices(item.values, cast(item.indices, dtypes.int64), item.dense_shape)
        if item.indices.dtype == dtypes.int32
        else item
        for item in outputs
    ]
