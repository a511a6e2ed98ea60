"""`tf.contrib.learn`'s estimators of a linear model and a network, trained together."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.layers.optimization import optimize_loss
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.nn.activations import relu
from stillflow.train.global_step import get_global_step
from stillflow.util.deprecation import deprecated_arg_values
from stillflow_contrib.learn.canned.networks import (
    DEEP,
    SLICE_BYTES,
    WIDE,
    add_layer_summary,
    as_dict,
    deep_logits,
    gradient_multipliers,
    open_scope,
    optimizer_of,
    partitions,
    wide_logits,
)
from stillflow_contrib.learn.canned.predicting import EvaluatesScores, PredictsClasses
from stillflow_contrib.learn.canned.wide import learning_rate
from stillflow_contrib.learn.estimator import Estimator
from stillflow_contrib.learn.heads.classification import multi_class_head
from stillflow_contrib.learn.heads.regression import regression_head
from stillflow_contrib.learn.model_fn_ops import ModelFnOps

_DEEP_LEARNING_RATE = 0.05
_NO_COLUMNS = "Either linear_feature_columns or dnn_feature_columns must be defined."
# Without the fix each of the two optimizers counts a step.
_BOTH_COUNT = deprecated_arg_values(
    "2017-04-15",
    "Please set fix_global_step_increment_bug=True and update training steps in your pipeline. "
    "See pydoc for details.",
    fix_global_step_increment_bug=False,
)


def _deep(
    features: dict[str, Any], mode: str, params: dict[str, Any], units: int, config: Any
) -> tuple[Any, str]:
    """Return the network's logits and the scope of its columns.

    None and no name without columns.
    """
    columns = params.get("dnn_feature_columns")
    if not columns:
        return None, ""
    if not params.get("dnn_hidden_units"):
        raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")
    partitioner = params.get("input_layer_partitioner")
    with open_scope(DEEP, features, config):
        return deep_logits(
            features,
            columns,
            params["dnn_hidden_units"],
            units,
            mode,
            activation_fn=params.get("dnn_activation_fn") or relu,
            dropout=params.get("dnn_dropout"),
            input_partitioner=partitioner or partitions(config, min_slice_size=SLICE_BYTES),
        )


def _wide(features: dict[str, Any], params: dict[str, Any], units: int, config: Any) -> Any:
    """Return the linear model's logits; None without columns."""
    columns = params.get("linear_feature_columns")
    if not columns:
        return None
    with open_scope(WIDE, features, config, min_slice_size=SLICE_BYTES) as scope:
        joint = params.get("joint_linear_weights")
        logits = wide_logits(features, columns, units, joint, scope)
        add_layer_summary(logits, scope.name)
    return logits


def _dnn_linear_combined_model_fn(
    features: Any, labels: Any, mode: str, params: dict[str, Any], config: Any = None
) -> ModelFnOps:
    """Build the model of a `DNNLinearCombinedEstimator`, whose arguments are `params`."""
    head = params["head"]
    if not params.get("linear_feature_columns") and not params.get("dnn_feature_columns"):
        raise ValueError(_NO_COLUMNS)
    features = as_dict(features)
    wide_optimizer = optimizer_of(params.get("linear_optimizer") or "Ftrl")
    deep_optimizer = optimizer_of(params.get("dnn_optimizer") or "Adagrad")
    deep, input_scope = _deep(features, mode, params, head.logits_dimension, config)
    wide = _wide(features, params, head.logits_dimension, config)
    fixed = params.get("fix_global_step_increment_bug", True)

    def train_op(loss: Any) -> Operation:
        step = get_global_step()

        def optimize(name: str, **how: Any) -> Tensor:
            return optimize_loss(
                loss=loss,
                global_step=step,
                clip_gradients=params.get("gradient_clip_norm"),
                variables=tf.get_collection(name),
                name=name,
                summaries=[],
                increment_global_step=not fixed,
                **how,
            )

        steps = []
        if deep is not None:
            factors = gradient_multipliers(params.get("embedding_lr_multipliers"), input_scope)
            how = {"learning_rate": _DEEP_LEARNING_RATE, "gradient_multipliers": factors}
            steps.append(optimize(DEEP, optimizer=deep_optimizer, **how))
        if wide is not None:
            rate = learning_rate(params["linear_feature_columns"])
            steps.append(optimize(WIDE, optimizer=wide_optimizer, learning_rate=rate))
        both = tf.group(*steps)
        if not fixed:
            return both
        with tf.control_dependencies([both]), tf.colocate_with(step):
            return tf.assign_add(step, 1).op

    if deep is not None and wide is not None:
        logits = deep + wide
    else:
        logits = wide if deep is None else deep
    return head.create_model_fn_ops(
        features=features, mode=mode, labels=labels, train_op_fn=train_op, logits=logits
    )


