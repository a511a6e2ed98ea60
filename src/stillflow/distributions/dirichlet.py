"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distributions.distribution import Distribution
from stillflow.distributions.kullback_leibler import moved, register_kl
from stillflow.distributions.parameters import weighted_digamma
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.control_flow.identity_and_group import with_dependencies


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
        return tf.shape(self.total_concentration)

    def _batch_shape(self) -> TensorShape:
        return self.total_concentration.shape

    def _event_shape_tensor(self) -> Any:
        return tf.shape(self.concentration)[-1:]

    def _event_shape(self) -> TensorShape:
        return self.concentration.shape.with_rank_at_least(1)[-1:]

    def _variance_scale_term(self) -> Any:
        raise NotImplementedError

    def _covariance(self) -> Any:
        x = self._variance_scale_term() * self._mean()
        product = tf.matmul(x[..., tf.newaxis], x[..., tf.newaxis, :])
        return tf.matrix_set_diag(-product, self._variance())


@export("distributions.Dirichlet", "contrib.distributions.Dirichlet")
class Dirichlet(OverClasses):
    """Dirichlet distributions: how likely probabilities of classes are.

    Args:
      concentration: `[..., K]`.
      validate_args: whether the graph checks parameters and samples.
      allow_nan_stats: see `Distribution`.
      name: of the scope.
    """

    @moved
    def __init__(
        self,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        given = dict(locals())
        with tf.name_scope(name, values=[concentration]) as scope:
            self._concentration = self._checked_concentration(
                convert_to_tensor(concentration, name="concentration"), validate_args
            )
            self._total_concentration = tf.reduce_sum(self._concentration, -1)
        self._initialize(given, scope, [self._concentration, self._total_concentration])

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        gamma = tf.random_gamma(shape=[n], alpha=self.concentration, dtype=self.dtype, seed=seed)
        return gamma / tf.reduce_sum(gamma, -1, keepdims=True)

    def _log_prob(self, x: Any) -> Any:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _log_unnormalized_prob(self, x: Any) -> Any:
        x = self._checked_sample(x)
        return tf.reduce_sum(tf.math.xlogy(self.concentration - 1.0, x), -1)

    def _log_normalization(self) -> Any:
        return tf.lbeta(self.concentration)

    def _entropy(self) -> Any:
        classes = tf.cast(self.event_shape_tensor()[0], self.dtype)
        normalization = self._log_normalization()
        total = weighted_digamma(self.total_concentration, classes)
        return normalization + total - tf.reduce_sum(weighted_digamma(self.concentration, 1.0), -1)

    def _mean(self) -> Tensor:
        return self.concentration / self.total_concentration[..., tf.newaxis]

    def _variance(self) -> Tensor:
        scale = self._variance_scale_term()
        x = scale * self._mean()
        return x * (scale - x)

    def _variance_scale_term(self) -> Tensor:
        return tf.rsqrt(1.0 + self.total_concentration[..., tf.newaxis])

    def _mode(self) -> Any:
        classes = tf.cast(self.event_shape_tensor()[0], self.dtype)
        mode = (self.concentration - 1.0) / (self.total_concentration[..., tf.newaxis] - classes)
        if self.allow_nan_stats:
            nan = np.array(np.nan, dtype=self.dtype.as_numpy_dtype)
            nans = tf.fill(tf.shape(mode), nan, name="nan")
            return tf.where_v2(tf.reduce_all(self.concentration > 1.0, axis=-1), mode, nans)
        check = tf.assert_less(
            tf.ones([], self.dtype),
            self.concentration,
            message="Mode undefined when any concentration <= 1",
        )
        return with_dependencies([check], mode)

    def _checked_concentration(self, concentration: Any, validate_args: bool) -> Any:
        if not validate_args:
            return concentration
        checks = [
            tf.assert_positive(concentration, message="Concentration parameter must be positive."),
            tf.assert_rank_at_least(
                concentration, 1, message="Concentration parameter must have >=1 dimensions."
            ),
            tf.assert_less(
                1,
                tf.shape(concentration)[-1],
                message="Concentration parameter must have event_size >= 2.",
            ),
        ]
        return with_dependencies(checks, concentration)

    def _checked_sample(self, x: Any) -> Any:
        if not self.validate_args:
            return x
        checks = [
            tf.assert_positive(x, message="samples must be positive"),
            tf.debugging.assert_near(
                tf.ones([], dtype=self.dtype),
                tf.reduce_sum(x, -1),
                message="sample last-dimension must sum to `1`",
            ),
        ]
        return with_dependencies(checks, x)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(d1: Any, d2: Any, name: str | None = None) -> Any:
    both = first, second = d1.concentration, d2.concentration
    with tf.name_scope(name, "kl_dirichlet_dirichlet", values=list(both)):
        of_total = tf.digamma(tf.reduce_sum(first, axis=-1, keepdims=True))
        expected_logs = tf.digamma(first) - of_total
        unnormalized = tf.reduce_sum((first - second) * expected_logs, axis=-1)
        return unnormalized - tf.lbeta(first) + tf.lbeta(second)
