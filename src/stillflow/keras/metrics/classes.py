"""Means of functions of targets and predictions, as metrics."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.keras.losses import functions as losses
from stillflow.keras.losses.alignment import align_targets
from stillflow.keras.metrics import functions
from stillflow.keras.metrics.base import Mean, MeanMetricWrapper


@export("keras.metrics.BinaryAccuracy")
class BinaryAccuracy(MeanMetricWrapper):
    """The mean of `binary_accuracy`."""

    def __init__(
        self, name: Any = "binary_accuracy", dtype: Any = None, threshold: float = 0.5
    ) -> None:
        super().__init__(functions.binary_accuracy, name, dtype=dtype, threshold=threshold)


@export("keras.metrics.Accuracy")
class Accuracy(MeanMetricWrapper):
    """The mean of `accuracy`."""

    def __init__(self, name: Any = "accuracy", dtype: Any = None) -> None:
        super().__init__(functions.accuracy, name, dtype=dtype)


@export("keras.metrics.CategoricalAccuracy")
class CategoricalAccuracy(MeanMetricWrapper):
    """The mean of `categorical_accuracy`."""

    def __init__(self, name: Any = "categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(functions.categorical_accuracy, name, dtype=dtype)


@export("keras.metrics.SparseCategoricalAccuracy")
class SparseCategoricalAccuracy(MeanMetricWrapper):
    """The mean of `sparse_categorical_accuracy`."""

    def __init__(self, name: Any = "sparse_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(functions.sparse_categorical_accuracy, name, dtype=dtype)


@export("keras.metrics.TopKCategoricalAccuracy")
class TopKCategoricalAccuracy(MeanMetricWrapper):
    """The mean of `top_k_categorical_accuracy`."""

    def __init__(
        self, k: int = 5, name: Any = "top_k_categorical_accuracy", dtype: Any = None
    ) -> None:
        super().__init__(functions.top_k_categorical_accuracy, name, dtype=dtype, k=k)


@export("keras.metrics.SparseTopKCategoricalAccuracy")
class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """The mean of `sparse_top_k_categorical_accuracy`."""

    def __init__(
        self, k: int = 5, name: Any = "sparse_top_k_categorical_accuracy", dtype: Any = None
    ) -> None:
        super().__init__(functions.sparse_top_k_categorical_accuracy, name, dtype=dtype, k=k)


@export("keras.metrics.CosineSimilarity")
class CosineSimilarity(MeanMetricWrapper):
    """The mean of `cosine_similarity`."""

    def __init__(self, name: Any = "cosine_similarity", dtype: Any = None, axis: int = -1) -> None:
        super().__init__(losses.cosine_proximity, name, dtype=dtype, axis=axis)


@export("keras.metrics.MeanAbsoluteError")
class MeanAbsoluteError(MeanMetricWrapper):
    """The mean of `mean_absolute_error`."""

    def __init__(self, name: Any = "mean_absolute_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_absolute_error, name, dtype=dtype)


@export("keras.metrics.MeanAbsolutePercentageError")
class MeanAbsolutePercentageError(MeanMetricWrapper):
    """The mean of `mean_absolute_percentage_error`."""

    def __init__(self, name: Any = "mean_absolute_percentage_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_absolute_percentage_error, name, dtype=dtype)


@export("keras.metrics.MeanSquaredError")
class MeanSquaredError(MeanMetricWrapper):
    """The mean of `mean_squared_error`."""

    def __init__(self, name: Any = "mean_squared_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_squared_error, name, dtype=dtype)


@export("keras.metrics.MeanSquaredLogarithmicError")
class MeanSquaredLogarithmicError(MeanMetricWrapper):
    """The mean of `mean_squared_logarithmic_error`."""

    def __init__(self, name: Any = "mean_squared_logarithmic_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_squared_logarithmic_error, name, dtype=dtype)


@export("keras.metrics.Hinge")
class Hinge(MeanMetricWrapper):
    """The mean of `hinge`."""

    def __init__(self, name: Any = "hinge", dtype: Any = None) -> None:
        super().__init__(losses.hinge, name, dtype=dtype)


@export("keras.metrics.SquaredHinge")
class SquaredHinge(MeanMetricWrapper):
    """The mean of `squared_hinge`."""

    def __init__(self, name: Any = "squared_hinge", dtype: Any = None) -> None:
        super().__init__(losses.squared_hinge, name, dtype=dtype)


@export("keras.metrics.CategoricalHinge")
class CategoricalHinge(MeanMetricWrapper):
    """The mean of `categorical_hinge`."""

    def __init__(self, name: Any = "categorical_hinge", dtype: Any = None) -> None:
        super().__init__(losses.categorical_hinge, name, dtype=dtype)


@export("keras.metrics.LogCoshError")
class LogCoshError(MeanMetricWrapper):
    """The mean of `logcosh`."""

    def __init__(self, name: Any = "logcosh", dtype: Any = None) -> None:
        super().__init__(losses.logcosh, name, dtype=dtype)


@export("keras.metrics.Poisson")
class Poisson(MeanMetricWrapper):
    """The mean of `poisson`."""

    def __init__(self, name: Any = "poisson", dtype: Any = None) -> None:
        super().__init__(losses.poisson, name, dtype=dtype)


@export("keras.metrics.KLDivergence")
class KLDivergence(MeanMetricWrapper):
    """The mean of `kullback_leibler_divergence`."""

    def __init__(self, name: Any = "kullback_leibler_divergence", dtype: Any = None) -> None:
        super().__init__(losses.kullback_leibler_divergence, name, dtype=dtype)


@export("keras.metrics.BinaryCrossentropy")
class BinaryCrossentropy(MeanMetricWrapper):
    """The mean of `binary_crossentropy`."""

    def __init__(
        self,
        name: Any = "binary_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: Any = 0,
    ) -> None:
        super().__init__(
            losses.binary_crossentropy,
            name,
            dtype=dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )


@export("keras.metrics.CategoricalCrossentropy")
class CategoricalCrossentropy(MeanMetricWrapper):
    """The mean of `categorical_crossentropy`."""

    def __init__(
        self,
        name: Any = "categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: Any = 0,
    ) -> None:
        super().__init__(
            losses.categorical_crossentropy,
            name,
            dtype=dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )


@export("keras.metrics.SparseCategoricalCrossentropy")
class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """The mean of `sparse_categorical_crossentropy`."""

    def __init__(
        self,
        name: Any = "sparse_categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(
            losses.sparse_categorical_crossentropy,
            name,
            dtype=dtype,
            from_logits=from_logits,
            axis=axis,
        )


@export("keras.metrics.RootMeanSquaredError")
class RootMeanSquaredError(Mean):
    """The root of the mean of squared differences."""

    def __init__(self, name: Any = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype=dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Add squared differences, each with a weight that is broadcast to them."""
        y_true, y_pred = tf.cast(y_true, self._dtype), tf.cast(y_pred, self._dtype)
        y_pred, y_true = align_targets(y_pred, y_true)
        squares = tf.squared_difference(y_pred, y_true)
        return super().update_state(squares, sample_weight=sample_weight)

    def result(self) -> Any:
        """Return the root of the mean."""
        return tf.sqrt(tf.math.divide_no_nan(self.total, self.count))
