"""The Bernoulli distribution."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from stillflow.distributions.checks import embed_check_integer_casting_closed
from stillflow.distributions.distribution import NOT_REPARAMETERIZED, ScalarDistribution
from stillflow.distributions.kullback_leibler import register_kl
from stillflow.distributions.parameters import get_logits_and_probs
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.dtypes import int32
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.nn.losses import sigmoid_cross_entropy_with_logits
from stillflow.ops.arrays.fill import ones_like
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import less
from stillflow.ops.math.unary import sigmoid
from stillflow.ops.nn.activations import softplus
from stillflow.ops.random.basic import random_uniform


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
        with name_scope(name) as scope:
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
        drawn = random_uniform(shape, seed=seed, dtype=self.probs.dtype)
        return cast(less(drawn, self.probs), self.dtype)

    def _log_prob(self, event: Any) -> Tensor:
        if self.validate_args:
            event = embed_check_integer_casting_closed(event, target_dtype=dtypes.bool)
        logits = self.logits
        event = cast(event, logits.dtype)
        known = event.shape.is_fully_defined() and logits.shape.is_fully_defined()
        if not (known and event.shape == logits.shape):
            # The cross entropy does not broadcast.
            logits, event = ones_like(event) * logits, ones_like(logits) * event
        return -sigmoid_cross_entropy_with_logits(labels=event, logits=logits)

    def _entropy(self) -> Tensor:
        return -self.logits * (sigmoid(self.logits) - 1) + softplus(-self.logits)

    def _mean(self) -> Tensor:
        return identity(self.probs)

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Tensor:
        return cast(self.probs > 0.5, self.dtype)


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(a: Any, b: Any, name: str | None = None) -> Any:
    def log_ratio(log_odds: Callable[[Any], Any]) -> Any:
        of_b, of_a = (softplus(log_odds(each.logits)) for each in (b, a))
        return of_b - of_a

    with name_scope(name, "kl_bernoulli_bernoulli", values=[a.logits, b.logits]):
        of_zero, of_one = log_ratio(operator.neg), log_ratio(lambda logits: logits)
        return sigmoid(a.logits) * of_zero + sigmoid(-a.logits) * of_one
