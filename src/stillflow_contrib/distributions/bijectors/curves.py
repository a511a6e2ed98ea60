"""Transformations of each element by itself: powers, distribution functions, other bends."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.bijectors.bijector import Bijector
from stillflow_contrib.distributions.bijectors.elementwise import _moved, validated


@export("contrib.distributions.bijectors.AbsoluteValue")
class AbsoluteValue(Bijector):
    """y = |x|; inverses are pairs.

    Args:
      validate_args: whether the graph checks that y is not negative.
      name: of the scope.
    """

    @_moved
    def __init__(self, validate_args: bool = False, name: str = "absolute_value") -> None:
        super().__init__([], True, validate_args, forward_min_event_ndims=0, name=name)
        # An empty scope takes its name, too.
        with self._name_scope("init"):
            pass

    def _forward(self, x: Any) -> Tensor:
        return tf.abs(x)

    def _inverse(self, y: Any) -> tuple[Tensor, Tensor]:
        y = self._after_check(y, y)
        return -y, y

    def _inverse_log_det_jacobian(self, y: Any) -> tuple[Tensor, Tensor]:
        return (self._after_check(y, tf.constant(0.0, dtype=y.dtype)),) * 2

    def _after_check(self, y: Any, result: Any) -> Tensor:
        check = partial(tf.assert_non_negative, y, message="Argument y was negative")
        return validated(self, result, check)

    @property
    def _is_injective(self) -> bool:
        return False


@export("contrib.distributions.bijectors.Square")
class Square(Bijector):
    """y = x ** 2 of x that are not negative.

    Args:
      validate_args: whether the graph checks that they are not.
      name: of the scope.
    """

    @_moved
    def __init__(self, validate_args: bool = False, name: str = "square") -> None:
        self._name = name
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Tensor:
        return tf.square(self._checked(x))

    def _inverse(self, y: Any) -> Tensor:
        return tf.sqrt(self._checked(y))

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        return np.log(2.0) + tf.log(self._checked(x))

    def _checked(self, x: Any) -> Tensor:
        words = "All elements must be non-negative."
        return validated(self, x, partial(tf.assert_non_negative, x, message=words))


@export("contrib.distributions.bijectors.Softsign")
class Softsign(Bijector):
    """y = x / (1 + |x|).

    Args:
      validate_args: whether the graph checks that y is between -1 and 1.
      name: of the scope.
    """

    @_moved
    def __init__(self, validate_args: bool = False, name: str = "softsign") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Tensor:
        return x / (1.0 + tf.abs(x))

    def _inverse(self, y: Any) -> Tensor:
        y = self._checked(y)
        return y / (1.0 - tf.abs(y))

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        return -2.0 * tf.log1p(tf.abs(x))

    def _inverse_log_det_jacobian(self, y: Any) -> Tensor:
        y = self._checked(y)
        return -2.0 * tf.log1p(-tf.abs(y))

    def _checked(self, y: Any) -> Any:
        if not self.validate_args:
            return y
        dtype = y.dtype.base_dtype
        words = "Inverse transformation input must be"
        checks = [
            tf.assert_greater(y, tf.cast(-1.0, dtype=dtype), message=f"{words} greater than -1."),
            tf.assert_less(y, tf.cast(1.0, dtype=dtype), message=f"{words} less than 1."),
        ]
        return with_dependencies(checks, y)


@export("contrib.distributions.bijectors.Gumbel")
class Gumbel(Bijector):
    """y = exp(-exp(-(x - loc) / scale)): Gumbel's distribution function.

    Args:
      loc: locations.
      scale: positive scales.
      validate_args: whether the graph checks that they are, and that y is from 0 to 1.
      name: of the scope.

    Raises:
      TypeError: if both are of different or no floating-point types.
    """

    @_moved
    def __init__(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        validate_args: bool = False,
        name: str = "gumbel",
    ) -> None:
        super().__init__([], False, validate_args, forward_min_event_ndims=0, name=name)
        with self._name_scope("init", values=[loc, scale]):
            given = {"loc": loc, "scale": scale}
            self._loc, scale = (convert_to_tensor(value, name=key) for key, value in given.items())
            tf.debugging.assert_same_float_dtype([self._loc, scale])
            words = "Argument scale was not positive"
            self._scale = validated(self, scale, partial(tf.assert_positive, scale, message=words))

    @property
    def loc(self) -> Tensor:
        """The locations."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The scales."""
        return self._scale

    def _z(self, x: Any) -> Tensor:
        return (x - self.loc) / self.scale

    def _forward(self, x: Any) -> Tensor:
        return tf.exp(-tf.exp(-self._z(x)))

    def _inverse(self, y: Any) -> Tensor:
        y = self._checked(y)
        return self.loc - self.scale * tf.log(-tf.log(y))

    def _inverse_log_det_jacobian(self, y: Any) -> Tensor:
        y = self._checked(y)
        return tf.log(self.scale / (-tf.log(y) * y))

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        z = self._z(x)
        return -z - tf.exp(-z) - tf.log(self.scale)

    def _checked(self, y: Any) -> Any:
        if not self.validate_args:
            return y
        words = "Inverse transformation input must be"
        checks = [
            tf.assert_non_negative(y, message=f"{words} greater than 0."),
            tf.assert_less_equal(
                y, tf.constant(1.0, y.dtype), message=f"{words} less than or equal to 1."
            ),
        ]
        return with_dependencies(checks, y)


