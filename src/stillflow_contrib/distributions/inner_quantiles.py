"""Quantiles between which points of quadratures lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf


def inner_quantiles(
    distribution: Any, quadrature_size: int, quantile: Callable[[Any], Any]
) -> tf.Tensor:
    """Quantiles at even steps, without those of 0 and 1, which are no points.

    Args:
      distribution: whose batch shape counts.
      quadrature_size: how many points lie between them.
      quantile: gives the quantiles of probabilities [quadrature_size + 1, 1, ...].

    Returns:
      The quantiles, [..., quadrature_size + 1].
    """
    ndims = distribution.batch_shape.ndims
    if ndims is None:
        ndims = tf.shape(distribution.batch_shape_tensor())[0]
    zero = tf.zeros([], dtype=distribution.dtype)
    edges = tf.linspace(zero, 1.0, quadrature_size + 3)[1:-1]
    ones = tf.ones([ndims], dtype=tf.int32)
    edges = tf.reshape(edges, shape=tf.concat([[-1], ones], axis=0))
    quantiles = quantile(edges)
    last = tf.concat([tf.range(1, 1 + ndims), [0]], axis=0)
    return tf.transpose(quantiles, last)
