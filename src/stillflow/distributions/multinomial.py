"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

from stillflow.distributions.checks import embed_check_nonnegative_integer_form
from stillflow.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from stillflow.distributions.parameters import get_logits_and_probs, log_combinations
from stillflow.functional.map_fn import map_fn
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones_like
from stillflow.ops.arrays.one_hot import one_hot
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.arrays.slicing import newaxis
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.control_flow.identity_and_group import identity, with_dependencies
from stillflow.ops.debugging.comparisons import assert_equal
from stillflow.ops.linalg.diagonal import matrix_set_diag
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.math.cast import cast
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.nn.softmax import log_softmax
from stillflow.ops.random.categorical import multinomial


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
        with name_scope(name, values=[total_count, logits, probs]) as scope:
            self._total_count: Any = convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._total_count = embed_check_nonnegative_integer_form(self._total_count)
            self._logits, self._probs = get_logits_and_probs(
                logits, probs, multidimensional=True, validate_args=validate_args, name=scope
            )
            self._mean_val = self._total_count[..., newaxis] * self._probs
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
        return shape(self._mean_val)[:-1]

    def _batch_shape(self) -> Any:
        return self._mean_val.shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self) -> Any:
        return shape(self._mean_val)[-1:]

    def _event_shape(self) -> Any:
        return self._mean_val.shape.with_rank_at_least(1)[-1:]

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        total = cast(self.total_count, dtype=dtypes.int32)
        classes = self.event_shape_tensor()[0]
        counts = ones_like(self.logits[..., 0], dtype=total.dtype) * total
        logits = ones_like(counts[..., newaxis], dtype=self.logits.dtype) * self.logits

        def histograms(distribution: list[Any]) -> Any:
            row, count = distribution
            drawn = reshape(multinomial(row[newaxis, ...], count, seed), shape=[n, -1])
            return reduce_sum(one_hot(drawn, depth=classes), axis=-2)

        flat = [reshape(logits, [-1, classes]), n * reshape(counts, [-1])]
        by_distribution = map_fn(histograms, flat, dtype=self.dtype)
        by_sample = transpose(by_distribution, perm=[1, 0, 2])
        return reshape(by_sample, concat([[n], self.batch_shape_tensor(), [classes]], 0))

    def _log_prob(self, counts: Any) -> Any:
        return self._log_unnormalized_prob(counts) - self._log_normalization(counts)

    def _log_unnormalized_prob(self, counts: Any) -> Any:
        counts = self._checked_sample(counts)
        return reduce_sum(counts * log_softmax(self.logits), -1)

    def _log_normalization(self, counts: Any) -> Any:
        counts = self._checked_sample(counts)
        return -log_combinations(self.total_count, counts)

    def _mean(self) -> Any:
        return identity(self._mean_val)

    def _batch_probs(self) -> Any:
        return self.probs * ones_like(self.total_count)[..., newaxis]

    def _covariance(self) -> Any:
        probs = self._batch_probs()
        product = matmul(self._mean_val[..., newaxis], probs[..., newaxis, :])
        return matrix_set_diag(-product, self._variance())

    def _variance(self) -> Any:
        probs = self._batch_probs()
        return self._mean_val - self._mean_val * probs

    def _checked_sample(self, counts: Any) -> Any:
        if not self.validate_args:
            return counts
        counts = embed_check_nonnegative_integer_form(counts)
        check = assert_equal(
            self.total_count,
            reduce_sum(counts, -1),
            message="counts must sum to `self.total_count`",
        )
        return with_dependencies([check], counts)
