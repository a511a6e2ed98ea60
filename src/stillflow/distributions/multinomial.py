"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.distributions.checks import embed_check_nonnegative_integer_form
from stillflow.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from stillflow.distributions.kullback_leibler import moved
from stillflow.distributions.parameters import get_logits_and_probs, log_combinations
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.ops.control_flow.identity_and_group import with_dependencies


@export("distributions.Multinomial", "contrib.distributions.Multinomial")
class Multinomial(Distribution):
    """Counts of classes in independent draws.

    Args:
      total_count: how many draws.
      logits: `[..., K]`, unnormalized log-probabilities, or
      probs: `[..., K]`, probabilities.
      validate_args: whether the graph checks parameters and counts.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: if both or none of `logits` and `probs` are given.
    """

    @moved
    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        given = dict(locals())
        with tf.name_scope(name, values=[total_count, logits, probs]) as scope:
            self._total_count: Any = convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._total_count = embed_check_nonnegative_integer_form(self._total_count)
            self._logits, self._probs = get_logits_and_probs(
                logits, probs, multidimensional=True, validate_args=validate_args, name=scope
            )
            self._mean_val = self._total_count[..., tf.newaxis] * self._probs
        self._initialize(
            given,
            scope,
            [self._total_count, self._logits, self._probs],
            dtype=self._probs.dtype,
            kind=NOT_REPARAMETERIZED,
        )

    @property
    def total_count(self) -> Any:
        """The number of draws."""
        return self._total_count

    @property
    def logits(self) -> Any:
        """The unnormalized log-probabilities."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self._probs

    def _batch_shape_tensor(self) -> Any:
        return tf.shape(self._mean_val)[:-1]

    def _batch_shape(self) -> Any:
        return self._mean_val.shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self) -> Any:
        return tf.shape(self._mean_val)[-1:]

    def _event_shape(self) -> Any:
        return self._mean_val.shape.with_rank_at_least(1)[-1:]

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        total = tf.cast(self.total_count, dtype=tf.int32)
        classes = self.event_shape_tensor()[0]
        counts = tf.ones_like(self.logits[..., 0], dtype=total.dtype) * total
        logits = tf.ones_like(counts[..., tf.newaxis], dtype=self.logits.dtype) * self.logits

        def histograms(distribution: list[Any]) -> Any:
            row, count = distribution
            drawn = tf.reshape(tf.multinomial(row[tf.newaxis, ...], count, seed), shape=[n, -1])
            return tf.reduce_sum(tf.one_hot(drawn, depth=classes), axis=-2)

        flat = [tf.reshape(logits, [-1, classes]), n * tf.reshape(counts, [-1])]
        by_distribution = tf.map_fn(histograms, flat, dtype=self.dtype)
        by_sample = tf.transpose(by_distribution, perm=[1, 0, 2])
        return tf.reshape(by_sample, tf.concat([[n], self.batch_shape_tensor(), [classes]], 0))

    def _log_prob(self, counts: Any) -> Any:
        return self._log_unnormalized_prob(counts) - self._log_normalization(counts)

    def _log_unnormalized_prob(self, counts: Any) -> Any:
        counts = self._checked_sample(counts)
        return tf.reduce_sum(counts * tf.nn.log_softmax(self.logits), -1)

    def _log_normalization(self, counts: Any) -> Any:
        counts = self._checked_sample(counts)
        return -log_combinations(self.total_count, counts)

    def _mean(self) -> Any:
        return tf.identity(self._mean_val)

    def _batch_probs(self) -> Any:
        return self.probs * tf.ones_like(self.total_count)[..., tf.newaxis]

    def _covariance(self) -> Any:
        probs = self._batch_probs()
        product = tf.matmul(self._mean_val[..., tf.newaxis], probs[..., tf.newaxis, :])
        return tf.matrix_set_diag(-product, self._variance())

    def _variance(self) -> Any:
        probs = self._batch_probs()
        return self._mean_val - self._mean_val * probs

    def _checked_sample(self, counts: Any) -> Any:
        if not self.validate_args:
            return counts
        counts = embed_check_nonnegative_integer_form(counts)
        check = tf.assert_equal(
            self.total_count,
            tf.reduce_sum(counts, -1),
            message="counts must sum to `self.total_count`",
        )
        return with_dependencies([check], counts)
