"""Mixtures of vectors that were moved and stretched between two ways to do so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import stillflow as tf
from stillflow.distributions.categorical import Categorical
from stillflow.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from stillflow.distributions.layout import pick_vector
from stillflow.distributions.parameters import gen_new_seed
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow.linalg.linear_operator_diag import LinearOperatorDiag
from stillflow.linalg.linear_operator_full_matrix import LinearOperatorFullMatrix
from stillflow.linalg.linear_operator_identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
)
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.addition import add_operators
from stillflow_contrib.distributions.bijectors.affine_linear_operator import AffineLinearOperator
from stillflow_contrib.distributions.interpolation import (
    add,
    interpolate_loc,
    interpolate_scale,
    shapes_of,
)
from stillflow_contrib.distributions.moved import moved_from_contrib
from stillflow_contrib.distributions.simplex_quadrature import (
    quadrature_scheme_softmaxnormal_quantiles,
)
from stillflow_contrib.distributions.sinh_arcsinh import checks_of_scalar
from stillflow_contrib.distributions.transformed import joined_vectors

if TYPE_CHECKING:
    from stillflow.distributions.location_scale import LocationScale


@export("contrib.distributions.VectorDiffeomixture")
class VectorDiffeomixture(Distribution):
    """Vectors of independent numbers, scaled and shifted by an interpolation of two ends.

    Where between them it lies is random as well: the softmax of a normal distribution, of which
    a quadrature takes some points (Dillon and Langmore, 2018).

    Args:
      mix_loc: [..., 1], means of the normal distribution, times the temperature.
      temperature: broadcasts with the means; the smaller it is, the nearer the ends.
      distribution: of the numbers, with neither batch nor event dimensions.
      loc: the shift at both ends, vectors or None.
      scale: the scale, a `tf.linalg.LinearOperator` for each end.
      quadrature_size: how many points there are.
      quadrature_fn: of means, standard deviations, the number of points and `validate_args`;
        gives points and probabilities.
      validate_args: whether the graph checks arguments.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: without operators, for as many vectors as operators there are not, for an
        operator that is not positive definite if arguments are checked, and for a distribution
        of other than scalars.
      TypeError: if types differ.
      NotImplementedError: for more than two ends.
    """

    @moved_from_contrib
    def __init__(
        self,
        mix_loc: Any,
        temperature: Any,
        distribution: Any,
        loc: Sequence[Any] | None = None,
        scale: Sequence[Any] | None = None,
        quadrature_size: int = 8,
        quadrature_fn: Callable[..., Any] = quadrature_scheme_softmaxnormal_quantiles,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorDiffeomixture",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[mix_loc, temperature]) as scope:
            locs, scales = _ends(loc, scale, validate_args)
            dtype = scales[0].dtype.base_dtype
            self._endpoint_affine = _affine(locs, scales, validate_args, "endpoint")
            if len(scales) != 2:
                raise _only_two(len(scales))
            mix_loc = convert_to_tensor(mix_loc, dtype=dtype, name="mix_loc")
            temperature = convert_to_tensor(temperature, dtype=dtype, name="temperature")
            self._grid, probs = tuple(
                quadrature_fn(
                    mix_loc / temperature, 1.0 / temperature, quadrature_size, validate_args
                )
            )
            self._mixture_distribution = Categorical(
                logits=tf.log(probs), validate_args=validate_args, allow_nan_stats=allow_nan_stats
            )
            checks = checks_of_scalar(distribution, dtype, validate_args)
            if checks:
                self._grid = with_dependencies(checks, self._grid)
            self._distribution = distribution
            between = interpolate_loc(self._grid, locs), interpolate_scale(self._grid, scales)
            self._interpolated_affine = _affine(*between, validate_args, "interpolated")
            self._shapes = shapes_of(self._grid, self._endpoint_affine)
            super().__init__(
                dtype=dtype,
                reparameterization_type=FULLY_REPARAMETERIZED,
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                parameters=parameters,
                graph_parents=[
                    *distribution._graph_parents,
                    *(each for each in locs if each is not None),
                    *(parent for each in scales for parent in each.graph_parents),
                ],
                name=scope,
            )

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the choice of points."""
        return self._mixture_distribution

    @property
    def distribution(self) -> LocationScale:
        """The distribution of the numbers."""
        return self._distribution

    @property
    def grid(self) -> Tensor:
        """The points [..., 2, quadrature_size]: how much each has of both ends."""
        return self._grid

    @property
    def endpoint_affine(self) -> list[Any]:
        """The affine transformations at both ends."""
        return self._endpoint_affine

    @property
    def interpolated_affine(self) -> list[Any]:
        """The affine transformations at each point."""
        return self._interpolated_affine

    def _batch_shape_tensor(self) -> Any:
        return self._shapes.batch_tensor

    def _batch_shape(self) -> TensorShape:
        return self._shapes.batch

    def _event_shape_tensor(self) -> Any:
        return self._shapes.event_tensor

    def _event_shape(self) -> TensorShape:
        return self._shapes.event

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        x = self.distribution.sample(
            sample_shape=joined_vectors([n], self.batch_shape_tensor(), self.event_shape_tensor()),
            seed=seed,
        )
        first, second = [affine.forward(x) for affine in self.endpoint_affine]
        weight = self._sample_weights(n, seed)
        if self.batch_shape.is_fully_defined():
            shape: Any = [-1, *self.batch_shape.as_list(), 1]
        else:
            shape = tf.concat(([-1], self.batch_shape_tensor(), [1]), axis=0)
        weight = tf.reshape(weight, shape=shape)
        return weight * (first - second) + second

    def _sample_weights(self, n: Any, seed: Any) -> Tensor:
        """Return each sample's weight of the first end, [n] or [n, batch]."""
        choice, none = self.mixture_distribution, np.array([], np.int32)
        size: Any = self.batch_shape.num_elements()
        if size is None:
            size = tf.reduce_prod(self.batch_shape_tensor())
        own: Any = choice.batch_shape.num_elements()
        if own is None:
            own = tf.reduce_prod(choice.batch_shape_tensor())
        rest = pick_vector(self.is_scalar_batch(), none, [size // own])
        points = choice.sample(
            sample_shape=joined_vectors([n], rest),
            seed=gen_new_seed(seed, "vector_diffeomixture"),
        )
        rest = pick_vector(self.is_scalar_batch(), none, np.array([-1], np.int32))
        points = tf.reshape(points, shape=joined_vectors([n], rest))
        # Points are numbered through all distributions of the batch.
        stride: Any = self.grid.shape.with_rank_at_least(2)[-2:].num_elements()
        if stride is None:
            stride = tf.reduce_prod(tf.shape(self.grid)[-2:])
        offset = tf.range(start=0, limit=size * stride, delta=stride, dtype=points.dtype)
        return tf.gather(tf.reshape(self.grid, shape=[-1]), points + offset)

    def _log_prob(self, x: Any) -> Tensor:
        def at_points(value: Callable[[Any], Any]) -> Tensor:
            return tf.stack([value(affine) for affine in self.interpolated_affine], axis=-1)

        def stretch(affine: Any) -> Tensor:
            ndims = tf.rank(self.event_shape_tensor())
            return affine.forward_log_det_jacobian(x, event_ndims=ndims)

        y = at_points(lambda affine: affine.inverse(x))
        densities = tf.reduce_sum(self.distribution.log_prob(y), axis=-2)
        weights = self.mixture_distribution.logits - at_points(stretch)
        return tf.reduce_logsumexp(weights + densities, axis=-1)

    def _mean(self) -> Any:
        p, m = self._expanded_probs(), self._expanded_mean()
        mean = None
        for point, affine in enumerate(self.interpolated_affine):
            mean = add(mean, p[..., point] * affine.forward(m))
        return mean

    def _covariance(self) -> Any:
        return add(self._mean_of_covariance(False), self._covariance_of_mean(False))

    def _variance(self) -> Any:
        return add(self._mean_of_covariance(True), self._covariance_of_mean(True))

    def _mean_of_covariance(self, diag_only: bool) -> Any:
        """Return the part of the covariance that is within points.

        Only its diagonal if so asked.
        """
        multiple, diag, full = self._summed_squares(diag_only)
        variance = self.distribution.variance()
        if multiple is not None:
            multiple *= variance
        if diag is not None:
            diag *= variance[..., tf.newaxis]
        if full is not None:
            full *= variance[..., tf.newaxis]
        if diag_only:
            sums = add(diag, full)
            if sums is None and multiple is not None:
                ones = tf.ones(self.event_shape_tensor(), dtype=self.dtype)
                return multiple[..., tf.newaxis] * ones
            return add(sums, multiple)
        definite = all(affine.scale.is_positive_definite for affine in self.endpoint_affine)
        hints: dict[str, Any] = {"is_positive_definite": True if definite else None}
        operators: list[Any] = []
        if diag is not None:
            operators.append(LinearOperatorDiag(diag=diag, **hints))
        if full is not None:
            operators.append(LinearOperatorFullMatrix(matrix=full, **hints))
        if multiple is not None:
            rows = self.event_shape_tensor()[0]
            operators.append(
                LinearOperatorScaledIdentity(num_rows=rows, multiplier=multiple, **hints)
            )
        return add_operators(operators)[0].to_dense() if operators else None

    def _summed_squares(self, diag_only: bool) -> tuple[Any, Any, Any]:
        """Weighted sums of squares: multiples of the identity, diagonals, matrices; or None."""
        p = self.mixture_distribution.probs
        multiple = diag = full = None
        for point, affine in enumerate(self.interpolated_affine):
            scale = affine.scale
            if scale is None or isinstance(scale, LinearOperatorIdentity):
                multiple = add(multiple, p[..., point, tf.newaxis])
            elif isinstance(scale, LinearOperatorScaledIdentity):
                weight = p[..., point, tf.newaxis]
                multiple = add(multiple, weight * tf.square(scale.multiplier))
            elif isinstance(scale, LinearOperatorDiag):
                weight = p[..., point, tf.newaxis]
                diag = add(diag, weight * tf.square(scale.diag_part()))
            else:
                matrix = p[..., point, tf.newaxis, tf.newaxis] * scale.matmul(
                    scale.to_dense(), adjoint_arg=True
                )
                full = add(full, tf.matrix_diag_part(matrix) if diag_only else matrix)
        return multiple, diag, full

    def _covariance_of_mean(self, diag_only: bool) -> Any:
        """Return the part of the covariance that is between points.

        Only its diagonal if so asked.
        """
        p = self._expanded_probs()
        if not diag_only:
            p = p[..., tf.newaxis, :]
        m = self._expanded_mean()
        found, mean = None, self._mean()
        for point, affine in enumerate(self.interpolated_affine):
            y = affine.forward(m)
            found = add(found, p[..., point] * _squared(y - mean, diag_only))
        return found

    def _expanded_mean(self) -> Tensor:
        """Return the mean of the numbers, with the dimensions of batch and events."""
        shape = joined_vectors(self.batch_shape_tensor(), self.event_shape_tensor())
        mean = tf.reshape(self.distribution.mean(), shape=tf.ones_like(shape, dtype=tf.int32))
        mean = tf.tile(mean, multiples=shape)
        mean.set_shape(self.batch_shape.concatenate(self.event_shape))
        return mean

    def _expanded_probs(self) -> Tensor:
        """Return the probabilities of points, with dimensions of 1 for events."""
        choice = self.mixture_distribution
        p = choice.probs
        count = dimension_value(p.shape.with_rank_at_least(1)[-1])
        if count is None:
            count = tf.shape(p)[-1]
        ndims = self.event_shape.ndims
        if ndims is None:
            ndims = tf.shape(self.event_shape_tensor())[0]
        batch = choice.batch_shape_tensor()
        ones = tf.ones([ndims], dtype=tf.int32)
        return tf.reshape(p, shape=tf.concat([batch, ones, [count]], axis=0))


def _only_two(count: int) -> NotImplementedError:
    return NotImplementedError(
        f"Currently only bimixtures are supported; len(scale)={count} is not 2."
    )


def _ends(loc: Any, scale: Any, validate_args: bool) -> tuple[list[Any], Sequence[Any]]:
    """Return the shifts and scales of both ends, checked."""
    if not scale or len(scale) < 2:
        raise ValueError(
            "Must specify list (or list-like object) of scale LinearOperators, one for each "
            "component with num_component >= 2."
        )
    given = [None] * len(scale) if loc is None else loc
    if len(given) != len(scale):
        raise ValueError("loc/scale must be same-length lists (or same-length list-like objects).")
    dtype = scale[0].dtype.base_dtype
    locs = [
        None if each is None else convert_to_tensor(each, dtype=dtype, name=f"loc{k}")
        for k, each in enumerate(given)
    ]
    for k, each in enumerate(scale):
        if validate_args and not each.is_positive_definite:
            raise ValueError(
                f"scale[{k}].is_positive_definite = {each.is_positive_definite} != True"
            )
        own = each.dtype.base_dtype
        if own != dtype:
            raise TypeError(f'dtype mismatch; scale[{k}].base_dtype="{own.name}" != "{dtype.name}"')
    return locs, scale


def _affine(locs: Any, scales: Any, validate_args: bool, name: str) -> list[Any]:
    return [
        AffineLinearOperator(
            shift=shift, scale=scale, validate_args=validate_args, name=f"{name}_affine_{k}"
        )
        for k, (shift, scale) in enumerate(zip(locs, scales, strict=True))
    ]


def _squared(x: Any, diag_only: bool) -> Tensor:
    """Return a vector by itself: element by element, or as a matrix."""
    return tf.square(x) if diag_only else x[..., :, tf.newaxis] * x[..., tf.newaxis, :]
