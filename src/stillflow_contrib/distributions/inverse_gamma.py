"""Distributions of the inverses of gamma-distributed numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distributions.distribution import NOT_REPARAMETERIZED
from stillflow.distributions.gamma import ConcentrationRate
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.moved import moved_from_contrib


@export("contrib.distributions.InverseGamma")
class InverseGamma(ConcentrationRate):
    """Inverse gamma distributions: density proportional to `x^(-concentration - 1) exp(-rate / x)`.

    Args:
      concentration: shape parameters.
      rate: inverse scales of the gamma distributions.
      validate_args: whether the graph checks that both are positive, and samples.
      allow_nan_stats: whether moments that do not exist are NaN; else running fails.
      name: of the scope.

    Raises:
      TypeError: if the parameters are of different or no floating-point types.
    """

    @moved_from_contrib
    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGamma",
    ) -> None:
        super().__init__(dict(locals()), NOT_REPARAMETERIZED)

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        drawn = tf.random_gamma(
            shape=[n], alpha=self.concentration, beta=self.rate, dtype=self.dtype, seed=seed
        )
        return 1.0 / drawn

    def _cdf(self, x: Any) -> Tensor:
        x = self._checked_sample(x)
        return tf.igammac(self.concentration, self.rate / x)

    def _log_unnormalized_prob(self, x: Any) -> Tensor:
        x = self._checked_sample(x)
        return -(1.0 + self.concentration) * tf.log(x) - self.rate / x

    def _entropy(self) -> Tensor:
        known = self.concentration + tf.log(self.rate) + tf.lgamma(self.concentration)
        return known - (1.0 + self.concentration) * tf.digamma(self.concentration)

    def _where_moment_exists(self, moment: Any, least: Any, what: str) -> Tensor:
        """Return a moment that exists for a concentration above `least`, a number."""
        if self.allow_nan_stats:
            nan = np.array(np.nan, dtype=self.dtype.as_numpy_dtype)
            nan = tf.fill(self.batch_shape_tensor(), nan, name="nan")
            return tf.where_v2(self.concentration > float(least), moment, nan)
        # TensorFlow makes the one of the mean by another function.
        bound = tf.ones([], self.dtype) if least == 1 else tf.constant(2.0, dtype=self.dtype)
        message = f"{what} undefined when any concentration <= {least}"
        return with_dependencies(
            [tf.assert_less(bound, self.concentration, message=message)], moment
        )

    def _mean(self) -> Tensor:
        return self._where_moment_exists(self.rate / (self.concentration - 1.0), 1, "mean")

    def _variance(self) -> Tensor:
        of_mean = tf.square(self.rate) / tf.squared_difference(self.concentration, 1.0)
        return self._where_moment_exists(of_mean / (self.concentration - 2.0), 2, "variance")

    def _mode(self) -> Tensor:
        return self.rate / (1.0 + self.concentration)


@export("contrib.distributions.InverseGammaWithSoftplusConcentrationRate")
class InverseGammaWithSoftplusConcentrationRate(InverseGamma):
    """Inverse gamma distributions of softplus of both parameters."""

    @moved_from_contrib
    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGammaWithSoftplusConcentrationRate",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[concentration, rate]) as scope:
            super().__init__(
                concentration=tf.nn.softplus(concentration, name="softplus_concentration"),
                rate=tf.nn.softplus(rate, name="softplus_rate"),
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                name=scope,
            )
        self._parameters = parameters
