"""Counts of classes whose probabilities are Dirichlet distributed."""

from __future__ import annotations

from typing import Any

from stillflow.distributions.checks import (
    embed_check_categorical_event_shape,
    embed_check_nonnegative_integer_form,
)
from stillflow.distributions.dirichlet import OverClasses
from stillflow.distributions.distribution import NOT_REPARAMETERIZED
from stillflow.distributions.parameters import gen_new_seed, log_combinations
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.one_hot import one_hot
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.arrays.slicing import newaxis
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.debugging.comparisons import assert_equal, assert_positive
from stillflow.ops.math.cast import cast
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.math.special import lbeta
from stillflow.ops.math.unary import log, sqrt
from stillflow.ops.random.categorical import multinomial
from stillflow.ops.random.gamma import random_gamma


@export("distributions.DirichletMultinomial", "contrib.distributions.DirichletMultinomial")
class DirichletMultinomial(OverClasses):
    """Counts of classes in draws with probabilities that are Dirichlet distributed.

    Args:
      total_count: how many draws.
      concentration: `[..., K]`.
      validate_args: whether the graph checks parameters and counts.
      allow_nan_stats: see `Distribution`.
      name: of the scope.
    """

    def __init__(
        self,
        total_count: Any,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        given = dict(locals())
        with name_scope(name, values=[total_count, concentration]) as scope:
            self._total_count = convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._total_count = embed_check_nonnegative_integer_form(self._total_count)
            self._concentration = self._checked_concentration(
                convert_to_tensor(concentration, name="concentration"), validate_args
            )
            self._total_concentration = reduce_sum(self._concentration, -1)
        self._initialize(
            given,
            scope,
            [self._total_count, self._concentration],
            dtype=self._concentration.dtype,
            kind=NOT_REPARAMETERIZED,
        )

    @property
    def total_count(self) -> Tensor:
        """The number of draws."""
        return self._total_count

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        draws_per_sample = cast(self.total_count, dtype=dtypes.int32)
        classes = self.event_shape_tensor()[0]
        gamma = random_gamma(shape=[n], alpha=self.concentration, dtype=self.dtype, seed=seed)
        draws = multinomial(
            logits=reshape(log(gamma), shape=[-1, classes]),
            num_samples=draws_per_sample,
            seed=gen_new_seed(seed, salt="dirichlet_multinomial"),
        )
        counts = reduce_sum(one_hot(draws, depth=classes), -2)
        shape = concat([[n], self.batch_shape_tensor(), [classes]], 0)
        return cast(reshape(counts, shape), self.dtype)

    def _log_prob(self, counts: Any) -> Any:
        counts = self._checked_sample(counts)
        ordered = lbeta(self.concentration + counts) - lbeta(self.concentration)
        return ordered + log_combinations(self.total_count, counts)

    def _mean(self) -> Tensor:
        return self.total_count * (self.concentration / self.total_concentration[..., newaxis])

    def _variance(self) -> Tensor:
        scale = self._variance_scale_term()
        x = scale * self._mean()
        return x * (self.total_count * scale - x)

    def _variance_scale_term(self) -> Tensor:
        total = self.total_concentration[..., newaxis]
        return sqrt((1.0 + total / self.total_count) / (1.0 + total))

    def _checked_concentration(self, concentration: Any, validate_args: bool) -> Tensor:
        if not validate_args:
            return concentration
        concentration = embed_check_categorical_event_shape(concentration)
        message = "Concentration parameter must be positive."
        check = assert_positive(concentration, message=message)
        return with_dependencies([check], concentration)

    def _checked_sample(self, counts: Any) -> Any:
        if not self.validate_args:
            return counts
        counts = embed_check_nonnegative_integer_form(counts)
        check = assert_equal(
            self.total_count,
            reduce_sum(counts, -1),
            message="counts last-dimension must sum to `self.total_count`",
        )
        return with_dependencies([check], counts)
