"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

import stillflow as tf
from stillflow.distributions import special_math
from stillflow.distributions.kullback_leibler import moved, register_kl
from stillflow.distributions.location_scale import LocationScale
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.util.deprecation import deprecated


@export("distributions.Normal", "contrib.distributions.Normal")
class Normal(LocationScale):
    """Normal distributions.

    Args:
      loc: means.
      scale: standard deviations.
      validate_args: whether the graph checks that `scale` is positive.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      TypeError: if the parameters are of different or no floating-point types.
    """

    @moved
    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        super().__init__(dict(locals()))

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        drawn = tf.random_normal(self._sample_shape(n), dtype=self.loc.dtype, seed=seed)
        return drawn * self.scale + self.loc

    def _log_unnormalized_prob(self, x: Any) -> Tensor:
        return -0.5 * tf.square(self._z(x))

    def _log_normalization(self) -> Tensor:
        return 0.5 * math.log(2.0 * math.pi) + tf.log(self.scale)

    def _log_cdf(self, x: Any) -> Tensor:
        return special_math.log_ndtr(self._z(x))

    def _cdf(self, x: Any) -> Tensor:
        return special_math.ndtr(self._z(x))

    def _log_survival_function(self, x: Any) -> Tensor:
        return special_math.log_ndtr(-self._z(x))

    def _survival_function(self, x: Any) -> Tensor:
        return special_math.ndtr(-self._z(x))

    def _entropy(self) -> Tensor:
        # Multiplied by ones, it has the shape of the batch.
        scale = self.scale * tf.ones_like(self.loc)
        return 0.5 * math.log(2.0 * math.pi * math.e) + tf.log(scale)

    def _mean(self) -> Tensor:
        return self.loc * tf.ones_like(self.scale)

    def _quantile(self, p: Any) -> Tensor:
        return self._inv_z(special_math.ndtri(p))

    def _stddev(self) -> Tensor:
        return self.scale * tf.ones_like(self.loc)

    def _mode(self) -> Tensor:
        return self._mean()

    def _inv_z(self, z: Any) -> Tensor:
        with tf.name_scope("reconstruct", values=[z]):
            return z * self.scale + self.loc


@export("contrib.distributions.NormalWithSoftplusScale")
class NormalWithSoftplusScale(Normal):
    """Normal distributions of standard deviations `softplus(scale)`."""

    @deprecated(
        "2019-01-01", "Use `tfd.Normal(loc, tf.nn.softplus(scale)) instead.", warn_once=True
    )
    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[scale]) as scope:
            positive = tf.nn.softplus(scale, name="softplus_scale")
            super().__init__(loc, positive, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


@register_kl(Normal, Normal)
def _kl_normal_normal(a: Any, b: Any, name: str | None = None) -> Tensor:
    with tf.name_scope(name, "kl_normal_normal", [a.loc, b.loc]):
        one = tf.constant(1, dtype=a.dtype)
        two = tf.constant(2, dtype=a.dtype)
        half = tf.constant(0.5, dtype=a.dtype)
        variance_a, variance_b = tf.square(a.scale), tf.square(b.scale)
        ratio = variance_a / variance_b
        distance = tf.squared_difference(a.loc, b.loc) / (two * variance_b)
        return distance + half * (ratio - one - tf.log(ratio))
