"""`tf.contrib.tensor_forest.random_forest`: estimators that are forests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.estimator.estimator import Estimator as CoreEstimator
from stillflow.graph.export import export, export_value
from stillflow.saved_model.export_outputs import PredictOutput
from stillflow_contrib.learn.estimator import Estimator
from stillflow_contrib.tensor_forest.hooks import (
    LOSS_NAME,
    TensorForestLossHook,
    TensorForestRunOpAtEndHook,
)
from stillflow_contrib.tensor_forest.model_function import (
    ALL_SERVING_KEY,
    EPSILON,
    KEYS_NAME,
    TREE_PATHS_PREDICTION_KEY,
    VARIANCE_PREDICTION_KEY,
    ModelBuilderOutputType,
    default_head,
    get_combined_model_fn,
    get_model_fn,
)
from stillflow_contrib.tensor_forest.tensor_forest import RandomForestGraphs

export_value("contrib.tensor_forest.random_forest.ALL_SERVING_KEY", ALL_SERVING_KEY)
export_value("contrib.tensor_forest.random_forest.EPSILON", EPSILON)
export_value("contrib.tensor_forest.random_forest.KEYS_NAME", KEYS_NAME)
export_value("contrib.tensor_forest.random_forest.LOSS_NAME", LOSS_NAME)
export_value(
    "contrib.tensor_forest.random_forest.TREE_PATHS_PREDICTION_KEY", TREE_PATHS_PREDICTION_KEY
)
export_value("contrib.tensor_forest.random_forest.VARIANCE_PREDICTION_KEY", VARIANCE_PREDICTION_KEY)

__all__ = [
    "ALL_SERVING_KEY", "EPSILON", "KEYS_NAME", "LOSS_NAME", "TREE_PATHS_PREDICTION_KEY",
    "VARIANCE_PREDICTION_KEY", "CoreTensorForestEstimator", "ModelBuilderOutputType",
    "MultiForestMultiHeadEstimator", "PredictOutput", "TensorForestEstimator",
    "TensorForestLossHook", "TensorForestRunOpAtEndHook", "get_combined_model_fn", "get_model_fn",
]  # fmt: skip


def _trainers(given: int, config: Any) -> int:
    """Return the number of trainers: the configuration's by default."""
    return max(1, config.num_worker_replicas) if given == 1 and config is not None else given


@export("contrib.tensor_forest.random_forest.TensorForestEstimator")
class TensorForestEstimator(Estimator):
    """An estimator of tf.contrib.learn that is a forest.

    Args:
      params: a `ForestHParams`.
      device_assigner: says where trees are.
      model_dir, config, feature_engineering_fn: as of `Estimator`.
      feature_columns: columns that make the features.
      graph_builder_class: builds graphs, as `RandomForestGraphs` does.
      weight_column, keys_column: features that are weights, or are handed on to predictions.
      early_stopping_rounds, early_stopping_loss_threshold: after how many steps without a loss
        that is smaller by this share training stops; never if the first is 0 or None.
      num_trainers, trainer_id: who trains which trees.
      report_feature_importances: whether shares of features are logged in the end.
      local_eval: whether the device assigner is left out of evaluation, too.
      version: has no effect.
      head: a head; one for the kind of forest if None.
      include_all_in_serving: whether exports have all that is predicted.
    """

    def __init__(
        self, params: Any, device_assigner: Any = None, model_dir: str | None = None,
        feature_columns: Any = None, graph_builder_class: Any = RandomForestGraphs,
        config: Any = None, weight_column: Any = None, keys_column: Any = None,
        feature_engineering_fn: Any = None, early_stopping_rounds: Any = 100,
        early_stopping_loss_threshold: Any = 0.001, num_trainers: int = 1, trainer_id: int = 0,
        report_feature_importances: bool = False, local_eval: bool = False, version: Any = None,
        head: Any = None, include_all_in_serving: bool = False,
    ) -> None:  # fmt: skip
        model_fn = get_model_fn(
            params.fill(), graph_builder_class, device_assigner, feature_columns=feature_columns,
            model_head=head, weights_name=weight_column, keys_name=keys_column,
            early_stopping_rounds=early_stopping_rounds,
            early_stopping_loss_threshold=early_stopping_loss_threshold,
            num_trainers=_trainers(num_trainers, config), trainer_id=trainer_id,
            report_feature_importances=report_feature_importances, local_eval=local_eval,
            include_all_in_serving=include_all_in_serving,
        )  # fmt: skip
        super().__init__(
            model_fn=model_fn, model_dir=model_dir, config=config,
            feature_engineering_fn=feature_engineering_fn,
        )  # fmt: skip


