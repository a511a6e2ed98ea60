"""Metrics of tensors: means of each element, relative errors, overlaps of classes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.api import init_scope
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend.session import batch_set_value, eval_, get_session, set_value
from stillflow.keras.losses.alignment import align_targets, align_weights
from stillflow.keras.metrics.base import Mean, Metric
from stillflow.losses.weights import broadcast_weights
from stillflow.ops.math.confusion import remove_squeezable_dimensions


@export("keras.metrics.MeanRelativeError")
class MeanRelativeError(Mean):
    """The mean of absolute differences divided by given numbers.

    Args:
      normalizer: the numbers, of the shape of the predictions.
    """

    def __init__(self, normalizer: Any, name: Any = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.normalizer = tf.cast(normalizer, self._dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Add relative errors, each with a weight that is broadcast to them."""
        targets, predictions = (tf.cast(values, self._dtype) for values in (y_true, y_pred))
        aligned, targets = align_targets(predictions, targets)
        aligned, self.normalizer = remove_squeezable_dimensions(aligned, self.normalizer)
        aligned.shape.assert_is_compatible_with(targets.shape)
        distances = tf.abs(targets - aligned)
        relative = tf.math.divide_no_nan(distances, self.normalizer)
        return super().update_state(relative, sample_weight=sample_weight)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "normalizer": eval_(self.normalizer)}


@export("keras.metrics.MeanIoU")
class MeanIoU(Metric):
    """The mean over classes of intersection over union.

    Args:
      num_classes: the number of classes.
    """

    def __init__(self, num_classes: int, name: Any = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        shape = (num_classes, num_classes)
        self.total_cm = self._add_zeros("total_confusion_matrix", shape, dtype=tf.float64)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Add numbers of classes, each with a weight."""
        y_true, y_pred = tf.cast(y_true, self._dtype), tf.cast(y_pred, self._dtype)
        y_pred, y_true = _flat(y_pred), _flat(y_true)
        weights = None if sample_weight is None else _flat(sample_weight)
        current = tf.math.confusion_matrix(
            y_true, y_pred, self.num_classes, weights=weights, dtype=tf.float64
        )
        return self.total_cm.assign_add(current)

    def result(self) -> Any:
        """Return the mean over the classes that occurred."""
        in_matrix = (
            partial(tf.reduce_sum, axis=0), partial(tf.reduce_sum, axis=1), tf.diag_part,
        )  # fmt: skip
        predicted, actual, both = (tf.cast(of(self.total_cm), self._dtype) for of in in_matrix)
        union = predicted + actual - both
        occurred = tf.cast(tf.not_equal(union, 0), self._dtype)
        count = tf.reduce_sum(occurred)
        total = tf.reduce_sum(tf.math.divide_no_nan(both, union), name="mean_iou")
        return tf.math.divide_no_nan(total, count)

    def reset_states(self) -> None:
        """Set the confusion matrix to 0."""
        set_value(self.total_cm, np.zeros((self.num_classes, self.num_classes)))

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "num_classes": self.num_classes}


def _flat(x: Any) -> Any:
    return tf.reshape(x, [-1]) if x.shape.ndims > 1 else x


@export("keras.metrics.MeanTensor")
class MeanTensor(Metric):
    """The weighted mean of each element of tensors of one shape."""

    def __init__(self, name: Any = "mean_tensor", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self._shape: Any = None
        self._total: Any = None
        self._count: Any = None

    def _build(self, shape: Any) -> None:
        self._shape = TensorShape(shape)
        self._total, self._count = self._add_zeros("total", shape), self._add_zeros("count", shape)
        with init_scope():
            get_session()

    @property
    def total(self) -> Any:
        """The sums; None before the first update."""
        return self._total

    @property
    def count(self) -> Any:
        """The sums of weights; None before the first update."""
        return self._count

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        """Add a tensor, with weights that are broadcast to it.

        Raises:
          ValueError: if it is of another shape than those before.
        """
        values = tf.cast(values, self._dtype)
        if self._shape is None:
            self._build(values.shape)
        elif values.shape != self._shape:
            raise ValueError(
                "MeanTensor input values must always have the same shape. Expected shape (set "
                f"during the first call): {self._shape}. Got: {values.shape}"
            )
        count = tf.ones_like(values)
        if sample_weight is not None:
            weights = align_weights(values, tf.cast(sample_weight, self._dtype))
            try:
                weights = broadcast_weights(weights, values)
            except ValueError:
                axes = list(range(weights.shape.ndims, values.shape.ndims))
                values = tf.reduce_mean(values, axis=axes)
            count, values = tf.multiply(count, weights), tf.multiply(values, weights)
        with tf.control_dependencies([self._total.assign_add(values)]):
            return self._count.assign_add(count)

    def result(self) -> Any:
        """Return the means.

        Raises:
          ValueError: before the first update.
        """
        if self._shape is None:
            raise ValueError(
                "MeanTensor does not have any result yet. Please call the MeanTensor instance or "
                "use `.update_state(value)` before retrieving the result."
            )
        return tf.math.divide_no_nan(self.total, self.count)

    def reset_states(self) -> None:
        """Set the sums to 0."""
        if self._shape is not None:
            batch_set_value([(v, np.zeros(self._shape.as_list())) for v in self.variables])
