"""Batch normalization as a transformation."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.distributions.bijectors.bijector import Bijector
from stillflow_contrib.distributions.bijectors.elementwise import _moved


def _check_layer(layer: Any) -> None:
    if not isinstance(layer, tf.layers.BatchNormalization):
        raise ValueError("batchnorm_layer must be an instance of BatchNormalization layer.")
    if layer.renorm:
        raise ValueError("BatchNorm Bijector does not support renormalization.")
    if layer.virtual_batch_size:
        raise ValueError("BatchNorm Bijector does not support virtual batch sizes.")


@export("contrib.distributions.bijectors.BatchNormalization")
class BatchNormalization(Bijector):
    """x is y, normalized: the layer is the inverse.

    Args:
      batchnorm_layer: a `tf.layers.BatchNormalization`; one whose gamma stays positive if None.
      training: whether inverses take the moments of y, or else the moving ones.
      validate_args: whether the graph checks arguments.
      name: of the scope.

    Raises:
      ValueError: if the layer is no such one, or normalizes again or virtual batches.
    """

    @_moved
    def __init__(
        self,
        batchnorm_layer: Any = None,
        training: bool = True,
        validate_args: bool = False,
        name: str = "batch_normalization",
    ) -> None:
        self.batchnorm = batchnorm_layer or tf.layers.BatchNormalization(
            gamma_constraint=lambda x: tf.nn.relu(x) + 1e-6
        )
        _check_layer(self.batchnorm)
        self._training = training
        axis = self.batchnorm.axis
        super().__init__(
            forward_min_event_ndims=1 if isinstance(axis, int) else len(axis),
            validate_args=validate_args,
            name=name,
        )

    def _forward(self, x: Any) -> Tensor:
        layer = self.batchnorm
        if not layer.built:
            layer.build(x.shape)
        mean, variance = self._spread(layer.moving_mean, x), self._spread(layer.moving_variance, x)
        offset = self._spread(layer.beta, x) if layer.center else None
        scale = self._spread(layer.gamma, x) if layer.scale else None
        with tf.name_scope("undo_batchnorm", values=[x, mean, variance, scale, offset]):
            factor = tf.sqrt(variance + layer.epsilon)
            if scale is not None:
                factor /= scale
            return x * factor + (mean if offset is None else mean - offset * factor)

    def _spread(self, statistic: Any, x: Any) -> Any:
        """Return a statistic in a shape that broadcasts against `x`."""
        if not x.shape.is_fully_defined():
            raise ValueError("Input must have shape known at graph construction.")
        ndims, axes = len(x.shape), self.batchnorm.axis
        reduced = [i for i in range(ndims) if i not in axes]
        if len(statistic.shape) == ndims or reduced == list(range(ndims - 1)):
            return statistic
        shape = [1] * ndims
        shape[axes[0]] = x.shape.as_list()[axes[0]]
        return tf.reshape(statistic, shape)

    def _inverse(self, y: Any) -> Tensor:
        return self.batchnorm.apply(y, training=self._training)

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        return -self._inverse_log_det_jacobian(x, use_saved_statistics=True)

    def _inverse_log_det_jacobian(self, y: Any, use_saved_statistics: bool = False) -> Tensor:
        if not y.shape.is_fully_defined():
            raise ValueError("Input must have shape known at graph construction.")
        layer = self.batchnorm
        if not layer.built:
            layer.build(np.int32(y.shape.as_list()))
        if use_saved_statistics or not self._training:
            variance = layer.moving_variance
        else:
            axes = [i for i in range(len(y.shape)) if i not in layer.axis]
            variance = tf.nn.moments(y, axes=axes, keep_dims=True)[1]
        log_variance = tf.log(variance + layer.epsilon)
        total_gamma = tf.reduce_sum(tf.log(layer.gamma))
        return total_gamma - 0.5 * tf.reduce_sum(log_variance)
