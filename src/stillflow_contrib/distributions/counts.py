"""Distributions of counts."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.distributions.checks import (
    assert_integer_form,
    embed_check_nonnegative_integer_form,
)
from stillflow.distributions.distribution import NOT_REPARAMETERIZED, ScalarDistribution
from stillflow.distributions.parameters import gen_new_seed, get_logits_and_probs
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.moved import moved_from_contrib


class _Counts(ScalarDistribution):
    """A distribution of integers from zero on, as floating-point numbers."""

    def _checked(self, x: Any) -> Tensor:
        return embed_check_nonnegative_integer_form(x) if self.validate_args else x


def _rate(value: Any, name: str) -> Tensor:
    value = convert_to_tensor(value, name=name)
    if not value.dtype.is_floating:
        raise TypeError(f"{name}.dtype ({value.dtype.name}) is a not a float-type.")
    return value


@export("contrib.distributions.Poisson")
class Poisson(_Counts):
    """Poisson distributions.

    Args:
      rate: positive means, or
      log_rate: their logarithms.
      validate_args: whether the graph checks rates and counts.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: if both or none of `rate` and `log_rate` are given.
      TypeError: if they are not of a floating-point type.
    """

    _parameter_names = ("rate",)

    @moved_from_contrib
    def __init__(
        self,
        rate: Any = None,
        log_rate: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Poisson",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[rate]) as scope:
            if (rate is None) == (log_rate is None):
                raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
            if log_rate is None:
                rate = _rate(rate, "rate")
                checks = [tf.assert_positive(rate)] if validate_args else []
                with tf.control_dependencies(checks):
                    self._rate = tf.identity(rate, name="rate")
                    self._log_rate = tf.log(rate, name="log_rate")
            else:
                self._log_rate = _rate(log_rate, "log_rate")
                self._rate = tf.exp(self._log_rate, name="rate")
        super().__init__(
            dtype=self._rate.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._rate],
            name=scope,
        )

    @property
    def rate(self) -> Any:
        """The means."""
        return self._rate

    @property
    def log_rate(self) -> Tensor:
        """The logarithms of the means."""
        return self._log_rate

    def _log_prob(self, x: Any) -> Tensor:
        x = self._checked(x)
        return x * self.log_rate - tf.lgamma(1.0 + x) - self.rate

    def _log_cdf(self, x: Any) -> Tensor:
        return tf.log(self.cdf(x))

    def _cdf(self, x: Any) -> Tensor:
        return tf.igammac(1.0 + self._checked(x), self.rate)

    def _mean(self) -> Tensor:
        return tf.identity(self.rate)

    def _variance(self) -> Tensor:
        return tf.identity(self.rate)

    def _mode(self) -> Tensor:
        return tf.floor(self.rate)

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        return tf.random_poisson(self.rate, [n], dtype=self.dtype, seed=seed)


class _Trials(_Counts):
    """Distribution of the outcome of trials with a probability of success."""

    _logits: Any
    _probs: Any

    @property
    def logits(self) -> Tensor:
        """The log-odds of success."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of success."""
        return self._probs


@export("contrib.distributions.Binomial")
class Binomial(_Trials):
    """Binomial distributions: how many trials succeed.

    Args:
      total_count: how many trials there are.
      logits: log-odds of success, or
      probs: probabilities of success.
      validate_args: whether the graph checks parameters and counts.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: if both or none of `logits` and `probs` are given.
    """

    _parameter_names = ("total_count", "probs")

    @moved_from_contrib
    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Binomial",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[total_count, logits, probs]) as scope:
            count = convert_to_tensor(total_count, name="total_count")
            if validate_args:
                whole = "total_count cannot contain fractional components."
                checks = [
                    tf.assert_non_negative(count, message="total_count must be non-negative."),
                    assert_integer_form(count, message=whole),
                ]
                count = with_dependencies(checks, count)
            self._total_count = count
            self._logits, self._probs = get_logits_and_probs(
                logits, probs, validate_args=validate_args, name=scope
            )
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._total_count, self._logits, self._probs],
            name=scope,
        )

    @property
    def total_count(self) -> Tensor:
        """The number of trials."""
        return self._total_count

    def _checked(self, counts: Any) -> Tensor:
        if not self.validate_args:
            return counts
        most = tf.assert_less_equal
        counts = embed_check_nonnegative_integer_form(counts)
        message = "counts are not less than or equal to n."
        return with_dependencies([most(counts, self.total_count, message=message)], counts)

    def _log_prob(self, counts: Any) -> Tensor:
        unnormalized = self._log_unnormalized_prob(counts)
        return unnormalized - self._log_normalization(counts)

    def _log_unnormalized_prob(self, counts: Any) -> Tensor:
        counts = self._checked(counts)
        of_success = counts * tf.log(self.probs)
        return of_success + (self.total_count - counts) * tf.log1p(-self.probs)

    def _log_normalization(self, counts: Any) -> Tensor:
        counts = self._checked(counts)
        return (
            tf.lgamma(1.0 + self.total_count - counts)
            + tf.lgamma(1.0 + counts)
            - tf.lgamma(1.0 + self.total_count)
        )

    def _cdf(self, counts: Any) -> Tensor:
        counts, probs = self._checked(counts), self.probs
        known = counts.shape.is_fully_defined() and probs.shape.is_fully_defined()
        if not (known and counts.shape.is_compatible_with(probs.shape)):
            probs += tf.zeros_like(counts)
            counts += tf.zeros_like(self.probs)
        n = self.total_count
        # The incomplete beta function is not defined where all succeed.
        ones, all_succeed = tf.ones_like(n - counts), tf.equal(counts, n)
        failed = tf.where_v2(all_succeed, ones, n - counts)
        return tf.where_v2(all_succeed, ones, tf.betainc(a=failed, b=counts + 1, x=1 - probs))

    def _mean(self) -> Tensor:
        return self.total_count * self.probs

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Tensor:
        return tf.floor((1.0 + self.total_count) * self.probs)


