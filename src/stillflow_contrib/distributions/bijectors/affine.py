"""Numbers and vectors that are stretched and shifted."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.distributions.layout import dimension_size
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.bijectors.affine_linear_operator import _batch_ndims
from stillflow_contrib.distributions.bijectors.bijector import Bijector
from stillflow_contrib.distributions.bijectors.elementwise import _moved
from stillflow_contrib.distributions.event_matrices import EventMatrices
from stillflow_contrib.distributions.scales import (
    low_rank_update,
    optional_tensor,
    triangular_scale,
)


@export("contrib.distributions.bijectors.AffineScalar")
class AffineScalar(Bijector):
    """y = scale * x + shift, number by number.

    Args:
      shift: the shift; nothing if None.
      scale: the scale; nothing if None.
      validate_args: whether the graph checks that no scale is zero.
      name: of the scope.
    """

    @_moved
    def __init__(
        self,
        shift: Any = None,
        scale: Any = None,
        validate_args: bool = False,
        name: str = "affine_scalar",
    ) -> None:
        self._graph_parents = []
        self._name = name
        self._validate_args = validate_args
        with self._name_scope("init", values=[scale, shift]):
            self._shift = optional_tensor(shift, "shift")
            self._scale = optional_tensor(scale, "scale")
            if self._scale is not None and validate_args:
                zero = tf.zeros([], dtype=self._scale.dtype)
                check = tf.assert_none_equal(self._scale, zero)
                self._scale = with_dependencies([check], self._scale)
            super().__init__(
                forward_min_event_ndims=0,
                is_constant_jacobian=True,
                validate_args=validate_args,
                name=name,
            )

    @property
    def shift(self) -> Any:
        """The shift."""
        return self._shift

    @property
    def scale(self) -> Any:
        """The scale."""
        return self._scale

    def _forward(self, x: Any) -> Tensor:
        y = tf.identity(x)
        if self.scale is not None:
            y *= self.scale
        return y if self.shift is None else y + self.shift

    def _inverse(self, y: Any) -> Tensor:
        x = tf.identity(y)
        if self.shift is not None:
            x -= self.shift
        return x if self.scale is None else x / self.scale

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        if self.scale is None:
            return tf.constant(0.0, dtype=x.dtype.base_dtype)
        return tf.log(tf.abs(self.scale))


@export("contrib.distributions.bijectors.Affine")
class Affine(Bijector):
    """y = (c I + diag(d) + T + V diag(m) V.T) @ x + shift, of those parts that are given.

    Args:
      shift: a vector; none if None.
      scale_identity_multiplier: the number c; 1 if nothing else is given.
      scale_diag: the vector d.
      scale_tril: the lower triangle T.
      scale_perturb_factor: the matrix V, `[n, r]`.
      scale_perturb_diag: the vector m; ones if None.
      validate_args: whether the graph checks that the matrix can be inverted.
      name: of the scope.

    Raises:
      ValueError: if m is given without V.
      TypeError: if `shift` is of another type than the matrix.
    """

    @_moved
    def __init__(
        self, shift: Any = None, scale_identity_multiplier: Any = None, scale_diag: Any = None,
        scale_tril: Any = None, scale_perturb_factor: Any = None, scale_perturb_diag: Any = None,
        validate_args: bool = False, name: str = "affine",
    ) -> None:  # fmt: skip
        self._graph_parents = []
        self._name = name
        self._validate_args = validate_args
        multiplier, factor = scale_identity_multiplier, scale_perturb_factor
        if scale_perturb_diag is not None and factor is None:
            raise ValueError(
                "When scale_perturb_diag is specified, scale_perturb_factor must be specified."
            )
        matrices = (scale_tril, scale_diag, factor)
        self._only_multiplies = all(each is None for each in matrices)
        values = [shift, multiplier, scale_diag, scale_tril, scale_perturb_diag, factor]
        with self._name_scope("init", values=values):
            dtype = tf.float32
            if shift is not None:
                shift = convert_to_tensor(shift, name="shift")
                dtype = shift.dtype.base_dtype
            self._shift = shift
            if self._only_multiplies and multiplier is None:
                multiplier = convert_to_tensor(1.0, dtype=dtype)
            self._scale = self._made_scale(
                multiplier, scale_diag, scale_tril, scale_perturb_diag, factor
            )
            if self._scale.dtype is not None:
                dtype = self._scale.dtype.base_dtype
            self._matrices = EventMatrices(self._batch_ndims(), validate_args)
            super().__init__(
                forward_min_event_ndims=1, graph_parents=self._parents(),
                is_constant_jacobian=True, dtype=dtype, validate_args=validate_args, name=name,
            )  # fmt: skip

    def _made_scale(self, multiplier: Any, diag: Any, tril: Any, small: Any, factor: Any) -> Any:
        """Return the matrix: an operator, or a tensor if it only multiplies."""
        multiplier = optional_tensor(multiplier, "identity_multiplier")
        diag, tril = optional_tensor(diag, "diag"), optional_tensor(tril, "tril")
        small = optional_tensor(small, "perturb_diag")
        factor = optional_tensor(factor, "perturb_factor")
        rows = None if factor is None else dimension_size(factor, axis=-2)
        if self._only_multiplies:
            if not self._validate_args:
                return multiplier
            zero, data = tf.zeros([], multiplier.dtype), ["identity_multiplier should be non-zero."]
            return with_dependencies([tf.assert_none_equal(multiplier, zero, data)], multiplier)
        checked = self._validate_args
        scale = triangular_scale(self._shift, tril, diag, multiplier, rows, validate_args=checked)
        return scale if factor is None else low_rank_update(scale, factor, small)

    def _batch_ndims(self) -> Any:
        if self._only_multiplies:
            return 0
        shift, scale = self._shift, self._scale
        if shift is not None and shift.dtype.base_dtype != scale.dtype.base_dtype:
            raise TypeError(
                f"shift.dtype({shift.dtype}) is incompatible with scale.dtype({scale.dtype})."
            )
        return _batch_ndims(scale)

    def _parents(self) -> list[Any]:
        if is_tensor(self._scale):
            return [self._scale]
        return [] if self._shift is None else [*self._scale.graph_parents, self._shift]

    @property
    def shift(self) -> Any:
        """The shift."""
        return self._shift

    @property
    def scale(self) -> Any:
        """The scale: a `tf.linalg.LinearOperator`, or a tensor of one number."""
        return self._scale

    def _forward(self, x: Any) -> Tensor:
        if self._only_multiplies:
            y = x * self._scale
        else:
            y, shape = self._matrices.make(x)
            with tf.control_dependencies(self._assertions()):
                y = self.scale.matmul(y)
            y = self._matrices.undo(y, shape)
        return y if self.shift is None else y + self.shift

    def _inverse(self, y: Any) -> Tensor:
        x = y if self.shift is None else y - self.shift
        if self._only_multiplies:
            return x / self._scale
        x, shape = self._matrices.make(x)
        return self._matrices.undo(self.scale.solve(x), shape)

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        if not self._only_multiplies:
            return self.scale.log_abs_determinant()
        size = tf.cast(tf.shape(x)[-1], dtype=self._scale.dtype)
        return tf.log(tf.abs(self._scale)) * size

    def _assertions(self) -> list[Any]:
        if not self.validate_args:
            return []
        try:
            return [self.scale.assert_non_singular()]
        except NotImplementedError:
            return []
