"""The weights of the features of a batch, of variables that may be in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.variables.partitioned import PartitionedVariable


def is_partitioned(variable: Any) -> bool:
    """Return True if a variable is in parts."""
    return isinstance(variable, (list, PartitionedVariable))


class PartitionedWeights:
    """Weights that are gathered, and added to afterwards.

    Args:
      slot: a variable, or a list of its parts, the first of which are longer by one if need be.
      features: int64 [n], the numbers of weights.
      where: chooses elements by a condition.

    Attributes:
      features: as given.
      gathered: float32 [n], their weights.
    """

    def __init__(self, slot: Any, features: Any, where: Callable[..., Any]) -> None:
        self._slot, self.features, self._where = slot, features, where
        if is_partitioned(slot):
            self.gathered = self._gather_parts()
            return
        tensor = convert_to_tensor(slot)
        with tf.device(tensor.device):
            self.gathered = tf.gather(tensor, features)

    def _gather_parts(self) -> Tensor:
        parts = len(self._slot)
        flat = tf.reshape(self.features, [-1])
        total = self._total(flat.dtype)
        length, extras = total // parts, total % parts
        owners = tf.maximum(flat // (length + 1), (flat - extras) // length)
        places = self._where(owners < extras, flat % (length + 1), (flat - extras) % length)
        self._owners = tf.cast(owners, tf.int32)
        self._places = tf.dynamic_partition(places, self._owners, parts)
        gathered = []
        for part, place in zip(self._slot, self._places):
            with tf.colocate_with(part):
                gathered.append(tf.gather(part, place))
        order = tf.dynamic_partition(tf.range(tf.shape(places)[0]), self._owners, parts)
        return tf.dynamic_stitch(order, gathered)

    def _total(self, dtype: Any) -> Tensor:
        """Return the number of weights."""
        sizes = [part.get_shape()[0].value for part in self._slot]
        if all(sizes):
            return tf.constant(sum(sizes), dtype)
        found = []
        for part, size in zip(self._slot, sizes):
            if size is not None:
                found.append(size)
                continue
            with tf.colocate_with(part):
                found.append(tf.shape(part)[0])
        return tf.reduce_sum(tf.cast(tf.stack(found), dtype))

    def add(self, update: Any) -> list[Any]:
        """Operations that add to the weights.

        Args:
          update: float32 [n].
        """
        if not is_partitioned(self._slot):
            return [tf.scatter_add(self._slot, self.features, update)]
        updates = tf.dynamic_partition(update, self._owners, len(self._slot))
        added = []
        for part, place, each in zip(self._slot, self._places, updates):
            with tf.colocate_with(part):
                added.append(tf.scatter_add(part, place, each))
        return added
