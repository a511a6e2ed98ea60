"""The heads of `tf.contrib.estimator`: those of ready-made estimators, with means of losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.classification_heads import BinaryLogisticHead, MultiClassHead
from stillflow.estimator.canned.head import Head
from stillflow.estimator.canned.head_inputs import labels_in_range
from stillflow.estimator.canned.regression_head import RegressionHead
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.losses.reduction import Reduction

_MEAN = Reduction.SUM_OVER_BATCH_SIZE


@export("contrib.estimator.multi_class_head")
def multi_class_head(
    n_classes: int,
    weight_column: Any = None,
    label_vocabulary: Any = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Head:
    """Return a head that predicts one of more than two classes.

    Args:
      n_classes: how many.
      weight_column: the key of the feature that weights examples, or a numeric column.
      label_vocabulary: the words that labels are; None if they are numbers.
      loss_reduction: how the losses of a batch become one.
      loss_fn: takes `labels` and `logits`, and gives the losses [batch, 1].
      name: the end of the names of metrics.

    Raises:
      ValueError: if an argument is none of these.
    """
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)


@export("contrib.estimator.binary_classification_head")
def binary_classification_head(
    weight_column: Any = None,
    thresholds: Any = None,
    label_vocabulary: Any = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Head:
    """Return a head that predicts one of two classes.

    Args:
      thresholds: at which probabilities accuracy, precision and recall are measured besides.
      weight_column, label_vocabulary, ...: as of `multi_class_head`.

    Raises:
      ValueError, TypeError: if an argument is none of these.
    """
    return BinaryLogisticHead(
        weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name
    )


@export("contrib.estimator.regression_head")
def regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    inverse_link_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> Head:
    """Return a head that predicts numbers.

    Args:
      label_dimension: how many numbers an example has.
      inverse_link_fn: turns logits into predictions.
      weight_column, loss_reduction, ...: as of `multi_class_head`.

    Raises:
      ValueError: if an argument is none of these.
    """
    return RegressionHead(
        weight_column, label_dimension, loss_reduction, loss_fn, inverse_link_fn, name
    )


@export("contrib.estimator.poisson_regression_head")
def poisson_regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _MEAN,
    compute_full_loss: bool = True,
    name: str | None = None,
) -> Head:
    """Return a head that predicts counts; logits are logarithms of their expectations.

    Args:
      compute_full_loss: whether the loss has the term that logits do not change.
      weight_column, label_dimension, ...: as of `regression_head`.
    """

    def loss(labels: Any, logits: Any) -> Tensor:
        return tf.nn.log_poisson_loss(
            targets=labels, log_input=logits, compute_full_loss=compute_full_loss
        )

    return RegressionHead(weight_column, label_dimension, loss_reduction, loss, tf.exp, name)


@export("contrib.estimator.logistic_regression_head")
def logistic_regression_head(
    weight_column: Any = None, loss_reduction: str = _MEAN, name: str | None = None
) -> Head:
    """Return a head that predicts probabilities.

    Args:
      weight_column, loss_reduction, name: as of `regression_head`.
    """

    def loss(labels: Any, logits: Any) -> Tensor:
        labels = labels_in_range(labels, 2, message="Labels must be in range [0, 1]")
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    return RegressionHead(weight_column, 1, loss_reduction, loss, tf.sigmoid, name)
