"""All values of several batches, one behind the other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.metrics.variables import collect, metric_variable
from stillflow.ops.arrays.shape import shape_internal

# By how much the array grows at least where it has become too small.
_GROWTH = 1.5


def next_array_size(required_size: Any, growth_factor: float = _GROWTH) -> Tensor:
    """Return the least power of `growth_factor` that is at least `required_size`, int32."""
    size = tf.log(tf.cast(required_size, tf.float32))
    exponent = tf.ceil(size / tf.log(tf.cast(growth_factor, tf.float32)))
    return tf.cast(tf.ceil(growth_factor**exponent), tf.int32)


def _checked_axis(values: Any, axis: int) -> tuple[int, list[int]]:
    """Return the axis, not negative, and the sizes along the others.

    Raises:
      ValueError: if there is no such axis, or one of the sizes is not known.
    """
    if values.shape.dims is None:
        raise ValueError("`values` must have known statically known rank")
    sizes = values.shape.as_list()
    place = axis + len(sizes) if axis < 0 else axis
    if place not in range(len(sizes)):
        raise ValueError(f"axis = {place!r} not in [0, {len(sizes)!r})")
    others = sizes[:place] + sizes[place + 1 :]
    if None in others:
        raise ValueError(
            "all dimensions of `values` other than the dimension to concatenate along must have "
            "statically known size"
        )
    return place, others


def _reallocate(array: Any, size: Any, new_size: Any, others: list[int]) -> Operation:
    """Give an array `new_size` rows, and restore its old rows."""
    new_shape = tf.stack([next_array_size(new_size), *others])
    empty = tf.zeros(new_shape, dtype=array.dtype.base_dtype)
    old = array.value()
    steps: list[Callable[[], Any]] = [
        lambda: tf.assign(array, empty, validate_shape=False),
        lambda: array[:size].assign(old[:size]),
        tf.no_op,
    ]
    return functools.reduce(_after, steps, old)


def _after(done: Any, step: Callable[[], Any]) -> Any:
    """Return what `step` makes, to run after `done`."""
    with tf.control_dependencies([done]):
        return step()


def _append(array: Any, size: Any, rows: Any, row_count: Any, others: list[int]) -> Tensor:
    """Write rows behind the first `size` of the array, which grows where it has to."""
    new_size = size + row_count
    capacity: Any = shape_internal(array, optimize=False)[0]
    ready = tf.cond(
        new_size > capacity,
        lambda: _reallocate(array, size, new_size, others),
        tf.no_op,
    )
    written = _after(ready, lambda: array[size:new_size].assign(rows))
    return _after(written, lambda: size.assign(new_size))


@export("contrib.metrics.streaming_concat", "contrib.slim.metrics.streaming_concat")
def streaming_concat(
    values: Any,
    axis: int = 0,
    max_size: int | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Join the values of all batches along an axis.

    Args:
      values: of known rank, and of known sizes along all axes but one.
      axis: that one.
      max_size: how many values along the axis are kept at most; all by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The values so far, and the operation that appends the batch's.

    Raises:
      ValueError: if there is no such axis, or another size is not known.
    """
    with tf.variable_scope(name, "streaming_concat", (values,)):
        axis, others = _checked_axis(values, axis)
        capacity = 0 if max_size is None else max_size
        array = metric_variable(
            [capacity, *others], values.dtype, validate_shape=False, name="array"
        )
        size = metric_variable([], tf.int32, name="size")
        # The array's rows lie along its first axis, wherever the axis is in the values.
        rest = [n for n in range(len(others) + 1) if n != axis]
        filled = array[:size]
        filled.set_shape([None, *others])
        back = [0 if n == axis else n + 1 if n < axis else n for n in range(len(others) + 1)]
        value = tf.transpose(filled, back, name="concat")
        in_batch: Any = tf.shape(values)[axis]
        if max_size is not None:
            in_batch = tf.minimum(in_batch, max_size - size)
        rows = tf.transpose(values, [axis, *rest])[:in_batch]
        update = _append(array, size, rows, in_batch, others)
        return collect(metrics_collections, value), collect(updates_collections, update)
