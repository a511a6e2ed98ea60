"""Distributions of other distributions' samples, rounded up to whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import stillflow as tf
from stillflow.distributions.checks import assert_integer_form
from stillflow.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.moved import moved_from_contrib

if TYPE_CHECKING:
    from stillflow.distributions.distribution import ScalarDistribution


def _log_of_difference(big: Any, small: Any) -> Tensor:
    """`log(exp(big) - exp(small))`."""
    with tf.name_scope("logsum_expbig_minus_expsmall", values=[small, big]):
        return tf.log(1.0 - tf.exp(small - big)) + big


@export("contrib.distributions.QuantizedDistribution")
class QuantizedDistribution(Distribution):
    """Distributions of another's samples, rounded up and held between bounds.

    Args:
      distribution: the other, of scalars.
      low: whole numbers below which no sample lies; no bound if None.
      high: whole numbers above which no sample lies; no bound if None.
      validate_args: whether the graph checks that bounds and values are whole, and in order.
      name: of the scope.

    Raises:
      TypeError: if `low` or `high` are of other types than the distribution.
    """

    @moved_from_contrib
    def __init__(
        self,
        distribution: Any,
        low: Any = None,
        high: Any = None,
        validate_args: bool = False,
        name: str = "QuantizedDistribution",
    ) -> None:
        parameters = dict(locals())
        values = [*distribution.parameters.values(), low, high]
        with tf.name_scope(name, values=values) as scope:
            self._dist, self._validate_args = distribution, validate_args
            low = None if low is None else convert_to_tensor(low, name="low")
            high = None if high is None else convert_to_tensor(high, name="high")
            tf.debugging.assert_same_float_dtype(tensors=[distribution, low, high])
            checks = []
            if validate_args and low is not None and high is not None:
                message = "low must be strictly less than high."
                checks.append(tf.assert_less(low, high, message=message))
            with tf.control_dependencies(checks):
                self._low = None if low is None else self._whole(low)
                self._high = None if high is None else self._whole(high)
        bounds = [bound for bound in (self._low, self._high) if bound is not None]
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=parameters,
            graph_parents=[*distribution._graph_parents, *bounds],
            name=scope,
        )

    @property
    def distribution(self) -> ScalarDistribution:
        """The other distribution."""
        return self._dist

    @property
    def low(self) -> Tensor | None:
        """The least samples."""
        return self._low

    @property
    def high(self) -> Tensor | None:
        """The largest samples."""
        return self._high

    def _batch_shape_tensor(self) -> Tensor:
        return self.distribution.batch_shape_tensor()

    def _batch_shape(self) -> TensorShape:
        return self.distribution.batch_shape

    def _event_shape_tensor(self) -> Tensor:
        return self.distribution.event_shape_tensor()

    def _event_shape(self) -> TensorShape:
        return self.distribution.event_shape

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        with tf.name_scope("transform"):
            drawn = self.distribution.sample(convert_to_tensor(n, name="n"), seed=seed)
            ones = tf.ones_like(drawn)
            result = tf.ceil(drawn)
            if self._low is not None:
                result = tf.where(result < self._low, self._low * ones, result)
            if self._high is not None:
                result = tf.where(result > self._high, self._high * ones, result)
            return result

    def _log_prob(self, y: Any) -> Tensor:
        y = self._whole(y)
        try:
            above, above_before = self.log_survival_function(y), self.log_survival_function(y - 1)
        except NotImplementedError:
            return _log_of_difference(self.log_cdf(y), self.log_cdf(y - 1))
        up_to, up_to_before = self.log_cdf(y), self.log_cdf(y - 1)
        # Of both the smaller numbers differ more precisely.
        big = tf.where(above < up_to, above_before, up_to)
        small = tf.where(above < up_to, above, up_to_before)
        return _log_of_difference(big, small)

    def _prob(self, y: Any) -> Tensor:
        y = self._whole(y)
        try:
            above, above_before = self.survival_function(y), self.survival_function(y - 1)
        except NotImplementedError:
            return self.cdf(y) - self.cdf(y - 1)
        up_to, up_to_before = self.cdf(y), self.cdf(y - 1)
        return tf.where(above < up_to, above_before - above, up_to - up_to_before)

    def _within_bounds(self, method: str, y: Any, below: Any, above: Any) -> Tensor:
        """Return the distribution's value for integers, and constants outside of the bounds.

        Args:
          method: of the distribution.
          y: the whole numbers.
          below: returns the value below `low`, for numbers of the same shape.
          above: returns the value from `high` on.
        """
        found = getattr(self.distribution, method)(y)
        y += tf.zeros_like(found)
        if self._low is not None:
            found = _replaced(found, lambda: y < self._low, below)
        if self._high is not None:
            found = _replaced(found, lambda: y >= self._high, above)
        return found

    def _log_cdf(self, y: Any) -> Tensor:
        return self._within_bounds("log_cdf", tf.floor(y), _minus_infinity, tf.zeros_like)

    def _cdf(self, y: Any) -> Tensor:
        return self._within_bounds("cdf", tf.floor(y), tf.zeros_like, tf.ones_like)

    def _log_survival_function(self, y: Any) -> Tensor:
        y = tf.ceil(y)
        return self._within_bounds("log_survival_function", y, tf.zeros_like, _minus_infinity)

    def _survival_function(self, y: Any) -> Tensor:
        return self._within_bounds("survival_function", tf.ceil(y), tf.ones_like, tf.zeros_like)

    def _whole(self, value: Any) -> Tensor:
        with tf.name_scope("check_integer", values=[value]):
            value = convert_to_tensor(value, name="value")
            if not self.validate_args:
                return value
            message = "value has non-integer components."
            return with_dependencies([assert_integer_form(value, message=message)], value)


def _minus_infinity(x: Any) -> Tensor:
    return -np.inf * tf.ones_like(x)


def _replaced(x: Any, outside: Callable[[], Any], make: Callable[[Any], Any]) -> Tensor:
    """`x`, and `make(x)` where it is outside."""
    # In TensorFlow's order: infinity is made before the comparison, zeros and ones after it.
    if make is _minus_infinity:
        infinity = make(x)
        return tf.where(outside(), infinity, x)
    return tf.where(outside(), make(x), x)
