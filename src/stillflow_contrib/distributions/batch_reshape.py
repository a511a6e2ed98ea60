"""Distributions whose batch has another shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distributions.distribution import Distribution
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import constant_value_as_shape
from stillflow.graph.tensor_shape import TensorShape
from stillflow_contrib.distributions.moved import moved_from_contrib

_NO_BROADCASTING = "Broadcasting is not supported;"


def _check_shape(distribution: Any, shape: Any) -> None:
    """Raise an error for shapes that are known not to fit."""
    if shape.shape.ndims not in (None, 1):
        raise ValueError(f"`batch_shape` must be a vector (saw rank: {shape.shape.ndims}).")
    static = constant_value_as_shape(shape)
    size, wanted = static.num_elements(), distribution.batch_shape.num_elements()
    if None not in (size, wanted) and size != wanted:
        raise ValueError(
            f"`batch_shape` size ({size}) must match `distribution.batch_shape` size ({wanted})."
        )
    if static.dims is not None and any(
        dim.value is not None and dim.value < 1 for dim in static.dims
    ):
        raise ValueError("`batch_shape` elements must be >=-1.")


def _whole_shape(original: Any, shape: Any, validate_args: bool) -> tuple[Any, Any, list[Any]]:
    """Return a shape with -1 resolved, its static value, and its checks."""
    static = constant_value_as_shape(shape)
    if static.is_fully_defined():
        return np.array(static.as_list(), np.int32), static, []
    with tf.name_scope("calculate_reshape", values=[original, shape]):
        total = tf.reduce_prod(original)
        missing = tf.equal(shape, -1)
        size = total // tf.maximum(1, -tf.reduce_prod(shape))
        whole = tf.where_v2(missing, tf.fill(tf.shape(shape), size), shape)
        checks = _checks_of_shapes(original, shape, missing, whole, total) if validate_args else []
        return whole, static, checks


def _checks_of_shapes(original: Any, shape: Any, missing: Any, whole: Any, total: Any) -> list[Any]:
    vectors = {"Original": original, "New": shape}
    checks = [
        tf.assert_rank(vector, 1, message=f"{which} shape must be a vector.")
        for which, vector in vectors.items()
    ]
    unknown = tf.count_nonzero(missing, dtype=tf.int32)
    checks.append(tf.assert_less_equal(unknown, 1, message="At most one dimension can be unknown."))
    checks.append(tf.assert_positive(whole, message="Shape elements must be >=-1."))
    size = tf.reduce_prod(whole)
    return [*checks, tf.assert_equal(size, total, message="Shape sizes do not match.")]


@export("contrib.distributions.BatchReshape")
class BatchReshape(Distribution):
    """Another distribution, whose batch has another shape.

    Args:
      distribution: the other.
      batch_shape: a vector of sizes, of which one may be -1.
      validate_args: whether the graph checks shapes that are not known.
      allow_nan_stats: see `Distribution`.
      name: of the scope; that of the other after "BatchReshape" by default.

    Raises:
      ValueError: if the shape is known not to fit.
      NotImplementedError: where values would have to be broadcast.
    """

    @moved_from_contrib
    def __init__(
        self,
        distribution: Any,
        batch_shape: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        name = name or "BatchReshape" + distribution.name
        with tf.name_scope(name, values=[batch_shape]) as scope:
            given = convert_to_tensor(batch_shape, dtype=tf.int32, name="batch_shape")
            self._given_shape = given
            _check_shape(distribution, given)
            self._whole_shape, self._static_shape, self._assertions = _whole_shape(
                distribution.batch_shape_tensor(), given, validate_args
            )
            self._distribution = distribution
            super().__init__(
                dtype=distribution.dtype,
                reparameterization_type=distribution.reparameterization_type,
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                parameters=parameters,
                graph_parents=[given, *distribution._graph_parents],
                name=scope,
            )

    @property
    def distribution(self) -> Distribution:
        """The other distribution."""
        return self._distribution

    def _batch_shape_tensor(self) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return tf.identity(self._whole_shape)

    def _batch_shape(self) -> TensorShape:
        return self._static_shape

    def _event_shape_tensor(self) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return tf.identity(self.distribution.event_shape_tensor())

    def _event_shape(self) -> TensorShape:
        return self.distribution.event_shape

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        with tf.control_dependencies(self._assertions):
            x = self.distribution.sample(sample_shape=n, seed=seed)
            parts = [[n], self._given_shape, self.event_shape_tensor()]
            return tf.reshape(x, tf.concat(parts, axis=0))

    # ---- of values: in the other's shape, and the results in this one

    def _log_prob(self, x: Any) -> Tensor:
        return self._of_values(self.distribution.log_prob, x)

    def _prob(self, x: Any) -> Tensor:
        return self._of_values(self.distribution.prob, x)

    def _log_cdf(self, x: Any) -> Tensor:
        return self._of_values(self.distribution.log_cdf, x)

    def _cdf(self, x: Any) -> Tensor:
        return self._of_values(self.distribution.cdf, x)

    def _log_survival_function(self, x: Any) -> Tensor:
        return self._of_values(self.distribution.log_survival_function, x)

    def _survival_function(self, x: Any) -> Tensor:
        return self._of_values(self.distribution.survival_function, x)

    # ---- statistics

    def _entropy(self) -> Tensor:
        return self._statistic(self.distribution.entropy, [], [TensorShape([])])

    def _mean(self) -> Tensor:
        return self._statistic(self.distribution.mean)

    def _mode(self) -> Tensor:
        return self._statistic(self.distribution.mode)

    def _stddev(self) -> Tensor:
        return self._statistic(self.distribution.stddev)

    def _variance(self) -> Tensor:
        return self._statistic(self.distribution.variance)

    def _covariance(self) -> Tensor:
        shapes = [self.event_shape_tensor()] * 2
        return self._statistic(self.distribution.covariance, shapes, [self.event_shape] * 2)

    def _ranks(self, x: Any) -> tuple[Any, Any, Any]:
        """Return the ranks of values, events and batch: numbers where they are known."""
        event = self.event_shape.ndims
        batch = self.batch_shape.ndims
        return (
            tf.rank(x) if x.shape.ndims is None else x.shape.ndims,
            tf.size(self.event_shape_tensor()) if event is None else event,
            tf.size(self._given_shape) if batch is None else batch,
        )

    def _sample_shape(self, x: Any) -> tuple[Any, Any]:
        """Return the sample shape of a value, and its static value."""
        rank, event, batch = self._ranks(x)
        samples = rank - batch - event
        static = x.shape[:samples] if isinstance(samples, int) else TensorShape(None)
        if static.is_fully_defined():
            return np.array(static.as_list(), np.int32), static
        return tf.shape(x)[:samples], static

    def _of_values(self, function: Callable[[Any], Any], x: Any) -> Tensor:
        with tf.control_dependencies(self._assertions + self._checks_of_value(x)):
            samples, static = self._sample_shape(x)
            own = [samples, self.distribution.batch_shape_tensor(), self.event_shape_tensor()]
            result = function(tf.reshape(x, tf.concat(own, axis=0)))
            result = tf.reshape(result, tf.concat([samples, self._given_shape], axis=0))
            if static.ndims is not None and self.batch_shape.ndims is not None:
                known = static.concatenate(self.batch_shape)
                result.set_shape(result.shape.merge_with(known))
            return result

    def _statistic(
        self,
        function: Callable[[], Any],
        shapes: list[Any] | None = None,
        static_shapes: list[Any] | None = None,
    ) -> Tensor:
        """Return a statistic of the other distribution; `shapes` stand behind that of the batch."""
        with tf.control_dependencies(self._assertions):
            if shapes is None:
                shapes = [self._event_shape_tensor()]
            new = tf.concat([self._given_shape, *shapes], axis=0)
            result = tf.reshape(function(), new)
            if self.batch_shape.ndims is not None and self.event_shape.ndims is not None:
                known = self.batch_shape
                for each in [self.event_shape] if static_shapes is None else static_shapes:
                    known = known.concatenate(each)
                result.set_shape(result.shape.merge_with(known))
            return result

    def _checks_of_value(self, x: Any) -> list[Any]:
        """Check that batch and event of a value are not to be broadcast."""
        with tf.name_scope("validate_sample_arg", values=[x]):
            rank, event, batch = self._ranks(x)
            wanted_rank = batch + event
            of_rank = self._checks_of_rank(rank, wanted_rank)
            if self.batch_shape.is_fully_defined() and self.event_shape.is_fully_defined():
                wanted: Any = np.array(
                    self.batch_shape.concatenate(self.event_shape).as_list(), np.int32
                )
            else:
                wanted = tf.concat([self.batch_shape_tensor(), self.event_shape_tensor()], axis=0)
            found = self._inner_shape(x, rank - wanted_rank)
            if isinstance(wanted, np.ndarray) and isinstance(found, np.ndarray):
                if any(wanted != found):
                    raise NotImplementedError(
                        f"{_NO_BROADCASTING} unexpected batch and event shape (expected {wanted}, "
                        f"saw {found})."
                    )
                return of_rank
            if not self.validate_args:
                return []
            with tf.control_dependencies(of_rank):
                return [
                    tf.assert_equal(
                        wanted,
                        found,
                        message=f"{_NO_BROADCASTING} unexpected batch and event shape.",
                        name="assert_batch_and_event_shape_same",
                    )
                ]

    def _checks_of_rank(self, rank: Any, wanted: Any) -> list[Any]:
        if isinstance(rank, int) and isinstance(wanted, int):
            if rank < wanted:
                raise NotImplementedError(
                    f"{_NO_BROADCASTING} too few batch and event dims (expected at least "
                    f"{wanted}, saw {rank})."
                )
            return []
        if not self.validate_args:
            return []
        return [
            tf.assert_greater_equal(
                rank,
                wanted,
                message=f"{_NO_BROADCASTING} too few batch and event dims.",
                name="assert_batch_and_event_ndims_large_enough",
            )
        ]

    @staticmethod
    def _inner_shape(x: Any, samples: Any) -> Any:
        """Return a value's shape from a number of dimensions on."""
        if isinstance(samples, int):
            samples = max(samples, 0)
            static = x.shape[samples:]
            if static.is_fully_defined():
                return np.array(static.as_list(), np.int32)
        samples = tf.maximum(samples, 0)
        return tf.shape(x)[samples:]
