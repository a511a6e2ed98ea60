"""Distributions of classes as vectors with a one, and their continuous relaxations."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
)
from stillflow.distributions.kullback_leibler import register_kl
from stillflow.distributions.layout import known_or
from stillflow.distributions.parameters import get_logits_and_probs
from stillflow.graph.dtypes import int32
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.bijectors.elementwise import Exp
from stillflow_contrib.distributions.moved import moved_from_contrib
from stillflow_contrib.distributions.transformed import TransformedDistribution


class _OverClasses(Distribution):
    """A distribution of vectors with an element for each class."""

    _logits: Any
    _probs: Any

    def _set_sizes(self) -> None:
        logits = self._logits
        outer = logits.shape.with_rank_at_least(1)[:-1].ndims
        self._batch_rank = known_or(outer, "batch_rank", lambda: tf.rank(logits) - 1)
        with tf.name_scope(name="event_size"):
            self._event_size = tf.shape(logits)[-1]

    @property
    def event_size(self) -> Tensor:
        """The number of classes as a tensor."""
        return self._event_size

    @property
    def logits(self) -> Tensor:
        """The unnormalized log-probabilities."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._probs

    def _batch_shape_tensor(self) -> Tensor:
        return tf.shape(self.logits)[:-1]

    def _batch_shape(self) -> TensorShape:
        return self.logits.shape[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return tf.shape(self.logits)[-1:]

    def _event_shape(self) -> TensorShape:
        return self.logits.shape.with_rank_at_least(1)[-1:]

    def _with_logits(self, x: Any) -> tuple[Any, Any]:
        """Return a sample and the log-probabilities, of one shape."""
        x, logits = self._checked_sample(x), self.logits
        known = x.shape.is_fully_defined() and logits.shape.is_fully_defined()
        if not known or x.shape != logits.shape:
            logits = tf.ones_like(x, dtype=logits.dtype) * logits
            x = tf.ones_like(logits, dtype=x.dtype) * x
        return x, logits

    def _checked_sample(self, x: Any) -> Any:
        if not self.validate_args:
            return x
        # TensorFlow's checks of one-hot vectors too, which are right for logarithms only.
        checks = [
            tf.assert_non_positive(x),
            tf.debugging.assert_near(
                tf.zeros([], dtype=self.dtype), tf.reduce_logsumexp(x, axis=[-1])
            ),
        ]
        return with_dependencies(checks, x)


@export("contrib.distributions.OneHotCategorical")
class OneHotCategorical(_OverClasses):
    """Distributions of classes, as vectors with a one at the class.

    Args:
      logits: `[..., K]`, unnormalized log-probabilities, or
      probs: `[..., K]`, probabilities.
      dtype: of samples.
      validate_args: whether the graph checks parameters and events.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: if both or none of `logits` and `probs` are given.
    """

    @moved_from_contrib
    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "OneHotCategorical",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[logits, probs]) as scope:
            self._logits, self._probs = get_logits_and_probs(
                logits, probs, multidimensional=True, validate_args=validate_args, name=scope
            )
            self._set_sizes()
        super().__init__(
            dtype=dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._logits, self._probs],
            name=scope,
        )

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        shape = tf.concat([[n], tf.shape(self.logits)], 0)
        logits = self.logits
        if logits.shape.ndims != 2:
            logits = tf.reshape(logits, [-1, self.event_size])
        drawn = tf.transpose(tf.multinomial(logits, n, seed=seed))
        return tf.reshape(tf.one_hot(drawn, self.event_size, dtype=self.dtype), shape)

    def _log_prob(self, x: Any) -> Tensor:
        x, logits = self._with_logits(x)
        shape = tf.shape(tf.reduce_sum(logits, -1))
        logits = tf.reshape(logits, [-1, self.event_size])
        x = tf.reshape(x, [-1, self.event_size])
        log = -tf.nn.softmax_cross_entropy_with_logits(labels=x, logits=logits)
        return tf.reshape(log, shape)

    def _entropy(self) -> Tensor:
        return -tf.reduce_sum(tf.nn.log_softmax(self.logits) * self.probs, axis=-1)

    def _mode(self) -> Tensor:
        mode = tf.argmax(self.logits, axis=self._batch_rank)
        mode = tf.one_hot(mode, self.event_size, dtype=self.dtype)
        mode.set_shape(self.logits.shape)
        return mode

    def _covariance(self) -> Tensor:
        p = self.probs
        products = -tf.matmul(p[..., None], p[..., None, :])
        return tf.matrix_set_diag(products, self._variance())

    def _variance(self) -> Tensor:
        return self.probs * (1.0 - self.probs)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_one_hot(a: Any, b: Any, name: str | None = None) -> Tensor:
    with tf.name_scope(name, "kl_categorical_categorical", values=[a.logits, b.logits]):
        probs = tf.nn.softmax(a.logits)
        difference = tf.nn.log_softmax(a.logits) - tf.nn.log_softmax(b.logits)
        return tf.reduce_sum(probs * difference, axis=-1)


