"""Distributions of the absolute values of normal numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distributions.distribution import FULLY_REPARAMETERIZED, ScalarDistribution
from stillflow.distributions.special_math import erfinv
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.distributions.moved import moved_from_contrib
from stillflow_contrib.distributions.scales import positive_parameter

_ROOT_2, _ROOT_PI = np.sqrt(2.0), np.sqrt(np.pi)


@export("contrib.distributions.HalfNormal")
class HalfNormal(ScalarDistribution):
    """Distributions of the absolute values of normal numbers of mean zero.

    Args:
      scale: positive standard deviations of the normal numbers.
      validate_args: whether the graph checks that they are.
      allow_nan_stats: see `Distribution`.
      name: of the scope.
    """

    _parameter_names = ("scale",)

    @moved_from_contrib
    def __init__(
        self,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "HalfNormal",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[scale]) as scope:
            self._scale = scale = positive_parameter(scale, "scale", validate_args)
        super().__init__(
            scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [scale], scope,
        )  # fmt: skip

    @property
    def scale(self) -> Any:
        """The standard deviations of the normal numbers."""
        return self._scale

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        shape = tf.concat([[n], self.batch_shape_tensor()], 0)
        drawn = tf.random_normal(shape=shape, mean=0.0, stddev=1.0, dtype=self.dtype, seed=seed)
        return tf.abs(drawn * self.scale)

    def _prob(self, x: Any) -> Tensor:
        highest = _ROOT_2 / self.scale / _ROOT_PI
        density = highest * tf.exp(-0.5 * (x / self.scale) ** 2)
        return density * tf.cast(x >= 0, self.dtype)

    def _cdf(self, x: Any) -> Tensor:
        return tf.erf(tf.nn.relu(x) / self.scale / _ROOT_2)

    def _entropy(self) -> Tensor:
        return 0.5 * tf.log(np.pi * self.scale**2.0 / 2.0) + 0.5

    def _mean(self) -> Tensor:
        return self.scale * _ROOT_2 / _ROOT_PI

    def _quantile(self, p: Any) -> Tensor:
        return _ROOT_2 * self.scale * erfinv(p)

    def _mode(self) -> Tensor:
        return tf.zeros(self.batch_shape_tensor())

    def _variance(self) -> Tensor:
        return self.scale**2.0 * (1.0 - 2.0 / np.pi)
