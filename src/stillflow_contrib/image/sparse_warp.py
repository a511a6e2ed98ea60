"""Images warped so that given points come to lie at given places."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow_contrib.image.dense_warp import dense_image_warp
from stillflow_contrib.image.splines import interpolate_spline


def _lattice(height: int, width: int, rows: int, columns: int) -> np.ndarray:
    """So many rows and columns of places, y and x, from corner to corner of an image."""
    y, x = np.linspace(0, height - 1, rows), np.linspace(0, width - 1, columns)
    return np.stack(np.meshgrid(y, x, indexing="ij"), -1)


def _for_each(batch: Any, places: np.ndarray, dtype: Any) -> Tensor:
    return tf.constant(np.tile(places[None], [batch, 1, 1]), dtype=dtype)


def get_grid_locations(height: int, width: int) -> np.ndarray:
    """Return the place of each pixel, `[height, width, 2]`."""
    return _lattice(height, width, height, width)


def get_boundary_locations(height: int, width: int, points_per_edge: int) -> np.ndarray:
    """Return the corners of an image, and so many points along each of its edges between them."""
    lattice = _lattice(height, width, points_per_edge + 2, points_per_edge + 2)
    y, x = lattice[..., 0], lattice[..., 1]
    on_border = (x == 0) | (x == width - 1) | (y == 0) | (y == height - 1)
    return lattice[on_border]


def add_zero_flow_controls_at_boundary(
    locations: Any, flows: Any, height: int, width: int, points_per_edge: int
) -> tuple[Any, Any]:
    """Control points and their flows, and with them points of the border that stay."""
    batch = dimension_value(locations.shape[0])
    border = get_boundary_locations(height, width, points_per_edge)
    dtype = locations.dtype
    added = _for_each(batch, border, dtype)
    still = _for_each(batch, np.zeros([len(border), 2]), dtype)
    return tf.concat([locations, added], 1), tf.concat([flows, still], 1)


@export("contrib.image.sparse_image_warp")
def sparse_image_warp(
    image: Any,
    source_control_point_locations: Any,
    dest_control_point_locations: Any,
    interpolation_order: int = 2,
    regularization_weight: float = 0.0,
    num_boundary_points: int = 0,
    name: str = "sparse_image_warp",
) -> tuple[Tensor, Tensor]:
    """Warps images so that control points move from one place to another.

    Args:
      image: `[batch, height, width, channels]`, floating-point, of known size.
      source_control_point_locations: `[batch, points, 2]`, y and x.
      dest_control_point_locations: where they come to lie.
      interpolation_order: of the spline between them.
      regularization_weight: smooths the spline, which then does not meet the points.
      num_boundary_points: so many points along each edge stay where they are; 0 lets edges move.
      name: of the scope.

    Returns:
      The warped images, and the flow `[batch, height, width, 2]` that warps them.
    """
    image = convert_to_tensor(image)
    source = convert_to_tensor(source_control_point_locations)
    target = convert_to_tensor(dest_control_point_locations)
    flows = target - source
    with tf.name_scope(name):
        batch, height, width, _ = image.get_shape().as_list()
        grid = get_grid_locations(height, width).reshape(height * width, 2)
        places = _for_each(batch, grid, image.dtype)
        if num_boundary_points > 0:
            target, flows = add_zero_flow_controls_at_boundary(
                target, flows, height, width, num_boundary_points - 1
            )
        flat = interpolate_spline(target, flows, places, interpolation_order, regularization_weight)
        dense = tf.reshape(flat, [batch, height, width, 2])
        return dense_image_warp(image, dense), dense
