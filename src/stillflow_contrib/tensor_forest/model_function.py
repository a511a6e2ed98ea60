"""Model functions of forests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import stillflow as tf
from stillflow.feature_column.transforming import transform_features
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.losses.reduction import Reduction
from stillflow.ops.variables.resource import destroy_resource_op
from stillflow.saved_model.export_outputs import PredictOutput
from stillflow.train.global_step import get_global_step
from stillflow_contrib.layers.feature_columns.transforming import (
    transform_features as transform_old_features,
)
from stillflow_contrib.learn.heads.classification import multi_class_head
from stillflow_contrib.learn.heads.regression import regression_head
from stillflow_contrib.learn.keys import ProblemType
from stillflow_contrib.learn.mode_keys import ModeKeys
from stillflow_contrib.learn.model_fn_ops import ModelFnOps
from stillflow_contrib.tensor_forest import eval_metrics
from stillflow_contrib.tensor_forest.hooks import TensorForestLossHook, TensorForestRunOpAtEndHook

KEYS_NAME = "keys"
TREE_PATHS_PREDICTION_KEY = "tree_paths"
VARIANCE_PREDICTION_KEY = "prediction_variance"
ALL_SERVING_KEY = "tensorforest_all"
EPSILON = 0.000001


@export("contrib.tensor_forest.random_forest.ModelBuilderOutputType")
class ModelBuilderOutputType:
    """Result of a model function: that of tf.contrib.learn, or that of tf.estimator."""

    MODEL_FN_OPS, ESTIMATOR_SPEC = range(2)


def default_head(params: Any, weights_name: Any, output_type: int, name: Any = None) -> Any:
    """Return the head of a forest: classes or numbers."""
    if output_type == ModelBuilderOutputType.MODEL_FN_OPS:
        if params.regression:
            return regression_head(
                weight_column_name=weights_name, label_dimension=params.num_outputs,
                enable_centered_bias=False, head_name=name,
            )  # fmt: skip
        return multi_class_head(
            params.num_classes, weight_column_name=weights_name, enable_centered_bias=False,
            head_name=name,
        )  # fmt: skip
    heads = tf.contrib.estimator
    shared = {
        "weight_column": weights_name, "name": name,
        "loss_reduction": Reduction.SUM_OVER_BATCH_SIZE,
    }  # fmt: skip
    if params.regression:
        return heads.regression_head(label_dimension=params.num_outputs, **shared)
    if params.num_classes == 2:
        return heads.binary_classification_head(**shared)
    return heads.multi_class_head(n_classes=params.num_classes, **shared)


class _Settings(NamedTuple):
    """The arguments of `get_model_fn`."""

    params: Any
    graph_builder_class: Any
    device_assigner: Any
    feature_columns: Any
    weights_name: Any
    head: Any
    keys_name: Any
    early_stopping_rounds: Any
    early_stopping_loss_threshold: Any
    num_trainers: int
    trainer_id: int
    report_feature_importances: bool
    local_eval: bool
    head_scope: Any
    include_all_in_serving: bool
    output_type: int

    @property
    def is_core(self) -> bool:
        return self.output_type != ModelBuilderOutputType.MODEL_FN_OPS


@export("contrib.tensor_forest.random_forest.get_model_fn")
def get_model_fn(
    params: Any, graph_builder_class: Any, device_assigner: Any, feature_columns: Any = None,
    weights_name: Any = None, model_head: Any = None, keys_name: Any = None,
    early_stopping_rounds: Any = 100, early_stopping_loss_threshold: Any = 0.001,
    num_trainers: int = 1, trainer_id: int = 0, report_feature_importances: bool = False,
    local_eval: bool = False, head_scope: Any = None, include_all_in_serving: bool = False,
    output_type: int = ModelBuilderOutputType.MODEL_FN_OPS,
) -> Callable[..., Any]:  # fmt: skip
    """Return a model function of features, labels and a mode.

    Args:
      params: a `ForestHParams` that is filled.
      graph_builder_class: builds graphs, as `RandomForestGraphs` does.
      device_assigner: says where trees are, but for predictions.
      feature_columns: columns that make the features.
      weights_name, keys_name: features that are weights, or are handed on to predictions.
      model_head: a head; one for the kind of forest if None.
      early_stopping_rounds, early_stopping_loss_threshold: as of `TensorForestLossHook`; no such
        hook if the first is 0 or None.
      num_trainers, trainer_id: who trains which trees.
      report_feature_importances: whether shares of features are logged in the end.
      local_eval: whether the device assigner is left out of evaluation, too.
      head_scope: the variable scope of the head.
      include_all_in_serving: whether exports have all that is predicted.
      output_type: a `ModelBuilderOutputType`.
    """
    head = model_head
    if head is None:
        head = default_head(params, weights_name, output_type)
    settings = _Settings(
        params, graph_builder_class, device_assigner, feature_columns, weights_name, head,
        keys_name, early_stopping_rounds, early_stopping_loss_threshold, num_trainers, trainer_id,
        report_feature_importances, local_eval, head_scope, include_all_in_serving, output_type,
    )  # fmt: skip

    def _model_fn(features: Any, labels: Any, mode: Any) -> Any:
        """Build the model."""
        return _build(settings, features, labels, mode)

    return _model_fn


def _build(settings: _Settings, features: Any, labels: Any, mode: Any) -> Any:
    features = _transformed(settings, features)
    weights = _taken(features, settings.weights_name)
    keys = _taken(features, settings.keys_name)
    locally = mode == ModeKeys.INFER or (settings.local_eval and mode == ModeKeys.EVAL)
    assigner = None if locally else settings.device_assigner
    builder = settings.graph_builder_class(settings.params, device_assigner=assigner)
    logits, tree_paths, variance = builder.inference_graph(features)
    tf.summary.scalar("average_tree_size", builder.average_size())
    if not settings.params.regression and settings.params.num_classes == 2:
        logits = _log_odds(logits)
    training = None
    if labels is not None and mode == ModeKeys.TRAIN:
        training = _training(settings, builder, features, labels, weights, logits)
    if weights is not None:
        features[settings.weights_name] = weights
    hooks: list[Any] = [TensorForestRunOpAtEndHook(_at_end(settings, builder))]
    more = {} if keys is None else {settings.keys_name: keys}
    if settings.params.inference_tree_paths:
        more[TREE_PATHS_PREDICTION_KEY] = tree_paths
    more[VARIANCE_PREDICTION_KEY] = variance
    finish = _core_result if settings.is_core else _old_result
    return finish(settings, features, labels, mode, logits, training, hooks, more)


def _transformed(settings: _Settings, features: Any) -> dict[str, Tensor]:
    if isinstance(features, (tf.Tensor, tf.SparseTensor)):
        features = {"features": features}
    if settings.feature_columns:
        features = features.copy()
        if not settings.is_core:
            features.update(transform_old_features(features, settings.feature_columns))
        else:
            for column in settings.feature_columns:
                features[column.name] = transform_features(features, [column])[column]
    return features


def _taken(features: Any, name: Any) -> Tensor | None:
    return features.pop(name) if name and name in features else None


def _log_odds(probabilities: Any) -> Tensor:
    """Return the inverse of the sigmoid, as far as it exists."""
    second = tf.slice(probabilities, [0, 1], [-1, 1])
    return tf.log(tf.maximum(second / tf.maximum(1.0 - second, EPSILON), EPSILON))


def _training(
    settings: _Settings, builder: Any, features: Any, labels: Any, weights: Any, logits: Any
) -> Operation:
    with tf.control_dependencies([logits.op]):
        return tf.group(
            builder.training_graph(
                features, labels, input_weights=weights, num_trainers=settings.num_trainers,
                trainer_id=settings.trainer_id,
            ),
            tf.assign_add(get_global_step(), 1),
        )  # fmt: skip


def _at_end(settings: _Settings, builder: Any) -> dict[str, Any]:
    """Return the final operations: they drop the trees, after the last checkpoint."""
    handles = builder.get_all_resource_handles()
    dropped = tf.group(*[destroy_resource_op(handle) for handle in handles])
    found = {"9: clean up resources": dropped}
    if settings.report_feature_importances:
        found["1: feature_importances"] = builder.feature_importances()
    return found


def _loss_hooks(settings: _Settings, loss: Any) -> list[Any]:
    if not settings.early_stopping_rounds:
        return []
    threshold = settings.early_stopping_loss_threshold
    return [
        TensorForestLossHook(
            settings.early_stopping_rounds, early_stopping_loss_threshold=threshold, loss_op=loss
        )
    ]


def _old_result(
    settings: _Settings, features: Any, labels: Any, mode: Any, logits: Any, training: Any,
    hooks: list[Any], more: dict[str, Any],
) -> ModelFnOps:  # fmt: skip
    model = settings.head.create_model_fn_ops(
        features=features, labels=labels, mode=mode, train_op_fn=lambda loss: training,
        logits=logits, scope=settings.head_scope,
    )  # fmt: skip
    model.training_hooks.extend(hooks + _loss_hooks(settings, model.loss))
    model.predictions.update(more)
    if settings.include_all_in_serving:
        if not model.output_alternatives:
            model = model._replace(output_alternatives={})
        everything = ProblemType.UNSPECIFIED, model.predictions
        model.output_alternatives[ALL_SERVING_KEY] = everything
    return model


def _core_result(
    settings: _Settings, features: Any, labels: Any, mode: Any, logits: Any, training: Any,
    hooks: list[Any], more: dict[str, Any],
) -> Any:  # fmt: skip
    spec = settings.head.create_estimator_spec(
        features=features, mode=mode, labels=labels, train_op_fn=lambda loss: training,
        logits=logits,
    )  # fmt: skip
    hooks = hooks + _loss_hooks(settings, spec.loss)
    spec = spec._replace(training_hooks=hooks + list(spec.training_hooks))
    spec.predictions.update(more)
    if settings.include_all_in_serving:
        spec = spec._replace(export_outputs={ALL_SERVING_KEY: PredictOutput(spec.predictions)})
    return spec


@export("contrib.tensor_forest.random_forest.get_combined_model_fn")
def get_combined_model_fn(model_fns: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Return a model function of several forests, one for each column of the labels.

    Args:
      model_fns: the result of `get_model_fn`.

    Returns:
      A model function whose probabilities stand side by side, those of the first forest first;
      classes are [batch, 1, forests], the loss is the mean.
    """

    def _model_fn(features: Any, labels: Any, mode: Any) -> ModelFnOps:
        """Build all models."""
        models = []
        for number, model_fn in enumerate(model_fns):
            with tf.variable_scope(f"label_{number}"):
                models.append(model_fn(features, tf.slice(labels, [0, number], [-1, 1]), mode))
        predictions: dict[str, Any] = {}
        if mode in (ModeKeys.EVAL, ModeKeys.INFER):
            for name, join in (
                (eval_metrics.INFERENCE_PROB_NAME, tf.concat),
                (eval_metrics.INFERENCE_PRED_NAME, tf.stack),
            ):
                predictions[name] = join([model.predictions[name] for model in models], axis=1)
        loss = train_op = None
        if mode in (ModeKeys.EVAL, ModeKeys.TRAIN):
            loss = tf.reduce_sum(tf.stack([model.loss for model in models])) / len(models)
        if mode == ModeKeys.TRAIN:
            train_op = tf.group(*[model.train_op for model in models])
        return ModelFnOps(
            mode=mode, predictions=predictions, loss=loss, train_op=train_op, scaffold=None,
            training_hooks=[hook for model in models for hook in model.training_hooks],
            output_alternatives=None,
        )  # fmt: skip

    return _model_fn
