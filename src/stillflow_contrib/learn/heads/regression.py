"""Heads that predict numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow_contrib.learn.heads.base import Head, _SingleHead, old_head
from stillflow_contrib.learn.heads.losses import mean_squared_loss, poisson_loss
from stillflow_contrib.learn.keys import MetricKey, PredictionKey, ProblemType


class _RegressionHead(_SingleHead):
    """Predicts numbers; `link_fn` makes them of logits."""

    _scope = "regression_head"

    def __init__(
        self, label_dimension: int, loss_fn: Callable[..., Any], link_fn: Callable[..., Any],
        **settings: Any,
    ) -> None:  # fmt: skip
        super().__init__(ProblemType.LINEAR_REGRESSION, label_dimension, loss_fn, **settings)
        self._link_fn = link_fn

    def _logits_to_predictions(self, logits: Any) -> dict[str, Any]:
        with tf.name_scope(None, "predictions", (logits,)):
            single = self.logits_dimension == 1
            scores = tf.squeeze(logits, axis=(1,), name=PredictionKey.SCORES) if single else logits
            return {PredictionKey.SCORES: self._link_fn(scores)}

    def _metrics(
        self, eval_loss: Any, predictions: dict[str, Any], labels: Any, weights: Any
    ) -> dict[str, Any]:
        with tf.name_scope("metrics", values=[eval_loss]):
            return {self._key(MetricKey.LOSS): tf.metrics.mean(eval_loss)}


@export("contrib.learn.regression_head")
@old_head
def regression_head(
    label_name: str | None = None,
    weight_column_name: str | None = None,
    label_dimension: int = 1,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
    link_fn: Callable[..., Any] | None = None,
) -> Head:
    """Return a head that predicts numbers, by mean squared error.

    Args:
      label_name: which labels it takes, if they are a dict.
      weight_column_name: the feature that weights examples.
      label_dimension: how many numbers an example has.
      enable_centered_bias: whether a bias of its own follows the labels' average.
      head_name: of the variable scope, and the end of the metrics' names.
      link_fn: makes predictions of logits.
    """
    return _RegressionHead(
        label_dimension, mean_squared_loss, tf.identity if link_fn is None else link_fn,
        label_name=label_name, weight_column_name=weight_column_name,
        enable_centered_bias=enable_centered_bias, head_name=head_name,
    )  # fmt: skip


@export("contrib.learn.poisson_regression_head")
@old_head
def poisson_regression_head(
    label_name: str | None = None,
    weight_column_name: str | None = None,
    label_dimension: int = 1,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
) -> Head:
    """Return a head that predicts counts; logits are logarithms of their expectations.

    Args:
      label_name, weight_column_name, ...: as of `regression_head`.
    """
    return _RegressionHead(
        label_dimension, poisson_loss, tf.exp,
        label_name=label_name, weight_column_name=weight_column_name,
        enable_centered_bias=enable_centered_bias, head_name=head_name,
    )  # fmt: skip
