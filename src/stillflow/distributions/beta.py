"""The beta distribution."""

from __future__ import annotations

import operator
from typing import Any

from stillflow.distributions.distribution import ScalarDistribution
from stillflow.distributions.kullback_leibler import register_kl
from stillflow.distributions.parameters import gen_new_seed, weighted_digamma
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays import fill
from stillflow.ops.arrays.shape import shape
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.debugging.comparisons import assert_less, assert_positive
from stillflow.ops.debugging.types import assert_same_float_dtype
from stillflow.ops.math.comparison import logical_and
from stillflow.ops.math.division import xlogy
from stillflow.ops.math.special import betainc, digamma, lgamma
from stillflow.ops.math.unary import log1p
from stillflow.ops.nn.activations import softplus
from stillflow.ops.random.gamma import random_gamma
from stillflow.util.notices import noticed


@export("distributions.Beta", "contrib.distributions.Beta")
class Beta(ScalarDistribution):
    """Beta distributions, over `[0, 1]`: how likely shares of ones and zeros are.

    Args:
      concentration1: of ones.
      concentration0: of zeros.
      validate_args: whether the graph checks parameters and samples.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      TypeError: if the parameters are of different or no floating-point types.
    """

    _parameter_names = ("concentration1", "concentration0")

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        given = dict(locals())
        with name_scope(name, values=[concentration1, concentration0]) as scope:
            both = [
                _checked_concentration(convert_to_tensor(given[key], name=key), validate_args)
                for key in self._parameter_names
            ]
            assert_same_float_dtype(both)
            self._concentration1, self._concentration0 = both
            self._total_concentration = operator.add(*both)
        self._initialize(
            given, scope, [self._concentration1, self._concentration0, self._total_concentration]
        )

    @property
    def concentration1(self) -> Any:
        """The concentration of ones."""
        return self._concentration1

    @property
    def concentration0(self) -> Any:
        """The concentration of zeros."""
        return self._concentration0

    @property
    def total_concentration(self) -> Tensor:
        """The sum of both concentrations."""
        return self._total_concentration

    def _batch_shape_tensor(self) -> Any:
        return shape(self.total_concentration)

    def _batch_shape(self) -> TensorShape:
        return self.total_concentration.shape

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        total = self.total_concentration
        alphas = [
            fill.ones_like(total, dtype=self.dtype) * concentration
            for concentration in (self.concentration1, self.concentration0)
        ]
        ones, zeros = (
            random_gamma(shape=[n], alpha=alpha, dtype=self.dtype, seed=each)
            for alpha, each in zip(alphas, (seed, gen_new_seed(seed, "beta")))
        )
        return ones / (ones + zeros)

    def _log_prob(self, x: Any) -> Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _cdf(self, x: Any) -> Any:
        return betainc(self.concentration1, self.concentration0, x)

    def _log_unnormalized_prob(self, x: Any) -> Tensor:
        if self.validate_args:
            checks = [
                assert_positive(x, message="sample must be positive"),
                assert_less(x, fill.ones([], self.dtype), message="sample must be less than `1`."),
            ]
            x = with_dependencies(checks, x)
        return xlogy(self.concentration1 - 1.0, x) + (self.concentration0 - 1.0) * log1p(-x)

    def _log_normalization(self) -> Tensor:
        return (
            lgamma(self.concentration1)
            + lgamma(self.concentration0)
            - lgamma(self.total_concentration)
        )

    def _entropy(self) -> Any:
        return (
            self._log_normalization()
            - weighted_digamma(self.concentration1, 1.0)
            - weighted_digamma(self.concentration0, 1.0)
            + weighted_digamma(self.total_concentration, 2.0)
        )

    def _mean(self) -> Tensor:
        return self._concentration1 / self._total_concentration

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self._mean()) / (1.0 + self.total_concentration)

    def _mode(self) -> Any:
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        if self.allow_nan_stats:
            defined = logical_and(self.concentration1 > 1.0, self.concentration0 > 1.0)
            return self._where_defined(defined, mode)
        checks = [
            assert_less(
                fill.ones([], dtype=self.dtype),
                getattr(self, name),
                message=f"Mode undefined for {name} <= 1.",
            )
            for name in self._parameter_names
        ]
        return with_dependencies(checks, mode)


def _checked_concentration(concentration: Any, validate_args: bool) -> Any:
    if not validate_args:
        return concentration
    message = "Concentration parameter must be positive."
    return with_dependencies([assert_positive(concentration, message=message)], concentration)


@export("contrib.distributions.BetaWithSoftplusConcentration")
class BetaWithSoftplusConcentration(Beta):
    """Beta distributions of softplus of both concentrations."""

    @noticed("contrib.distributions.BetaWithSoftplusConcentration")
    def __init__(
        self,
        concentration1: Any,
        concentration0: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "BetaWithSoftplusConcentration",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[concentration1, concentration0]) as scope:
            super().__init__(
                concentration1=softplus(concentration1, name="softplus_concentration1"),
                concentration0=softplus(concentration0, name="softplus_concentration0"),
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                name=scope,
            )
        self._parameters = parameters


@register_kl(Beta, Beta)
def _kl_beta_beta(d1: Any, d2: Any, name: str | None = None) -> Any:
    names = ("concentration1", "concentration0", "total_concentration")
    values = [getattr(d, parameter) for d in (d1, d2) for parameter in names]

    def term(parameter: str) -> Any:
        first, second = getattr(d1, parameter), getattr(d2, parameter)
        return digamma(first) * (second - first)

    with name_scope(name, "kl_beta_beta", values=values):
        normalizations = d2._log_normalization() - d1._log_normalization()
        return (
            normalizations
            - term("concentration1")
            - term("concentration0")
            + term("total_concentration")
        )
