"""Ragged tensors joined along a dimension: `tf.concat` and `tf.ragged.stack`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays import concat as dense
from stillflow.ops.arrays.masks import positive_axis
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.arrays.stack import stack as dense_stack
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.debugging.comparisons import assert_equal
from stillflow.ragged.conversion import (
    common_splits_dtype,
    convert_to_tensor_or_ragged_tensor,
    is_ragged,
)
from stillflow.ragged.gathering import gather
from stillflow.ragged.ranks import expand_dims
from stillflow.ragged.segments import row_splits_of
from stillflow.ragged.splits import assert_splits_match
from stillflow.ragged.tensor import RaggedTensor


def concat(values: Any, axis: int, name: str | None = None) -> Any:
    """Return dense or ragged tensors one after the other along an axis; see `tf.concat`.

    ValueError if there are none, or their ranks or types of splits differ.
    """
    values = values if isinstance(values, (list, tuple)) else [values]
    with name_scope(name, "RaggedConcat", values):
        return _joined(values, axis, stacks=False)


@export("ragged.stack")
def stack(values: Any, axis: int = 0, name: str | None = None) -> Tensor | RaggedTensor:
    """Tensors side by side in a dimension of their own.

    Args:
      values: dense or ragged tensors of one rank, at least 1.
      axis: where that dimension stands in the result: a Python int.
      name: of the scope.

    Returns:
      A ragged tensor; a dense one where all of `values` are and `axis` is one of the last two.

    Raises:
      ValueError: if there are none, or their ranks or types of splits differ.
    """
    values = values if isinstance(values, (list, tuple)) else [values]
    with name_scope(name, "RaggedConcat", values):
        return _joined(values, axis, stacks=True)


def _joined(given: Sequence[Any], axis: int, stacks: bool) -> Tensor | RaggedTensor:
    if not given:
        raise ValueError("rt_inputs may not be empty.")
    inputs = [convert_to_tensor_or_ragged_tensor(item, name="rt_input") for item in given]
    kind = common_splits_dtype(*inputs)
    if len(inputs) == 1:
        return expand_dims(inputs[0], axis=axis) if stacks else inputs[0]
    rank = None
    for item in inputs:
        if rank is None:
            rank = item.shape.ndims
        else:
            item.shape.assert_has_rank(rank)
    result_rank = None if rank is None else rank + stacks
    axis = positive_axis(axis, result_rank)
    all_dense = not any(map(is_ragged, inputs))
    if all_dense and rank is not None and axis in (rank + stacks - 1, rank - 1):
        return dense_stack(inputs, axis) if stacks else dense.concat(inputs, axis)
    in_rows = [
        item if is_ragged(item)
        else RaggedTensor.from_tensor(item, ragged_rank=1, row_splits_dtype=kind)
        for item in inputs
    ]  # fmt: skip
    depth = max(item.ragged_rank for item in in_rows)
    in_rows = [_with_ragged_rank(item, depth, kind) for item in in_rows]
    if axis == 0:
        return _one_after_the_other(in_rows, stacks)
    if axis == 1:
        return _row_by_row(in_rows, stacks)
    splits = [[item.row_splits] for item in in_rows]
    with control_dependencies(assert_splits_match(splits)):
        values = _joined([item.values for item in in_rows], axis - 1, stacks)
        return RaggedTensor.from_row_splits(values, splits[0][0], validate=False)


def _with_ragged_rank(item: Any, depth: int, kind: Any) -> RaggedTensor:
    """Return a tensor with as many ragged dimensions as others have, some of them uniform."""
    if depth > 0:
        if not is_ragged(item):
            item = RaggedTensor.from_tensor(item, row_splits_dtype=kind)
        if item.ragged_rank < depth:
            item = item.with_values(_with_ragged_rank(item.values, depth - 1, kind))
    return item


def _one_after_the_other(inputs: Sequence[Any], stacks: bool) -> RaggedTensor:
    values = dense.concat([item.flat_values for item in inputs], axis=0)
    levels = zip(*(item.nested_row_splits for item in inputs))
    splits = [_continued(level) for level in levels]
    if stacks:
        counts = dense_stack([item.nrows() for item in inputs])
        splits.insert(0, row_splits_of(counts, axis=-1))
    return RaggedTensor.from_nested_row_splits(values, splits, validate=False)


def _continued(level: Sequence[Tensor]) -> Tensor:
    """Return the splits of the rows of several tensors, one after the other."""

    def pieces() -> Iterator[Tensor]:
        offset: Any = None
        for splits in level:
            yield splits if offset is None else splits[1:] + offset
            offset = splits[-1] if offset is None else offset + splits[-1]

    return dense.concat(list(pieces()), axis=0)


def _row_by_row(inputs: Sequence[Any], stacks: bool) -> RaggedTensor:
    """All rows one after the other, then in the order of their numbers."""
    count = len(inputs)
    rows = inputs[0].nrows()
    message = "Input tensors have incompatible shapes."
    checks = [assert_equal(item.nrows(), rows, message=message) for item in inputs[1:]]
    with control_dependencies(checks):
        joined = _one_after_the_other(inputs, stacks=False)
        numbers = reshape(range_(rows * count), [count, -1])
        ordered = gather(joined, reshape(transpose(numbers), [-1]))
        if stacks:
            values, splits = ordered, range_(0, rows * count + 1, count)
        else:
            splits, values = ordered.row_splits[::count], ordered.values
        for item in inputs:
            if item.shape[0] is not None:
                splits.set_shape(TensorShape(item.shape[0] + 1))
        return RaggedTensor.from_row_splits(values, splits, validate=False)
