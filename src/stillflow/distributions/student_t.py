"""Student's t distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.distributions.distribution import ScalarDistribution
from stillflow.distributions.parameters import gen_new_seed, same_floats
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays import fill
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.select import where_v2
from stillflow.ops.arrays.slicing import newaxis
from stillflow.ops.control_flow.identity_and_group import identity, with_dependencies
from stillflow.ops.debugging.comparisons import assert_less, assert_positive
from stillflow.ops.math.comparison import greater, less
from stillflow.ops.math.special import betainc, digamma, lbeta, lgamma
from stillflow.ops.math.unary import abs as abs_
from stillflow.ops.math.unary import floor, log, log1p, rsqrt, square
from stillflow.ops.nn.activations import softplus
from stillflow.ops.random.basic import random_normal
from stillflow.ops.random.gamma import random_gamma
from stillflow.util.notices import noticed


@export("distributions.StudentT", "contrib.distributions.StudentT")
class StudentT(ScalarDistribution):
    """Student's t distributions, moved and scaled.

    Args:
      df: degrees of freedom.
      loc: medians.
      scale: what the standard distribution is multiplied by.
      validate_args: whether the graph checks that `df` is positive.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      TypeError: if the parameters are of different or no floating-point types.
    """

    _parameter_names = ("df", "loc", "scale")

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        given = dict(locals())
        with name_scope(name, values=[df, loc, scale]) as scope:
            checks = [assert_positive(df)] if validate_args else []
            self._df, self._loc, self._scale = same_floats(checks, df=df, loc=loc, scale=scale)
        self._initialize(given, scope, [self._df, self._loc, self._scale])

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self._df

    @property
    def loc(self) -> Any:
        """The medians."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The factor of the standard distribution."""
        return self._scale

    def _batch_ones(self) -> Tensor:
        return fill.ones(self.batch_shape_tensor(), dtype=self.dtype)

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        # A normal number over the root of a chi-squared one per degree of freedom.
        shape = self._sample_shape(n)
        normal = random_normal(shape, dtype=self.dtype, seed=seed)
        df = self.df * self._batch_ones()
        gamma = random_gamma(
            [n],
            0.5 * df,
            beta=0.5,
            dtype=self.dtype,
            seed=gen_new_seed(seed, salt="student_t"),
        )
        return normal * rsqrt(gamma / df) * self.scale + self.loc

    def _log_prob(self, x: Any) -> Tensor:
        y = (x - self.loc) / self.scale
        unnormalized = -0.5 * (self.df + 1.0) * log1p(y**2.0 / self.df)
        return unnormalized - self._log_normalization()

    def _log_width(self) -> Tensor:
        """Return the terms of normalization and entropy that are the same."""
        return log(abs_(self.scale)) + 0.5 * log(self.df)

    def _log_normalization(self) -> Tensor:
        df, constant = self.df, self._log_width() + 0.5 * np.log(np.pi)
        return constant + lgamma(0.5 * df) - lgamma(0.5 * (df + 1.0))

    def _cdf(self, x: Any) -> Tensor:
        df, z = self.df, (x - self.loc) / abs_(self.scale)
        share = df / (z**2.0 + df)
        tail = 0.5 * betainc(0.5 * df, 0.5, share)
        return where_v2(less(z, 0.0), tail, 1.0 - tail)

    def _entropy(self) -> Any:
        df, ones = self.df, self._batch_ones()[..., newaxis]
        halves = concat([ones * df[..., newaxis], ones], -1) / 2.0
        normalization = self._log_width() + lbeta(halves)
        weight = 0.5 * (df + 1.0)
        return normalization + weight * (digamma(0.5 * (df + 1.0)) - digamma(0.5 * df))

    def _where_df_above_one(self, value: Any, what: str) -> Tensor:
        if self.allow_nan_stats:
            nan = np.array(np.nan, dtype=self.dtype.as_numpy_dtype)
            above = greater(self.df, self._batch_ones())
            return where_v2(above, value, fill.fill(self.batch_shape_tensor(), nan, name="nan"))
        check = assert_less(
            fill.ones([], dtype=self.dtype),
            self.df,
            message=f"{what} not defined for components of df <= 1",
        )
        return with_dependencies([check], value)

    def _mean(self) -> Tensor:
        return self._where_df_above_one(self.loc * self._batch_ones(), "mean")

    def _variance(self) -> Tensor:
        # The branch that is not taken must not divide by zero.
        above_two = greater(self.df, 2.0)
        denominator = where_v2(above_two, self.df - 2.0, fill.ones_like(self.df))
        variance = self._batch_ones() * square(self.scale) * self.df / denominator
        infinity = np.array(np.inf, dtype=self.dtype.as_numpy_dtype)
        finite = self.df > fill.fill(self.batch_shape_tensor(), 2.0)
        infinite = fill.fill(self.batch_shape_tensor(), infinity, name="inf")
        return self._where_df_above_one(where_v2(finite, variance, infinite), "variance")

    def _mode(self) -> Any:
        return identity(self.loc)


@export("contrib.distributions.StudentTWithAbsDfSoftplusScale")
class StudentTWithAbsDfSoftplusScale(StudentT):
    """Student's t distributions of `floor(abs(df))` and `softplus(scale)`."""

    @noticed("contrib.distributions.StudentTWithAbsDfSoftplusScale")
    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentTWithAbsDfSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[df, scale]) as scope:
            whole = floor(abs_(df))
            positive = softplus(scale, name="softplus_scale")
            super().__init__(whole, loc, positive, validate_args, allow_nan_stats, scope)
        self._parameters = parameters
