"""Normal distributions of means, given observations of known deviation."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.distributions.normal import Normal
from stillflow.graph.export import export


def _updated(prior: Any, scale: Any, s: Any, n: Any) -> tuple[Any, Any, Any]:
    """Return the mean's location and variance after the observations, and theirs."""
    if not isinstance(prior, Normal):
        raise TypeError("Expected prior to be an instance of type Normal")
    if s.dtype != prior.dtype:
        raise TypeError(
            f"Observation sum s.dtype does not match prior dtype: {s.dtype} vs. {prior.dtype}"
        )
    n = tf.cast(n, prior.dtype)
    before, observed = tf.square(prior.scale), tf.square(scale)
    after = 1.0 / (1 / before + n / observed)
    return (prior.loc / before + s / observed) * after, after, observed


@export("contrib.distributions.normal_conjugates_known_scale_posterior")
def normal_conjugates_known_scale_posterior(prior: Any, scale: Any, s: Any, n: Any) -> Normal:
    """Return the posterior distribution of a mean after observations.

    Args:
      prior: a `Normal`, the prior of the mean.
      scale: the observations' standard deviation.
      s: their sum, of the prior's type.
      n: how many they are.

    Raises:
      TypeError: if `prior` is no `Normal`, or types differ.
    """
    loc, variance, _ = _updated(prior, scale, s, n)
    return Normal(loc=loc, scale=tf.sqrt(variance))


@export("contrib.distributions.normal_conjugates_known_scale_predictive")
def normal_conjugates_known_scale_predictive(prior: Any, scale: Any, s: Any, n: Any) -> Normal:
    """Return the predictive distribution of the next observation; arguments as of the posterior."""
    loc, variance, observed = _updated(prior, scale, s, n)
    return Normal(loc=loc, scale=tf.sqrt(variance + observed))
