"""Transformations of where numbers stand: in order, permuted, in other shapes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.static_value import constant_value_as_shape, static_value
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.bijectors.bijector import Bijector
from stillflow_contrib.distributions.bijectors.elementwise import _moved, validated


@export("contrib.distributions.bijectors.Ordered")
class Ordered(Bijector):
    """Increasing vectors x as vectors y: the first number, and logarithms of differences.

    Args:
      validate_args: whether the graph checks that x increases.
      name: of the scope.
    """

    @_moved
    def __init__(self, validate_args: bool = False, name: str = "ordered") -> None:
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward_event_shape(self, input_shape: Any) -> Any:
        if input_shape.ndims is None or input_shape[-1] is None:
            return input_shape
        return tf.TensorShape([input_shape[-1]])

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return (input_shape[-1])[..., tf.newaxis]

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        if output_shape.ndims is None or output_shape[-1] is None:
            return output_shape
        if output_shape[-1] <= 1:
            raise ValueError(f"output_shape[-1] = {output_shape[-1]} <= 1")
        return tf.TensorShape([output_shape[-1]])

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        if self.validate_args:
            enough = tf.assert_greater(
                output_shape[-1], 1, message="Need last dimension greater than 1."
            )
            output_shape = with_dependencies([enough], output_shape)
        return (output_shape[-1])[..., tf.newaxis]

    def _forward(self, x: Any) -> Tensor:
        x = self._checked(x)
        first = x[..., 0, tf.newaxis]
        return tf.concat([first, tf.log(x[..., 1:] - x[..., :-1])], axis=-1)

    def _inverse(self, y: Any) -> Tensor:
        first = y[..., 0, tf.newaxis]
        return tf.cumsum(tf.concat([first, tf.exp(y[..., 1:])], axis=-1), axis=-1)

    def _inverse_log_det_jacobian(self, y: Any) -> Tensor:
        return tf.reduce_sum(y[..., 1:], axis=-1)

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        x = self._checked(x)
        return -tf.reduce_sum(tf.log(x[..., 1:] - x[..., :-1]), axis=-1)

    def _checked(self, x: Any) -> Any:
        if not self.validate_args:
            return x
        message = "Forward transformation input must be strictly increasing."
        return with_dependencies([tf.assert_positive(x[..., 1:] - x[..., :-1], message=message)], x)


_NO_PERMUTATION = "Permutation over `d` must contain exactly one of each of `{0, 1, ..., d}`."


def _assert_permutation(places: Any) -> Operation:
    falling = tf.nn.top_k(-places, k=tf.shape(places)[-1], sorted=True)[0]
    return tf.assert_equal(-falling, tf.range(tf.size(falling)), message=_NO_PERMUTATION)


@export("contrib.distributions.bijectors.Permute")
class Permute(Bijector):
    """y[i] = x[permutation[i]] along the last axis.

    Args:
      permutation: a vector of the integers from zero on, in any order.
      validate_args: whether the graph checks that it is one, where it is not known.
      name: of the scope.

    Raises:
      TypeError: if it is of no integer type.
      ValueError: if it is known to be no permutation.
    """

    @_moved
    def __init__(
        self, permutation: Any, validate_args: bool = False, name: str | None = None
    ) -> None:
        super().__init__([], True, validate_args, forward_min_event_ndims=1, name=name or "permute")
        with tf.name_scope(name, "permute", values=[permutation]):
            places = convert_to_tensor(permutation, name="permutation")
            if not places.dtype.is_integer:
                raise TypeError(f"permutation.dtype ({places.dtype.name}) should be `int`-like.")
            known = static_value(places)
            if known is None:
                places = validated(self, places, partial(_assert_permutation, places))
            elif set(known) != set(range(known.size)):
                raise ValueError(_NO_PERMUTATION)
            self._permutation = places

    @property
    def permutation(self) -> Tensor:
        """The source index of each number of y."""
        return self._permutation

    def _forward(self, x: Any) -> Tensor:
        return tf.gather(x, self.permutation, axis=-1)

    def _inverse(self, y: Any) -> Tensor:
        return tf.gather(y, tf.invert_permutation(self.permutation), axis=-1)

    def _inverse_log_det_jacobian(self, y: Any) -> Tensor:
        return tf.constant(0.0, dtype=y.dtype.base_dtype)

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        return tf.constant(0.0, dtype=x.dtype.base_dtype)


def _checks_of_shape(shape: Any, validate_args: bool) -> list[Any]:
    """Return checks of the unknown parts of a shape in which one size may be -1.

    Raises:
      TypeError: if it is of no integer type.
      ValueError: if it is known to be no such shape.
    """
    if not shape.dtype.is_integer:
        raise TypeError(f"{shape} dtype ({shape.dtype.name}) should be `int`-like.")
    checks = []
    ndims = tf.rank(shape)
    rank = static_value(ndims)
    if rank is not None and rank > 1:
        raise ValueError(f"`{shape}` rank ({rank}) should be <= 1.")
    if validate_args:
        message = f"`{shape}` rank should be <= 1."
        checks.append(tf.assert_less_equal(ndims, 1, message=message))
    static = constant_value_as_shape(shape)
    if static.is_fully_defined():
        sizes = np.array(static.as_list(), np.int32)
        if sum(sizes == -1) > 1:
            raise ValueError(f"`{shape}` must have at most one `-1` (given {sizes})")
        if np.any(sizes < -1):
            raise ValueError(
                f"`{shape}` elements must be either positive integers or `-1`(given {sizes})."
            )
    elif validate_args:
        missing = tf.reduce_sum(tf.cast(tf.equal(shape, -1), tf.int32))
        one = f"`{shape}` elements must have at most one `-1`."
        least = f"`{shape}` elements must be either positive integers or `-1`."
        checks.append(tf.assert_less_equal(missing, 1, message=one))
        checks.append(tf.assert_greater_equal(shape, -1, message=least))
    return checks


@export("contrib.distributions.bijectors.Reshape")
class Reshape(Bijector):
    """Events in another shape.

    Args:
      event_shape_out: the shape of events y; one size may be -1.
      event_shape_in: the shape of events x; one size may be -1.
      validate_args: whether the graph checks shapes that are not known.
      name: of the scope.

    Raises:
      TypeError: if a shape is of no integer type.
      ValueError: if one is known to be none.
    """

    @_moved
    def __init__(
        self,
        event_shape_out: Any,
        event_shape_in: Any = (-1,),
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        with tf.name_scope(name, "reshape", values=[event_shape_out, event_shape_in]):
            self._event_shape_out, self._event_shape_in = (
                convert_to_tensor(shape, name=which, preferred_dtype=tf.int32)
                for shape, which in (
                    (event_shape_out, "event_shape_out"),
                    (event_shape_in, "event_shape_in"),
                )
            )
            self._assertions = [
                check
                for shape in (self._event_shape_out, self._event_shape_in)
                for check in _checks_of_shape(shape, validate_args)
            ]
            super().__init__(
                forward_min_event_ndims=0,
                is_constant_jacobian=True,
                validate_args=validate_args,
                name=name or "reshape",
            )

    def _reshaped(self, x: Any, before: Any, after: Any) -> Tensor:
        known = dimension_value(before.shape.with_rank_at_least(1)[0])
        event_ndims = tf.shape(before)[0]
        x_ndims, x_rank = x.shape.ndims, tf.rank(x)
        found = None
        if known is not None and x_ndims is not None:
            inner = x.shape.with_rank_at_least(known)[x_ndims - known :]
            found = np.int32(inner.as_list()) if inner.is_fully_defined() else None
        dynamic = tf.shape(x)[x_rank - event_ndims :] if found is None else found
        checks = self._checks_of_event(found, dynamic, before)
        if checks:
            x = with_dependencies(checks, x)
        outer = tf.shape(x)
        ndims = tf.rank(x) if x_ndims is None else x_ndims
        outer = outer[: ndims - tf.abs(event_ndims)]
        # A concatenation with nothing would hide the static shape.
        alone = known is not None and known == x_ndims
        return tf.reshape(x, after if alone else tf.concat([outer, after], axis=0))

    def _checks_of_event(self, found: Any, dynamic: Any, wanted: Any) -> list[Any]:
        """Return checks that the sizes of events are the wanted ones, if any.

        Args:
          found: their shape, None if it is not known.
          dynamic: the same, a tensor if it is not.
          wanted: a tensor, with -1 for any size.
        """
        known = static_value(wanted)
        if found is not None and known is not None:
            if not np.equal(found[known >= 0], known[known >= 0]).all():
                raise ValueError(
                    f"Input `event_shape` does not match `event_shape_in` ({found} vs {known})."
                )
            return []
        if not self.validate_args:
            return []
        mask = tf.reshape(wanted >= 0, [-1])
        sizes, expected = tf.boolean_mask(dynamic, mask), tf.boolean_mask(wanted, mask)
        message = "Input `event_shape` does not match `event_shape_in`."
        return [tf.assert_equal(sizes, expected, message=message)]

    def _forward(self, x: Any) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return self._reshaped(x, self._event_shape_in, self._event_shape_out)

    def _inverse(self, y: Any) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return self._reshaped(y, self._event_shape_out, self._event_shape_in)

    def _inverse_log_det_jacobian(self, y: Any) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return tf.constant(0.0, dtype=y.dtype)

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return tf.constant(0.0, dtype=x.dtype)

    # The shapes of events are those of zeros that are reshaped.

    def _forward_event_shape(self, input_shape: Any) -> TensorShape:
        with tf.control_dependencies(self._assertions):
            return self.forward(tf.zeros(dtype=tf.float32, shape=input_shape)).shape

    def _inverse_event_shape(self, output_shape: Any) -> TensorShape:
        with tf.control_dependencies(self._assertions):
            inverse = self.inverse(tf.zeros(dtype=tf.float32, shape=output_shape))
            assert isinstance(inverse, tf.Tensor)
            return inverse.shape

    def _forward_event_shape_tensor(self, input_shape: Any) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return tf.shape(self.forward(tf.zeros(dtype=tf.float32, shape=input_shape)))

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return tf.shape(self.inverse(tf.zeros(dtype=tf.float32, shape=output_shape)))