@export("contrib.tensor_forest.random_forest.MultiForestMultiHeadEstimator")
class MultiForestMultiHeadEstimator(Estimator):
    """An estimator of tf.contrib.learn with a forest for each column of the labels.

    Args:
      params_list: a `ForestHParams` for each.
      others: as of `TensorForestEstimator`.
    """

    def __init__(
        self, params_list: Sequence[Any], device_assigner: Any = None,
        model_dir: str | None = None, feature_columns: Any = None,
        graph_builder_class: Any = RandomForestGraphs, config: Any = None,
        weight_column: Any = None, keys_column: Any = None, feature_engineering_fn: Any = None,
        early_stopping_rounds: Any = 100, num_trainers: int = 1, trainer_id: int = 0,
        report_feature_importances: bool = False, local_eval: bool = False,
    ) -> None:  # fmt: skip
        model_fns = []
        for number, each in enumerate(params_list):
            params = each.fill()
            head = default_head(
                params, weight_column, ModelBuilderOutputType.MODEL_FN_OPS, f"head{number}"
            )
            model_fns.append(
                get_model_fn(
                    params, graph_builder_class, device_assigner, model_head=head,
                    weights_name=weight_column, keys_name=keys_column,
                    early_stopping_rounds=early_stopping_rounds,
                    num_trainers=_trainers(num_trainers, config), trainer_id=trainer_id,
                    report_feature_importances=report_feature_importances, local_eval=local_eval,
                    head_scope=f"output{number}",
                )
            )  # fmt: skip
        super().__init__(
            model_fn=get_combined_model_fn(model_fns), model_dir=model_dir, config=config,
            feature_engineering_fn=feature_engineering_fn,
        )  # fmt: skip


@export("contrib.tensor_forest.random_forest.CoreTensorForestEstimator")
class CoreTensorForestEstimator(CoreEstimator):
    """An estimator of tf.estimator that is a forest.

    Args: as of `TensorForestEstimator`; `feature_engineering_fn` has no effect.
    """

    def __init__(
        self, params: Any, device_assigner: Any = None, model_dir: str | None = None,
        feature_columns: Any = None, graph_builder_class: Any = RandomForestGraphs,
        config: Any = None, weight_column: Any = None, keys_column: Any = None,
        feature_engineering_fn: Any = None, early_stopping_rounds: Any = 100,
        early_stopping_loss_threshold: Any = 0.001, num_trainers: int = 1, trainer_id: int = 0,
        report_feature_importances: bool = False, local_eval: bool = False, version: Any = None,
        head: Any = None, include_all_in_serving: bool = False,
    ) -> None:  # fmt: skip
        if trainer_id == 0 and config is not None:
            trainer_id = config.global_id_in_cluster
        model_fn = get_model_fn(
            params.fill(), graph_builder_class, device_assigner, feature_columns=feature_columns,
            model_head=head, weights_name=weight_column, keys_name=keys_column,
            early_stopping_rounds=early_stopping_rounds,
            early_stopping_loss_threshold=early_stopping_loss_threshold,
            num_trainers=_trainers(num_trainers, config), trainer_id=trainer_id,
            report_feature_importances=report_feature_importances, local_eval=local_eval,
            include_all_in_serving=include_all_in_serving,
            output_type=ModelBuilderOutputType.ESTIMATOR_SPEC,
        )  # fmt: skip
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)
