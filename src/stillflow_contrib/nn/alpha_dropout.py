"""Dropout that keeps the mean and the variance of self-normalizing networks (arXiv:1706.02515)."""

from __future__ import annotations

import numbers
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor

# The limit of `tf.nn.selu` for very negative numbers.
_LEAST = -1.7580993408473766


@export("contrib.nn.alpha_dropout")
def alpha_dropout(
    x: Any,
    keep_prob: Any,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Set random elements to the least value of `tf.nn.selu`, then shifts and scales all.

    Args:
      x: floating-point numbers.
      keep_prob: the share of elements that is kept, in (0, 1].
      noise_shape: of the random decisions, broadcast to `x`; that of `x` by default.
      seed: of the decisions.
      name: of the operations.

    Returns:
      A tensor like `x`.

    Raises:
      ValueError: if `keep_prob` is out of range.
    """
    with tf.name_scope(name, "alpha_dropout", [x]):
        x = tf.convert_to_tensor(x, name="x")
        if isinstance(keep_prob, numbers.Real) and not 0 < float(keep_prob) <= 1.0:
            raise ValueError(
                "keep_prob must be a scalar tensor or a float in the range (0, 1], "
                f"got {keep_prob:g}"
            )
        keep_prob = tf.convert_to_tensor(keep_prob, dtype=x.dtype, name="keep_prob")
        keep_prob.shape.assert_has_rank(0)
        if tf.contrib.util.constant_value(keep_prob) == 1:
            return x
        noise_shape = tf.shape(x) if noise_shape is None else noise_shape
        random = tf.random_uniform(noise_shape, seed=seed, dtype=x.dtype)
        kept: Any = tf.cast(tf.greater_equal(random, 1 - keep_prob), x.dtype)
        dropped = x * kept + _LEAST * (1 - kept)
        scale = (keep_prob + keep_prob * (1 - keep_prob) * _LEAST**2) ** -0.5
        shift = -scale * _LEAST * (1 - keep_prob)
        return scale * dropped + shift
