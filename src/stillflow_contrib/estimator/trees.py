"""tf.contrib.estimator: boosted trees that are trained at once from all examples in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.data.dataset import DatasetV2
from stillflow.estimator.trees.estimators import (
    NOT_GIVEN,
    BoostedTrees,
    classification,
    regression_head,
)
from stillflow.estimator.trees.growers import TreeSettings
from stillflow.estimator.trees.model import Model
from stillflow.graph.export import export


def _repeated(input_fn: Callable[[], Any]) -> Callable[[], Any]:
    """Return the same input, again and again."""

    def repeated() -> Any:
        result = input_fn()
        return result.repeat() if isinstance(result, DatasetV2) else result

    return repeated


def _trained(
    model: Model, is_classification: bool, input_fn: Any, model_dir: Any, config: Any, hooks: Any
) -> BoostedTrees:
    estimator = BoostedTrees(model, model_dir, config, is_classification)
    estimator.train(_repeated(input_fn), hooks=hooks)
    return estimator


@export("contrib.estimator.boosted_trees_classifier_train_in_memory")
def boosted_trees_classifier_train_in_memory(
    train_input_fn: Callable[[], Any], feature_columns: Any, model_dir: Any = None,
    n_classes: Any = NOT_GIVEN, weight_column: Any = None, label_vocabulary: Any = None,
    n_trees: int = 100, max_depth: int = 6, learning_rate: float = 0.1,
    l1_regularization: float = 0.0, l2_regularization: float = 0.0, tree_complexity: float = 0.0,
    min_node_weight: float = 0.0, config: Any = None, train_hooks: Any = None,
    center_bias: bool = False, pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01,
) -> BoostedTrees:  # fmt: skip
    """Trains a classifier from all examples at once.

    Args:
      train_input_fn: gives a dataset with all examples in one batch, or features and labels.
      train_hooks: hooks of training.
      feature_columns, ...: as of `tf.estimator.BoostedTreesClassifier`.

    Returns:
      An estimator that is trained.
    """
    head, closed_form = classification(n_classes, weight_column, label_vocabulary)
    settings = TreeSettings(
        n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity,
        min_node_weight, center_bias, pruning_mode, quantile_sketch_epsilon,
    )  # fmt: skip
    model = Model(head, feature_columns, settings, 1, closed_form, None, True)
    return _trained(model, True, train_input_fn, model_dir, config, train_hooks)


@export("contrib.estimator.boosted_trees_regressor_train_in_memory")
def boosted_trees_regressor_train_in_memory(
    train_input_fn: Callable[[], Any], feature_columns: Any, model_dir: Any = None,
    label_dimension: Any = NOT_GIVEN, weight_column: Any = None, n_trees: int = 100,
    max_depth: int = 6, learning_rate: float = 0.1, l1_regularization: float = 0.0,
    l2_regularization: float = 0.0, tree_complexity: float = 0.0, min_node_weight: float = 0.0,
    config: Any = None, train_hooks: Any = None, center_bias: bool = False,
    pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01,
) -> BoostedTrees:  # fmt: skip
    """Trains a regressor from all examples at once.

    Args:
      train_input_fn: gives a dataset with all examples in one batch, or features and labels.
      train_hooks: hooks of training.
      feature_columns, ...: as of `tf.estimator.BoostedTreesRegressor`.

    Returns:
      An estimator that is trained.
    """
    settings = TreeSettings(
        n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity,
        min_node_weight, center_bias, pruning_mode, quantile_sketch_epsilon,
    )  # fmt: skip
    head = regression_head(label_dimension, weight_column)
    model = Model(head, feature_columns, settings, 1, None, None, True)
    return _trained(model, False, train_input_fn, model_dir, config, train_hooks)
