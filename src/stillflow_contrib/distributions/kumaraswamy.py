"""Kumaraswamy's distributions, of numbers from zero to one."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distributions.distribution import FULLY_REPARAMETERIZED
from stillflow.distributions.uniform import Uniform
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.bijectors.curves import Kumaraswamy as Bend
from stillflow_contrib.distributions.moved import moved_from_contrib
from stillflow_contrib.distributions.scales import broadcast_shape
from stillflow_contrib.distributions.transformed import TransformedDistribution


def _harmonic_number(x: Any) -> Tensor:
    one = tf.ones([], dtype=x.dtype)
    return tf.digamma(x + one) - tf.digamma(one)


@export("contrib.distributions.Kumaraswamy")
class Kumaraswamy(TransformedDistribution):
    """Distributions of the density `a b x^(a - 1) (1 - x^a)^(b - 1)`.

    Args:
      concentration1: a, positive.
      concentration0: b, positive.
      validate_args: whether the graph checks that they are, and values.
      allow_nan_stats: whether modes that do not exist are NaN; else running fails.
      name: of the scope.
    """

    @moved_from_contrib
    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Kumaraswamy",
    ) -> None:
        with tf.name_scope(name, values=[concentration1, concentration0]) as scope:
            a = convert_to_tensor(concentration1, name="concentration1")
            b = convert_to_tensor(concentration0, name="concentration0")
        uniform = Uniform(
            low=tf.zeros([], dtype=a.dtype),
            high=tf.ones([], dtype=a.dtype),
            allow_nan_stats=allow_nan_stats,
        )
        super().__init__(
            distribution=uniform,
            bijector=Bend(concentration1=a, concentration0=b, validate_args=validate_args),
            batch_shape=broadcast_shape(a, b),
            name=scope,
        )
        self._reparameterization_type = FULLY_REPARAMETERIZED

    @property
    def concentration1(self) -> Any:
        """The power a."""
        return self.bijector.concentration1

    @property
    def concentration0(self) -> Any:
        """The power b."""
        return self.bijector.concentration0

    def _entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return 1 - 1.0 / a + (1 - 1.0 / b) * _harmonic_number(b) + tf.log(a) + tf.log(b)

    def _moment(self, n: int) -> Tensor:
        total = self.concentration1 + self.concentration0
        a = tf.ones_like(total, dtype=self.dtype) * self.concentration1
        b = tf.ones_like(total, dtype=self.dtype) * self.concentration0
        arguments = tf.stack([1 + n / a, b], -1)
        return tf.exp(tf.log(b) + tf.lbeta(arguments))

    def _mean(self) -> Tensor:
        return self._moment(1)

    def _variance(self) -> Tensor:
        return self._moment(2) - tf.square(self._moment(1))

    def _mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** (1.0 / a)
        if self.allow_nan_stats:
            nan = np.array(np.nan, dtype=self.dtype.as_numpy_dtype)
            nan = tf.fill(self.batch_shape_tensor(), nan, name="nan")
            exists = (a > 1.0) & (b > 1.0)
            return tf.where_v2(exists, mode, nan)
        checks = [
            tf.assert_less(
                tf.ones([], dtype=each.dtype),
                each,
                message=f"Mode undefined for {name} <= 1.",
            )
            for name, each in (("concentration1", a), ("concentration0", b))
        ]
        return with_dependencies(checks, mode)
