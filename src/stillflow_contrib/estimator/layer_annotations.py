"""Estimators that annotate the inputs of their layers, which TensorFlow 1.15 does for old columns.

Columns of `tf.feature_column` go through layers that have no annotations, there as well: the models
are those of `tf.estimator.DNNClassifier` and `DNNRegressor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stillflow.estimator.canned.dnn import DNNClassifier, DNNRegressor
from stillflow.estimator.estimator import Estimator
from stillflow.graph.export import export
from stillflow.losses.reduction import Reduction
from stillflow.ops.nn.activations import relu

if TYPE_CHECKING:
    from stillflow.estimator.spec import EstimatorSpec


def _of_model(original: Estimator, model_dir: Any, config: Any, warm_start_from: Any) -> Estimator:
    """Return an estimator, of no class of its own, with the model of another."""

    def model_fn(features: Any, labels: Any, mode: Any, config: Any) -> EstimatorSpec:
        return original.model_fn(features, labels, mode, config)

    return Estimator(model_fn, model_dir, config, warm_start_from=warm_start_from)


@export("contrib.estimator.DNNClassifierWithLayerAnnotations")
def DNNClassifierWithLayerAnnotations(
    hidden_units: Sequence[int],
    feature_columns: Any,
    model_dir: Any = None,
    n_classes: int = 2,
    weight_column: Any = None,
    label_vocabulary: Any = None,
    optimizer: Any = "Adagrad",
    activation_fn: Any = relu,
    dropout: float | None = None,
    input_layer_partitioner: Any = None,
    config: Any = None,
    warm_start_from: Any = None,
    loss_reduction: Any = Reduction.SUM,
) -> Estimator:
    """Return an `Estimator` with the model and arguments of `tf.estimator.DNNClassifier`."""
    original = DNNClassifier(
        hidden_units, feature_columns, model_dir, n_classes, weight_column, label_vocabulary,
        optimizer, activation_fn, dropout, input_layer_partitioner, config, warm_start_from,
        loss_reduction,
    )  # fmt: skip
    return _of_model(original, model_dir, config, warm_start_from)


@export("contrib.estimator.DNNRegressorWithLayerAnnotations")
def DNNRegressorWithLayerAnnotations(
    hidden_units: Sequence[int],
    feature_columns: Any,
    model_dir: Any = None,
    label_dimension: int = 1,
    weight_column: Any = None,
    optimizer: Any = "Adagrad",
    activation_fn: Any = relu,
    dropout: float | None = None,
    input_layer_partitioner: Any = None,
    config: Any = None,
    warm_start_from: Any = None,
    loss_reduction: Any = Reduction.SUM,
) -> Estimator:
    """Return an `Estimator` with the model and arguments of `tf.estimator.DNNRegressor`."""
    original = DNNRegressor(
        hidden_units, feature_columns, model_dir, label_dimension, weight_column, optimizer,
        activation_fn, dropout, input_layer_partitioner, config, warm_start_from, loss_reduction,
    )  # fmt: skip
    return _of_model(original, model_dir, config, warm_start_from)
