"""Distributions whose methods take more arguments, for their conditions."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.distributions.distribution import Distribution
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.distributions.transformed import TransformedDistribution


@export("contrib.distributions.ConditionalDistribution")
class ConditionalDistribution(Distribution):
    """Distribution whose `_sample_n`, `_log_prob` ... get the methods' additional arguments."""

    def sample(
        self, sample_shape: Any = (), seed: Any = None, name: str = "sample", **condition: Any
    ) -> Tensor:
        """Return samples of shape `sample_shape + batch_shape + event_shape`."""
        return self._call_sample_n(sample_shape, seed, name, **condition)

    def log_prob(self, value: Any, name: str = "log_prob", **condition: Any) -> Tensor:
        """Return the logarithm of the density or probability mass."""
        return self._call_log_prob(value, name, **condition)

    def prob(self, value: Any, name: str = "prob", **condition: Any) -> Tensor:
        """Return the density or probability mass."""
        return self._call_prob(value, name, **condition)

    def log_cdf(self, value: Any, name: str = "log_cdf", **condition: Any) -> Tensor:
        """Return the logarithm of `cdf`."""
        return self._call_log_cdf(value, name, **condition)

    def cdf(self, value: Any, name: str = "cdf", **condition: Any) -> Tensor:
        """Return the probability of samples up to `value`."""
        return self._call_cdf(value, name, **condition)

    def log_survival_function(
        self, value: Any, name: str = "log_survival_function", **condition: Any
    ) -> Tensor:
        """Return the logarithm of `survival_function`."""
        return self._call_log_survival_function(value, name, **condition)

    def survival_function(
        self, value: Any, name: str = "survival_function", **condition: Any
    ) -> Tensor:
        """Return the probability of samples above `value`."""
        return self._call_survival_function(value, name, **condition)


_Kwargs = dict[str, Any] | None


@export("contrib.distributions.ConditionalTransformedDistribution")
class ConditionalTransformedDistribution(ConditionalDistribution, TransformedDistribution):
    """`TransformedDistribution` of a distribution with more arguments.

    Its methods take `bijector_kwargs` and `distribution_kwargs`, which they give to the methods
    of `ConditionalBijector` and `ConditionalDistribution`.
    """

    def _sample_n(
        self, n: Any, seed: Any = None, bijector_kwargs: _Kwargs = None,
        distribution_kwargs: _Kwargs = None,
    ) -> Tensor:  # fmt: skip
        return self._drawn(n, seed, distribution_kwargs or {})

    def _forward_arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        return given.get("bijector_kwargs") or {}

    def _log_prob(
        self, y: Any, bijector_kwargs: _Kwargs = None, distribution_kwargs: _Kwargs = None
    ) -> Tensor:
        fibers, _ = self._fibers(y, bijector_kwargs or {})
        logs = []
        for x, determinant in fibers:
            x = self._rotate(x, right=True)
            log = self.distribution.log_prob(x, **(distribution_kwargs or {}))
            if self._maybe_event:
                log = tf.reduce_sum(log, self._event_axes)
            logs.append(tf.cast(determinant, log.dtype) + log)
        if self.bijector._is_injective:
            return logs[0]
        return tf.reduce_logsumexp(tf.stack(logs), axis=0)

    def _prob(
        self, y: Any, bijector_kwargs: _Kwargs = None, distribution_kwargs: _Kwargs = None
    ) -> Tensor:
        fibers, _ = self._fibers(y, bijector_kwargs or {})
        probabilities = []
        for x, determinant in fibers:
            x = self._rotate(x, right=True)
            prob = self.distribution.prob(x, **(distribution_kwargs or {}))
            if self._maybe_event:
                prob = tf.reduce_prod(prob, self._event_axes)
            probabilities.append(tf.exp(tf.cast(determinant, prob.dtype)) * prob)
        return probabilities[0] if self.bijector._is_injective else sum(probabilities)

    def _of_scalar(self, method: str, y: Any, bijector: _Kwargs, distribution: _Kwargs) -> Tensor:
        self._require_scalar(method)
        x = self.bijector.inverse(y, **(bijector or {}))
        return getattr(self.distribution, method)(x, **(distribution or {}))

    def _log_cdf(
        self, y: Any, bijector_kwargs: _Kwargs = None, distribution_kwargs: _Kwargs = None
    ) -> Tensor:
        return self._of_scalar("log_cdf", y, bijector_kwargs, distribution_kwargs)

    def _cdf(
        self, y: Any, bijector_kwargs: _Kwargs = None, distribution_kwargs: _Kwargs = None
    ) -> Tensor:
        return self._of_scalar("cdf", y, bijector_kwargs, distribution_kwargs)

    def _log_survival_function(
        self, y: Any, bijector_kwargs: _Kwargs = None, distribution_kwargs: _Kwargs = None
    ) -> Tensor:
        return self._of_scalar("log_survival_function", y, bijector_kwargs, distribution_kwargs)

    def _survival_function(
        self, y: Any, bijector_kwargs: _Kwargs = None, distribution_kwargs: _Kwargs = None
    ) -> Tensor:
        return self._of_scalar("survival_function", y, bijector_kwargs, distribution_kwargs)

    def _quantile(
        self, value: Any, bijector_kwargs: _Kwargs = None, distribution_kwargs: _Kwargs = None
    ) -> Any:
        self._require_scalar("quantile")
        x = self.distribution.quantile(value, **(distribution_kwargs or {}))
        return self.bijector.forward(x, **(bijector_kwargs or {}))
