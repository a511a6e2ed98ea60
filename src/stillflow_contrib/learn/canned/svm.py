"""`tf.contrib.learn.SVM`: a linear support vector machine."""

from __future__ import annotations

from typing import Any

from stillflow.estimator.sdca.hooks import UpdateWeightsHook
from stillflow.graph.export import export
from stillflow_contrib.learn.canned.predicting import _AS_ITERABLE, _Predicts
from stillflow_contrib.learn.heads.classification import binary_svm_head
from stillflow_contrib.learn.keys import PredictionKey
from stillflow_contrib.linear_optimizer.model_fn import sdca_model_fn
from stillflow_contrib.linear_optimizer.optimizer import SDCAOptimizer


@export("contrib.learn.SVM")
class SVM(_Predicts):
    """Predicts one of two classes by a linear model with the hinge loss.

    Args:
      example_id_column: the feature that tells examples apart, strings [batch].
      feature_columns: columns of `tf.contrib.layers`.
      weight_column_name: the feature that weights examples.
      model_dir: the folder of checkpoints and event files.
      l1_regularization, l2_regularization: of the weights.
      num_loss_partitions: how many workers train at once.
      kernels: must be None.
      config: a `RunConfig`.
      feature_engineering_fn: called with features and labels; returns those of the model.

    Raises:
      ValueError: if there are kernels.
    """

    def __init__(
        self, example_id_column: Any, feature_columns: Any, weight_column_name: Any = None,
        model_dir: Any = None, l1_regularization: float = 0.0, l2_regularization: float = 0.0,
        num_loss_partitions: int = 1, kernels: Any = None, config: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:  # fmt: skip
        if kernels is not None:
            raise ValueError("Kernel SVMs are not currently supported.")
        optimizer = SDCAOptimizer(
            example_id_column=example_id_column, num_loss_partitions=num_loss_partitions,
            symmetric_l1_regularization=l1_regularization,
            symmetric_l2_regularization=l2_regularization,
        )  # fmt: skip
        self._feature_columns = feature_columns
        head = binary_svm_head(weight_column_name=weight_column_name, enable_centered_bias=False)
        params = {
            "head": head, "feature_columns": feature_columns, "optimizer": optimizer,
            "weight_column_name": weight_column_name, "update_weights_hook": UpdateWeightsHook(),
        }  # fmt: skip
        super().__init__(
            model_fn=sdca_model_fn, model_dir=model_dir, config=config, params=params,
            feature_engineering_fn=feature_engineering_fn,
        )  # fmt: skip

    @_AS_ITERABLE
    def predict_classes(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:  # fmt: skip
        """Return classes; see `Estimator.predict`."""
        return self._predict_key(PredictionKey.CLASSES, x, input_fn, batch_size, as_iterable)

    @_AS_ITERABLE
    def predict_proba(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None,
        outputs: Any = None, as_iterable: bool = True,
    ) -> Any:  # fmt: skip
        """Return probabilities of classes, which this head does not support."""
        return self._predict_key(PredictionKey.PROBABILITIES, x, input_fn, batch_size, as_iterable)
