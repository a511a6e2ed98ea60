"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stillflow.distributions import special_math
from stillflow.distributions.location_scale import LocationScale
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.fill import zeros_like
from stillflow.ops.math.unary import abs as abs_
from stillflow.ops.math.unary import exp, log, log1p, sign
from stillflow.ops.nn.activations import softplus
from stillflow.ops.random.basic import random_uniform
from stillflow.util.notices import noticed


@export("distributions.Laplace", "contrib.distributions.Laplace")
class Laplace(LocationScale):
    """Laplace distributions, with density `exp(-|x - loc| / scale) / (2 scale)`.

    Args:
      loc: means.
      scale: mean absolute deviations.
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
        name: str = "Laplace",
    ) -> None:
        super().__init__(dict(locals()))

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        number = self.dtype.as_numpy_dtype
        # Without -1, whose logarithm below would be infinite.
        bounds = np.nextafter(number(-1.0), number(0.0)), 1.0
        drawn = random_uniform(self._sample_shape(n), *bounds, dtype=self.dtype, seed=seed)
        return self.loc - self.scale * sign(drawn) * log1p(-abs_(drawn))

    def _log_unnormalized_prob(self, x: Any) -> Tensor:
        return -abs_(self._z(x))

    def _log_normalization(self) -> Tensor:
        return math.log(2.0) + log(self.scale)

    def _log_cdf(self, x: Any) -> Tensor:
        return special_math.log_cdf_laplace(self._z(x))

    def _log_survival_function(self, x: Any) -> Tensor:
        return special_math.log_cdf_laplace(-self._z(x))

    def _cdf(self, x: Any) -> Tensor:
        z = self._z(x)
        return 0.5 + 0.5 * sign(z) * (1.0 - exp(-abs_(z)))

    def _entropy(self) -> Tensor:
        scale = self.scale + zeros_like(self.loc)
        return math.log(2.0) + 1.0 + log(scale)

    def _mean(self) -> Tensor:
        return self.loc + zeros_like(self.scale)

    def _stddev(self) -> Tensor:
        return math.sqrt(2.0) * self.scale + zeros_like(self.loc)

    def _median(self) -> Tensor:
        return self._mean()

    def _mode(self) -> Tensor:
        return self._mean()

    def _z(self, x: Any) -> Tensor:
        return (x - self.loc) / self.scale


@export("contrib.distributions.LaplaceWithSoftplusScale")
class LaplaceWithSoftplusScale(Laplace):
    """Laplace distributions of mean absolute deviations `softplus(scale)`."""

    @noticed("contrib.distributions.LaplaceWithSoftplusScale")
    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "LaplaceWithSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[loc, scale]) as scope:
            positive = softplus(scale, name="softplus_scale")
            super().__init__(loc, positive, validate_args, allow_nan_stats, scope)
        self._parameters = parameters