@export("contrib.distributions.bijectors.Kumaraswamy")
class Kumaraswamy(Bijector):
    """y = (1 - (1 - x) ** (1 / b)) ** (1 / a): the inverse of its distribution function.

    Args:
      concentration1: a, positive.
      concentration0: b, positive.
      validate_args: whether the graph checks that they are, and that x and y are from 0 to 1.
      name: of the scope.
    """

    @_moved
    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        name: str = "kumaraswamy",
    ) -> None:
        super().__init__([], False, validate_args, forward_min_event_ndims=0, name=name)
        with self._name_scope("init", values=[concentration1, concentration0]):
            self._concentration1 = self._positive(concentration1, "concentration1")
            self._concentration0 = self._positive(concentration0, "concentration0")

    def _positive(self, value: Any, name: str) -> Tensor:
        value = convert_to_tensor(value, name=name)
        words = "Concentration parameter must be positive."
        return validated(self, value, partial(tf.assert_positive, value, message=words))

    @property
    def concentration1(self) -> Any:
        """The power a."""
        return self._concentration1

    @property
    def concentration0(self) -> Any:
        """The power b."""
        return self._concentration0

    def _forward(self, x: Any) -> Tensor:
        x = self._checked(x)
        rest = tf.exp(tf.log1p(-x) / self.concentration0)
        return tf.exp(tf.log1p(-rest) / self.concentration1)

    def _inverse(self, y: Any) -> Tensor:
        y = self._checked(y)
        return tf.exp(tf.log1p(-((1 - y**self.concentration1) ** self.concentration0)))

    def _inverse_log_det_jacobian(self, y: Any) -> Tensor:
        y = self._checked(y)
        return (
            tf.log(self.concentration1)
            + tf.log(self.concentration0)
            + (self.concentration1 - 1) * tf.log(y)
            + (self.concentration0 - 1) * tf.log1p(-(y**self.concentration1))
        )

    def _checked(self, x: Any) -> Any:
        if not self.validate_args:
            return x
        checks = [
            tf.assert_non_negative(x, message="sample must be non-negative"),
            tf.assert_less_equal(
                x,
                tf.ones([], self.concentration0.dtype),
                message="sample must be no larger than `1`.",
            ),
        ]
        return with_dependencies(checks, x)


@export("contrib.distributions.bijectors.SinhArcsinh")
class SinhArcsinh(Bijector):
    """y = sinh((arcsinh(x) + skewness) * tailweight).

    Args:
      skewness: above 0 it leans to the right; 0 if None.
      tailweight: positive; above 1 tails are heavier; 1 if None.
      validate_args: whether the graph checks that it is positive.
      name: of the scope.

    Raises:
      TypeError: if both are of different or no floating-point types.
    """

    @_moved
    def __init__(
        self,
        skewness: Any = None,
        tailweight: Any = None,
        validate_args: bool = False,
        name: str = "SinhArcsinh",
    ) -> None:
        super().__init__([], False, validate_args, forward_min_event_ndims=0, name=name)
        with self._name_scope("init", values=[skewness, tailweight]):
            tailweight = 1.0 if tailweight is None else tailweight
            skewness = 0.0 if skewness is None else skewness
            self._skewness = convert_to_tensor(skewness, name="skewness")
            dtype = self._skewness.dtype
            self._tailweight = convert_to_tensor(tailweight, name="tailweight", dtype=dtype)
            tf.debugging.assert_same_float_dtype([self._skewness, self._tailweight])
            words = "Argument tailweight was not positive"
            check = partial(tf.assert_positive, self._tailweight, message=words)
            self._tailweight = validated(self, self._tailweight, check)

    @property
    def skewness(self) -> Tensor:
        """The skewness."""
        return self._skewness

    @property
    def tailweight(self) -> Tensor:
        """The weight of tails."""
        return self._tailweight

    def _bent(self, x: Any) -> Tensor:
        return (tf.asinh(x) + self.skewness) * self.tailweight

    def _unbent(self, y: Any) -> Tensor:
        return tf.asinh(y) / self.tailweight - self.skewness

    def _forward(self, x: Any) -> Tensor:
        return tf.sinh(self._bent(x))

    def _inverse(self, y: Any) -> Tensor:
        return tf.sinh(self._unbent(y))

    def _inverse_log_det_jacobian(self, y: Any) -> Tensor:
        slope = tf.cosh(self._unbent(y)) / _root_of_square_plus_one(y)
        return tf.log(slope) - tf.log(self.tailweight)

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        slope = tf.cosh(self._bent(x)) / _root_of_square_plus_one(x)
        return tf.log(slope) + tf.log(self.tailweight)


def _root_of_square_plus_one(x: Any) -> Tensor:
    """`sqrt(x ** 2 + 1)`, without squares that overflow."""
    smallest = np.sqrt(np.finfo(x.dtype.as_numpy_dtype).eps)
    return tf.where_v2(tf.abs(x) * smallest <= 1.0, tf.sqrt(x**2.0 + 1.0), tf.abs(x))
