"""The gamma and the exponential distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    ReparameterizationType,
    ScalarDistribution,
)
from stillflow.distributions.kullback_leibler import register_kl
from stillflow.distributions.parameters import same_floats, weighted_digamma
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays.broadcast import broadcast_dynamic_shape, broadcast_static_shape
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import fill, ones
from stillflow.ops.arrays.select import where_v2
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.debugging.comparisons import assert_less, assert_positive
from stillflow.ops.debugging.types import assert_same_float_dtype
from stillflow.ops.math.division import xlogy
from stillflow.ops.math.special import digamma, igamma, lgamma
from stillflow.ops.math.unary import log, sqrt, square
from stillflow.ops.nn.activations import softplus
from stillflow.ops.random.gamma import random_gamma
from stillflow.util.notices import noticed


class ConcentrationRate(ScalarDistribution):
    """A distribution of positive scalars with a shape parameter and an inverse scale.

    Args:
      given: the constructor's arguments: concentration, rate, validate_args, allow_nan_stats, name.
      reparameterization_type: of `Distribution`.

    Raises:
      TypeError: if the parameters are of different or no floating-point types.
    """

    _parameter_names: tuple[str, ...] = ("concentration", "rate")

    def __init__(
        self, given: dict[str, Any], reparameterization_type: ReparameterizationType
    ) -> None:
        concentration, rate, checks = given["concentration"], given["rate"], []
        with name_scope(given["name"], values=[concentration, rate]) as scope:
            if given["validate_args"]:
                checks = [assert_positive(concentration), assert_positive(rate)]
            tensors = same_floats(checks, concentration=concentration, rate=rate)
        self._concentration, self._rate = tensors
        self._initialize(given, scope, tensors, kind=reparameterization_type)

    @property
    def concentration(self) -> Tensor:
        """The shape parameters."""
        return self._concentration

    @property
    def rate(self) -> Any:
        """The inverse scales."""
        return self._rate

    def _log_prob(self, x: Any) -> Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _log_unnormalized_prob(self, x: Any) -> Any:
        raise self._missing("log_prob")

    def _log_normalization(self) -> Tensor:
        return lgamma(self.concentration) - self.concentration * log(self.rate)

    def _checked_sample(self, x: Any) -> Tensor:
        assert_same_float_dtype(tensors=[x], dtype=self.dtype)
        if not self.validate_args:
            return x
        return with_dependencies([assert_positive(x)], x)


@export("distributions.Gamma", "contrib.distributions.Gamma")
class Gamma(ConcentrationRate):
    """Gamma distributions, with density proportional to `x^(concentration - 1) exp(-rate x)`.

    Args:
      concentration: shape parameters.
      rate: inverse scales.
      validate_args: whether the graph checks that both are positive.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      TypeError: if the parameters are of different or no floating-point types.
    """

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        super().__init__(dict(locals()), FULLY_REPARAMETERIZED)

    def _batch_parameters(self) -> tuple[Any, Any]:
        return self.concentration, self.rate

    def _batch_shape_tensor(self) -> Any:
        first, second = self._batch_parameters()
        return broadcast_dynamic_shape(shape_of(first), shape_of(second))

    def _batch_shape(self) -> TensorShape:
        first, second = self._batch_parameters()
        return broadcast_static_shape(first.shape, second.shape)

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        return random_gamma(
            shape=[n], alpha=self.concentration, beta=self.rate, dtype=self.dtype, seed=seed
        )

    def _cdf(self, x: Any) -> Tensor:
        x = self._checked_sample(x)
        return igamma(self.concentration, self.rate * x)

    def _log_unnormalized_prob(self, x: Any) -> Tensor:
        x = self._checked_sample(x)
        return xlogy(self.concentration - 1.0, x) - self.rate * x

    def _entropy(self) -> Tensor:
        return (
            self.concentration
            - log(self.rate)
            + lgamma(self.concentration)
            + ((1.0 - self.concentration) * digamma(self.concentration))
        )

    def _mean(self) -> Tensor:
        return self.concentration / self.rate

    def _variance(self) -> Tensor:
        return self.concentration / square(self.rate)

    def _stddev(self) -> Tensor:
        return sqrt(self.concentration) / self.rate

    def _mode(self) -> Tensor:
        mode = (self.concentration - 1.0) / self.rate
        if self.allow_nan_stats:
            nan = fill(
                self.batch_shape_tensor(),
                np.array(np.nan, dtype=self.dtype.as_numpy_dtype),
                name="nan",
            )
            return where_v2(self.concentration > 1.0, mode, nan)
        check = assert_less(
            ones([], self.dtype),
            self.concentration,
            message="mode not defined when any concentration <= 1",
        )
        return with_dependencies([check], mode)


@export("contrib.distributions.GammaWithSoftplusConcentrationRate")
class GammaWithSoftplusConcentrationRate(Gamma):
    """Gamma distributions of softplus of both parameters."""

    @noticed("contrib.distributions.GammaWithSoftplusConcentrationRate")
    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "GammaWithSoftplusConcentrationRate",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[concentration, rate]) as scope:
            super().__init__(
                concentration=softplus(concentration, name="softplus_concentration"),
                rate=softplus(rate, name="softplus_rate"),
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                name=scope,
            )
        self._parameters = parameters


@export("distributions.Exponential", "contrib.distributions.Exponential")
class Exponential(Gamma):
    """Exponential distributions, with density `rate exp(-rate x)`.

    Args:
      rate: inverse means.
      validate_args: whether the graph checks that they are positive.
      allow_nan_stats: see `Distribution`.
      name: of the scope.
    """

    _parameter_names = ("rate",)

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Exponential",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[rate]) as scope:
            self._rate = convert_to_tensor(rate, name="rate")
        super().__init__(
            concentration=ones([], dtype=self._rate.dtype),
            rate=self._rate,
            allow_nan_stats=allow_nan_stats,
            validate_args=validate_args,
            name=scope,
        )
        self._parameters = parameters
        self._graph_parents += [self._rate]

    def _log_survival_function(self, value: Any) -> Any:
        return self._log_prob(value) - log(self._rate)

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        shape = concat([[n], shape_of(self._rate)], 0)
        drawn = self._positive_uniform(shape, seed)
        return -log(drawn) / self._rate


@export("contrib.distributions.ExponentialWithSoftplusRate")
class ExponentialWithSoftplusRate(Exponential):
    """Exponential distributions of rates `softplus(rate)`."""

    @noticed("contrib.distributions.ExponentialWithSoftplusRate")
    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExponentialWithSoftplusRate",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[rate]) as scope:
            positive = softplus(rate, name="softplus_rate")
            super().__init__(positive, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(g0: Any, g1: Any, name: str | None = None) -> Any:
    parameters = [g0.concentration, g0.rate, g1.concentration, g1.rate]
    shape0, rate0, shape1, rate1 = parameters
    with name_scope(name, "kl_gamma_gamma", values=parameters):
        of_shapes = weighted_digamma(shape0, shape1) + lgamma(shape1) - lgamma(shape0)
        of_scales = of_shapes + shape1 * log(rate0) - shape1 * log(rate1)
        return of_scales + shape0 * (rate1 / rate0 - 1.0)
