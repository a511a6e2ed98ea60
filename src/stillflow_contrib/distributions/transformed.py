"""Distributions of the images of another distribution's samples under a bijector."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distributions.distribution import Distribution
from stillflow.distributions.layout import pick_vector
from stillflow.graph.arrays import Array
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import constant_value_as_shape, static_value
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.bijectors.bijector import Identity


def _known(x: Any) -> Array | None:
    return static_value(convert_to_tensor(x))


def _all(*conditions: Any) -> Tensor:
    known = [_known(each) for each in conditions]
    if any(value is not None and not value for value in known):
        return tf.constant(False)
    if all(value is not None for value in known):
        return tf.constant(True)
    return tf.logical_and(*conditions) if len(conditions) == 2 else tf.reduce_all(conditions)


def _equal(x: Any, y: Any) -> Tensor:
    first, second = _known(x), _known(y)
    if first is None or second is None:
        return tf.equal(x, y)
    return tf.constant(np.array_equal(first, second))


def _not(x: Any) -> Tensor:
    known = _known(x)
    return tf.logical_not(x) if known is None else tf.constant(np.logical_not(known))


def joined_vectors(*vectors: Any) -> Tensor | list[np.int32]:
    """All numbers of vectors: a list if they are known, else a tensor."""
    known = [value for each in vectors if (value := _known(each)) is not None]
    if len(known) < len(vectors):
        return tf.concat(vectors, 0)
    return [number for vector in known for number in vector]


def _joined(*vectors: Any) -> Tensor:
    found = joined_vectors(*vectors)
    return tf.constant(found) if isinstance(found, list) else found


def _ones_like(x: Any) -> Tensor:
    if x.shape.is_fully_defined():
        return tf.ones(x.shape.as_list(), dtype=x.dtype)
    return tf.ones_like(x)


def _ndims(shape: Any) -> Tensor:
    if shape.shape.ndims not in (None, 1):
        raise ValueError("input is not a valid shape: not 1D")
    if not shape.dtype.is_integer:
        raise TypeError("input is not a valid shape: wrong dtype")
    if shape.shape.is_fully_defined():
        return tf.constant(shape.shape.as_list()[0])
    return tf.shape(shape)[0]


def _is_maybe_given(shape: Any) -> bool:
    known = static_value(shape)
    return known is None or known.size != 0


@export("contrib.distributions.TransformedDistribution")
class TransformedDistribution(Distribution):
    """The distribution of `bijector.forward(sample)`.

    Args:
      distribution: of the samples.
      bijector: the identity if None.
      batch_shape, event_shape: shapes of independent samples; those of `distribution` if None.
      validate_args: whether the graph checks the shapes.
      name: of the scope.

    Raises:
      ValueError: if a shape is given, and the distribution's is not `[]`.
      TypeError: if a shape is none.
    """

    def __init__(
        self, distribution: Any, bijector: Any = None, batch_shape: Any = None,
        event_shape: Any = None, validate_args: bool = False, name: str | None = None,
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        name = name or ("" if bijector is None else bijector.name) + distribution.name
        with tf.name_scope(name, values=[event_shape, batch_shape]) as name:
            self._zero = tf.constant(0, dtype=tf.int32, name="zero")
            self._empty = tf.constant([], dtype=tf.int32, name="empty")
            if bijector is None:
                bijector = Identity(validate_args=validate_args)
            self._given_batch = self._checked_shape(
                batch_shape, distribution.is_scalar_batch(), validate_args, "batch_shape"
            )
            has_batch = _not(_equal(_ndims(self._given_batch), self._zero))
            self._has_batch, self._maybe_batch = has_batch, _is_maybe_given(self._given_batch)
            self._given_event = self._checked_shape(
                event_shape, distribution.is_scalar_event(), validate_args, "event_shape"
            )
            has_event = _not(_equal(_ndims(self._given_event), self._zero))
            self._has_event, self._maybe_event = has_event, _is_maybe_given(self._given_event)
            # Samples of an event stand before the distribution's own batch: they are moved.
            self._rotates = _all(has_event, _not(has_batch), _not(distribution.is_scalar_batch()))
            event_ndims = _ndims(self._given_event)
            rotates = _known(self._rotates)
            if rotates is None:
                self._rotated = tf.where_v2(self._rotates, event_ndims, 0)
            else:
                self._rotated = event_ndims if rotates else 0
            self._event_axes = tf.range(self._rotated - event_ndims, self._rotated)
        self._distribution, self._bijector = distribution, bijector
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=parameters,
            graph_parents=distribution._graph_parents + bijector.graph_parents,
            name=name,
        )

    @property
    def distribution(self) -> Distribution:
        """The distribution of the samples."""
        return self._distribution

    @property
    def bijector(self) -> Any:
        """The bijector that transforms them."""
        return self._bijector

    def _checked_shape(self, shape: Any, is_scalar: Any, validate_args: bool, name: str) -> Tensor:
        shape = convert_to_tensor([] if shape is None else shape, dtype=tf.int32, name=name)
        given_is_scalar = _equal(_ndims(shape), 0)
        if static_value(given_is_scalar):
            return self._empty
        checks = []
        if shape.shape.ndims is None and validate_args:
            checks.append(tf.assert_rank(shape, 1, message="shape override must be a vector"))
        known = static_value(shape)
        if known is not None and (known <= 0).any():
            raise ValueError("shape override must have positive elements")
        if known is None and validate_args:
            checks.append(
                tf.assert_positive(shape, message="shape override must have positive elements")
            )
        both = _all(_not(is_scalar), _not(given_is_scalar))
        if static_value(both):
            raise ValueError("base distribution not scalar")
        if static_value(both) is None and validate_args:
            checks.append(tf.assert_equal(both, False, message="base distribution not scalar"))
        return with_dependencies(checks, shape) if checks else shape

    def _event_shape_tensor(self) -> Tensor:
        return self.bijector.forward_event_shape_tensor(
            pick_vector(self._has_event, self._given_event, self.distribution.event_shape_tensor())
        )

    def _event_shape(self) -> TensorShape:
        given = constant_value_as_shape(self._given_event)
        return self.bijector.forward_event_shape(
            given if self._maybe_event else self.distribution.event_shape
        )

    def _batch_shape_tensor(self) -> Tensor:
        return pick_vector(
            self._has_batch, self._given_batch, self.distribution.batch_shape_tensor()
        )

    def _batch_shape(self) -> TensorShape:
        given = constant_value_as_shape(self._given_batch)
        return given if self._maybe_batch else self.distribution.batch_shape

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        return self._drawn(n, seed, {})

    def _drawn(self, n: Any, seed: Any, kwargs: dict[str, Any]) -> Tensor:
        """Return untransformed samples; `kwargs` are the distribution's."""
        shape = _joined(
            pick_vector(self._rotates, self._empty, [n]),
            self._given_batch,
            self._given_event,
            pick_vector(self._rotates, [n], self._empty),
        )
        return self._rotate(self.distribution.sample(sample_shape=shape, seed=seed, **kwargs))

    def _call_sample_n(self, sample_shape: Any, seed: Any, name: str, **kwargs: Any) -> Tensor:
        with self._name_scope(name, values=[sample_shape]):
            shape = convert_to_tensor(sample_shape, dtype=tf.int32, name="sample_shape")
            shape, count = self._as_vector(shape, "sample_shape")
            x = self._sample_n(count, seed, **kwargs)
            x = tf.reshape(x, tf.concat([shape, tf.shape(x)[1:]], 0))
            y = self.bijector.forward(x, **self._forward_arguments(kwargs))
            return self._set_sample_static_shape(y, shape)

    def _forward_arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments for the bijector, of those that `sample` is given."""
        return given

    def _rotate(self, x: Any, right: bool = False) -> Tensor:
        known = static_value(self._rotates)
        if not (known is None or known):
            return x
        ndims = tf.rank(x)
        split = ndims - self._rotated if right else self._rotated
        behind, before = tf.range(split, ndims), tf.range(0, split)
        return tf.transpose(x, _joined(behind, before))

    def _fibers(self, y: Any, kwargs: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Return each point's preimages, with their log determinants; one pair, or several."""
        kwargs = kwargs or {}
        x = self.bijector.inverse(y, **kwargs)
        ndims = self._event_ndims()
        determinant = self.bijector.inverse_log_det_jacobian(y, event_ndims=ndims, **kwargs)
        injective = self.bijector._is_injective
        return [(x, determinant)] if injective else list(zip(x, determinant)), ndims

    def _event_ndims(self) -> int:
        if self.event_shape.ndims is not None:
            return self.event_shape.ndims
        ndims = tf.size(self.event_shape_tensor())
        known = static_value(ndims)
        return ndims if known is None else int(known)

    def _with_shape(self, density: Any, y: Any, event_ndims: Any) -> Tensor:
        if self._maybe_event and isinstance(event_ndims, int):
            outer = y.shape.with_rank_at_least(1)[:-event_ndims]
            density.set_shape(tf.broadcast_static_shape(outer, self.batch_shape))
        return density

    def _log_prob(self, y: Any) -> Tensor:
        fibers, ndims = self._fibers(y)
        logs = []
        for x, determinant in fibers:
            log = self.distribution.log_prob(self._rotate(x, right=True))
            if self._maybe_event:
                log = tf.reduce_sum(log, self._event_axes)
            log += tf.cast(determinant, log.dtype)
            logs.append(self._with_shape(log, y, ndims))
        if self.bijector._is_injective:
            return logs[0]
        return tf.reduce_logsumexp(tf.stack(logs), axis=0)

    def _prob(self, y: Any) -> Any:
        fibers, ndims = self._fibers(y)
        probabilities = []
        for x, determinant in fibers:
            prob = self.distribution.prob(self._rotate(x, right=True))
            if self._maybe_event:
                prob = tf.reduce_prod(prob, self._event_axes)
            prob *= tf.exp(tf.cast(determinant, prob.dtype))
            probabilities.append(self._with_shape(prob, y, ndims))
        return probabilities[0] if self.bijector._is_injective else sum(probabilities)

    def _require_scalar(self, what: str) -> None:
        if self._maybe_event:
            raise NotImplementedError(f"{what} is not implemented when overriding event_shape")
        if not self.bijector._is_injective:
            raise NotImplementedError(f"{what} is not implemented when bijector is not injective.")

    def _log_cdf(self, y: Any) -> Tensor:
        self._require_scalar("log_cdf")
        return self.distribution.log_cdf(self.bijector.inverse(y))

    def _cdf(self, y: Any) -> Tensor:
        self._require_scalar("cdf")
        return self.distribution.cdf(self.bijector.inverse(y))

    def _log_survival_function(self, y: Any) -> Tensor:
        self._require_scalar("log_survival_function")
        return self.distribution.log_survival_function(self.bijector.inverse(y))

    def _survival_function(self, y: Any) -> Tensor:
        self._require_scalar("survival_function")
        return self.distribution.survival_function(self.bijector.inverse(y))

    def _quantile(self, value: Any) -> Tensor:
        self._require_scalar("quantile")
        return self.bijector.forward(self.distribution.quantile(value))

    def _entropy(self) -> Tensor:
        if not self.bijector.is_constant_jacobian:
            raise NotImplementedError("entropy is not implemented")
        if not self.bijector._is_injective:
            raise NotImplementedError("entropy is not implemented when bijector is not injective.")
        entropy = self.distribution.entropy()
        if self._maybe_event:
            entropy *= tf.cast(tf.reduce_prod(self._given_event), dtype=entropy.dtype.base_dtype)
        if self._maybe_batch:
            own = self.distribution.batch_shape_tensor
            entropy = tf.reshape(entropy, tf.concat([_ones_like(self._given_batch), own()], 0))
            entropy = tf.tile(entropy, tf.concat([self._given_batch, _ones_like(own())], 0))
        shape = tf.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        anywhere = tf.zeros(shape=shape, dtype=self.dtype)
        ndims = self.event_shape.ndims
        if ndims is None:
            ndims = tf.size(self.event_shape_tensor())
        determinant = self.bijector.inverse_log_det_jacobian(anywhere, event_ndims=ndims)
        entropy -= tf.cast(determinant, entropy.dtype)
        entropy.set_shape(self.batch_shape)
        return entropy
