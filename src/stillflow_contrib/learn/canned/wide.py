"""`tf.contrib.learn`'s linear estimators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.estimator.sdca.hooks import UpdateWeightsHook
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.train.ftrl import FtrlOptimizer
from stillflow.train.global_step import get_global_step
from stillflow_contrib.learn.canned.networks import (
    SLICE_BYTES,
    WIDE,
    as_dict,
    open_scope,
    optimizer_of,
    wide_logits,
)
from stillflow_contrib.learn.canned.predicting import PredictsClasses, PredictsScores
from stillflow_contrib.learn.estimator import Estimator
from stillflow_contrib.learn.heads.classification import multi_class_head
from stillflow_contrib.learn.heads.regression import regression_head
from stillflow_contrib.learn.model_fn_ops import ModelFnOps
from stillflow_contrib.linear_optimizer.model_fn import sdca_model_fn
from stillflow_contrib.linear_optimizer.optimizer import SDCAOptimizer

if TYPE_CHECKING:
    from stillflow.train.optimizer import Optimizer


_LEARNING_RATE = 0.2


def learning_rate(columns: Any) -> float:
    """Return the learning rate of a linear model: the less the more columns it has."""
    return min(_LEARNING_RATE, 1.0 / math.sqrt(len(columns)))


def _optimizer(spec: Any, columns: Any) -> Optimizer:
    if not spec:
        return FtrlOptimizer(learning_rate=learning_rate(columns))
    if isinstance(spec, str):
        return tf.contrib.layers.OPTIMIZER_CLS_NAMES[spec](learning_rate=_LEARNING_RATE)
    return optimizer_of(spec)


def linear_model_fn(
    features: Any, labels: Any, mode: str, params: dict[str, Any], config: Any = None
) -> ModelFnOps:
    """Build the model of a `LinearEstimator`, whose arguments are `params`."""
    head, columns = params["head"], params["feature_columns"]
    features = as_dict(features)
    with open_scope(WIDE, features, config, min_slice_size=SLICE_BYTES) as scope:
        joint = params.get("joint_weights", False)
        logits = wide_logits(features, columns, head.logits_dimension, joint, scope)

        def train_op(loss: Any) -> Any:
            step = get_global_step()
            variables = tf.get_collection(WIDE)
            gradients = tf.gradients(loss, variables)
            if params.get("gradient_clip_norm"):
                gradients, _ = tf.clip_by_global_norm(gradients, params["gradient_clip_norm"])
            pairs = zip(gradients, variables)
            optimizer = _optimizer(params.get("optimizer"), columns)
            return optimizer.apply_gradients(pairs, global_step=step)

        return head.create_model_fn_ops(
            features=features, mode=mode, labels=labels, train_op_fn=train_op, logits=logits
        )


class _Linear(Estimator):
    """Base of linear estimators."""

    def _set_up(
        self, head: Any, feature_columns: Any, optimizer: Any, gradient_clip_norm: Any,
        joint_weights: bool, weight_column_name: str | None = None, **settings: Any,
    ) -> None:  # fmt: skip
        assert feature_columns
        params = {"head": head, "feature_columns": feature_columns, "optimizer": optimizer}
        if isinstance(optimizer, SDCAOptimizer):
            model_fn: Any = sdca_model_fn
            params["weight_column_name"] = weight_column_name
            params["update_weights_hook"] = UpdateWeightsHook()
        else:
            model_fn = linear_model_fn
            params.update(gradient_clip_norm=gradient_clip_norm, joint_weights=joint_weights)
        Estimator.__init__(self, model_fn=model_fn, params=params, **settings)


@export("contrib.learn.LinearClassifier")
class LinearClassifier(PredictsClasses, _Linear):
    """A linear model that predicts classes.

    Args:
      feature_columns: columns, of `tf.contrib.layers` or of `tf.feature_column`.
      model_dir: the folder of checkpoints and event files.
      n_classes: how many classes there are.
      weight_column_name: the feature that weights examples.
      optimizer: an optimizer, its name, or a function that gives one; Ftrl by default.
      gradient_clip_norm: gradients are scaled down to this norm.
      enable_centered_bias: whether a bias of its own follows the labels' average.
      _joint_weight: whether all columns' weights are in one variable.
      config: a `RunConfig`.
      feature_engineering_fn: called with features and labels; returns those of the model.
      label_keys: the names of classes, if labels are names.
    """

    def __init__(
        self,
        feature_columns: Any,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        _joint_weight: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        label_keys: Any = None,
    ) -> None:
        if isinstance(optimizer, SDCAOptimizer):
            if enable_centered_bias:
                raise ValueError("enable_centered_bias is not supported with SDCA")
            assert not _joint_weight, "_joint_weight is incompatible with the SDCAOptimizer"
            assert n_classes == 2, "SDCA only applies to binary classification."
        head = multi_class_head(
            n_classes, weight_column_name=weight_column_name,
            enable_centered_bias=enable_centered_bias, label_keys=label_keys,
        )  # fmt: skip
        self._set_up(
            head, feature_columns, optimizer, gradient_clip_norm, _joint_weight,
            weight_column_name=weight_column_name,
            model_dir=model_dir, config=config, feature_engineering_fn=feature_engineering_fn,
        )  # fmt: skip


@export("contrib.learn.LinearRegressor")
class LinearRegressor(PredictsScores, _Linear):
    """A linear model that predicts numbers.

    Args:
      label_dimension: how many numbers an example has.
      _joint_weights: whether all columns' weights are in one variable.
      feature_columns, model_dir, ...: as of `LinearClassifier`.
    """

    def __init__(
        self,
        feature_columns: Any,
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        _joint_weights: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:
        if isinstance(optimizer, SDCAOptimizer):
            if enable_centered_bias:
                enable_centered_bias = False
                logging.warning(
                    "centered_bias is not supported with SDCA, please disable it explicitly."
                )
            assert label_dimension == 1, "SDCA only applies for label_dimension=1."
            assert not _joint_weights, "_joint_weights is incompatible with SDCAOptimizer."
        head = regression_head(
            weight_column_name=weight_column_name, label_dimension=label_dimension,
            enable_centered_bias=enable_centered_bias,
        )  # fmt: skip
        self._set_up(
            head, feature_columns, optimizer, gradient_clip_norm, _joint_weights,
            weight_column_name=weight_column_name,
            model_dir=model_dir, config=config, feature_engineering_fn=feature_engineering_fn,
        )  # fmt: skip


@export("contrib.learn.LinearEstimator")
class LinearEstimator(_Linear):
    """A linear model that ends in a head.

    Args:
      head: a `Head`.
      weight_column_name: nothing.
      feature_columns, model_dir, ...: as of `LinearRegressor`.
    """

    def __init__(
        self,
        feature_columns: Any,
        head: Any,
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        _joint_weights: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:
        if isinstance(optimizer, SDCAOptimizer):
            raise ValueError("LinearEstimator does not support SDCA optimizer.")
        self._set_up(
            head, feature_columns, optimizer, gradient_clip_norm, _joint_weights,
            weight_column_name=weight_column_name,
            model_dir=model_dir, config=config, feature_engineering_fn=feature_engineering_fn,
        )  # fmt: skip
