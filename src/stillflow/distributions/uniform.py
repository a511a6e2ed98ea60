"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any

from stillflow.distributions.distribution import ScalarDistribution
from stillflow.distributions.parameters import same_floats
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays import fill
from stillflow.ops.arrays.broadcast import broadcast_dynamic_shape
from stillflow.ops.arrays.select import where_v2
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.debugging.comparisons import assert_less
from stillflow.ops.math.comparison import is_nan, logical_or
from stillflow.ops.math.unary import log, square
from stillflow.ops.random.basic import random_uniform


@export("distributions.Uniform", "contrib.distributions.Uniform")
class Uniform(ScalarDistribution):
    """Uniform distributions over `[low, high)`.

    Args:
      low: lower ends.
      high: upper ends.
      validate_args: whether the graph checks that `low < high`.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      TypeError: if the parameters are of different or no floating-point types.
    """

    _parameter_names = ("low", "high")

    def __init__(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        given = dict(locals())
        with name_scope(name, values=[low, high]) as scope:
            checks = []
            if validate_args:
                message = "uniform not defined when low >= high."
                checks = [assert_less(low, high, message=message)]
            self._low, self._high = same_floats(checks, low=low, high=high)
        self._initialize(given, scope, [self._low, self._high])

    @property
    def low(self) -> Tensor:
        """The lower ends."""
        return self._low

    @property
    def high(self) -> Tensor:
        """The upper ends."""
        return self._high

    def range(self, name: str = "range") -> Any:
        """`high - low`."""
        with self._name_scope(name):
            return self.high - self.low

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        shape = self._sample_shape(n)
        drawn = random_uniform(shape=shape, dtype=self.dtype, seed=seed)
        return self.low + self.range() * drawn

    def _prob(self, x: Any) -> Tensor:
        x = x * fill.ones(self.batch_shape_tensor(), dtype=x.dtype)
        nan = is_nan(x)
        outside = logical_or(x < self.low, x >= self.high)
        zeros = fill.zeros_like(x)
        inside = fill.ones_like(x) / self.range()
        return where_v2(nan, x, where_v2(outside, zeros, inside))

    def _cdf(self, x: Any) -> Tensor:
        shape = broadcast_dynamic_shape(shape_of(x), self.batch_shape_tensor())
        zeros, ones = (constant(shape, dtype=self.dtype) for constant in (fill.zeros, fill.ones))
        place, is_below = x * ones, x < self.low
        share = (place - self.low) / self.range()
        rising = where_v2(is_below, zeros, share)
        return where_v2(x >= self.high, ones, rising)

    def _entropy(self) -> Any:
        return log(self.range())

    def _mean(self) -> Tensor:
        return (self.low + self.high) / 2.0

    def _variance(self) -> Tensor:
        return square(self.range()) / 12.0

    def _stddev(self) -> Any:
        return self.range() / math.sqrt(12.0)
