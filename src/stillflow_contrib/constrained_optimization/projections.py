"""Projections onto the weights that constraints may have, and the weights a matrix stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor


def project_multipliers(multipliers: Any, radius: float) -> Tensor:
    """Return the nearest multipliers that are not negative and sum to `radius` at most.

    Args:
      multipliers: floats, a vector of known size.
      radius: the greatest sum.

    Raises:
      ValueError: for other types and shapes.
    """
    dimension = _dimension(multipliers, "multipliers", 1)

    def shift(values: Any, inactive: Any) -> Any:
        excess = radius - tf.reduce_sum(values)
        return tf.minimum(0.0, excess / tf.maximum(1.0, tf.reduce_sum(inactive)))

    return _euclidean_projection(multipliers, dimension, shift)


def project_stochastic_matrix(matrix: Any) -> Tensor:
    """Return the nearest matrix whose columns are not negative and sum to one.

    Args:
      matrix: floats, square, of known size.

    Raises:
      ValueError: for other types and shapes.
    """
    dimension = _dimension(matrix, "matrix", 2)

    def shift(values: Any, inactive: Any) -> Any:
        excess = 1.0 - tf.reduce_sum(values, axis=0, keepdims=True)
        return excess / tf.maximum(1.0, tf.reduce_sum(inactive, axis=0, keepdims=True))

    return _euclidean_projection(matrix, dimension, shift)


def project_log_stochastic_matrix(log_matrix: Any) -> Tensor:
    """Return the logarithm of `exp(log_matrix)`, whose columns are divided by their sums."""
    log_matrix = log_matrix - tf.reduce_max(log_matrix, axis=0, keepdims=True)
    return log_matrix - tf.log(tf.reduce_sum(tf.exp(log_matrix), axis=0, keepdims=True))


def _dimension(values: Any, name: str, rank: int) -> int:
    """Return the size of the first axis of a vector or a square matrix."""
    if not values.dtype.is_floating:
        raise ValueError("multipliers must have a floating-point dtype")
    shape = values.get_shape()
    if shape.ndims is None:
        raise ValueError(f"{name} must have known shape")
    if shape.ndims != rank:
        word = {1: "one", 2: "two"}[rank]
        raise ValueError(
            f"{name} must be {word} dimensional (instead is {shape.ndims}-dimensional)"
        )
    if rank == 2 and shape[0] != shape[1]:
        size = ",".join(str(each) for each in shape.as_list())
        raise ValueError(f"matrix must be square (instead has shape ({size}))")
    dimension: int | None = shape.dims[0].value
    if dimension is None:
        raise ValueError(f"{name} must have fully-known shape")
    return dimension


def _euclidean_projection(values: Any, dimension: int, shift: Callable[[Any, Any], Any]) -> Tensor:
    """Shift positive values and drop the others, until nothing more is dropped."""

    def goes_on(iteration: Any, values: Any, inactive: Any, old_inactive: Any) -> Tensor:
        not_done = iteration < dimension
        return tf.logical_and(not_done, tf.reduce_any(tf.not_equal(inactive, old_inactive)))

    def step(
        iteration: Any, values: Any, inactive: Any, old_inactive: Any
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        iteration += 1
        values = values + (shift(values, inactive) * inactive)
        positive = tf.cast(values > 0, values.dtype)
        return iteration, values * positive, positive, inactive

    iteration = tf.constant(0)
    everything = tf.ones_like(values, dtype=values.dtype)
    first = step(iteration, values, everything, everything)
    return tf.while_loop(goes_on, step, loop_vars=first, name="euclidean_projection")[1]


def maximal_eigenvector(
    matrix: Any, epsilon: float = 1e-6, maximum_iterations: int = 100
) -> Tensor:
    """Return the eigenvector of the greatest eigenvalue, by the power method.

    Args:
      matrix: floats, square.
      epsilon: the method ends when the vector moves by no more.
      maximum_iterations: how often the matrix is applied at most.

    Returns:
      A vector of length 1.

    Raises:
      ValueError: for other types, or if the limits are not positive.
    """
    if not matrix.dtype.is_floating:
        raise ValueError("multipliers must have a floating-point dtype")
    if epsilon <= 0.0:
        raise ValueError("epsilon must be strictly positive")
    if maximum_iterations <= 0:
        raise ValueError("maximum_iterations must be strictly positive")

    def goes_on(iteration: Any, vector: Any, old_vector: Any) -> Tensor:
        not_done = iteration < maximum_iterations
        return tf.logical_and(not_done, tf.norm(vector - old_vector) > epsilon)

    def step(iteration: Any, vector: Any, old_vector: Any) -> tuple[Tensor, Tensor, Tensor]:
        iteration += 1
        product = tf.matmul(matrix, tf.expand_dims(vector, 1))[:, 0]
        return iteration, product / tf.norm(product), vector

    iteration = tf.constant(0)
    vector = tf.ones_like(matrix[:, 0])
    vector /= tf.norm(vector)
    first = step(iteration, vector, vector)
    return tf.while_loop(goes_on, step, loop_vars=first, name="power_method")[1]
