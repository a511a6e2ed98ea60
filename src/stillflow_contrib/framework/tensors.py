"""Sums of sums, checks of integers, and ranks that differ by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor


@export("contrib.framework.reduce_sum_n")
def reduce_sum_n(tensors: Sequence[Any], name: str | None = None) -> Tensor:
    """Return the sum of the elements of all of some tensors.

    Raises:
      ValueError: if there are no tensors.
    """
    if not tensors:
        raise ValueError("No tensors provided.")
    with tf.name_scope(name, "reduce_sum_n", tensors) as scope:
        sums = [tf.reduce_sum(tensor, name=f"{tensor.op.name}/sum") for tensor in tensors]
        return sums[0] if len(sums) == 1 else tf.add_n(sums, name=scope)


@export("contrib.framework.assert_scalar_int")
def assert_scalar_int(tensor: Any, name: str | None = None) -> Tensor:
    """Return the tensor, if it is a scalar of integer type.

    Raises:
      ValueError: if it is not.
    """
    with tf.name_scope(name, "assert_scalar_int", [tensor]) as scope:
        tensor = tf.convert_to_tensor(tensor)
        if not tensor.dtype.base_dtype.is_integer:
            raise ValueError(
                f"Expected integer type for {tensor.name}, received type: {tensor.dtype}."
            )
        return tf.assert_scalar(tensor, name=scope)


def _squeezed_if(condition: Any, tensor: Any, shape: Any) -> Any:
    if shape.ndims is not None and not shape.dims[-1].is_compatible_with(1):
        return tensor
    return tf.cond(condition(), lambda: tf.squeeze(tensor, [-1]), lambda: tensor)


@export("contrib.framework.remove_squeezable_dimensions")
def remove_squeezable_dimensions(
    predictions: Any, labels: Any, name: str | None = None
) -> tuple[Any, Any]:
    """Drop the last axis of the one that has one axis more than the other.

    Returns:
      The predictions and the labels.
    """
    with tf.name_scope(name, "remove_squeezable_dimensions", [predictions, labels]):
        predictions, labels = tf.convert_to_tensor(predictions), tf.convert_to_tensor(labels)
        shape, labels_shape = predictions.get_shape(), labels.get_shape()
        if shape.ndims is not None and labels_shape.ndims is not None:
            if shape.ndims == labels_shape.ndims - 1:
                labels = tf.squeeze(labels, [-1])
            elif shape.ndims == labels_shape.ndims + 1:
                predictions = tf.squeeze(predictions, [-1])
            return predictions, labels
        surplus = tf.rank(predictions) - tf.rank(labels)
        predictions = _squeezed_if(lambda: tf.equal(1, surplus), predictions, shape)
        labels = _squeezed_if(lambda: tf.equal(-1, surplus), labels, labels_shape)
        return predictions, labels
