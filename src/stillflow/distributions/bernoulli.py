"""The Bernoulli distribution."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.distributions.checks import embed_check_integer_casting_closed
from stillflow.distributions.distribution import NOT_REPARAMETERIZED, ScalarDistribution
from stillflow.distributions.kullback_leibler import moved, register_kl
from stillflow.distributions.parameters import get_logits_and_probs
from stillflow.graph.dtypes import int32
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor


@export("distributions.Bernoulli", "contrib.distributions.Bernoulli")
class Bernoulli(ScalarDistribution):
    """Distributions of zero and one.

    Args:
      logits: log-odds of one, or
      probs: probabilities of one.
      dtype: of samples.
      validate_args: whether the graph checks parameters and events.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: if both or none of `logits` and `probs` are given.
    """

    _parameter_names = ("logits",)

    @moved
    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        given = dict(locals())
        with tf.name_scope(name) as scope:
            self._logits, self._probs = get_logits_and_probs(
                logits=logits, probs=probs, validate_args=validate_args, name=scope
            )
        self._initialize(
            given, scope, [self._logits, self._probs], dtype=dtype, kind=NOT_REPARAMETERIZED
        )

    @property
    def logits(self) -> Any:
        """The log-odds of one."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of one."""
        return self._probs

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        shape = self._sample_shape(n)
        drawn = tf.random_uniform(shape, seed=seed, dtype=self.probs.dtype)
        return tf.cast(tf.less(drawn, self.probs), self.dtype)

    def _log_prob(self, event: Any) -> Tensor:
        if self.validate_args:
            event = embed_check_integer_casting_closed(event, target_dtype=tf.bool)
        logits = self.logits
        event = tf.cast(event, logits.dtype)
        known = event.shape.is_fully_defined() and logits.shape.is_fully_defined()
        if not (known and event.shape == logits.shape):
            # The cross entropy does not broadcast.
            logits, event = tf.ones_like(event) * logits, tf.ones_like(logits) * event
        return -tf.nn.sigmoid_cross_entropy_with_logits(labels=event, logits=logits)

    def _entropy(self) -> Tensor:
        return -self.logits * (tf.sigmoid(self.logits) - 1) + tf.nn.softplus(-self.logits)

    def _mean(self) -> Tensor:
        return tf.identity(self.probs)

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Tensor:
        return tf.cast(self.probs > 0.5, self.dtype)


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(a: Any, b: Any, name: str | None = None) -> Any:
    def log_ratio(log_odds: Callable[[Any], Any]) -> Any:
        of_b, of_a = (tf.nn.softplus(log_odds(each.logits)) for each in (b, a))
        return of_b - of_a

    with tf.name_scope(name, "kl_bernoulli_bernoulli", values=[a.logits, b.logits]):
        of_zero, of_one = log_ratio(operator.neg), log_ratio(lambda logits: logits)
        return tf.sigmoid(a.logits) * of_zero + tf.sigmoid(-a.logits) * of_one
