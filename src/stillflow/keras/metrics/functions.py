"""Metrics of each example, as functions of targets and predictions."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.config import floatx
from stillflow.keras.backend.reductions import mean


def accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """Return True where predictions equal targets."""
    y_pred.shape.assert_is_compatible_with(y_true.shape)
    if y_true.dtype != y_pred.dtype:
        y_pred = tf.cast(y_pred, y_true.dtype)
    return tf.cast(tf.equal(y_true, y_pred), floatx())


@export("keras.metrics.binary_accuracy")
def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Tensor:
    """Return the part of predictions on the right side of a threshold."""
    threshold = tf.cast(threshold, y_pred.dtype)
    y_pred = tf.cast(y_pred > threshold, y_pred.dtype)
    return mean(tf.equal(y_true, y_pred), axis=-1)


@export("keras.metrics.categorical_accuracy")
def categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """Return True where the largest prediction is the right class; targets are one-hot rows."""
    right = tf.equal(tf.argmax(y_true, axis=-1), tf.argmax(y_pred, axis=-1))
    return tf.cast(right, floatx())


def _class_numbers(y_true: Any, y_pred: Any) -> Tensor:
    """Targets without a last dimension, if they have as many as the predictions."""
    ranks = convert_to_tensor(y_pred).shape.ndims, convert_to_tensor(y_true).shape.ndims
    return tf.squeeze(y_true, [-1]) if None not in ranks and ranks[0] == ranks[1] else y_true


@export("keras.metrics.sparse_categorical_accuracy")
def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """Return True where the largest prediction is the right class; targets are class numbers."""
    y_true = _class_numbers(y_true, y_pred)
    y_pred = tf.argmax(y_pred, axis=-1)
    if y_pred.dtype.base_dtype != y_true.dtype.base_dtype:
        y_pred = tf.cast(y_pred, y_true.dtype.base_dtype.name)
    return tf.cast(tf.equal(y_true, y_pred), floatx())


@export("keras.metrics.top_k_categorical_accuracy")
def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """Return True where the right class is among the k largest predictions; one-hot targets."""
    return tf.cast(tf.nn.in_top_k(y_pred, tf.argmax(y_true, axis=-1), k), floatx())


@export("keras.metrics.sparse_top_k_categorical_accuracy")
def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """Return the same; targets are numbers of classes."""
    y_true = tf.cast(_class_numbers(y_true, y_pred), "int32")
    return tf.cast(tf.nn.in_top_k(y_pred, y_true, k), floatx())
