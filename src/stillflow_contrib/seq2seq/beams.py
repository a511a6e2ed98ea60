"""Tensors with a dimension of beams: tiling, gathering, reordering."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape
from stillflow.platform import tf_logging
from stillflow_contrib.ops.gather_tree import gather_tree

_DISABLE = (
    "Consider setting reorder_tensor_arrays to False to disable TensorArray reordering during the "
    "beam search."
)


@export("contrib.seq2seq.tile_batch")
def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Tensor | tuple[Tensor, Tensor]:
    """Repeats every row, so that there is one for each beam.

    Args:
      t: (nested) [batch, ...].
      multiplier: how often.
      name: of the scope.

    Returns:
      (Nested) [batch * multiplier, ...].

    Raises:
      ValueError: if a rank is unknown or 0.
    """
    with tf.name_scope(name, "tile_batch", [*nest.flatten(t), multiplier]):
        return nest.map_structure(lambda part: _tile(part, multiplier), t)


def _tile(t: Any, multiplier: int) -> Tensor:
    t = tf.convert_to_tensor(t, name="t")
    shape = tf.shape(t)
    if t.shape.ndims is None or t.shape.ndims < 1:
        raise ValueError("t must have statically known rank")
    tiling = [1] * (t.shape.ndims + 1)
    tiling[1] = multiplier
    rows = t.shape.dims[0].value
    tiled = tf.tile(tf.expand_dims(t, 1), tiling)
    tiled = tf.reshape(tiled, tf.concat(([shape[0] * multiplier], shape[1:]), 0))
    static = TensorShape([None if rows is None else rows * multiplier])
    tiled.set_shape(static.concatenate(t.shape[1:]))
    return tiled


def check_rank_known(t: Any) -> None:
    """Raise an error for tensors of unknown rank.

    Raises:
      ValueError: for such a tensor.
    """
    if t.shape.ndims is None:
        raise ValueError(f"Expected tensor ({t}) to have known rank, but ndims == None.")


def gather_beams(
    indices: Any, values: Any, batch_size: Any, range_size: Any, shape: Any, name: Any = None
) -> Tensor:
    """Pick entries of every row.

    Args:
      indices: [batch, n], within a row.
      values: [batch, range_size, ...].
      batch_size: how many rows there are.
      range_size: how many entries a row has.
      shape: of the values, with the rows and entries in one dimension.
      name: of the scope.
    """
    with tf.name_scope(name, "tensor_gather_helper"):
        start = tf.expand_dims(tf.range(batch_size) * range_size, 1)
        flat = tf.reshape(indices + start, [-1])
        picked = tf.gather(tf.reshape(values, shape), flat)
        final = tf.shape(values)[: 1 + len(shape)]
        static = TensorShape([static_value(batch_size)])
        picked = tf.reshape(picked, final, name="output")
        picked.set_shape(static.concatenate(values.shape[1 : 1 + len(shape)]))
        return picked


def maybe_gather_beams(
    indices: Any, values: Any, batch_size: Any, range_size: Any, shape: Any
) -> Any:
    """`gather_beams`, but arrays, scalars and vectors as they are."""
    if isinstance(values, tf.TensorArray):
        return values
    check_rank_known(values)
    if values.shape.ndims < len(shape):
        return values
    return gather_beams(indices, values, batch_size, range_size, shape)


def gather_tree_from_array(t: Any, parent_ids: Any, sequence_length: Any) -> Any:
    """Put the entries of beams into the order of the final beams.

    Args:
      t: [time, batch * beams, ...] or [time, batch, beams, ...].
      parent_ids: int32 [time, batch, beams].
      sequence_length: [batch, beams].
    """
    sizes = [dim.value for dim in parent_ids.shape.dims]
    time, batch, width = (size or tf.shape(parent_ids)[axis] for axis, size in enumerate(sizes))

    def numbered(count: Any, *repeats: Any) -> Any:
        column = tf.reshape(tf.range(count), [-1, 1, 1])
        return tf.tile(column, [1, *repeats])

    own = tf.expand_dims(tf.expand_dims(tf.range(width), 0), 0)
    own = tf.tile(own, [time, batch, 1])
    longest = tf.cast(tf.reduce_max(sequence_length, axis=1), tf.int32)
    beams = gather_tree(own, parent_ids, longest, end_token=width + 1)
    is_within = tf.sequence_mask(sequence_length, maxlen=time)
    beams = tf.where(tf.transpose(is_within, perm=[2, 0, 1]), x=beams, y=own)
    times = numbered(time, batch, width)
    rows = tf.transpose(numbered(batch, time, width), perm=[1, 0, 2])
    places = tf.stack([times, rows, beams], -1)
    shape = tf.shape(t)
    return tf.reshape(tf.gather_nd(tf.reshape(t, [time, batch, width, -1]), places), shape)


def has_beams(shape: Any, batch_size: Any, width: int) -> bool:
    """Return True if an array may have elements per beam; log it if not."""
    if batch_size is None or shape.dims[0].value is None:
        return True
    second = shape.dims[1].value if shape.ndims >= 2 else None
    joined = shape[0] == batch_size * width
    apart = second is None or (shape[0] == batch_size and shape[1] == width)
    if joined and apart:
        return True
    tf_logging.warn(
        f"TensorArray reordering expects elements to be reshapable to "
        f"{TensorShape([batch_size, width, None])} which is incompatible with the current shape "
        f"{shape}. {_DISABLE}"
    )
    return False


def assert_beams(t: Any, batch_size: Any, width: int) -> Any:
    """Return an operation that checks that elements [time, ...] of an array are those of beams."""
    message = (
        "TensorArray reordering expects elements to be reshapable to [batch_size, beam_size, -1] "
        f"which is incompatible with the dynamic shape of {t.name} elements. {_DISABLE}"
    )
    shape = tf.shape(t)
    condition = tf.equal(shape[1], batch_size * width)
    if t.shape.ndims != 2:
        apart = tf.logical_and(tf.equal(shape[1], batch_size), tf.equal(shape[2], width))
        condition = tf.logical_or(condition, apart)
    return tf.Assert(condition, [message])