@export("contrib.distributions.Geometric")
class Geometric(_Trials):
    """Geometric distributions: how many trials fail before one succeeds.

    Args:
      logits: log-odds of success, or
      probs: probabilities of success.
      validate_args: whether the graph checks parameters and counts.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: if both or none of `logits` and `probs` are given.
    """

    _parameter_names = ("probs",)

    @moved_from_contrib
    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Geometric",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[logits, probs]) as scope:
            self._logits, probs = get_logits_and_probs(
                logits, probs, validate_args=validate_args, name=scope
            )
            with tf.control_dependencies([tf.assert_positive(probs)] if validate_args else []):
                self._probs = tf.identity(probs, name="probs")
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._probs, self._logits],
            name=scope,
        )

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        uniform = self._positive_uniform(tf.concat([[n], tf.shape(self._probs)], 0), seed)
        return tf.floor(tf.log(uniform) / tf.log1p(-self.probs))

    def _whole(self, x: Any) -> Tensor:
        x = self._checked(x) if self.validate_args else tf.floor(x)
        return x * tf.ones_like(self.probs)

    def _cdf(self, x: Any) -> Tensor:
        x = self._whole(x)
        negative, zeros = x < 0.0, tf.zeros_like(x)
        return tf.where(negative, zeros, -tf.expm1((1.0 + x) * tf.log1p(-self.probs)))

    def _log_prob(self, x: Any) -> Tensor:
        x = self._whole(x)
        probs = self.probs * tf.ones_like(x)
        # No failure has the logarithm of zero in it, even where one is sure to succeed.
        safe = tf.where(tf.equal(x, 0.0), tf.zeros_like(probs), probs)
        return x * tf.log1p(-safe) + tf.log(probs)

    def _entropy(self) -> Tensor:
        probs = self._probs
        if self.validate_args:
            one = tf.constant(1.0, probs.dtype)
            message = "Entropy is undefined when logits = inf or probs = 1."
            probs = with_dependencies([tf.assert_less(probs, one, message=message)], probs)
        return tf.nn.softplus(self.logits) / probs - self.logits

    def _mean(self) -> Tensor:
        return tf.exp(-self.logits)

    def _variance(self) -> Tensor:
        return self._mean() / self.probs

    def _mode(self) -> Tensor:
        return tf.zeros(self.batch_shape_tensor(), dtype=self.dtype)


@export("contrib.distributions.NegativeBinomial")
class NegativeBinomial(_Trials):
    """Negative binomial distributions: how many trials succeed before some fail.

    Args:
      total_count: how many have to fail; need not be whole.
      logits: log-odds of success, or
      probs: probabilities of success.
      validate_args: whether the graph checks parameters and counts.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: if both or none of `logits` and `probs` are given.
    """

    _parameter_names = ("total_count", "probs")

    @moved_from_contrib
    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NegativeBinomial",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[total_count, logits, probs]) as scope:
            self._logits, self._probs = get_logits_and_probs(
                logits, probs, validate_args=validate_args, name=scope
            )
            checks = [tf.assert_positive(total_count)] if validate_args else []
            with tf.control_dependencies(checks):
                self._total_count = tf.identity(total_count)
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._total_count, self._probs, self._logits],
            name=scope,
        )

    @property
    def total_count(self) -> Tensor:
        """The number of failures."""
        return self._total_count

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        rate = tf.random_gamma(
            shape=[n],
            alpha=self.total_count,
            beta=tf.exp(-self.logits),
            dtype=self.dtype,
            seed=seed,
        )
        seed = gen_new_seed(seed, "negative_binom")
        return tf.random_poisson(rate, shape=[], dtype=self.dtype, seed=seed)

    def _cdf(self, x: Any) -> Tensor:
        x = self._checked(x)
        return tf.betainc(self.total_count, 1.0 + x, tf.sigmoid(-self.logits))

    def _log_prob(self, x: Any) -> Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization(x)

    def _log_unnormalized_prob(self, x: Any) -> Tensor:
        x = self._checked(x)
        failed = self.total_count * tf.log_sigmoid(-self.logits)
        return failed + x * tf.log_sigmoid(self.logits)

    def _log_normalization(self, x: Any) -> Tensor:
        x = self._checked(x)
        return -tf.lgamma(self.total_count + x) + tf.lgamma(1.0 + x) + tf.lgamma(self.total_count)

    def _mean(self) -> Tensor:
        return self.total_count * tf.exp(self.logits)

    def _mode(self) -> Tensor:
        count = self.total_count
        fewer = tf.where_v2(count > 1.0, count - 1.0, tf.zeros_like(count))
        return tf.floor(fewer * tf.exp(self.logits))

    def _variance(self) -> Tensor:
        return self._mean() / tf.sigmoid(-self.logits)