@export("contrib.distributions.ExpRelaxedOneHotCategorical")
class ExpRelaxedOneHotCategorical(_OverClasses):
    """Logarithms of relaxed one-hot vectors (Maddison et al., 2017).

    Args:
      temperature: positive; the smaller, the nearer samples are to one-hot vectors.
      logits: `[..., K]`, unnormalized log-probabilities, or
      probs: `[..., K]`, probabilities.
      dtype: of samples; that of the logits by default.
      validate_args: whether the graph checks parameters and events.
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
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExpRelaxedOneHotCategorical",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[logits, probs, temperature]) as scope:
            self._logits, self._probs = get_logits_and_probs(
                logits, probs, multidimensional=True, validate_args=validate_args, name=scope
            )
            if dtype is None:
                dtype = self._logits.dtype
                temperature = temperature if validate_args else tf.cast(temperature, dtype)
            checks = [tf.assert_positive(temperature)] if validate_args else []
            with tf.control_dependencies(checks):
                self._temperature = tf.identity(temperature, name="temperature")
                self._column = tf.reshape(temperature, [-1, 1], name="temperature_2d")
            self._set_sizes()
        super().__init__(
            dtype=dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._logits, self._probs, self._temperature],
            name=scope,
        )

    @property
    def temperature(self) -> Tensor:
        """The temperature: the distance of samples from one-hot vectors."""
        return self._temperature

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        shape = tf.concat([[n], tf.shape(self.logits)], 0)
        logits = self.logits * tf.ones(shape, dtype=self.dtype)
        logits = tf.reshape(logits, [-1, self.event_size])
        uniform = self._positive_uniform(tf.shape(logits), seed)
        gumbel = -tf.log(-tf.log(uniform))
        noisy = tf.div(gumbel + logits, self._column)
        return tf.reshape(tf.nn.log_softmax(noisy), shape)

    def _log_prob(self, x: Any) -> Tensor:
        x, logits = self._with_logits(x)
        shape = tf.shape(tf.reduce_sum(logits, axis=[-1]))
        logits = tf.reshape(logits, [-1, self.event_size])
        x = tf.reshape(x, [-1, self.event_size])
        k = tf.cast(self.event_size, x.dtype)
        constant = tf.lgamma(k) + (k - 1.0) * tf.log(self.temperature)
        log = tf.nn.log_softmax(logits - x * self._column)
        return tf.reshape(constant + tf.reduce_sum(log, [-1], keepdims=False), shape)


@export("contrib.distributions.RelaxedOneHotCategorical")
class RelaxedOneHotCategorical(TransformedDistribution):
    """Relaxed one-hot vectors: positive numbers of sum one.

    Args:
      See `ExpRelaxedOneHotCategorical`.
    """

    @moved_from_contrib
    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedOneHotCategorical",
    ) -> None:
        logarithms = ExpRelaxedOneHotCategorical(
            temperature, logits, probs, dtype, validate_args, allow_nan_stats
        )
        super().__init__(logarithms, Exp(), name=name)
