"""Distributions of vectors of independent numbers that an operator stretches and turns."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow_contrib.distributions.scales import is_diagonal
from stillflow_contrib.distributions.transformed import TransformedDistribution


class StretchedDistribution(TransformedDistribution):
    """The distribution of `loc + scale @ z`, where the numbers of z are independent.

    The statistics here are those of numbers of mean zero and variance one.
    """

    @property
    def loc(self) -> Tensor | None:
        """The means."""
        return self.bijector.shift

    @property
    def scale(self) -> Any:
        """The operator."""
        return self.bijector.scale

    def _value_shape(self) -> Any:
        """Return the shape of batch and event, static if it is known."""
        shape = self.batch_shape.concatenate(self.event_shape)
        if shape.is_fully_defined():
            return shape
        return tf.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)

    def _mean(self) -> Tensor:
        shape = self._value_shape()
        if self.loc is None:
            return tf.zeros(shape, self.dtype)
        if isinstance(shape, TensorShape) and shape == self.loc.shape:
            return tf.identity(self.loc)
        return tf.identity(self.loc) + tf.zeros(shape, self.dtype)

    def _mode(self) -> Tensor:
        return self._mean()

    def _covariance(self) -> Tensor:
        if is_diagonal(self.scale):
            return tf.matrix_diag(tf.square(self.scale.diag_part()))
        return self.scale.matmul(self.scale.to_dense(), adjoint_arg=True)

    def _variance(self) -> Tensor:
        if is_diagonal(self.scale):
            return tf.square(self.scale.diag_part())
        return tf.matrix_diag_part(self._product())

    def _stddev(self) -> Tensor:
        if is_diagonal(self.scale):
            return tf.abs(self.scale.diag_part())
        return tf.sqrt(tf.matrix_diag_part(self._product()))

    def _product(self) -> Tensor:
        """Return the operator times its adjoint."""
        low_rank = isinstance(self.scale, tf.linalg.LinearOperatorLowRankUpdate)
        if low_rank and self.scale.is_self_adjoint:
            return self.scale.matmul(self.scale.to_dense())
        return self.scale.matmul(self.scale.to_dense(), adjoint_arg=True)
