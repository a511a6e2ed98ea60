"""Layer normalization as the cells use it."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor


def layer_norm(inputs: Any, gain: float, shift: float, scope: str, dtype: Any) -> Tensor:
    """Normalize rows [batch, n]; make `gamma` and `beta`, of these values, in a variable scope."""
    shape = inputs.get_shape()[-1:]
    with tf.variable_scope(scope):
        for name, value in (("gamma", gain), ("beta", shift)):
            initializer = tf.constant_initializer(value)
            tf.get_variable(name, shape=shape, initializer=initializer, dtype=dtype)
    with tf.variable_scope(scope, reuse=True):
        own = inputs.dtype.base_dtype
        beta = tf.get_variable("beta", shape=shape, dtype=own)
        gamma = tf.get_variable("gamma", shape=shape, dtype=own)
        mean, variance = tf.nn.moments(inputs, [1], keep_dims=True)
        outputs = tf.nn.batch_normalization(
            inputs, mean, variance, offset=beta, scale=gamma,
            variance_epsilon=1e-3 if own == tf.float16 else 1e-12,
        )  # fmt: skip
        outputs.set_shape(inputs.shape)
        return outputs
