"""Transformations of each element by itself: powers, exponential, logistic, softplus; inverses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import stillflow as tf
from stillflow.distributions.parameters import softplus_inverse
from stillflow.graph.arrays import Array
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.util.deprecation import deprecated
from stillflow_contrib.distributions.bijectors.bijector import Bijector

_moved = deprecated(
    "2018-10-01",
    "The TensorFlow Distributions library has moved to TensorFlow Probability "
    "(https://github.com/tensorflow/probability). You should update all references to use "
    "`tfp.distributions` instead of `tf.contrib.distributions`.",
    warn_once=True,
)


def validated(bijector: Bijector, result: Any, *checks: Callable[[], Any]) -> Tensor:
    """Return `result`, after the assertions that `checks` make if arguments are validated."""
    if not bijector.validate_args:
        return result
    return with_dependencies([check() for check in checks], result)


@export("contrib.distributions.bijectors.PowerTransform")
class PowerTransform(Bijector):
    """y = (1 + power * x) ** (1 / power); e ** x for power 0.

    Args:
      power: a constant, not negative.
      validate_args: whether the graph checks that values are in range.
      name: of the scope.

    Raises:
      ValueError: if the power is negative or no constant.
    """

    @_moved
    def __init__(
        self, power: Any = 0.0, validate_args: bool = False, name: str = "power_transform"
    ) -> None:
        super().__init__([], False, validate_args, forward_min_event_ndims=0, name=name)
        with self._name_scope("init", values=[power]):
            self._power = static_value(tf.convert_to_tensor(power, name="power"))
        if self._power is None or self._power < 0:
            raise ValueError("`power` must be a non-negative TF constant.")

    @property
    def power(self) -> Array:
        """The power."""
        return self._power

    def _forward(self, x: Any) -> Tensor:
        x = self._checked_x(x)
        if self.power == 0.0:
            return tf.exp(x)
        return tf.exp(tf.log1p(x * self.power) / self.power)

    def _inverse(self, y: Any) -> Tensor:
        y = self._checked_y(y)
        if self.power == 0.0:
            return tf.log(y)
        return tf.math.expm1(tf.log(y) * self.power) / self.power

    def _inverse_log_det_jacobian(self, y: Any) -> Tensor:
        return (self.power - 1.0) * tf.log(self._checked_y(y))

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        x = self._checked_x(x)
        if self.power == 0.0:
            return x
        return (1.0 / self.power - 1.0) * tf.log1p(x * self.power)

    def _checked_x(self, x: Any) -> Tensor:
        if self.power == 0.0:
            return x
        words = f"Forward transformation input must be at least {-1.0 / self.power}."
        return validated(
            self, x, lambda: tf.assert_non_negative(1.0 + self.power * x, message=words)
        )

    def _checked_y(self, y: Any) -> Tensor:
        words = "Inverse transformation input must be greater than 0."
        return validated(self, y, partial(tf.assert_positive, y, message=words))


@export("contrib.distributions.bijectors.Exp")
class Exp(PowerTransform):
    """y = e ** x.

    Args:
      validate_args: whether the graph checks that values are in range.
      name: of the scope.
    """

    @_moved
    def __init__(self, validate_args: bool = False, name: str = "exp") -> None:
        super().__init__(validate_args=validate_args, name=name)


@export("contrib.distributions.bijectors.Sigmoid")
class Sigmoid(Bijector):
    """y = 1 / (1 + e ** -x).

    Args:
      validate_args: whether the graph checks arguments.
      name: of the scope.
    """

    @_moved
    def __init__(self, validate_args: bool = False, name: str = "sigmoid") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Tensor:
        return tf.sigmoid(x)

    def _inverse(self, y: Any) -> Tensor:
        return tf.log(y) - tf.log1p(-y)

    def _inverse_log_det_jacobian(self, y: Any) -> Tensor:
        return -tf.log(y) - tf.log1p(-y)

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        return -tf.nn.softplus(-x) - tf.nn.softplus(x)


@export("contrib.distributions.bijectors.Softplus")
class Softplus(Bijector):
    """y = c * log(1 + e ** (x / c)), where c says how soft the bend at 0 is.

    Args:
      hinge_softness: the number c, not 0; 1 by default.
      validate_args: whether the graph checks that it is not 0; it must be given then.
      name: of the scope.
    """

    @_moved
    def __init__(
        self, hinge_softness: Any = None, validate_args: bool = False, name: str = "softplus"
    ) -> None:
        with tf.name_scope(name, values=[hinge_softness]):
            softness = hinge_softness
            if softness is not None:
                softness = tf.convert_to_tensor(softness, name="hinge_softness")
            if validate_args:
                zero = tf.convert_to_tensor(0, dtype=softness.dtype)
                message = "hinge_softness must be non-zero"
                check = tf.assert_none_equal(zero, softness, message=message)
                softness = with_dependencies([check], softness)
        self._hinge_softness = softness
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def hinge_softness(self) -> Tensor | None:
        """The number c; None for 1."""
        return self._hinge_softness

    def _softness(self, dtype: Any) -> Tensor:
        return tf.cast(self.hinge_softness, dtype)

    def _forward(self, x: Any) -> Tensor:
        if self.hinge_softness is None:
            return tf.nn.softplus(x)
        softness = self._softness(x.dtype)
        return softness * tf.nn.softplus(x / softness)

    def _inverse(self, y: Any) -> Tensor:
        if self.hinge_softness is None:
            return softplus_inverse(y)
        softness = self._softness(y.dtype)
        return softness * softplus_inverse(y / softness)

    def _inverse_log_det_jacobian(self, y: Any) -> Tensor:
        if self.hinge_softness is not None:
            y /= self._softness(y.dtype)
        return -tf.log(-tf.math.expm1(-y))

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        if self.hinge_softness is not None:
            x /= self._softness(x.dtype)
        return -tf.nn.softplus(-x)


@export("contrib.distributions.bijectors.Invert")
class Invert(Bijector):
    """The inverse of another transformation.

    Args:
      bijector: the other.
      validate_args: whether the graph checks arguments.
      name: of the scope; that of the other after "invert_" by default.

    Raises:
      NotImplementedError: if the other takes several x to one y.
    """

    @_moved
    def __init__(
        self, bijector: Bijector, validate_args: bool = False, name: str | None = None
    ) -> None:
        if not bijector._is_injective:
            raise NotImplementedError("Invert is not implemented for non-injective bijectors.")
        self._bijector = bijector
        super().__init__(
            graph_parents=bijector.graph_parents,
            forward_min_event_ndims=bijector.inverse_min_event_ndims,
            inverse_min_event_ndims=bijector.forward_min_event_ndims,
            is_constant_jacobian=bijector.is_constant_jacobian,
            validate_args=validate_args,
            dtype=bijector.dtype,
            name=name or f"invert_{bijector.name}",
        )

    @property
    def bijector(self) -> Bijector:
        """The other transformation."""
        return self._bijector

    def _forward_event_shape(self, input_shape: Any) -> TensorShape:
        return self.bijector._inverse_event_shape(input_shape)

    def _forward_event_shape_tensor(self, input_shape: Any) -> Tensor:
        return self.bijector._inverse_event_shape_tensor(input_shape)

    def _inverse_event_shape(self, output_shape: Any) -> TensorShape:
        return self.bijector._forward_event_shape(output_shape)

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Tensor:
        return self.bijector._forward_event_shape_tensor(output_shape)

    def _forward(self, x: Any, **kwargs: Any) -> Tensor:
        return self.bijector._inverse(x, **kwargs)

    def _inverse(self, y: Any, **kwargs: Any) -> Tensor:
        return self.bijector._forward(y, **kwargs)

    def _inverse_log_det_jacobian(self, y: Any, **kwargs: Any) -> Tensor:
        return self.bijector._forward_log_det_jacobian(y, **kwargs)

    def _forward_log_det_jacobian(self, x: Any, **kwargs: Any) -> Tensor:
        return self.bijector._inverse_log_det_jacobian(x, **kwargs)
