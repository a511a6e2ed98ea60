"""Images warped by a vector per pixel."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor

_LARGEST = (2**31 - 1) / 8  # of pixels, which are numbered by 32-bit integers
_TOO_LARGE = """The image size or batch size is sufficiently large
                       that the linearized addresses used by array_ops.gather
                       may exceed the int32 limit."""


def _sizes(grid: Any) -> list[Any]:
    return [tf.shape(grid)[dimension] for dimension in range(4)]


def _along(queries: Any, size: Any, grid_type: Any) -> tuple[Any, Any, Any]:
    """Return the pixels before and after places along one dimension, and the latter's weight."""
    dtype = queries.dtype
    last = tf.cast(size - 2, dtype)
    first = tf.constant(0.0, dtype=dtype)
    floor = tf.minimum(tf.maximum(first, tf.floor(queries)), last)
    before = tf.cast(floor, tf.int32)
    after = before + 1
    weight = tf.cast(queries - floor, grid_type)
    none = tf.constant(0.0, dtype=grid_type)
    whole = tf.constant(1.0, dtype=grid_type)
    weight = tf.minimum(tf.maximum(none, weight), whole)
    return before, after, tf.expand_dims(weight, 2)


class _Pixels:
    """The pixels of a grid in one row, to be gathered from."""

    def __init__(self, grid: Any, sizes: list[Any], queries: Any) -> None:
        batch, height, width, channels = sizes
        count = tf.cast(batch * height * width, dtype=tf.float32)
        small = tf.assert_less_equal(count, _LARGEST, message=_TOO_LARGE)
        with tf.control_dependencies([small]):
            self._flat = tf.reshape(grid, [batch * height * width, channels])
            self._offsets = tf.reshape(tf.range(batch) * height * width, [batch, 1])
        self._width, self._shape = width, [batch, queries, channels]

    def at(self, rows: Any, columns: Any, name: str) -> Tensor:
        with tf.name_scope(f"gather-{name}"):
            places = self._offsets + rows * self._width + columns
            return tf.reshape(tf.gather(self._flat, places), self._shape)


def interpolate_bilinear(
    grid: Any, query_points: Any, name: str = "interpolate_bilinear", indexing: str = "ij"
) -> Tensor:
    """Return the values of a grid between its points, interpolated linearly.

    Args:
      grid: `[batch, height, width, channels]`.
      query_points: `[batch, count, 2]`; places outside the grid count as its border.
      name: of the scope.
      indexing: "ij" where places are row and column, "xy" where they are column and row.

    Returns:
      `[batch, count, channels]`.

    Raises:
      ValueError: another indexing, or a grid of another rank.
    """
    if indexing not in ("ij", "xy"):
        raise ValueError("Indexing mode must be 'ij' or 'xy'")
    with tf.name_scope(name):
        grid, query_points = convert_to_tensor(grid), convert_to_tensor(query_points)
        if len(grid.get_shape().as_list()) != 4:
            raise ValueError(f"Grid must be 4 dimensional. Received size: {grid.get_shape()}")
        sizes = _sizes(grid)
        _, height, width, _ = sizes
        three = tf.assert_equal(
            len(query_points.get_shape()), 3, message="Query points must be 3 dimensional."
        )
        pairs = tf.assert_equal(
            tf.shape(query_points)[2], 2, message="Query points must be size 2 in dim 2."
        )
        with tf.control_dependencies([three, pairs]):
            count = tf.shape(query_points)[1]
        high = tf.assert_greater_equal(height, 2, message="Grid height must be at least 2.")
        wide = tf.assert_greater_equal(width, 2, message="Grid width must be at least 2.")
        with tf.control_dependencies([high, wide]):
            places = tf.unstack(query_points, axis=2)
        parts = []
        for dimension in (0, 1) if indexing == "ij" else (1, 0):
            with tf.name_scope(f"dim-{dimension}"):
                parts.append(_along(places[dimension], sizes[dimension + 1], grid.dtype))
        (top, bottom, down), (left, right, across) = parts
        pixels = _Pixels(grid, sizes, count)
        top_left, top_right = pixels.at(top, left, "top_left"), pixels.at(top, right, "top_right")
        bottom_left = pixels.at(bottom, left, "bottom_left")
        bottom_right = pixels.at(bottom, right, "bottom_right")
        with tf.name_scope("interpolate"):
            above = across * (top_right - top_left) + top_left
            below = across * (bottom_right - bottom_left) + bottom_left
            return down * (below - above) + above


@export("contrib.image.dense_image_warp")
def dense_image_warp(image: Any, flow: Any, name: str = "dense_image_warp") -> Tensor:
    """Return the image whose pixel at (y, x) is the given one's at (y, x) - flow[y, x].

    Args:
      image: `[batch, height, width, channels]`, floating-point, at least two pixels high and wide.
      flow: `[batch, height, width, 2]`, floating-point. Places between pixels are interpolated,
        those outside are taken from the border.
      name: of the scope.
    """
    with tf.name_scope(name):
        batch, height, width, channels = _sizes(image)
        x, y = tf.meshgrid(tf.range(width), tf.range(height))
        grid = tf.cast(tf.stack([y, x], axis=2), flow.dtype)
        places = tf.expand_dims(grid, axis=0) - flow
        places = tf.reshape(places, [batch, height * width, 2])
        found = interpolate_bilinear(image, places)
        return tf.reshape(found, [batch, height, width, channels])
