"""Samples of distributions, as the helpers draw them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor


def _call_sampler(sample_n: Callable[[Any], Any], sample_shape: Any) -> Tensor:
    """Return samples of a shape, by a function that draws a number of them."""
    with tf.name_scope(None, "call_sampler", values=[sample_shape]):
        sample_shape = tf.convert_to_tensor(sample_shape, dtype=tf.int32, name="sample_shape")
        pad = tf.cast(tf.equal(tf.rank(sample_shape), 0), tf.int32)
        padded = tf.pad(tf.shape(sample_shape), paddings=[[pad, 0]], constant_values=1)
        sample_shape = tf.reshape(sample_shape, padded)
        samples = sample_n(tf.reduce_prod(sample_shape))
        event_shape = tf.shape(samples)[1:]
        return tf.reshape(samples, tf.concat([sample_shape, event_shape], 0))


def bernoulli_sample(
    probs: Any = None,
    logits: Any = None,
    dtype: Any = tf.int32,
    sample_shape: Any = (),
    seed: int | None = None,
) -> Tensor:
    """1 with the probabilities given (or their logits), else 0: [*sample_shape, *their shape]."""
    if probs is None:
        probs = tf.sigmoid(logits, name="probs")
    else:
        probs = tf.convert_to_tensor(probs, name="probs")
    shape = tf.shape(probs)

    def sample_n(n: Any) -> Tensor:
        uniform = tf.random_uniform(tf.concat([[n], shape], 0), seed=seed, dtype=probs.dtype)
        return tf.cast(tf.less(uniform, probs), dtype)

    return _call_sampler(sample_n, sample_shape)


def categorical_sample(logits: Any, dtype: Any = tf.int32, seed: int | None = None) -> Tensor:
    """Classes with the probabilities that unnormalized logarithms [..., classes] say."""
    logits = tf.convert_to_tensor(logits, name="logits")
    classes, outer = (tf.shape(logits)[part] for part in (-1, slice(None, -1)))

    def sample_n(n: Any) -> Tensor:
        rows = logits if logits.shape.ndims == 2 else tf.reshape(logits, [-1, classes])
        dtype_of_draws = tf.int32 if logits.dtype.size <= 4 else tf.int64
        draws = tf.transpose(tf.multinomial(rows, n, seed=seed, output_dtype=dtype_of_draws))
        return tf.cast(tf.reshape(draws, tf.concat([[n], outer], 0)), dtype)

    return _call_sampler(sample_n, ())
