"""Vectors as probabilities, the last of which stands for a zero that they do not have."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.distributions.layout import pad
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow_contrib.distributions.bijectors.bijector import Bijector
from stillflow_contrib.distributions.bijectors.elementwise import _moved, validated


def _longer(shape: Any, by: int) -> TensorShape:
    """Return the static shape of vectors that have more numbers than those of another one."""
    size = None if shape.ndims is None else dimension_value(shape[-1])
    return shape if size is None else tf.TensorShape([size + by])


@export("contrib.distributions.bijectors.SoftmaxCentered")
class SoftmaxCentered(Bijector):
    """y = softmax([x, 0]): as many numbers as probabilities can differ in.

    Args:
      validate_args: whether the graph checks that outputs have two numbers or more.
      name: of the scope.
    """

    @_moved
    def __init__(self, validate_args: bool = False, name: str = "softmax_centered") -> None:
        self._graph_parents = []
        self._name = name
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward_event_shape(self, input_shape: Any) -> TensorShape:
        return _longer(input_shape, 1)

    def _forward_event_shape_tensor(self, input_shape: Any) -> Tensor:
        return (input_shape[-1] + 1)[..., tf.newaxis]

    def _inverse_event_shape(self, output_shape: Any) -> TensorShape:
        size = None if output_shape.ndims is None else dimension_value(output_shape[-1])
        if size is not None and size <= 1:
            raise ValueError(f"output_shape[-1] = {size} <= 1")
        return _longer(output_shape, -1)

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Tensor:
        words = "Need last dimension greater than 1."
        shape = validated(
            self, output_shape, lambda: tf.assert_greater(output_shape[-1], 1, message=words)
        )
        return (shape[-1] - 1)[..., tf.newaxis]

    def _forward(self, x: Any) -> Tensor:
        return tf.nn.softmax(pad(x, axis=-1, back=True))

    def _inverse(self, y: Any) -> Tensor:
        logs = tf.log(y)
        # Logarithms of ratios to the last probability.
        last = (-logs[..., -1])[..., tf.newaxis]
        return logs[..., :-1] + last

    def _inverse_log_det_jacobian(self, y: Any) -> Tensor:
        # The determinant of the first numbers' derivatives is the product of all probabilities.
        return -tf.reduce_sum(tf.log(y), axis=-1)

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        scale = tf.nn.softplus(tf.reduce_logsumexp(x, axis=-1, keepdims=True))
        return tf.squeeze(-scale + tf.reduce_sum(x - scale, axis=-1, keepdims=True), axis=-1)
