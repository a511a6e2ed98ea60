"""Jacobians by tape: the gradient of one element of the target after the other, in a loop."""

from __future__ import annotations

from typing import Any

from stillflow import nest
from stillflow.functional.parallel_for import for_loop
from stillflow.graph.api import control_dependencies
from stillflow.graph.tensor_shape import Dimension
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.shape import reshape, shape, size
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.debugging.comparisons import assert_equal


def jacobian(
    tape: Any, target: Any, sources: Any, unconnected: Any, parallel_iterations: int | None
) -> Any:
    """`GradientTape.jacobian`."""
    flat = nest.flatten(sources)
    target_shape = shape(target)
    tape._push_tape()
    target = reshape(target, [-1])
    tape._pop_tape()

    def row(i: Any) -> Any:
        tape._push_tape()
        y = gather(target, i)
        tape._pop_tape()
        return tape.gradient(y, flat, unconnected_gradients=unconnected)

    length = target.shape.num_elements()
    count = shape(target)[0] if length is None else length
    rows = for_loop(row, [target.dtype] * len(flat), count, parallel_iterations)
    result = [
        None if item is None else reshape(item, concat([target_shape, shape(item)[1:]], axis=0))
        for item in rows
    ]
    return nest.pack_sequence_as(sources, result)


def batch_jacobian(
    tape: Any, target: Any, source: Any, unconnected: Any, parallel_iterations: int | None
) -> Any:
    """`GradientTape.batch_jacobian`; ValueError for under two dimensions or unequal batch sizes."""
    target_shape, batch_size, row_size = _sizes(target, source)
    source_shape = shape(source)
    tape._push_tape()
    with control_dependencies([assert_equal(batch_size, source_shape[0])]):
        target = reshape(target, [batch_size, row_size])
    tape._pop_tape()

    def column(i: Any) -> Any:
        tape._push_tape()
        y = gather(target, i, axis=1)
        tape._pop_tape()
        return tape.gradient(y, source, unconnected_gradients=unconnected)

    output = for_loop(column, target.dtype, row_size, parallel_iterations)
    new_shape = concat([target_shape, source_shape[1:]], axis=0)
    if output is None:
        return zeros(new_shape)
    output = transpose(reshape(output, [row_size, batch_size, -1]), [1, 0, 2])
    return reshape(output, new_shape)


def _sizes(target: Any, source: Any) -> tuple[Any, Any, Any]:
    """Return the target's shape, batch size and elements per example, as numbers where known."""
    known = target.shape
    batch = Dimension(None) if known.rank is None else known.dims[0]
    if not (
        known.with_rank_at_least(2)
        and source.shape.with_rank_at_least(2)
        and batch.is_compatible_with(source.shape[0])
    ):
        raise ValueError(
            f"Need first dimension of target shape ({target.shape}) and source shape "
            f"({source.shape}) to match."
        )
    if known.is_fully_defined():
        batch_size = int(known[0])
        return known, batch_size, known.num_elements() // batch_size
    target_shape = shape(target)
    return target_shape, target_shape[0], size(target) // target_shape[0]
