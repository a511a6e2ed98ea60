"""Polyharmonic splines: smooth functions through given values at scattered points."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value

_EPSILON = 1e-10  # keeps roots and logarithms differentiable at 0


def _distances_between(x: Any, y: Any) -> Tensor:
    """Return the squared distances `[batch, points of x, points of y]`."""
    x_squared = tf.reduce_sum(tf.square(x), 2)
    y_squared = tf.reduce_sum(tf.square(y), 2)
    x_squared, y_squared = tf.expand_dims(x_squared, 2), tf.expand_dims(y_squared, 1)
    products = tf.matmul(x, y, adjoint_b=True)
    return x_squared - 2 * products + y_squared


def _distances_among(x: Any) -> Tensor:
    """Return the squared distances `[batch, points, points]`."""
    products = tf.matmul(x, x, adjoint_b=True)
    squared = tf.expand_dims(tf.matrix_diag_part(products), 2)
    return squared - 2 * products + tf.transpose(squared, [0, 2, 1])


def _phi(squared: Any, order: int) -> Tensor:
    """Return the radial basis function of squared distances."""
    with tf.name_scope("phi"):
        if order == 1:
            return tf.sqrt(tf.maximum(squared, _EPSILON))
        if order == 2:
            return 0.5 * squared * tf.log(tf.maximum(squared, _EPSILON))
        if order == 4:
            return 0.5 * tf.square(squared) * tf.log(tf.maximum(squared, _EPSILON))
        squared = tf.maximum(squared, _EPSILON)
        if order % 2 == 0:
            return 0.5 * tf.pow(squared, 0.5 * order) * tf.log(squared)
        return tf.pow(squared, 0.5 * order)


def _with_ones(points: Any, dtype: Any) -> Tensor:
    return tf.concat([points, tf.ones_like(points[..., :1], dtype)], 2)


def _solve(points: Any, values: Any, order: int, regularization: float) -> tuple[Any, Any]:
    """Return the weights of the basis functions, and those of the linear part."""
    batch, count, _ = tf.unstack(tf.shape(points), num=3)
    for tensor, dimension in ((points, "input points (d)"), (values, "output values (k)")):
        if dimension_value(tensor.shape[-1]) is None:
            raise ValueError(
                f"The dimensionality of the {dimension} must be statically-inferrable."
            )
    with tf.name_scope("construct_linear_system"):
        among = _phi(_distances_among(points), order)
        if regularization > 0:
            among += regularization * tf.expand_dims(tf.eye(count, dtype=points.dtype), 0)
        matrix = _bordered(among, _with_ones(points, points.dtype), batch)
        height, width = points.shape[-1] + 1, values.shape[-1]
        # The weights of the basis functions are orthogonal to all linear functions.
        rest = tf.zeros([batch, height, width], points.dtype)
        wanted = tf.concat([values, rest], 1)
    with tf.name_scope("solve_linear_system"):
        solution = tf.matrix_solve(matrix, wanted)
        return solution[:, :count, :], solution[:, count:, :]


def _bordered(square: Any, border: Any, batch: Any) -> Tensor:
    """Return a matrix with a border at its right, the same below it, and zeros in the corner."""
    below = tf.transpose(border, [0, 2, 1])
    left = tf.concat([square, below], 1)
    width = border.get_shape()[2]
    corner = tf.zeros([batch, width, width], square.dtype)
    return tf.concat([left, tf.concat([border, corner], 1)], 2)


@export("contrib.image.interpolate_spline")
def interpolate_spline(
    train_points: Any,
    train_values: Any,
    query_points: Any,
    order: int,
    regularization_weight: float = 0.0,
    name: str = "interpolate_spline",
) -> Tensor:
    """Return the values at points of a smooth function through given ones.

    Outside, it is extrapolated.

    Args:
      train_points: `[batch, points, dimensions]`, floating-point.
      train_values: `[batch, points, outputs]`.
      query_points: `[batch, queries, dimensions]`.
      order: of the spline; 1 and 2 are usual, 2 being the thin plate.
      regularization_weight: above 0 the function is smoother, and does not go through the values.
      name: of the scope.

    Returns:
      `[batch, queries, outputs]`.

    Raises:
      ValueError: the number of dimensions or outputs is not known.
    """
    with tf.name_scope(name):
        given = map(convert_to_tensor, (train_points, train_values, query_points))
        centers, values, queries = given
        with tf.name_scope("solve"):
            weights, linear = _solve(centers, values, order, regularization_weight)
        with tf.name_scope("predict"):
            radial = tf.matmul(_phi(_distances_between(queries, centers), order), weights)
            trend = tf.matmul(_with_ones(queries, centers.dtype), linear)
            return radial + trend
