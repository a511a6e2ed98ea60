"""tf.estimator.BoostedTreesClassifier, BoostedTreesRegressor and BoostedTreesEstimator."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.classification_heads import BinaryLogisticHead, MultiClassHead
from stillflow.estimator.canned.head_inputs import dense_labels
from stillflow.estimator.canned.regression_head import RegressionHead
from stillflow.estimator.estimator import Estimator
from stillflow.estimator.trees.columns import feature_names, in_order
from stillflow.estimator.trees.explaining import (
    SERIALIZED,
    explained,
    explaining_spec,
    feature_importances,
)
from stillflow.estimator.trees.growers import TreeSettings
from stillflow.estimator.trees.model import Model, model_fn
from stillflow.graph.export import export
from stillflow.losses.reduction import Reduction
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.math.cast import cast
from stillflow.train.checkpoint_utils import load_checkpoint
from stillflow.variables.creation import enable_resource_variables

# Marks a missing argument: there is one choice so far.
NOT_GIVEN = object()


class BoostedTrees(Estimator):
    """Base of all boosted-trees estimators.

    Args:
      model: description of the model.
      model_dir, config: see `Estimator`.
      is_classification: whether logits stand for probabilities.
    """

    def __init__(self, model: Model, model_dir: Any, config: Any, is_classification: bool) -> None:
        enable_resource_variables()  # the global step has to be one as well

        def of_trees(features: Any, labels: Any, mode: Any, config: Any) -> Any:
            return model_fn(model, features, labels, mode, config)

        super().__init__(of_trees, model_dir, config)
        self._columns = in_order(model.columns)
        self._names = feature_names(self._columns)
        self._head, self._settings = model.head, model.settings
        self._is_classification = is_classification

    def experimental_feature_importances(self, normalize: bool = False) -> OrderedDict[str, float]:
        """Return the total gain of the splits by each column.

        Args:
          normalize: whether the sum of all is to be 1.

        Returns:
          Importances by name, the most important first.

        Raises:
          AssertionError: if they cannot be normalized.
          ValueError: if nothing was trained.
        """
        serialized = load_checkpoint(self._model_dir).get_tensor("boosted_trees:0_serialized")
        return feature_importances(bytes(serialized), self._names, normalize)

    def experimental_predict_with_explanations(
        self, input_fn: Callable[..., Any], predict_keys: Any = None, hooks: Any = None,
        checkpoint_path: str | None = None,
    ) -> Iterator[dict[str, Any]]:  # fmt: skip
        """Predict, and yield each column's contribution too.

        Args:
          input_fn, predict_keys, hooks, checkpoint_path: as of `predict`.

        Yields:
          Predictions as `predict` gives them, with "bias", what is predicted without features, and
          "dfc", what columns add to it, by name; those that add or take off most are first.

        Raises:
          ValueError: if the bias is not centered, or predictions are not the logits.
        """
        if not self._settings.center_bias:
            raise ValueError(
                "center_bias must be enabled during estimator instantiation when using "
                "experimental_predict_with_explanations."
            )
        if not self._is_classification and self._head._inverse_link_fn not in (None, identity):
            raise ValueError(
                "For now only identity inverse_link_fn in regression_head is supported for "
                "experimental_predict_with_explanations."
            )

        def explaining(features: Any, labels: Any, mode: Any) -> Any:
            epsilon = self._settings.quantile_sketch_epsilon
            return explaining_spec(features, self._head, self._columns, epsilon)

        estimator = Estimator(
            explaining, self.model_dir, self.config, warm_start_from=self._warm_start_settings
        )
        keys = None if predict_keys is None else {*predict_keys, SERIALIZED}
        for prediction in estimator.predict(input_fn, keys, hooks, checkpoint_path):
            serialized = prediction.pop(SERIALIZED)
            prediction["bias"], prediction["dfc"] = explained(
                serialized, self._names, self._is_classification
            )
            yield prediction


def classification(
    n_classes: Any, weight_column: Any, label_vocabulary: Any
) -> tuple[BinaryLogisticHead, Callable[..., Any] | None]:
    """Return a classifier's head, and a closed form of its gradients and Hessians, if any."""
    if n_classes is not NOT_GIVEN and n_classes != 2:
        raise ValueError(
            f"For now only binary classification is supported.n_classes given as {n_classes}"
        )
    head = BinaryLogisticHead(
        weight_column, label_vocabulary=label_vocabulary,
        loss_reduction=Reduction.SUM_OVER_BATCH_SIZE,
    )  # fmt: skip
    plain = weight_column is None and label_vocabulary is None
    return head, _of_log_loss if plain else None


def _of_log_loss(logits: Any, labels: Any) -> tuple[Any, Any]:
    """Return the gradients and Hessians of the logistic loss."""
    predictions = tf.reciprocal(tf.exp(-logits) + 1.0)
    normalizer = tf.reciprocal(cast(tf.size(predictions), tf.float32))
    labels = dense_labels(cast(labels, tf.float32), logits, 1)
    gradients = (predictions - labels) * normalizer
    return gradients, predictions * (1.0 - predictions) * normalizer


def regression_head(label_dimension: Any, weight_column: Any) -> RegressionHead:
    """Return the head of a regressor."""
    if label_dimension is not NOT_GIVEN and label_dimension != 1:
        raise ValueError(
            "For now only 1 dimension regression is supported.label_dimension given as "
            f"{label_dimension}"
        )
    return RegressionHead(weight_column, 1, loss_reduction=Reduction.SUM_OVER_BATCH_SIZE)


