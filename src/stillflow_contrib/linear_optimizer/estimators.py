"""The estimators of `tensorflow.contrib.linear_optimizer.python.sdca_estimator`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stillflow.estimator.sdca.hooks import UpdateWeightsHook
from stillflow_contrib.learn.estimator import Estimator
from stillflow_contrib.learn.heads.classification import multi_class_head
from stillflow_contrib.learn.heads.regression import regression_head
from stillflow_contrib.learn.keys import PredictionKey
from stillflow_contrib.linear_optimizer.model_fn import build, loss_of
from stillflow_contrib.linear_optimizer.optimizer import SDCAOptimizer

if TYPE_CHECKING:
    from stillflow_contrib.learn.model_fn_ops import ModelFnOps


def sdca_model_fn(
    features: Any, labels: Any, mode: str, params: dict[str, Any], config: Any = None
) -> ModelFnOps:
    """Return the model function of these estimators."""
    head = params["head"]
    loss_type = loss_of(head)
    if loss_type is None:
        raise ValueError(f"Unsupported head type: {type(head)}")
    assert head.logits_dimension == 1, "SDCA only applies to logits_dimension=1."
    optimizer = SDCAOptimizer(
        example_id_column=params["example_id_column"],
        num_loss_partitions=params["num_loss_partitions"] or max(1, config.num_worker_replicas),
        symmetric_l1_regularization=params["l1_regularization"],
        symmetric_l2_regularization=params["l2_regularization"],
        partitioner=params["partitioner"],
    )
    return build(features, labels, mode, params, optimizer, loss_type)


# Arguments of the constructor that are for the model function.
_OF_MODEL = (
    "head", "feature_columns", "example_id_column", "num_loss_partitions", "l1_regularization",
    "l2_regularization", "weight_column_name", "partitioner",
)  # fmt: skip


class _SDCAEstimator(Estimator):
    """A linear model that dual coordinate ascent trains.

    Args:
      example_id_column: the feature that tells examples apart, strings [batch].
      feature_columns: columns of `tf.contrib.layers`.
      weight_column_name: the feature that weights examples.
      model_dir: the folder of checkpoints and event files.
      head: of two classes, or of a number.
      l1_regularization, l2_regularization: of the weights.
      num_loss_partitions: how many workers train at once; all of them by default.
      config: a `RunConfig`.
      feature_engineering_fn: called with features and labels; returns those of the model.
      partitioner: cuts the weights in parts.

    Raises:
      ValueError: for other heads.
    """

    def __init__(
        self, example_id_column: Any, feature_columns: Any, weight_column_name: Any = None,
        model_dir: Any = None, head: Any = None, l1_regularization: float = 0.0,
        l2_regularization: float = 1.0, num_loss_partitions: int | None = None,
        config: Any = None, feature_engineering_fn: Any = None, partitioner: Any = None,
    ) -> None:  # fmt: skip
        given = dict(locals())
        self._feature_columns = tuple(feature_columns or [])
        assert self._feature_columns
        if loss_of(head) is None:
            raise ValueError(
                f"head type: {type(head)} is not supported. Supported head types: "
                "_BinaryLogisticHead, _BinarySvmHead and _RegressionHead."
            )
        assert head.logits_dimension == 1
        params = {name: given[name] for name in _OF_MODEL}
        params["update_weights_hook"] = UpdateWeightsHook()
        super().__init__(sdca_model_fn, model_dir, config, params, feature_engineering_fn)

    def _predict_key(self, key: str, input_fn: Any) -> Iterator[Any]:
        for prediction in super().predict(input_fn=input_fn, outputs=[key]):
            yield prediction[key]


class SDCALogisticClassifier(_SDCAEstimator):
    """Predicts one of two classes.

    Args:
      example_id_column, feature_columns, ...: as of `_SDCAEstimator`.
      feature_engineering_fn: nothing, as in TensorFlow.
    """

    def __init__(
        self, example_id_column: Any, feature_columns: Any, weight_column_name: Any = None,
        model_dir: Any = None, l1_regularization: float = 0.0, l2_regularization: float = 1.0,
        num_loss_partitions: int | None = None, config: Any = None,
        feature_engineering_fn: Any = None, partitioner: Any = None,
    ) -> None:  # fmt: skip
        head = multi_class_head(n_classes=2, weight_column_name=weight_column_name)
        super().__init__(
            example_id_column, feature_columns, weight_column_name, model_dir, head,
            l1_regularization, l2_regularization, num_loss_partitions, config, None, partitioner,
        )  # fmt: skip

    def predict_classes(self, input_fn: Any = None) -> Iterator[Any]:
        """Classes, one example after the other."""
        return self._predict_key(PredictionKey.CLASSES, input_fn)

    def predict_proba(self, input_fn: Any = None) -> Iterator[Any]:
        """Probabilities of both classes, one example after the other."""
        return self._predict_key(PredictionKey.PROBABILITIES, input_fn)


class SDCALinearRegressor(_SDCAEstimator):
    """Predicts a number.

    Args:
      example_id_column, feature_columns, ...: as of `SDCALogisticClassifier`.
    """

    def __init__(
        self, example_id_column: Any, feature_columns: Any, weight_column_name: Any = None,
        model_dir: Any = None, l1_regularization: float = 0.0, l2_regularization: float = 1.0,
        num_loss_partitions: int | None = None, config: Any = None,
        feature_engineering_fn: Any = None, partitioner: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            example_id_column, feature_columns, weight_column_name, model_dir,
            regression_head(weight_column_name=weight_column_name), l1_regularization,
            l2_regularization, num_loss_partitions, config, None, partitioner,
        )  # fmt: skip

    def predict_scores(self, input_fn: Any) -> Iterator[Any]:
        """Numbers, one example after the other."""
        return self._predict_key(PredictionKey.SCORES, input_fn)
