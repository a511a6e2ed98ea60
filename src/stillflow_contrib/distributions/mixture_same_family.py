"""Mixtures of distributions that one batch holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import stillflow as tf
from stillflow.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from stillflow.distributions.layout import pick_vector
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow_contrib.distributions.moved import moved_from_contrib

if TYPE_CHECKING:
    from stillflow.distributions.categorical import Categorical


def _batch_ndims(distribution: Any) -> int:
    known = distribution.batch_shape.ndims
    return tf.shape(distribution.batch_shape_tensor())[0] if known is None else known


def pad_mixture_dimensions(x: Any, mixture: Any, choice: Any, event_ndims: Any) -> Tensor:
    """Numbers `[..., components]`, with dimensions of one for a mixture's batch and events.

    Args:
      x: probabilities or masks of the components.
      mixture: the mixture.
      choice: the distribution that chooses components; its batch may be `[]`.
      event_ndims: the rank of events.
    """
    with tf.name_scope("pad_mix_dims", values=[x]):
        batch_ndims, own = _batch_ndims(mixture), _batch_ndims(choice)
        missing = tf.where_v2(choice.is_scalar_batch(), batch_ndims, batch_ndims - own)
        shape = tf.shape(x)
        parts = [
            shape[:-1],
            tf.ones([missing], dtype=tf.int32),
            shape[-1:],
            tf.ones([event_ndims], dtype=tf.int32),
        ]
        return tf.reshape(x, shape=tf.concat(parts, axis=0))


@export("contrib.distributions.MixtureSameFamily")
class MixtureSameFamily(Distribution):
    """Distributions that choose among those of the last batch dimension of another.

    Args:
      mixture_distribution: what chooses, such as a `Categorical`; its batch is that of the
        components without the last dimension, or `[]`.
      components_distribution: the others; of the batch shape `[..., components]`.
      validate_args: whether the graph checks shapes.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: if what chooses gives no integers or no scalars, or if shapes do not fit.
    """

    @moved_from_contrib
    def __init__(
        self,
        mixture_distribution: Any,
        components_distribution: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MixtureSameFamily",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name) as scope:
            self._mixture_distribution = mixture_distribution
            self._components_distribution = components_distribution
            self._assertions: list[Any] = []
            shape = components_distribution.event_shape_tensor()
            known = dimension_value(shape.shape[0])
            self._event_ndims = tf.shape(shape)[0] if known is None else known
            self._check_choice(validate_args)
            self._check_batch(validate_args)
            self._num_components = self._checked_count(validate_args)
            both = (mixture_distribution, components_distribution)
            super().__init__(
                dtype=components_distribution.dtype,
                reparameterization_type=NOT_REPARAMETERIZED,
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                parameters=parameters,
                graph_parents=[x for each in both for x in each._graph_parents],
                name=scope,
            )

    def _check_choice(self, validate_args: bool) -> None:
        choice = self.mixture_distribution
        if not choice.dtype.is_integer:
            raise ValueError(
                f"`mixture_distribution.dtype` ({choice.dtype.name}) is not over integers"
            )
        message = "`mixture_distribution` must have scalar `event_dim`s"
        if choice.event_shape.ndims not in (None, 0):
            raise ValueError(message)
        # TensorFlow means to check it, but calls a function that it does not have.
        if validate_args and choice.event_shape.ndims is None:
            size = tf.size(choice.event_shape_tensor())
            self._assertions += [tf.assert_equal(size, 0, message=message)]

    def _check_batch(self, validate_args: bool) -> None:
        choice, wanted = self.mixture_distribution, self._batch_shape()
        words = "not compatible with `components_distribution.batch_shape`"
        own = choice.batch_shape
        if own.is_fully_defined() and wanted.is_fully_defined():
            if own.ndims and own != wanted:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` (`{own.as_list()}`) is {words} "
                    f"(`{wanted.as_list()}`)"
                )
            return
        if validate_args:
            self._assert_batch(f"`mixture_distribution.batch_shape` is {words}")

    def _assert_batch(self, message: str) -> None:
        choice = self.mixture_distribution
        own = choice.batch_shape_tensor()
        wanted = self.components_distribution.batch_shape_tensor()[:-1]
        used = pick_vector(choice.is_scalar_batch(), wanted, own)
        self._assertions.append(tf.assert_equal(used, wanted, message=message))

    def _checked_count(self, validate_args: bool) -> int:
        """Return the number of components, as a number if it is known."""
        choice, components = self.mixture_distribution, self.components_distribution
        count: Any = dimension_value(choice.logits.shape.with_rank_at_least(1)[-1])
        found: Any = dimension_value(components.batch_shape.with_rank_at_least(1)[-1])
        if None not in (count, found) and count != found:
            raise ValueError(
                f"`mixture_distribution components` ({count}) does not equal "
                f"`components_distribution.batch_shape[-1]` ({found})"
            )
        if validate_args:
            count = tf.shape(choice.logits)[-1]
            found = components.batch_shape_tensor()[-1]
            message = (
                "`mixture_distribution components` does not equal "
                "`components_distribution.batch_shape[-1:]`"
            )
            self._assertions += [tf.assert_equal(count, found, message=message)]
        elif count is None:
            count = tf.shape(choice.logits)[-1]
        return count

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the choice."""
        return self._mixture_distribution

    @property
    def components_distribution(self) -> Distribution:
        """The components."""
        return self._components_distribution

    def _batch_shape_tensor(self) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return self.components_distribution.batch_shape_tensor()[:-1]

    def _batch_shape(self) -> TensorShape:
        return self.components_distribution.batch_shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return self.components_distribution.event_shape_tensor()

    def _event_shape(self) -> TensorShape:
        return self.components_distribution.event_shape

    def _padded(self, x: Any) -> Tensor:
        ndims = self._event_shape().ndims
        return pad_mixture_dimensions(x, self, self.mixture_distribution, ndims)

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        # Neither of both is given the seed: nor does TensorFlow give it to them.
        with tf.control_dependencies(self._assertions):
            drawn = self.components_distribution.sample(n)
            choices = self.mixture_distribution.sample(n)
            one, zero = (np.array(bit, dtype=drawn.dtype.as_numpy_dtype) for bit in (1, 0))
            mask = tf.one_hot(choices, self._num_components, one, zero)
            return self._weighted_sum(drawn, self._padded(mask))

    def _log_sum(self, x: Any, method: str) -> Tensor:
        x = self._with_components(x)
        logs = getattr(self.components_distribution, method)(x)
        weights = tf.nn.log_softmax(self.mixture_distribution.logits, axis=-1)
        return tf.reduce_logsumexp(logs + weights, axis=-1)

    def _log_prob(self, x: Any) -> Tensor:
        with tf.control_dependencies(self._assertions):
            return self._log_sum(x, "log_prob")

    def _log_cdf(self, x: Any) -> Tensor:
        return self._log_sum(x, "log_cdf")

    def _weighted_sum(self, weights: Any, values: Any) -> Tensor:
        return tf.reduce_sum(weights * values, axis=-1 - self._event_ndims)

    def _mean(self) -> Tensor:
        with tf.control_dependencies(self._assertions):
            probs = self._padded(self.mixture_distribution.probs)
            return self._weighted_sum(probs, self.components_distribution.mean())

    def _variance(self) -> Tensor:
        with tf.control_dependencies(self._assertions):
            probs = self._padded(self.mixture_distribution.probs)
            within = self._weighted_sum(probs, self.components_distribution.variance())
            means = self.components_distribution.mean()
            squares = tf.squared_difference(means, self._with_components(self._mean()))
            return within + self._weighted_sum(probs, squares)

    def _covariance(self) -> Tensor:
        if self.event_shape.ndims != 1:
            raise NotImplementedError("covariance is not implemented")
        with tf.control_dependencies(self._assertions):
            probs = self._padded(self._padded(self.mixture_distribution.probs))
            within = tf.reduce_sum(probs * self.components_distribution.covariance(), axis=-3)
            off = self.components_distribution.mean() - self._with_components(self._mean())
            squares = off[..., tf.newaxis, :] * off[..., tf.newaxis]
            return within + tf.reduce_sum(probs * squares, axis=-3)

    def _with_components(self, x: Any) -> Tensor:
        """Events with a dimension of one for the components before theirs."""
        with tf.name_scope("pad_sample_dims", values=[x]):
            ndims = tf.rank(x) if x.shape.ndims is None else x.shape.ndims
            shape = tf.shape(x)
            outer = ndims - self._event_ndims
            return tf.reshape(x, shape=tf.concat([shape[:outer], [1], shape[outer:]], axis=0))
