"""Components of images, numbered one after the other."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.ops.image.components import image_connected_components_op


def _numbers_of(ids: Any) -> Tensor:
    """Return consecutive numbers of distinct ids: 1, 2, ... in order, and 0 stays 0."""
    zero = tf.where_v2(tf.equal(ids, 0))[:, 0]
    numbers = tf.range(tf.shape(ids)[0] - tf.shape(zero)[0]) + 1

    def with_zero() -> Tensor:
        place = tf.cast(zero[0], tf.int32)
        before, after = numbers[:place], numbers[place:]
        return tf.concat([before, [0], after], axis=0)

    return tf.cond(tf.equal(tf.shape(zero)[0], 0), lambda: numbers, with_zero)


@export("contrib.image.connected_components")
def connected_components(images: Any) -> Tensor:
    """Numbers the components: pixels of the same value that is not 0, joined along their sides.

    Args:
      images: `[height, width]` or `[count, height, width]`.

    Returns:
      For each pixel 0, or the number of its component. Components are numbered from 1 on, over
      all images, in the order in which their first pixels are read.

    Raises:
      TypeError: the rank is another one.
    """
    with tf.name_scope("connected_components"):
        given = convert_to_tensor(images, name="images")
        rank = len(given.get_shape())
        if rank not in (2, 3):
            raise TypeError(
                f"images should have rank 2 (HW) or 3 (NHW). Static shape is {given.get_shape()}"
            )
        components = image_connected_components_op(given[None, :, :] if rank == 2 else given)
        ids, places = tf.unique(tf.reshape(components, [-1]))
        numbers = tf.gather(_numbers_of(ids), places)
        components = tf.reshape(numbers, tf.shape(components))
        return components[0, :, :] if rank == 2 else components
