"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.distributions.distribution import Distribution
from stillflow.distributions.kullback_leibler import register_kl
from stillflow.distributions.parameters import weighted_digamma
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays.fill import fill, ones
from stillflow.ops.arrays.select import where_v2
from stillflow.ops.arrays.shape import shape
from stillflow.ops.arrays.slicing import newaxis
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.debugging.comparisons import assert_less, assert_near, assert_positive
from stillflow.ops.debugging.ranks import assert_rank_at_least
from stillflow.ops.linalg.diagonal import matrix_set_diag
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.math.cast import cast
from stillflow.ops.math.division import xlogy
from stillflow.ops.math.reductions import reduce_all, reduce_sum
from stillflow.ops.math.special import digamma, lbeta
from stillflow.ops.math.unary import rsqrt
from stillflow.ops.random.gamma import random_gamma


class OverClasses(Distribution):
    """Base of distributions with concentrations `[..., K]`."""

    _concentration: Any
    _total_concentration: Any

    @property
    def concentration(self) -> Tensor:
        """The concentrations of classes."""
        return self._concentration

    @property
    def total_concentration(self) -> Tensor:
        """The sums of concentrations."""
        return self._total_concentration

    def _batch_shape_tensor(self) -> Any:
        return shape(self.total_concentration)

    def _batch_shape(self) -> TensorShape:
        return self.total_concentration.shape

    def _event_shape_tensor(self) -> Any:
        return shape(self.concentration)[-1:]

    def _event_shape(self) -> TensorShape:
        return self.concentration.shape.with_rank_at_least(1)[-1:]

    def _variance_scale_term(self) -> Any:
        raise NotImplementedError

    def _covariance(self) -> Any:
        x = self._variance_scale_term() * self._mean()
        product = matmul(x[..., newaxis], x[..., newaxis, :])
        return matrix_set_diag(-product, self._variance())


@export("distributions.Dirichlet", "contrib.distributions.Dirichlet")
class Dirichlet(OverClasses):
    """Dirichlet distributions: how likely probabilities of classes are.

    Args:
      concentration: `[..., K]`.
      validate_args: whether the graph checks parameters and samples.
      allow_nan_stats: see `Distribution`.
      name: of the scope.
    """

    def __init__(
        self,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        given = dict(locals())
        with name_scope(name, values=[concentration]) as scope:
            self._concentration = self._checked_concentration(
                convert_to_tensor(concentration, name="concentration"), validate_args
            )
            self._total_concentration = reduce_sum(self._concentration, -1)
        self._initialize(given, scope, [self._concentration, self._total_concentration])

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        gamma = random_gamma(shape=[n], alpha=self.concentration, dtype=self.dtype, seed=seed)
        return gamma / reduce_sum(gamma, -1, keepdims=True)

    def _log_prob(self, x: Any) -> Any:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _log_unnormalized_prob(self, x: Any) -> Any:
        x = self._checked_sample(x)
        return reduce_sum(xlogy(self.concentration - 1.0, x), -1)

    def _log_normalization(self) -> Any:
        return lbeta(self.concentration)

    def _entropy(self) -> Any:
        classes = cast(self.event_shape_tensor()[0], self.dtype)
        normalization = self._log_normalization()
        total = weighted_digamma(self.total_concentration, classes)
        return normalization + total - reduce_sum(weighted_digamma(self.concentration, 1.0), -1)

    def _mean(self) -> Tensor:
        return self.concentration / self.total_concentration[..., newaxis]

    def _variance(self) -> Tensor:
        scale = self._variance_scale_term()
        x = scale * self._mean()
        return x * (scale - x)

    def _variance_scale_term(self) -> Tensor:
        return rsqrt(1.0 + self.total_concentration[..., newaxis])

    def _mode(self) -> Any:
        classes = cast(self.event_shape_tensor()[0], self.dtype)
        mode = (self.concentration - 1.0) / (self.total_concentration[..., newaxis] - classes)
        if self.allow_nan_stats:
            nan = np.array(np.nan, dtype=self.dtype.as_numpy_dtype)
            nans = fill(shape(mode), nan, name="nan")
            return where_v2(reduce_all(self.concentration > 1.0, axis=-1), mode, nans)
        check = assert_less(
            ones([], self.dtype),
            self.concentration,
            message="Mode undefined when any concentration <= 1",
        )
        return with_dependencies([check], mode)

    def _checked_concentration(self, concentration: Any, validate_args: bool) -> Any:
        if not validate_args:
            return concentration
        checks = [
            assert_positive(concentration, message="Concentration parameter must be positive."),
            assert_rank_at_least(
                concentration, 1, message="Concentration parameter must have >=1 dimensions."
            ),
            assert_less(
                1,
                shape(concentration)[-1],
                message="Concentration parameter must have event_size >= 2.",
            ),
        ]
        return with_dependencies(checks, concentration)

    def _checked_sample(self, x: Any) -> Any:
        if not self.validate_args:
            return x
        checks = [
            assert_positive(x, message="samples must be positive"),
            assert_near(
                ones([], dtype=self.dtype),
                reduce_sum(x, -1),
                message="sample last-dimension must sum to `1`",
            ),
        ]
        return with_dependencies(checks, x)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(d1: Any, d2: Any, name: str | None = None) -> Any:
    both = first, second = d1.concentration, d2.concentration
    with name_scope(name, "kl_dirichlet_dirichlet", values=list(both)):
        of_total = digamma(reduce_sum(first, axis=-1, keepdims=True))
        expected_logs = digamma(first) - of_total
        unnormalized = reduce_sum((first - second) * expected_logs, axis=-1)
        return unnormalized - lbeta(first) + lbeta(second)