# Arguments of the constructors that are for the model function.
_OF_MODEL = (
    "linear_feature_columns", "linear_optimizer", "_joint_linear_weights", "dnn_feature_columns",
    "dnn_optimizer", "dnn_hidden_units", "dnn_activation_fn", "dnn_dropout", "gradient_clip_norm",
    "embedding_lr_multipliers", "fix_global_step_increment_bug", "input_layer_partitioner",
)  # fmt: skip


class _Combined(Estimator):
    """Base of estimators of both models."""

    def _set_up(self, given: dict[str, Any], head: Any) -> None:
        """Construct it of a constructor's arguments and a head."""
        params = {"head": head}
        params |= {name.lstrip("_"): given[name] for name in _OF_MODEL if name in given}
        columns = ("linear_feature_columns", "dnn_feature_columns")
        params |= {key: tuple(params[key] or []) for key in columns}
        if not any(params[key] for key in columns):
            raise ValueError(_NO_COLUMNS)
        slice_size, config = given.get("input_layer_min_slice_size"), given["config"]
        params.setdefault("input_layer_partitioner", None)
        if slice_size is not None:
            params["input_layer_partitioner"] = partitions(config, min_slice_size=slice_size)
        Estimator.__init__(
            self, _dnn_linear_combined_model_fn, given["model_dir"], config, params,
            given["feature_engineering_fn"],
        )  # fmt: skip


@export("contrib.learn.DNNLinearCombinedEstimator")
class DNNLinearCombinedEstimator(_Combined):
    """A linear model and a network whose logits are added, with a head.

    Args:
      head: a `Head`.
      input_layer_partitioner: of the variables of the network's columns.
      linear_feature_columns, dnn_feature_columns, ...: as of `DNNLinearCombinedClassifier`.
    """

    @_BOTH_COUNT
    def __init__(
        self,
        head: Any,
        model_dir: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = None,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        fix_global_step_increment_bug: bool = False,
        input_layer_partitioner: Any = None,
    ) -> None:
        self._set_up(dict(locals()), head)


@export("contrib.learn.DNNLinearCombinedClassifier")
class DNNLinearCombinedClassifier(PredictsClasses, _Combined):
    """A linear model and a network whose logits are added; they predict classes.

    Args:
      model_dir: the folder of checkpoints and event files.
      n_classes: how many classes there are.
      weight_column_name: the feature that weights examples.
      linear_feature_columns: columns of the linear model.
      linear_optimizer: an optimizer, its name, or a function that gives one; Ftrl by default.
      _joint_linear_weights: whether all columns' weights are in one variable.
      dnn_feature_columns: dense columns of the network.
      dnn_optimizer: an optimizer, its name, or a function that gives one; Adagrad by default.
      dnn_hidden_units: the widths of the layers.
      dnn_activation_fn: of the layers.
      dnn_dropout: the share of activations that are left out in training.
      gradient_clip_norm: gradients are scaled down to this norm.
      enable_centered_bias: whether a bias of its own follows the labels' average.
      config: a `RunConfig`.
      feature_engineering_fn: called with features and labels; returns those of the model.
      embedding_lr_multipliers: {embedding column: factor of its gradients}.
      input_layer_min_slice_size: the least size of parts on parameter servers.
      label_keys: the names of classes, if labels are names.
      fix_global_step_increment_bug: whether a step counts once; twice if not.

    Raises:
      ValueError: if there are no columns.
    """

    @_BOTH_COUNT
    def __init__(
        self,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        label_keys: Any = None,
        fix_global_step_increment_bug: bool = False,
    ) -> None:
        given = dict(locals())
        head = multi_class_head(
            n_classes, weight_column_name=weight_column_name,
            enable_centered_bias=enable_centered_bias, label_keys=label_keys,
        )  # fmt: skip
        self._set_up(given, head)


@export("contrib.learn.DNNLinearCombinedRegressor")
class DNNLinearCombinedRegressor(EvaluatesScores, _Combined):
    """A linear model and a network whose logits are added; they predict numbers.

    Args:
      label_dimension: how many numbers an example has.
      model_dir, weight_column_name, ...: as of `DNNLinearCombinedClassifier`.
    """

    @_BOTH_COUNT
    def __init__(
        self,
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        fix_global_step_increment_bug: bool = False,
    ) -> None:
        given = dict(locals())
        head = regression_head(
            weight_column_name=weight_column_name, label_dimension=label_dimension,
            enable_centered_bias=enable_centered_bias,
        )  # fmt: skip
        self._set_up(given, head)
