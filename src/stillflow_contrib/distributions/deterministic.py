"""Distributions that always give the same."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.moved import moved_from_contrib


class _Points(Distribution):
    """Distributions of all mass in one point.

    Args:
      given: the constructor's arguments: loc, atol, rtol, validate_args, allow_nan_stats, name.
      is_vector: whether a point is a vector.

    Raises:
      ValueError: if points are to be vectors, are checked, and are scalars.
    """

    def __init__(self, given: dict[str, Any], is_vector: bool = False) -> None:
        loc, atol, rtol = given["loc"], given["atol"], given["rtol"]
        with tf.name_scope(given["name"], values=[loc, atol, rtol]) as scope:
            loc = convert_to_tensor(loc, name="loc")
            if is_vector and given["validate_args"]:
                loc = _checked_vector(loc)
            self._loc = loc
            super().__init__(
                dtype=loc.dtype,
                reparameterization_type=NOT_REPARAMETERIZED,
                validate_args=given["validate_args"],
                allow_nan_stats=given["allow_nan_stats"],
                parameters={**given, "is_vector": is_vector},
                graph_parents=[loc],
                name=scope,
            )
            self._atol, self._rtol = self._tolerance(atol), self._tolerance(rtol)
            self._slack = self._atol
            if rtol is not None:
                self._slack = self._atol + self._rtol * tf.abs(loc)

    def _tolerance(self, value: Any) -> Tensor:
        if value is None:
            return convert_to_tensor(0, dtype=self.loc.dtype)
        value = convert_to_tensor(value, dtype=self.loc.dtype)
        if not self.validate_args:
            return value
        message = "Argument 'tol' must be non-negative"
        return with_dependencies([tf.assert_non_negative(value, message=message)], value)

    @property
    def loc(self) -> Tensor:
        """The points."""
        return self._loc

    @property
    def atol(self) -> Tensor:
        """The absolute tolerance around the point."""
        return self._atol

    @property
    def rtol(self) -> Tensor:
        """The additional tolerance, relative to the point's absolute value."""
        return self._rtol

    def _entropy(self) -> Tensor:
        return tf.zeros(self.batch_shape_tensor(), dtype=self.dtype)

    def _mean(self) -> Tensor:
        return tf.identity(self.loc)

    def _variance(self) -> Tensor:
        return tf.zeros_like(self.loc)

    def _mode(self) -> Tensor:
        return self.mean()

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        count, ndims = static_value(convert_to_tensor(n)), self.loc.shape.ndims
        multiples: Any
        if count is not None and ndims is not None:
            multiples = [count] + [1] * ndims
        else:
            multiples = tf.concat(([n], tf.ones_like(tf.shape(self.loc))), axis=0)
        return tf.tile(self.loc[tf.newaxis, ...], multiples=multiples)


def _checked_vector(loc: Any) -> Any:
    message = "Argument loc must be at least rank 1."
    if loc.shape.ndims is None:
        return with_dependencies([tf.assert_rank_at_least(loc, 1, message=message)], loc)
    if loc.shape.ndims < 1:
        raise ValueError(message)
    return loc


@export("contrib.distributions.Deterministic")
class Deterministic(_Points):
    """Distributions of scalars that are always `loc`.

    Args:
      loc: the scalars.
      atol: how far from them a value may be; 0 if None.
      rtol: how far besides, in parts of their absolute values; 0 if None.
      validate_args: whether the graph checks that tolerances are not negative.
      allow_nan_stats: see `Distribution`.
      name: of the scope.
    """

    @moved_from_contrib
    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Deterministic",
    ) -> None:
        super().__init__(dict(locals()))

    def _batch_shape_tensor(self) -> Any:
        return tf.shape(self.loc)

    def _batch_shape(self) -> TensorShape:
        return self.loc.shape

    def _event_shape_tensor(self) -> Any:
        return tf.constant([], dtype=tf.int32)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _prob(self, x: Any) -> Tensor:
        return tf.cast(tf.abs(x - self.loc) <= self._slack, dtype=self.dtype)

    def _cdf(self, x: Any) -> Tensor:
        return tf.cast(x >= self.loc - self._slack, dtype=self.dtype)


@export("contrib.distributions.VectorDeterministic")
class VectorDeterministic(_Points):
    """Distributions of vectors that are always `loc`.

    Args:
      loc: the vectors [..., n].
      atol, rtol, ...: as of `Deterministic`, for each number of a vector.

    Raises:
      ValueError: if `loc` is a scalar and `validate_args` is true.
    """

    @moved_from_contrib
    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorDeterministic",
    ) -> None:
        super().__init__(dict(locals()), is_vector=True)

    def _batch_shape_tensor(self) -> Any:
        return tf.shape(self.loc)[:-1]

    def _batch_shape(self) -> TensorShape:
        return self.loc.shape[:-1]

    def _event_shape_tensor(self) -> Any:
        # A scalar, as TensorFlow gives it.
        return tf.shape(self.loc)[-1]

    def _event_shape(self) -> TensorShape:
        return self.loc.shape[-1:]

    def _prob(self, x: Any) -> Tensor:
        if self.validate_args:
            x = self._checked_value(x)
        near = tf.reduce_all(tf.abs(x - self.loc) <= self._slack, axis=-1)
        return tf.cast(near, dtype=self.dtype)

    def _checked_value(self, x: Any) -> Tensor:
        checks = [tf.assert_rank_at_least(x, 1)]
        sizes = self.event_shape_tensor(), tf.gather(tf.shape(x), tf.rank(x) - 1)
        words = "Argument 'x' not defined in the same space R^k as this distribution"
        checks.append(tf.assert_equal(*sizes, message=words))
        with tf.control_dependencies(checks):
            return tf.identity(x)
