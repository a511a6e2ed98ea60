"""Distributions whose rightmost batch dimensions count as dimensions of an event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import stillflow as tf
from stillflow.distributions.distribution import Distribution
from stillflow.distributions.kullback_leibler import kl_divergence, register_kl
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow_contrib.distributions.moved import moved_from_contrib

if TYPE_CHECKING:
    from stillflow.distributions.distribution import ScalarDistribution


def _default_count(distribution: Any) -> np.int64:
    """All batch dimensions but the first."""
    ndims = distribution.batch_shape.ndims
    if ndims is None:
        return tf.maximum(0, tf.shape(distribution.batch_shape_tensor())[0] - 1)
    return np.maximum(0, ndims - 1)


def _length(vector: Any) -> Any:
    known = dimension_value(vector.shape.with_rank_at_least(1)[0])
    return tf.shape(vector)[0] if known is None else known


@export("contrib.distributions.Independent")
class Independent(Distribution):
    """Distributions of events made of a batch of another distribution's events.

    Args:
      distribution: the other.
      reinterpreted_batch_ndims: how many of its batch dimensions, from the right, belong to an
        event; all but the first by default.
      validate_args: whether the graph checks that it has as many.
      name: of the scope; that of the other after "Independent" by default.

    Raises:
      ValueError: if it is known to have fewer.
    """

    @moved_from_contrib
    def __init__(
        self,
        distribution: Any,
        reinterpreted_batch_ndims: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        self._distribution = distribution
        with tf.name_scope(name or "Independent" + distribution.name) as scope:
            if reinterpreted_batch_ndims is None:
                reinterpreted_batch_ndims = _default_count(distribution)
            count = convert_to_tensor(
                reinterpreted_batch_ndims, dtype=tf.int32, name="reinterpreted_batch_ndims"
            )
            self._static_count = static_value(count)
            self._count = count if self._static_count is None else self._static_count
            super().__init__(
                dtype=distribution.dtype,
                reparameterization_type=distribution.reparameterization_type,
                validate_args=validate_args,
                allow_nan_stats=distribution.allow_nan_stats,
                parameters=parameters,
                graph_parents=[count, *distribution._graph_parents],
                name=scope,
            )
            self._assertions = self._checks(count)

    def _checks(self, count: Any) -> list[Any]:
        own = self.distribution.batch_shape.ndims
        if own is not None and self._static_count is not None:
            if self._static_count > own:
                raise ValueError(
                    f"reinterpreted_batch_ndims({self._static_count}) cannot exceed "
                    f"distribution.batch_ndims({own})"
                )
            return []
        if not self.validate_args:
            return []
        own = _length(self.distribution.batch_shape_tensor())
        message = "reinterpreted_batch_ndims cannot exceed distribution.batch_ndims"
        return [tf.assert_less_equal(count, own, message=message)]

    @property
    def distribution(self) -> ScalarDistribution:
        """The distribution of the parts of an event."""
        return self._distribution

    @property
    def reinterpreted_batch_ndims(self) -> Any:
        """The number of batch dimensions that belong to an event."""
        return self._count

    def _static_split(self) -> tuple[Any, Any] | None:
        """Return the static shapes of the batch part and of the rest, if they are known."""
        shape = self.distribution.batch_shape
        if self._static_count is None or shape.ndims is None:
            return None
        outer = shape.ndims - self._static_count
        return shape[:outer], shape[outer:]

    def _batch_shape_tensor(self) -> Tensor:
        with tf.control_dependencies(self._assertions):
            shape = self.distribution.batch_shape_tensor()
            return shape[: _length(shape) - self.reinterpreted_batch_ndims]

    def _batch_shape(self) -> TensorShape:
        split = self._static_split()
        return TensorShape(None) if split is None else split[0]

    def _event_shape_tensor(self) -> Tensor:
        with tf.control_dependencies(self._assertions):
            shape = self.distribution.batch_shape_tensor()
            inner = shape[_length(shape) - self.reinterpreted_batch_ndims :]
            return tf.concat([inner, self.distribution.event_shape_tensor()], axis=0)

    def _event_shape(self) -> TensorShape:
        split = self._static_split()
        if split is None:
            return TensorShape(None)
        return split[1].concatenate(self.distribution.event_shape)

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return self.distribution.sample(sample_shape=n, seed=seed)

    def _log_prob(self, x: Any) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return self._summed(self.distribution.log_prob(x))

    def _entropy(self) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return self._summed(self.distribution.entropy())

    def _summed(self, statistic: Any) -> Tensor:
        known = self._static_count is not None
        axes = np.arange(self._static_count) if known else tf.range(self._count)
        return tf.reduce_sum(statistic, axis=-1 - axes)

    def _mean(self) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return self.distribution.mean()

    def _variance(self) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return self.distribution.variance()

    def _stddev(self) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return self.distribution.stddev()

    def _mode(self) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return self.distribution.mode()


@register_kl(Independent, Independent)
@moved_from_contrib
def _kl_independent(a: Any, b: Any, name: str = "kl_independent") -> Tensor:
    """Return the divergence of two such distributions: the sum of those of their parts.

    Raises:
      ValueError: if the shapes of their events differ.
      NotImplementedError: if only those of their parts' events do.
    """
    p, q = a.distribution, b.distribution
    if a.event_shape.is_fully_defined() and b.event_shape.is_fully_defined():
        if a.event_shape != b.event_shape:
            raise ValueError("Event shapes do not match.")
        if p.event_shape != q.event_shape:
            raise NotImplementedError(
                "KL between Independents with different event shapes not supported."
            )
        count = a.event_shape.ndims - p.event_shape.ndims
        axes: Any = [-i - 1 for i in range(count)]
        return tf.reduce_sum(kl_divergence(p, q, name=name), axis=axes)
    checks = [
        tf.assert_equal(a.event_shape_tensor(), b.event_shape_tensor()),
        tf.assert_equal(p.event_shape_tensor(), q.event_shape_tensor()),
    ]
    with tf.control_dependencies(checks):
        # Of the first sizes, as TensorFlow takes them: the number of them it does not ask for.
        of_events = tf.shape(a.event_shape_tensor()[0])
        count = of_events - tf.shape(p.event_shape_tensor()[0])
        axes = tf.range(-count - 1, -1, 1)
        return tf.reduce_sum(kl_divergence(p, q, name=name), axis=axes)
