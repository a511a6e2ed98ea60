"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

from stillflow.distributions import special_math
from stillflow.distributions.kullback_leibler import register_kl
from stillflow.distributions.location_scale import LocationScale
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.fill import ones_like
from stillflow.ops.constants import constant
from stillflow.ops.math.binary import squared_difference
from stillflow.ops.math.unary import log, square
from stillflow.ops.nn.activations import softplus
from stillflow.ops.random.basic import random_normal
from stillflow.util.notices import noticed


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
        drawn = random_normal(self._sample_shape(n), dtype=self.loc.dtype, seed=seed)
        return drawn * self.scale + self.loc

    def _log_unnormalized_prob(self, x: Any) -> Tensor:
        return -0.5 * square(self._z(x))

    def _log_normalization(self) -> Tensor:
        return 0.5 * math.log(2.0 * math.pi) + log(self.scale)

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
        scale = self.scale * ones_like(self.loc)
        return 0.5 * math.log(2.0 * math.pi * math.e) + log(scale)

    def _mean(self) -> Tensor:
        return self.loc * ones_like(self.scale)

    def _quantile(self, p: Any) -> Tensor:
        return self._inv_z(special_math.ndtri(p))

    def _stddev(self) -> Tensor:
        return self.scale * ones_like(self.loc)

    def _mode(self) -> Tensor:
        return self._mean()

    def _inv_z(self, z: Any) -> Tensor:
        with name_scope("reconstruct", values=[z]):
            return z * self.scale + self.loc


@export("contrib.distributions.NormalWithSoftplusScale")
class NormalWithSoftplusScale(Normal):
    """Normal distributions of standard deviations `softplus(scale)`."""

    @noticed("contrib.distributions.NormalWithSoftplusScale")
    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[scale]) as scope:
            positive = softplus(scale, name="softplus_scale")
            super().__init__(loc, positive, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


@register_kl(Normal, Normal)
def _kl_normal_normal(a: Any, b: Any, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_normal_normal", [a.loc, b.loc]):
        one = constant(1, dtype=a.dtype)
        two = constant(2, dtype=a.dtype)
        half = constant(0.5, dtype=a.dtype)
        variance_a, variance_b = square(a.scale), square(b.scale)
        ratio = variance_a / variance_b
        distance = squared_difference(a.loc, b.loc) / (two * variance_b)
        return distance + half * (ratio - one - log(ratio))
