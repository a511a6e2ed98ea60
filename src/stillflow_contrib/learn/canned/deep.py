"""`tf.contrib.learn`'s estimators of fully connected networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.contrib.layers.optimization import optimize_loss
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.nn.activations import relu
from stillflow.train.global_step import get_global_step
from stillflow_contrib.learn.canned.networks import (
    DEEP,
    SLICE_BYTES,
    as_dict,
    deep_logits,
    gradient_multipliers,
    open_scope,
    optimizer_of,
    partitions,
)
from stillflow_contrib.learn.canned.predicting import EvaluatesScores, PredictsClasses
from stillflow_contrib.learn.estimator import Estimator
from stillflow_contrib.learn.heads.classification import multi_class_head
from stillflow_contrib.learn.heads.regression import regression_head
from stillflow_contrib.learn.model_fn_ops import ModelFnOps

_LEARNING_RATE = 0.05
_ACTIVATIONS = ("relu", "tanh", "sigmoid")


def _activation(activation_fn: Any) -> Callable[..., Any]:
    if not isinstance(activation_fn, str):
        return activation_fn
    if activation_fn not in _ACTIVATIONS:
        raise ValueError(
            f"Activation name should be one of [{', '.join(_ACTIVATIONS)}], you provided "
            f"{activation_fn}."
        )
    return getattr(tf.nn, activation_fn)


def _dnn_model_fn(
    features: Any, labels: Any, mode: str, params: dict[str, Any], config: Any = None
) -> ModelFnOps:
    """Build the model of a `DNNEstimator`, whose arguments are `params`."""
    head = params["head"]
    slices = params.get("input_layer_min_slice_size") or SLICE_BYTES
    features = as_dict(features)
    with open_scope(DEEP, features, config):
        logits, input_scope = deep_logits(
            features,
            params["feature_columns"],
            params["hidden_units"],
            head.logits_dimension,
            mode,
            activation_fn=_activation(params.get("activation_fn")),
            dropout=params.get("dropout"),
            input_partitioner=partitions(config, min_slice_size=slices),
            separator="_",
        )

        def train_op(loss: Any) -> Tensor:
            multipliers = params.get("embedding_lr_multipliers")
            return optimize_loss(
                loss=loss,
                global_step=get_global_step(),
                learning_rate=_LEARNING_RATE,
                optimizer=optimizer_of(params.get("optimizer") or "Adagrad"),
                gradient_multipliers=gradient_multipliers(multipliers, input_scope),
                clip_gradients=params.get("gradient_clip_norm"),
                name=DEEP,
                summaries=[],
            )

        return head.create_model_fn_ops(
            features=features, mode=mode, labels=labels, train_op_fn=train_op, logits=logits
        )


def _settings(given: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """Return the arguments for `Estimator`, of those that a constructor below is given."""
    of_model = (
        "head", "hidden_units", "feature_columns", "optimizer", "activation_fn", "dropout",
        "gradient_clip_norm", "embedding_lr_multipliers", "input_layer_min_slice_size",
    )  # fmt: skip
    given = {**given, **changed, "model_fn": _dnn_model_fn}
    given["params"] = {name: given[name] for name in of_model}
    of_any = ("model_fn", "model_dir", "config", "params", "feature_engineering_fn")
    return {name: given[name] for name in of_any}


@export("contrib.learn.DNNClassifier")
class DNNClassifier(PredictsClasses):
    """A network of fully connected layers that predicts classes.

    Args:
      hidden_units: the widths of the layers.
      feature_columns: dense columns, of `tf.contrib.layers` or of `tf.feature_column`.
      model_dir: the folder of checkpoints and event files.
      n_classes: how many classes there are.
      weight_column_name: the feature that weights examples.
      optimizer: an optimizer, its name, or a function that gives one; Adagrad by default.
      activation_fn: of the layers: a function, or "relu", "tanh" or "sigmoid".
      dropout: the share of activations that are left out in training.
      gradient_clip_norm: gradients are scaled down to this norm.
      enable_centered_bias: whether a bias of its own follows the labels' average.
      config: a `RunConfig`.
      feature_engineering_fn: called with features and labels; returns those of the model.
      embedding_lr_multipliers: {embedding column: factor of its gradients}.
      input_layer_min_slice_size: the least size of parts on parameter servers.
      label_keys: the names of classes, if labels are names.
    """

    def __init__(
        self,
        hidden_units: Any,
        feature_columns: Any,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        activation_fn: Any = relu,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        label_keys: Any = None,
    ) -> None:
        given = dict(locals())
        head = multi_class_head(
            n_classes, weight_column_name=weight_column_name,
            enable_centered_bias=enable_centered_bias, label_keys=label_keys,
        )  # fmt: skip
        columns = tuple(feature_columns or [])
        super().__init__(**_settings(given, head=head, feature_columns=columns))


@export("contrib.learn.DNNRegressor")
class DNNRegressor(EvaluatesScores):
    """A network of fully connected layers that predicts numbers.

    Args:
      label_dimension: how many numbers an example has.
      hidden_units, feature_columns, ...: as of `DNNClassifier`.
    """

    def __init__(
        self,
        hidden_units: Any,
        feature_columns: Any,
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        activation_fn: Any = relu,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        label_dimension: int = 1,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
    ) -> None:
        given = dict(locals())
        head = regression_head(
            label_dimension=label_dimension, weight_column_name=weight_column_name,
            enable_centered_bias=enable_centered_bias,
        )  # fmt: skip
        columns = tuple(feature_columns or [])
        super().__init__(**_settings(given, head=head, feature_columns=columns))


@export("contrib.learn.DNNEstimator")
class DNNEstimator(Estimator):
    """A network of fully connected layers that ends in a head.

    Args:
      head: a `Head`.
      hidden_units, feature_columns, ...: as of `DNNClassifier`.
    """

    def __init__(
        self,
        head: Any,
        hidden_units: Any,
        feature_columns: Any,
        model_dir: str | None = None,
        optimizer: Any = None,
        activation_fn: Any = relu,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
    ) -> None:
        super().__init__(**_settings(dict(locals())))
