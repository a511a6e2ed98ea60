"""Memory of attention, without the padding of its sequences."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.operation import Tensor


def prepare_memory(memory: Any, lengths: Any, check_inner_dims_defined: bool) -> Tensor:
    """Return the memory as tensors, zeros behind the ends of its sequences.

    Args:
      memory: (nested) [batch, time, ...].
      lengths: of the sequences, or None.
      check_inner_dims_defined: whether the sizes behind the first two must be known.

    Raises:
      ValueError: if they are not.
    """
    memory = nest.map_structure(lambda m: tf.convert_to_tensor(m, name="memory"), memory)
    if lengths is not None:
        lengths = tf.convert_to_tensor(lengths, name="memory_sequence_length")
    flat = nest.flatten(memory)
    for part in flat if check_inner_dims_defined else ():
        if not part.get_shape()[2:].is_fully_defined():
            raise ValueError(
                f"Expected memory {part.name} to have fully defined inner dims, but saw shape: "
                f"{part.get_shape()}"
            )
    if lengths is None:
        return memory
    mask = tf.sequence_mask(lengths, maxlen=tf.shape(flat[0])[1], dtype=flat[0].dtype)

    def masked(part: Any) -> Tensor:
        rank = part.get_shape().ndims
        ones = tf.ones((tf.rank(part) if rank is None else rank) - 2, dtype=tf.int32)
        return part * tf.reshape(mask, tf.concat((tf.shape(mask), ones), 0))

    return nest.map_structure(masked, memory)


def mask_score(score: Any, lengths: Any, mask_value: Any) -> Any:
    """Return the scores [batch, time], `mask_value` behind the ends of the sequences."""
    if lengths is None:
        return score
    message = "All values in memory_sequence_length must be greater than zero."
    with tf.control_dependencies([tf.assert_positive(lengths, message=message)]):
        mask = tf.sequence_mask(lengths, maxlen=tf.shape(score)[1])
    return tf.where(mask, score, mask_value * tf.ones_like(score))
