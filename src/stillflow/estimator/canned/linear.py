"""Canned estimators of linear models."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.classification_heads import BinaryLogisticHead, classification_head
from stillflow.estimator.canned.optimizers import get_optimizer_instance
from stillflow.estimator.canned.partitions import by_servers_if_large, check_features
from stillflow.estimator.canned.regression_head import RegressionHead
from stillflow.estimator.estimator import Estimator
from stillflow.estimator.head.binary_class_head import BinaryClassHead
from stillflow.estimator.head.regression_head import RegressionHead as RegressionHeadV2
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.sdca.hooks import UpdateWeightsHook
from stillflow.estimator.sdca.linear_sdca import LinearSDCA, check_linear_sdca
from stillflow.estimator.spec import EstimatorSpec
from stillflow.feature_column.linear_layer import LinearModel
from stillflow.feature_column.linear_model import _LinearModel
from stillflow.feature_column.transforming import is_feature_column_v2
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.losses.reduction import Reduction
from stillflow.ops.summary.numbers import histogram, scalar
from stillflow.train.ftrl import FtrlOptimizer
from stillflow.train.global_step import get_global_step
from stillflow.variables.partitioned import PartitionedVariable

_LEARNING_RATE = 0.2


@export("estimator.LinearClassifier")
class LinearClassifier(Estimator):
    """Classifies by a linear model.

    Args:
      feature_columns: columns of features.
      model_dir: the folder of checkpoints and event files.
      n_classes: how many classes there are.
      weight_column: of the weights of examples: a name, a numeric column, or None.
      label_vocabulary: the words that labels are; None if they are numbers.
      optimizer: a name, a function that makes an `Optimizer`, or one.
      config: a `RunConfig`.
      partitioner: cuts the variables.
      warm_start_from: see `Estimator`.
      loss_reduction: a `tf.losses.Reduction`.
      sparse_combiner: how a column's several ids are added up: "sum", "mean" or "sqrtn".
    """

    def __init__(
        self, feature_columns: Any, model_dir: Any = None, n_classes: int = 2,
        weight_column: Any = None, label_vocabulary: Any = None, optimizer: Any = "Ftrl",
        config: Any = None, partitioner: Any = None, warm_start_from: Any = None,
        loss_reduction: Any = Reduction.SUM, sparse_combiner: str = "sum",
    ) -> None:  # fmt: skip
        why = "LinearSDCA cannot be used in a multi-class setting."
        check_linear_sdca(optimizer, feature_columns, sparse_combiner, n_classes, 2, why)
        head = classification_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        model_fn = _model_fn(head, feature_columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


@export("estimator.LinearEstimator")
class LinearEstimator(Estimator):
    """Estimator like `LinearClassifier`, with any head.

    Args:
      head: has a `logits_dimension`, and makes the spec with `create_estimator_spec`, which is
        given an `Optimizer` of `tf.train`.
      feature_columns, model_dir, ...: as of `LinearClassifier`.
    """

    def __init__(
        self, head: Any, feature_columns: Any, model_dir: Any = None, optimizer: Any = "Ftrl",
        config: Any = None, partitioner: Any = None, sparse_combiner: str = "sum",
    ) -> None:  # fmt: skip
        model_fn = _model_fn(head, feature_columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model_fn, model_dir, config)


@export("estimator.LinearRegressor")
class LinearRegressor(Estimator):
    """Predicts numbers by a linear model.

    Args:
      label_dimension: how many numbers a label has.
      feature_columns, model_dir, ...: as of `LinearClassifier`.
    """

    def __init__(
        self, feature_columns: Any, model_dir: Any = None, label_dimension: int = 1,
        weight_column: Any = None, optimizer: Any = "Ftrl", config: Any = None,
        partitioner: Any = None, warm_start_from: Any = None,
        loss_reduction: Any = Reduction.SUM, sparse_combiner: str = "sum",
    ) -> None:  # fmt: skip
        why = "LinearSDCA can only be used with one-dimensional label."
        check_linear_sdca(optimizer, feature_columns, sparse_combiner, label_dimension, 1, why)
        head = RegressionHead(weight_column, label_dimension, loss_reduction)
        model_fn = _model_fn(head, feature_columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


def _model_fn(
    head: Any, feature_columns: Any, optimizer: Any, partitioner: Any, sparse_combiner: str
) -> Callable[..., Any]:
    columns = tuple(feature_columns or [])

    def model_fn(features: Any, labels: Any, mode: Any, config: Any) -> EstimatorSpec:
        check_features(features)
        cut = partitioner or by_servers_if_large(config)
        with tf.variable_scope("linear", values=features.values(), partitioner=cut):
            if isinstance(optimizer, LinearSDCA):
                return _sdca_spec(features, labels, mode, head, columns, optimizer)
            logit_fn = linear_logit_fn_builder(head.logits_dimension, columns, sparse_combiner)
            logits = logit_fn(features)
            chosen = get_optimizer_instance(
                optimizer or _default_optimizer(columns), _LEARNING_RATE
            )
            return head.create_estimator_spec(
                features=features, mode=mode, labels=labels, optimizer=chosen, logits=logits
            )

    return model_fn


def _default_optimizer(columns: tuple[Any, ...]) -> FtrlOptimizer:
    return FtrlOptimizer(min(_LEARNING_RATE, 1.0 / math.sqrt(len(columns))))


@export("estimator.experimental.linear_logit_fn_builder")
def linear_logit_fn_builder(
    units: int, feature_columns: Any, sparse_combiner: str = "sum"
) -> Callable[[Any], Any]:
    """Return a function from features to logits [batch, units].

    Args:
      units: the last dimension of the logits.
      feature_columns, sparse_combiner: as of `LinearClassifier`.
    """

    def linear_logit_fn(features: Any) -> Tensor:
        present = is_feature_column_v2(feature_columns)  # which shared embeddings are not
        kind = LinearModel if present else _LinearModel
        model = kind(feature_columns, units, sparse_combiner, name="linear_model")
        return _logits(model, features, units)

    return linear_logit_fn


def _logits(model: Any, features: Any, units: int) -> Tensor:
    """Return the logits of a model, with summaries of its variables."""
    logits = model(features)
    if isinstance(model, _LinearModel):
        by_column = model.cols_to_vars()
        bias = _parts(by_column.pop("bias"))
        weights = _parts([each for variables in by_column.values() for each in variables])
    else:
        bias = _parts([model.bias])
        weights = _parts([each for each in model.variables if each is not model.bias])
    if units > 1:
        histogram("bias", bias)
    else:
        scalar("bias", bias[0][0])
    scalar("fraction_of_zero_weights", _fraction_of_zeros(weights))
    return logits


def _sdca_spec(
    features: Any, labels: Any, mode: Any, head: Any, columns: Any, optimizer: LinearSDCA
) -> Any:
    """Return the spec of a linear model for dual coordinate ascent; ValueError for other losses."""
    loss_type = _sdca_loss(head)
    name = "linear_model"
    if isinstance(head, (BinaryClassHead, RegressionHeadV2)):
        name = "linear/linear_model"
    model = LinearModel(columns, units=1, sparse_combiner="sum", name=name)
    logits = _logits(model, features, units=1)
    if mode != ModeKeys.TRAIN:
        return head.create_estimator_spec(
            features=features, mode=mode, labels=labels, logits=logits
        )
    solver, train_op = optimizer.get_train_step(
        model.layer._state_manager, head._weight_column, loss_type, columns, features, labels,
        model.bias, get_global_step(),
    )  # fmt: skip
    spec = head.create_estimator_spec(
        features=features, mode=mode, labels=labels, train_op_fn=lambda loss: train_op,
        logits=logits,
    )  # fmt: skip
    hook = UpdateWeightsHook(solver, train_op)
    return spec._replace(training_chief_hooks=(*spec.training_chief_hooks, hook))


def _sdca_loss(head: Any) -> str:
    if isinstance(head, (BinaryClassHead, BinaryLogisticHead)):
        return "logistic_loss"
    if isinstance(head, (RegressionHeadV2, RegressionHead)):
        assert head.logits_dimension == 1
        return "squared_loss"
    raise ValueError(f"Unsupported head type: {head}")


def _parts(variables: list[Any]) -> list[Any]:
    """Return the variables, those that are cut in parts."""
    return [
        part for variable in variables
        for part in (variable if isinstance(variable, PartitionedVariable) else [variable])
    ]  # fmt: skip


def _fraction_of_zeros(variables: list[Any]) -> Tensor:
    """Return the part of all weights that is zero; not a number if there are none."""
    with tf.name_scope("zero_fraction"):
        with tf.name_scope("total_size"):
            sizes = [tf.size(variable, out_type=tf.int64) for variable in variables]
            total_size = tf.add_n(sizes)
        with tf.name_scope("total_zero"):
            zeros = tf.add_n(
                [_zeros(variable, size) for variable, size in zip(variables, sizes, strict=True)]
            )
        with tf.name_scope("compute"):
            fraction = zeros / tf.cast(total_size, tf.float32, name="float32_size")
        return tf.identity(fraction, name="zero_fraction_or_nan")


def _zeros(variable: Any, size: Any) -> Tensor:
    return tf.cond(
        tf.equal(size, tf.constant(0, dtype=tf.int64)),
        true_fn=lambda: tf.constant(0, dtype=tf.float32),
        false_fn=lambda: tf.nn.zero_fraction(variable) * tf.to_float(size),
        name="zero_count",
    )
