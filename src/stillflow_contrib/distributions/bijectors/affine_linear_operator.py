"""Vectors multiplied by an operator and shifted."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.linalg.linear_operator import LinearOperator
from stillflow_contrib.distributions.bijectors.bijector import Bijector
from stillflow_contrib.distributions.bijectors.elementwise import _moved
from stillflow_contrib.distributions.event_matrices import EventMatrices


@export("contrib.distributions.bijectors.AffineLinearOperator")
class AffineLinearOperator(Bijector):
    """y = scale @ x + shift.

    Args:
      shift: a vector; none if None.
      scale: a `tf.linalg.LinearOperator`; the identity if None.
      validate_args: whether the graph checks that the operator can be inverted.
      name: of the scope.

    Raises:
      TypeError: if `scale` is no operator, or its type is another than that of `shift`.
      ValueError: if it is known that the operator cannot be inverted.
    """

    @_moved
    def __init__(
        self, shift: Any = None, scale: Any = None, validate_args: bool = False,
        name: str = "affine_linear_operator",
    ) -> None:  # fmt: skip
        self._graph_parents = []
        self._name = name
        self._validate_args = validate_args
        parents, dtype, batch_ndims = [], tf.float32, 0
        with self._name_scope("init", values=[shift]):
            if shift is not None:
                shift = convert_to_tensor(shift, name="shift")
                parents.append(shift)
                dtype = shift.dtype.base_dtype
            self._shift = shift
            if scale is not None:
                _check_scale(scale, shift, validate_args)
                parents += scale.graph_parents
                batch_ndims = _batch_ndims(scale)
                if not isinstance(batch_ndims, int):
                    parents.append(batch_ndims)
                if scale.dtype is not None:
                    dtype = scale.dtype.base_dtype
            self._scale = scale
            self._matrices = EventMatrices(batch_ndims, validate_args)
            super().__init__(
                forward_min_event_ndims=1, graph_parents=parents, is_constant_jacobian=True,
                dtype=dtype, validate_args=validate_args, name=name,
            )  # fmt: skip

    @property
    def shift(self) -> Any:
        """The shift."""
        return self._shift

    @property
    def scale(self) -> Any:
        """The scale."""
        return self._scale

    def _forward(self, x: Any) -> Tensor:
        y = x
        if self.scale is not None:
            y, shape = self._matrices.make(y)
            with tf.control_dependencies(self._assertions()):
                y = self.scale.matmul(y)
            y = self._matrices.undo(y, shape)
        return y if self.shift is None else y + self.shift

    def _inverse(self, y: Any) -> Tensor:
        x = y if self.shift is None else y - self.shift
        if self.scale is not None:
            x, shape = self._matrices.make(x)
            x = self._matrices.undo(self.scale.solve(x), shape)
        return x

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        if self.scale is None:
            return tf.constant(0.0, dtype=x.dtype.base_dtype)
        with tf.control_dependencies(self._assertions()):
            return self.scale.log_abs_determinant()

    def _assertions(self) -> list[Any]:
        if not self.validate_args:
            return []
        try:
            return [self.scale.assert_non_singular()]
        except NotImplementedError:
            return []


def _check_scale(scale: Any, shift: Any, validate_args: bool) -> None:
    if shift is not None and shift.dtype.base_dtype != scale.dtype.base_dtype:
        raise TypeError(
            f"shift.dtype({shift.dtype}) is incompatible with scale.dtype({scale.dtype})."
        )
    if not isinstance(scale, LinearOperator):
        raise TypeError("scale is not an instance of tf.LinearOperator")
    if validate_args and not scale.is_non_singular:
        raise ValueError("Scale matrix must be non-singular.")


def _batch_ndims(scale: Any) -> Any:
    if scale.tensor_rank is not None:
        return scale.tensor_rank - 2
    return scale.tensor_rank_tensor() - 2