@export("estimator.BoostedTreesClassifier")
class BoostedTreesClassifier(BoostedTrees):
    """Classifier of many small trees, each trained on the errors of the trees before.

    Args:
      feature_columns: columns of numbers, of buckets, or indicators.
      n_batches_per_layer: of how many batches a layer of a tree is made.
      model_dir: the folder of checkpoints and event files.
      n_classes: 2.
      weight_column: of the weights of examples: a name, a numeric column, or None.
      label_vocabulary: the words that labels are; None if they are numbers.
      n_trees: after how many trees training ends.
      max_depth: how many layers a tree has.
      learning_rate: how much of a tree's advice is taken.
      l1_regularization, l2_regularization: keep leaves small.
      tree_complexity: what a split has to gain, if trees are pruned.
      min_node_weight: which sum of Hessians a node has to have to be split.
      config: a `RunConfig`.
      center_bias: whether the first leaf is the prior, which takes some steps to find.
      pruning_mode: "none"; "pre" leaves out splits that gain too little, "post" takes them back
        when a tree is done.
      quantile_sketch_epsilon: columns of numbers come into 1 / epsilon buckets of about one size;
        ranks may be wrong by epsilon.
      train_in_memory: whether `input_fn` gives all examples as one batch, which is kept.

    Raises:
      ValueError: if there are more classes, or columns of another kind.
    """

    def __init__(
        self, feature_columns: Any, n_batches_per_layer: Any, model_dir: Any = None,
        n_classes: Any = NOT_GIVEN, weight_column: Any = None, label_vocabulary: Any = None,
        n_trees: int = 100, max_depth: int = 6, learning_rate: float = 0.1,
        l1_regularization: float = 0.0, l2_regularization: float = 0.0,
        tree_complexity: float = 0.0, min_node_weight: float = 0.0, config: Any = None,
        center_bias: bool = False, pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01, train_in_memory: bool = False,
    ) -> None:  # fmt: skip
        if n_classes is not NOT_GIVEN and n_classes > 2 and pruning_mode is not None:
            raise ValueError("For now pruning is not supported with multi class.")
        head, closed_form = classification(n_classes, weight_column, label_vocabulary)
        settings = TreeSettings(
            n_trees, max_depth, learning_rate, l1_regularization, l2_regularization,
            tree_complexity, min_node_weight, center_bias, pruning_mode, quantile_sketch_epsilon,
        )  # fmt: skip
        model = Model(
            head, feature_columns, settings, n_batches_per_layer,
            closed_form, weight_column, train_in_memory,
        )  # fmt: skip
        super().__init__(model, model_dir, config, True)


@export("estimator.BoostedTreesRegressor")
class BoostedTreesRegressor(BoostedTrees):
    """Predicts numbers by many small trees.

    Args:
      label_dimension: 1.
      feature_columns, n_batches_per_layer, ...: as of `BoostedTreesClassifier`.

    Raises:
      ValueError: if labels have more numbers, or there are columns of another kind.
    """

    def __init__(
        self, feature_columns: Any, n_batches_per_layer: Any, model_dir: Any = None,
        label_dimension: Any = NOT_GIVEN, weight_column: Any = None, n_trees: int = 100,
        max_depth: int = 6, learning_rate: float = 0.1, l1_regularization: float = 0.0,
        l2_regularization: float = 0.0, tree_complexity: float = 0.0,
        min_node_weight: float = 0.0, config: Any = None, center_bias: bool = False,
        pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01,
        train_in_memory: bool = False,
    ) -> None:  # fmt: skip
        if label_dimension is not NOT_GIVEN and label_dimension > 1 and pruning_mode is not None:
            raise ValueError("For now pruning is not supported with multi-dimensionregression.")
        head = regression_head(label_dimension, weight_column)
        settings = TreeSettings(
            n_trees, max_depth, learning_rate, l1_regularization, l2_regularization,
            tree_complexity, min_node_weight, center_bias, pruning_mode, quantile_sketch_epsilon,
        )  # fmt: skip
        model = Model(
            head, feature_columns, settings, n_batches_per_layer, None, weight_column,
            train_in_memory,
        )  # fmt: skip
        super().__init__(model, model_dir, config, False)


@export("estimator.BoostedTreesEstimator")
class BoostedTreesEstimator(BoostedTrees):
    """Estimator like `BoostedTreesClassifier`, with any head.

    Args:
      head: has a `logits_dimension` of 1, and makes the spec with `create_estimator_spec`, which is
        given a `train_op_fn`.
      weight_column: has no effect: weights are the head's.
      feature_columns, n_batches_per_layer, ...: as of `BoostedTreesClassifier`.
    """

    def __init__(
        self, feature_columns: Any, n_batches_per_layer: Any, head: Any, model_dir: Any = None,
        weight_column: Any = None, n_trees: int = 100, max_depth: int = 6,
        learning_rate: float = 0.1, l1_regularization: float = 0.0,
        l2_regularization: float = 0.0, tree_complexity: float = 0.0,
        min_node_weight: float = 0.0, config: Any = None, center_bias: bool = False,
        pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01,
    ) -> None:  # fmt: skip
        settings = TreeSettings(
            n_trees, max_depth, learning_rate, l1_regularization, l2_regularization,
            tree_complexity, min_node_weight, center_bias, pruning_mode, quantile_sketch_epsilon,
        )  # fmt: skip
        model = Model(head, feature_columns, settings, n_batches_per_layer)
        classifies = isinstance(head, (BinaryLogisticHead, MultiClassHead))
        super().__init__(model, model_dir, config, classifies)
