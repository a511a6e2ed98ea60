"""Logarithms of densities, and priors of covariances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.operation import Tensor

_LOG_TWO_PI = np.log(2.0 * np.pi)


def normal_log_prob(loc: Any, scale: Any, x: Any) -> Tensor:
    """TensorFlow's score of `x` under a normal distribution; it halves the scale's logarithm."""
    z = (x - loc) / scale
    return -0.5 * (tf.square(z) + _LOG_TWO_PI + tf.log(scale))


def cauchy_log_prob(loc: Any, scale: Any, x: Any) -> Tensor:
    """Return the logarithm of the density of `x` under a Cauchy distribution."""
    z = (x - loc) / scale
    return -np.log(np.pi) - tf.log(scale) - tf.log1p(tf.square(z))


def mvn_tril_log_prob(loc: Any, scale_tril: Any, x: Any) -> Tensor:
    """Return the logarithm of the density under normal distributions of vectors.

    Args:
      loc: [..., d], means.
      scale_tril: [..., d, d], lower triangular Cholesky factors of the covariances.
      x: [..., d].

    Returns:
      [...].
    """
    standardized = tf.matrix_triangular_solve(scale_tril, (x - loc)[..., tf.newaxis])[..., 0]
    # The determinant of a covariance is the square of its factor's.
    volume = 2.0 * tf.reduce_sum(tf.log(tf.matrix_diag_part(scale_tril)), axis=-1)
    normalization = tf.cast(tf.shape(scale_tril)[-1], volume.dtype)
    quadratic = tf.reduce_sum(tf.square(standardized), axis=-1)
    return -0.5 * (quadratic + normalization * _LOG_TWO_PI + volume)


def log_add_exp(first: Any, second: Any) -> Tensor:
    """Return log(exp(first) + exp(second)), computed from the larger one and the difference."""
    smaller, larger = tf.minimum(first, second), tf.maximum(first, second)
    return larger + tf.log(1 + tf.exp(smaller - larger))


def log_noninformative_covariance_prior(covariance: Any) -> Tensor:
    """Return the logarithm of a scale-free prior of covariances [d, d] (up to a constant)."""
    ones = tf.ones(shape=[tf.shape(covariance)[0]], dtype=covariance.dtype)
    covariance += tf.diag(1e-8 * ones)
    power = -(tf.cast(tf.shape(covariance)[0] + 1, covariance.dtype) / 2.0)
    return power * tf.log(tf.matrix_determinant(covariance))


def entropy_matched_cauchy_scale(covariance: Any) -> Tensor:
    """Scales [..., d] of Cauchy distributions of the entropy of normal ones [..., d, d]."""
    return tf.sqrt(math.e / (8.0 * math.pi) * tf.matrix_diag_part(covariance))
