"""Heads of estimators whose logits are parameters of distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.distributions.moved import moved_from_contrib
from stillflow_contrib.distributions.transformed import joined_vectors
from stillflow_contrib.learn.heads.base import Head
from stillflow_contrib.learn.heads.losses import weighted
from stillflow_contrib.learn.heads.regression import _RegressionHead

if TYPE_CHECKING:
    from stillflow.distributions.normal import Normal


@export("contrib.distributions.estimator_head_distribution_regression")
@moved_from_contrib
def estimator_head_distribution_regression(
    make_distribution_fn: Callable[[Any], Any],
    label_dimension: int = 1,
    logits_dimension: int | None = None,
    label_name: str | None = None,
    weight_column_name: str | None = None,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
) -> Head:
    """Return a head for `tf.contrib.learn` whose loss is how unlikely labels are.

    Args:
      make_distribution_fn: makes a distribution of logits.
      label_dimension: how many numbers a label has.
      logits_dimension: how many logits there are; as many as numbers by default.
      label_name: which labels it takes, if they are a dict.
      weight_column_name: the feature that weights examples.
      enable_centered_bias: whether a bias of its own follows the labels' average.
      head_name: of the variable scope, and the end of the metrics' names.

    Raises:
      TypeError: if `make_distribution_fn` is no function.
    """
    return _DistributionRegressionHead(
        make_distribution_fn,
        label_dimension,
        logits_dimension,
        label_name=label_name,
        weight_column_name=weight_column_name,
        enable_centered_bias=enable_centered_bias,
        head_name=head_name,
    )


class _DistributionRegressionHead(_RegressionHead):
    """Predicts means of distributions."""

    def __init__(
        self,
        make_distribution_fn: Callable[[Any], Any],
        label_dimension: int,
        logits_dimension: int | None,
        **settings: Any,
    ) -> None:
        if not callable(make_distribution_fn):
            raise TypeError("`make_distribution_fn` must be a callable function.")
        self._distributions: dict[Any, Any] = {}
        self._make_distribution_fn = make_distribution_fn
        super().__init__(
            logits_dimension or label_dimension, self._unlikeliness, self._means, **settings
        )

    def _unlikeliness(self, labels: Any, logits: Any, weights: Any = None) -> tuple[Any, Any]:
        found = self.distribution(logits)
        batch = labels.shape.with_rank_at_least(1)[:-1]
        shape = batch.as_list() if batch.is_fully_defined() else tf.shape(labels)[:-1]
        labels = tf.reshape(labels, shape=joined_vectors(shape, found.event_shape_tensor()))
        return weighted(-found.log_prob(labels), weights)

    def _means(self, logits: Any) -> Tensor:
        return self.distribution(logits).mean()

    @property
    def distributions(self) -> dict[Any, Any]:
        """The distributions by their logits."""
        return self._distributions

    def distribution(self, logits: Any, name: str | None = None) -> Normal:
        """Return the distribution of logits, the same one for the same tensor."""
        with tf.name_scope(name, "distribution", [logits]):
            if logits not in self._distributions:
                self._distributions[logits] = self._make_distribution_fn(logits)
            return self._distributions[logits]
