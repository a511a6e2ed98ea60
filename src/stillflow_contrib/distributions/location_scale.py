"""Distributions that are moved and stretched, and Bernoulli's relaxed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distributions.location_scale import LocationScale
from stillflow.distributions.parameters import get_logits_and_probs
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.distributions.bijectors.elementwise import Sigmoid
from stillflow_contrib.distributions.moved import moved_from_contrib
from stillflow_contrib.distributions.transformed import TransformedDistribution


@export("contrib.distributions.Logistic")
class Logistic(LocationScale):
    """Logistic distributions, whose distribution function is the sigmoid.

    Args:
      loc: means.
      scale: positive scales.
      validate_args: whether the graph checks that they are.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      TypeError: if the parameters are of different or no floating-point types.
    """

    @moved_from_contrib
    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Logistic",
    ) -> None:
        super().__init__(dict(locals()))

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        uniform = self._positive_uniform(tf.concat([[n], self.batch_shape_tensor()], 0), seed)
        sampled = tf.log(uniform) - tf.log1p(-1.0 * uniform)
        return sampled * self.scale + self.loc

    def _log_unnormalized_prob(self, x: Any) -> Tensor:
        z = self._z(x)
        return -z - 2.0 * tf.nn.softplus(-z)

    def _log_normalization(self) -> Tensor:
        return tf.log(self.scale)

    def _log_cdf(self, x: Any) -> Tensor:
        return -tf.nn.softplus(-self._z(x))

    def _cdf(self, x: Any) -> Tensor:
        return tf.sigmoid(self._z(x))

    def _log_survival_function(self, x: Any) -> Tensor:
        return -tf.nn.softplus(self._z(x))

    def _survival_function(self, x: Any) -> Tensor:
        return tf.sigmoid(-self._z(x))

    def _entropy(self) -> Tensor:
        return 2 + tf.log(self.scale * tf.ones_like(self.loc))

    def _mean(self) -> Tensor:
        return self.loc * tf.ones_like(self.scale)

    def _stddev(self) -> Tensor:
        return self.scale * tf.ones_like(self.loc) * math.pi / math.sqrt(3)

    def _mode(self) -> Tensor:
        return self._mean()


@export("contrib.distributions.Cauchy")
class Cauchy(LocationScale):
    """Cauchy distributions, which have no mean.

    Args:
      loc: medians.
      scale: positive scales.
      validate_args: whether the graph checks that they are.
      allow_nan_stats: True if mean and standard deviation are NaN; else they raise an error.
      name: of the scope.

    Raises:
      TypeError: if the parameters are of different or no floating-point types.
    """

    @moved_from_contrib
    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Cauchy",
    ) -> None:
        super().__init__(dict(locals()))

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        shape = tf.concat([[n], self.batch_shape_tensor()], 0)
        return self._quantile(
            tf.random_uniform(shape=shape, minval=0.0, maxval=1.0, dtype=self.dtype, seed=seed)
        )

    def _log_unnormalized_prob(self, x: Any) -> Tensor:
        return -tf.log1p(tf.square(self._z(x)))

    def _log_normalization(self) -> Tensor:
        return np.log(np.pi) + tf.log(self.scale)

    def _cdf(self, x: Any) -> Tensor:
        return tf.atan(self._z(x)) / np.pi + 0.5

    def _log_cdf(self, x: Any) -> Tensor:
        return tf.log1p(2 / np.pi * tf.atan(self._z(x))) - np.log(2)

    def _quantile(self, p: Any) -> Tensor:
        return self.loc + self.scale * tf.tan(np.pi * (p - 0.5))

    def _entropy(self) -> Tensor:
        return (np.log(4 * np.pi) + tf.log(self.scale)) * tf.ones_like(self.loc)

    def _mode(self) -> Tensor:
        return self.loc * tf.ones_like(self.scale)

    def _mean(self) -> Tensor:
        return self._undefined("mean")

    def _stddev(self) -> Tensor:
        return self._undefined("stddev")

    def _undefined(self, what: str) -> Tensor:
        if not self.allow_nan_stats:
            raise ValueError(f"`{what}` is undefined for Cauchy distribution.")
        return tf.fill(self.batch_shape_tensor(), self.dtype.as_numpy_dtype(np.nan))


@export("contrib.distributions.RelaxedBernoulli")
class RelaxedBernoulli(TransformedDistribution):
    """Numbers between zero and one, most of them near one of both (Maddison et al., 2017).

    Args:
      temperature: positive; the smaller, the nearer samples are to zero and one.
      logits: log-odds of one, or
      probs: probabilities of one.
      validate_args: whether the graph checks parameters.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: if both or none of `logits` and `probs` are given.
    """

    @moved_from_contrib
    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedBernoulli",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[logits, probs, temperature]) as scope:
            checks = [tf.assert_positive(temperature)] if validate_args else []
            with tf.control_dependencies(checks):
                self._temperature = tf.identity(temperature, name="temperature")
            self._logits, self._probs = get_logits_and_probs(
                logits=logits, probs=probs, validate_args=validate_args
            )
            logistic = Logistic(
                self._logits / self._temperature,
                1.0 / self._temperature,
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                name=scope + "/Logistic",
            )
            bijector = Sigmoid(validate_args=validate_args)
            super().__init__(logistic, bijector, validate_args=validate_args, name=scope)
        self._parameters = parameters

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[Any, Any]:
        return {"logits": convert_to_tensor(sample_shape, dtype=tf.int32)}

    @property
    def temperature(self) -> Any:
        """The temperature: the distance of samples from zero and one."""
        return self._temperature

    @property
    def logits(self) -> Any:
        """The log-odds of one."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probabilities of one."""
        return self._probs
