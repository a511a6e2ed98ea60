"""Canned estimators that ignore the features: a bias for each logit, the mean of the labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.estimator.canned.classification_heads import classification_head
from stillflow.estimator.canned.optimizers import get_optimizer_instance
from stillflow.estimator.canned.regression_head import RegressionHead
from stillflow.estimator.estimator import Estimator
from stillflow.estimator.spec import EstimatorSpec
from stillflow.graph.api import control_dependencies
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.losses.reduction import Reduction
from stillflow.ops.arrays.fill import ones
from stillflow.ops.arrays.shape import shape
from stillflow.ops.debugging.comparisons import assert_equal
from stillflow.ops.math.binary import multiply
from stillflow.train.global_step import get_global_step
from stillflow.variables.initializers import Zeros
from stillflow.variables.variable_scope import get_variable, variable_scope

_LEARNING_RATE = 0.3


@export("estimator.BaselineClassifier")
class BaselineClassifier(Estimator):
    """Predicts for every example how frequent the classes are.

    Args:
      model_dir: the folder of checkpoints and event files.
      n_classes: how many classes there are.
      weight_column: of the weights of examples: a name, a numeric column, or None.
      label_vocabulary: the words that labels are; None if they are numbers.
      optimizer: a name, a function that makes an `Optimizer`, or one.
      config: a `RunConfig`.
      loss_reduction: a `tf.losses.Reduction`.
    """

    def __init__(
        self, model_dir: Any = None, n_classes: int = 2, weight_column: Any = None,
        label_vocabulary: Any = None, optimizer: Any = "Ftrl", config: Any = None,
        loss_reduction: Any = Reduction.SUM,
    ) -> None:  # fmt: skip
        head = classification_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(_model_fn(head, optimizer, weight_column), model_dir, config)


@export("estimator.BaselineEstimator")
class BaselineEstimator(Estimator):
    """Estimator like `BaselineClassifier`, with any head.

    Args:
      head: one of `tf.estimator`, such as `BinaryClassHead`.
      model_dir, optimizer, config: as of `BaselineClassifier`.
    """

    def __init__(
        self, head: Any, model_dir: Any = None, optimizer: Any = "Ftrl", config: Any = None
    ) -> None:
        super().__init__(_model_fn(head, optimizer), model_dir, config)


@export("estimator.BaselineRegressor")
class BaselineRegressor(Estimator):
    """Predicts for every example the mean of the labels.

    Args:
      label_dimension: how many numbers a label has.
      model_dir, weight_column, optimizer, config, loss_reduction: as of `BaselineClassifier`.
    """

    def __init__(
        self, model_dir: Any = None, label_dimension: int = 1, weight_column: Any = None,
        optimizer: Any = "Ftrl", config: Any = None, loss_reduction: Any = Reduction.SUM,
    ) -> None:  # fmt: skip
        head = RegressionHead(weight_column, label_dimension, loss_reduction)
        super().__init__(_model_fn(head, optimizer), model_dir, config)


def _model_fn(head: Any, optimizer: Any, weight_column: Any = None) -> Callable[..., Any]:
    def model_fn(features: Any, labels: Any, mode: Any, config: Any) -> EstimatorSpec:
        def train_op_fn(loss: Any) -> Operation:
            chosen = get_optimizer_instance(optimizer, _LEARNING_RATE)
            return chosen.minimize(loss, global_step=get_global_step())

        return head.create_estimator_spec(
            features=features, mode=mode, logits=_logits(features, head, weight_column),
            labels=labels, train_op_fn=train_op_fn,
        )  # fmt: skip

    return model_fn


def _logits(features: dict[str, Any], head: Any, weight_column: Any) -> Tensor:
    units, weight_key = head.logits_dimension, _weight_key(weight_column)
    batch_size, checks = None, []
    for key, feature in features.items():
        if key == weight_key:
            continue
        size = shape(feature)[0]
        if batch_size is None:
            batch_size = size
        else:
            checks.append(assert_equal(batch_size, size))
    with control_dependencies(checks), variable_scope("baseline"):
        bias = get_variable("bias", shape=[units], initializer=Zeros)
        return multiply(bias, ones([batch_size, units]))


def _weight_key(weight_column: Any) -> str | None:
    """Return the feature that does not count as one; TF takes its name alone, no column."""
    if weight_column is None or isinstance(weight_column, str):
        return weight_column
    raise TypeError(
        "Weight column must be either a string or _NumericColumn. Given type: "
        f"{type(weight_column)}."
    )
