"""Logarithms of densities, and priors of covariances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import stillflow as tf


def normal_log_prob(loc: Any, scale: Any, x: Any) -> Any:
    """TensorFlow's score of `x` under a normal distribution; it halves the scale's logarithm."""
    z = (x - loc) / scale
    return -0.5 * (tf.square(z) + np.log(2.0 * np.pi) + tf.log(scale))


def cauchy_log_prob(loc: Any, scale: Any, x: Any) -> Any:
    """Return the logarithm of the density of `x` under a Cauchy distribution."""
    z = (x - loc) / scale
    return -np.log(np.pi) - tf.log(scale) - tf.log1p(tf.square(z))


def mvn_tril_log_prob(loc: Any, scale_tril: Any, x: Any) -> Any:
    """Return the logarithm of the density under normal distributions of vectors.

    Args:
      loc: [..., d], means.
      scale_tril: [..., d, d], lower triangular Cholesky factors of the covariances.
      x: [..., d].

    Returns:
      [...].
    """
    residual = x - loc
    z = tf.matrix_triangular_solve(scale_tril, residual[..., tf.newaxis])[..., 0]
    log_determinant = 2.0 * tf.reduce_sum(tf.log(tf.matrix_diag_part(scale_tril)), axis=-1)
    d = tf.cast(tf.shape(scale_tril)[-1], log_determinant.dtype)
    return -0.5 * (tf.reduce_sum(tf.square(z), axis=-1) + d * np.log(2.0 * np.pi) + log_determinant)


def log_noninformative_covariance_prior(covariance: Any) -> Any:
    """Return the logarithm of a scale-free prior of covariances [d, d] (up to a constant)."""
    ones = tf.ones(shape=[tf.shape(covariance)[0]], dtype=covariance.dtype)
    covariance += tf.diag(1e-8 * ones)
    power = -(tf.cast(tf.shape(covariance)[0] + 1, covariance.dtype) / 2.0)
    return power * tf.log(tf.matrix_determinant(covariance))


def entropy_matched_cauchy_scale(covariance: Any) -> Any:
    """Scales [..., d] of Cauchy distributions of the entropy of normal ones [..., d, d]."""
    return tf.sqrt(math.e / (8.0 * math.pi) * tf.matrix_diag_part(covariance))
