"""Slices stacked by number: `tf.ragged.stack_dynamic_partitions`."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.top_k import argsort
from stillflow.ops.debugging.comparisons import assert_equal, assert_less
from stillflow.ops.math.cast import cast
from stillflow.ragged.conversion import convert_to_tensor_or_ragged_tensor, is_ragged
from stillflow.ragged.tensor import RaggedTensor


@export("ragged.stack_dynamic_partitions")
def stack_dynamic_partitions(
    data: Any, partitions: Any, num_partitions: Any, name: str | None = None
) -> RaggedTensor:
    """Return the slices of each partition as a row.

    Args:
      data: a dense or ragged tensor.
      partitions: for every slice the number of its partition: integers, dense or ragged, of known
        rank; its shape is a prefix of that of `data`.
      num_partitions: how many there are, a scalar.
      name: of the scope.

    Returns:
      A ragged tensor with `num_partitions` rows.

    Raises:
      ValueError: if the rank of `partitions` is not known, or does not fit.
    """
    with name_scope(name, "SegmentStack", [data, partitions, num_partitions]):
        data = convert_to_tensor_or_ragged_tensor(data, name="data")
        kind = data.row_splits.dtype if is_ragged(data) else None
        given = convert_to_tensor_or_ragged_tensor(
            partitions, name="partitions", preferred_dtype=kind
        )
        count = convert_to_tensor(
            num_partitions, name="num_partitions", preferred_dtype=given.dtype
        )
        numbers = given if kind is None else cast(given, kind)
        count, rank = cast(count, numbers.dtype), numbers.shape.ndims
        if rank is None:
            raise ValueError("partitions must have known rank.")
        count.shape.assert_has_rank(0)
        numbers.shape.assert_is_compatible_with(data.shape[:rank])
        if rank > 1:
            return _row_after_row(data, numbers, count)
        if rank == 1:
            return _sorted_rows(data, numbers, count)
        values, rowids = (stack([each]) for each in (data, numbers))
        return RaggedTensor.from_value_rowids(values, rowids, nrows=count, validate=False)


def _sorted_rows(data: Any, partitions: Any, count: Any) -> RaggedTensor:
    order = argsort(partitions, stable=True)
    numbers = gather(partitions, order)
    values = gather(data, order)
    message = "partitions must be less than num_partitions"
    with control_dependencies([assert_less(numbers[-1:], count, message=message)]):
        return RaggedTensor.from_value_rowids(values, numbers, nrows=count, validate=False)


def _row_after_row(data: Any, partitions: Any, count: Any) -> RaggedTensor:
    kind = partitions.dtype
    if not is_ragged(data):
        data = RaggedTensor.from_tensor(data, row_splits_dtype=kind, ragged_rank=1)
    if not is_ragged(partitions):
        partitions = RaggedTensor.from_tensor(
            partitions,
            row_splits_dtype=kind,
            ragged_rank=max(data.ragged_rank, partitions.shape.ndims - 1),
        )
    message = "data and partitions have incompatible ragged shapes"
    check = assert_equal(data.row_splits, partitions.row_splits, message=message)
    with control_dependencies([check]):
        return stack_dynamic_partitions(data.values, partitions.values, count)


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Any]:
    """Return slices by the number of their partition; see `tf.dynamic_partition`."""
    if not isinstance(num_partitions, int) or num_partitions < 0:
        raise TypeError("num_partitions must be a non-negative integer")
    rows = stack_dynamic_partitions(data, partitions, num_partitions, name)
    return [rows[number] for number in range(num_partitions)]
