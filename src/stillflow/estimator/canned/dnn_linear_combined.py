"""Canned estimators that add the logits of dense layers and of a linear model: deep and wide."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.classification_heads import classification_head
from stillflow.estimator.canned.dnn import add_summaries, dnn_logit_fn_builder
from stillflow.estimator.canned.linear import linear_logit_fn_builder
from stillflow.estimator.canned.optimizers import get_optimizer_instance
from stillflow.estimator.canned.partitions import by_servers, by_servers_if_large, check_features
from stillflow.estimator.canned.regression_head import RegressionHead
from stillflow.estimator.estimator import Estimator
from stillflow.estimator.spec import EstimatorSpec
from stillflow.graph.export import export
from stillflow.graph.operation import Operation
from stillflow.losses.reduction import Reduction
from stillflow.ops.nn.activations import relu
from stillflow.train.global_step import get_global_step
from stillflow.variables.variable_scope import variable_scope

_DNN_LEARNING_RATE = 0.001
_LINEAR_LEARNING_RATE = 0.005


@export("estimator.DNNLinearCombinedClassifier")
class DNNLinearCombinedClassifier(Estimator):
    """Classifies by dense layers and a linear model, trained together.

    Args:
      model_dir: the folder of checkpoints and event files.
      linear_feature_columns: columns of the linear model, or None.
      linear_optimizer: a name, a function that makes an `Optimizer`, or one.
      dnn_feature_columns: dense columns of the dense layers, or None.
      dnn_optimizer: of the dense layers.
      dnn_hidden_units: how many units each hidden layer has.
      dnn_activation_fn: of hidden layers.
      dnn_dropout: the part of a hidden layer's outputs that training sets to 0; None for none.
      n_classes: how many classes there are.
      weight_column: of the weights of examples: a name, a numeric column, or None.
      label_vocabulary: the words that labels are; None if they are numbers.
      input_layer_partitioner: cuts the variables of columns.
      config: a `RunConfig`.
      warm_start_from: see `Estimator`.
      loss_reduction: a `tf.losses.Reduction`.
      batch_norm: whether the outputs of hidden layers are normalized.
      linear_sparse_combiner: how a column's several ids are added up: "sum", "mean" or "sqrtn".

    Raises:
      ValueError: if there are no columns at all.
    """

    def __init__(
        self, model_dir: Any = None, linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl", dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad", dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = relu, dnn_dropout: float | None = None, n_classes: int = 2,
        weight_column: Any = None, label_vocabulary: Any = None,
        input_layer_partitioner: Any = None, config: Any = None, warm_start_from: Any = None,
        loss_reduction: Any = Reduction.SUM, batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:  # fmt: skip
        _check_columns(linear_feature_columns, dnn_feature_columns)
        head = classification_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        model_fn = _model_fn(
            head, linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer,
            dnn_hidden_units, dnn_activation_fn, dnn_dropout, input_layer_partitioner,
            batch_norm, linear_sparse_combiner,
        )  # fmt: skip
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


@export("estimator.DNNLinearCombinedEstimator")
class DNNLinearCombinedEstimator(Estimator):
    """Estimator like `DNNLinearCombinedClassifier`, with any head.

    Args:
      head: one of `tf.estimator`, such as `BinaryClassHead`.
      model_dir, linear_feature_columns, ...: as of `DNNLinearCombinedClassifier`.
    """

    def __init__(
        self, head: Any, model_dir: Any = None, linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl", dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad", dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = relu, dnn_dropout: float | None = None,
        input_layer_partitioner: Any = None, config: Any = None,
        linear_sparse_combiner: str = "sum",
    ) -> None:  # fmt: skip
        _check_columns(linear_feature_columns, dnn_feature_columns)
        model_fn = _model_fn(
            head, linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer,
            dnn_hidden_units, dnn_activation_fn, dnn_dropout, input_layer_partitioner,
            False, linear_sparse_combiner,
        )  # fmt: skip
        super().__init__(model_fn, model_dir, config)


@export("estimator.DNNLinearCombinedRegressor")
class DNNLinearCombinedRegressor(Estimator):
    """Predicts numbers by dense layers and a linear model, trained together.

    Args:
      label_dimension: how many numbers a label has.
      model_dir, linear_feature_columns, ...: as of `DNNLinearCombinedClassifier`.
    """

    def __init__(
        self, model_dir: Any = None, linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl", dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad", dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = relu, dnn_dropout: float | None = None,
        label_dimension: int = 1, weight_column: Any = None, input_layer_partitioner: Any = None,
        config: Any = None, warm_start_from: Any = None, loss_reduction: Any = Reduction.SUM,
        batch_norm: bool = False, linear_sparse_combiner: str = "sum",
    ) -> None:  # fmt: skip
        _check_columns(linear_feature_columns, dnn_feature_columns)
        head = RegressionHead(weight_column, label_dimension, loss_reduction)
        model_fn = _model_fn(
            head, linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer,
            dnn_hidden_units, dnn_activation_fn, dnn_dropout, input_layer_partitioner,
            batch_norm, linear_sparse_combiner,
        )  # fmt: skip
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


def _check_columns(linear_columns: Any, dnn_columns: Any) -> None:
    if not linear_columns and not dnn_columns:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")


def _model_fn(
    head: Any, linear_columns: Any, linear_optimizer: Any, dnn_columns: Any, dnn_optimizer: Any,
    hidden_units: Any, activation_fn: Any, dropout: Any, input_layer_partitioner: Any,
    batch_norm: bool, sparse_combiner: str,
) -> Callable[..., Any]:  # fmt: skip
    def model_fn(features: Any, labels: Any, mode: Any, config: Any) -> EstimatorSpec:
        check_features(features)
        partitioner = input_layer_partitioner or by_servers_if_large(config)
        parts = []
        if dnn_columns:
            optimizer = get_optimizer_instance(dnn_optimizer, _DNN_LEARNING_RATE)
            if not hidden_units:
                raise ValueError(
                    "dnn_hidden_units must be defined when dnn_feature_columns is specified."
                )
            with _scope("dnn", features, by_servers(config)) as scope:
                logit_fn = dnn_logit_fn_builder(
                    head.logits_dimension, hidden_units, dnn_columns, activation_fn, dropout,
                    partitioner, batch_norm,
                )  # fmt: skip
                parts.append((scope.name, optimizer, logit_fn(features, mode)))
        if linear_columns:
            rate = min(_LINEAR_LEARNING_RATE, 1.0 / math.sqrt(len(linear_columns)))
            optimizer = get_optimizer_instance(linear_optimizer, rate)
            with _scope("linear", features, partitioner) as scope:
                linear_fn = linear_logit_fn_builder(
                    head.logits_dimension, linear_columns, sparse_combiner
                )
                logits = linear_fn(features)
                add_summaries(logits, scope.name)
                parts.append((scope.name, optimizer, logits))
        logits = parts[0][2] if len(parts) == 1 else parts[0][2] + parts[1][2]
        return head.create_estimator_spec(
            features=features, mode=mode, labels=labels, logits=logits,
            train_op_fn=lambda loss: _train_op(loss, parts),
        )  # fmt: skip

    return model_fn


def _scope(name: str, features: dict[str, Any], partitioner: Any) -> variable_scope:
    return tf.variable_scope(name, values=features.values(), partitioner=partitioner)


def _train_op(loss: Any, parts: list[tuple[str, Any, Any]]) -> Operation:
    """Return a step of each part's optimizer over its scope's variables, then the step's count."""
    step = get_global_step()
    steps = [
        optimizer.minimize(loss, var_list=tf.trainable_variables(scope))
        for scope, optimizer, _ in parts
    ]
    with tf.control_dependencies([tf.group(*steps)]):
        return tf.assign_add(step, 1).op
