"""Roots of symmetric matrices by iterations of products, for devices that have no SVD."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor


def matrix_square_root(
    mat_a: Any, mat_a_size: Any, iter_count: int = 100, ridge_epsilon: float = 1e-4
) -> Tensor:
    """Return the square root of a matrix, by the stable iteration of Higham (1997).

    Args:
      mat_a: (n, n), symmetric and positive semidefinite.
      mat_a_size: n.
      iter_count: of iterations at most; they end as soon as the error grows.
      ridge_epsilon: added to the diagonal.

    Returns:
      (n, n), of the dtype of `mat_a`.
    """
    identity = tf.eye(tf.cast(mat_a_size, tf.int32))
    mat_a = mat_a + ridge_epsilon * identity
    norm = tf.sqrt(tf.reduce_sum(mat_a * mat_a))

    def error(scaled_root: Any) -> Tensor:
        root = scaled_root * tf.sqrt(norm)
        difference = mat_a - tf.matmul(root, root)
        return tf.sqrt(tf.reduce_sum(difference * difference)) / norm

    def is_closer(*iterates: Any) -> Tensor:
        i, *_, err, old_err = iterates
        return tf.logical_and(i < iter_count, err < old_err)

    def improve(i: Any, y: Any, _: Any, z: Any, __: Any, err: Any, ___: Any) -> tuple[Any, ...]:
        factor = 0.5 * (3.0 * identity - tf.matmul(z, y))
        new_y, new_z = tf.matmul(y, factor), tf.matmul(factor, z)
        errors = error(new_y), err
        return i + 1, new_y, y, new_z, z, *errors

    y = mat_a / norm
    # Of the last two iterates the one before: the last one is where the error grew.
    found = tf.while_loop(is_closer, improve, [0, y, y, identity, identity, norm, norm + 1.0])
    return found[2] * tf.sqrt(norm)


def _matrix_power(matrix: Tensor, power: Any) -> Tensor:
    """Return a matrix to a power that is a positive whole number, by squares."""
    assert power == int(power)
    assert power > 0
    result = None
    while power > 0:
        if power % 2 == 1:
            result = matrix if result is None else tf.matmul(matrix, result)
        power //= 2
        matrix = tf.matmul(matrix, matrix)
    assert result is not None
    return result


def matrix_inverse_pth_root(
    mat_g: Any,
    mat_g_size: Any,
    alpha: float,
    iter_count: int = 100,
    epsilon: float = 1e-6,
    ridge_epsilon: float = 1e-6,
) -> Tensor:
    """Return a matrix to the power `alpha`, by the Schur-Newton iteration of Guo and Higham (2006).

    Args:
      mat_g: (n, n), symmetric and positive semidefinite.
      mat_g_size: n.
      alpha: -1 / p, for a positive whole number p.
      iter_count: of iterations at most.
      epsilon: how near iterations come before they end.
      ridge_epsilon: added to the diagonal.

    Returns:
      (n, n), of the dtype of `mat_g`.
    """
    identity = tf.eye(tf.cast(mat_g_size, tf.int32))
    if mat_g_size == 1:
        return tf.pow(mat_g + ridge_epsilon, alpha)

    def is_far(i: Any, mat_m: Any, _: Any) -> Tensor:
        return tf.logical_and(i < iter_count, tf.reduce_max(tf.abs(mat_m - identity)) > epsilon)

    def improve(i: Any, mat_m: Any, mat_x: Any) -> tuple[Any, ...]:
        factor = (1 - alpha) * identity + alpha * mat_m
        count = i + 1
        power = _matrix_power(factor, -1.0 / alpha)
        return count, tf.matmul(power, mat_m), tf.matmul(mat_x, factor)

    damped = mat_g + ridge_epsilon * identity
    # A guess that suits matrices whose singular values differ by more than 2 to the power p.
    scale = (1 - 1 / alpha) / (2 * tf.norm(damped))
    first = [0, damped * scale, identity * tf.pow(scale, -alpha)]
    return tf.while_loop(is_far, improve, first)[2]
