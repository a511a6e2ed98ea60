"""Poisson distributions whose rates are log-normal, by quadrature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distributions.categorical import Categorical
from stillflow.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from stillflow.distributions.layout import pick_vector
from stillflow.distributions.normal import Normal
from stillflow.distributions.parameters import gen_new_seed
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow_contrib.distributions.bijectors.elementwise import Exp
from stillflow_contrib.distributions.counts import Poisson
from stillflow_contrib.distributions.inner_quantiles import inner_quantiles
from stillflow_contrib.distributions.moved import moved_from_contrib
from stillflow_contrib.distributions.transformed import TransformedDistribution, joined_vectors


@export("contrib.distributions.quadrature_scheme_lognormal_gauss_hermite")
@moved_from_contrib
def quadrature_scheme_lognormal_gauss_hermite(
    loc: Any, scale: Any, quadrature_size: int, validate_args: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """Gauss-Hermite quadrature of normal distributions.

    Args:
      loc: means [...].
      scale: standard deviations [...].
      quadrature_size: how many points there are.
      validate_args: not looked at.
      name: of the scope.

    Returns:
      the points [..., quadrature_size], and their probabilities [quadrature_size].
    """
    with tf.name_scope(name, "vector_diffeomixture_quadrature_gauss_hermite", [loc, scale]):
        rule = np.polynomial.hermite.hermgauss(deg=quadrature_size)
        points, weights = (numbers.astype(loc.dtype.as_numpy_dtype) for numbers in rule)
        total = np.linalg.norm(weights, ord=1, keepdims=True)
        probs = convert_to_tensor(weights / total, name="probs", dtype=loc.dtype)
        # The rule is for densities exp(-x ** 2), whose standard deviation is sqrt(1 / 2).
        means, deviations = (each[..., tf.newaxis] for each in (loc, scale))
        return means + np.sqrt(2.0) * deviations * points, probs


@export("contrib.distributions.quadrature_scheme_lognormal_quantiles")
@moved_from_contrib
def quadrature_scheme_lognormal_quantiles(
    loc: Any, scale: Any, quadrature_size: int, validate_args: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """Points between quantiles of log-normal distributions, all of the same probability.

    Args:
      loc, scale, quadrature_size: as of `quadrature_scheme_lognormal_gauss_hermite`.
      validate_args: whether the graph checks shapes.
      name: of the scope.

    Returns:
      the points [..., quadrature_size], and their probabilities [quadrature_size].
    """
    with tf.name_scope(name, "quadrature_scheme_lognormal_quantiles", [loc, scale]):
        lognormal = TransformedDistribution(
            distribution=Normal(loc=loc, scale=scale), bijector=Exp(), validate_args=validate_args
        )
        quantiles = inner_quantiles(lognormal, quadrature_size, lognormal.quantile)
        grid = (quantiles[..., :-1] + quantiles[..., 1:]) / 2.0
        grid.set_shape(lognormal.batch_shape.concatenate([quadrature_size]))
        each = 1.0 / tf.cast(quadrature_size, lognormal.dtype)
        return grid, tf.fill(dims=[quadrature_size], value=each)


@export("contrib.distributions.PoissonLogNormalQuadratureCompound")
class PoissonLogNormalQuadratureCompound(Distribution):
    """Mixtures of Poisson distributions, whose rates are points of a quadrature.

    Args:
      loc: means of the rates' logarithms.
      scale: their standard deviations.
      quadrature_size: how many points there are.
      quadrature_fn: of the arguments before and `validate_args`; gives logarithms of rates and
        their probabilities.
      validate_args: whether the graph checks arguments.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      TypeError: if both results of the quadrature are of different types.
    """

    @moved_from_contrib
    def __init__(
        self,
        loc: Any,
        scale: Any,
        quadrature_size: int = 8,
        quadrature_fn: Callable[..., Any] = quadrature_scheme_lognormal_quantiles,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "PoissonLogNormalQuadratureCompound",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[loc, scale]) as scope:
            if loc is not None:
                loc = convert_to_tensor(loc, name="loc")
            if scale is not None:
                dtype = None if loc is None else loc.dtype
                scale = convert_to_tensor(scale, dtype=dtype, name="scale")
            grid, probs = tuple(quadrature_fn(loc, scale, quadrature_size, validate_args))
            if grid.dtype.base_dtype != probs.dtype.base_dtype:
                raise TypeError(
                    f"Quadrature grid dtype ({grid.dtype.name}) does not match quadrature probs "
                    f"dtype ({probs.dtype.name})."
                )
            checks: dict[str, Any] = {
                "validate_args": validate_args, "allow_nan_stats": allow_nan_stats,
            }  # fmt: skip
            self._distribution = Poisson(log_rate=grid, **checks)
            self._mixture_distribution = Categorical(logits=tf.log(probs), **checks)
            self._loc, self._scale, self._quadrature_size = loc, scale, quadrature_size
            super().__init__(
                dtype=grid.dtype,
                reparameterization_type=NOT_REPARAMETERIZED,
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                parameters=parameters,
                graph_parents=[loc, scale],
                name=scope,
            )

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the choice of points."""
        return self._mixture_distribution

    @property
    def distribution(self) -> Poisson:
        """The Poisson distributions of all points."""
        return self._distribution

    @property
    def loc(self) -> Any:
        """The means of the rates' logarithms."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The standard deviations of the rates' logarithms."""
        return self._scale

    @property
    def quadrature_size(self) -> int:
        """The number of points."""
        return self._quadrature_size

    def _batch_shape_tensor(self) -> Any:
        of_points = self.distribution.batch_shape_tensor()
        logits = tf.shape(self.mixture_distribution.logits)
        return tf.broadcast_dynamic_shape(of_points, logits)[:-1]

    def _batch_shape(self) -> TensorShape:
        logits = self.mixture_distribution.logits.shape
        return tf.broadcast_static_shape(self.distribution.batch_shape, logits)[:-1]

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        # Points are numbered through all distributions of the batch.
        size: Any = self.batch_shape.num_elements()
        if size is None:
            size = tf.reduce_prod(self.batch_shape_tensor())
        choice, none = self.mixture_distribution, np.array([], np.int32)
        points = choice.sample(
            sample_shape=joined_vectors([n], pick_vector(choice.is_scalar_batch(), [size], none)),
            seed=gen_new_seed(seed, "poisson_lognormal_quadrature_compound"),
        )
        rest = pick_vector(self.is_scalar_batch(), none, np.array([-1], np.int32))
        points = tf.reshape(points, shape=joined_vectors([n], rest))
        count = self._quadrature_size
        points += tf.range(start=0, limit=size * count, delta=count, dtype=points.dtype)
        rates = tf.gather(tf.reshape(self.distribution.rate, shape=[-1]), points)
        rates = tf.reshape(rates, shape=joined_vectors([n], self.batch_shape_tensor()))
        return tf.random_poisson(lam=rates, shape=[], dtype=self.dtype, seed=seed)

    def _log_prob(self, x: Any) -> Tensor:
        weights = self.mixture_distribution.logits
        of_points = self.distribution.log_prob(x[..., tf.newaxis])
        return tf.reduce_logsumexp(weights + of_points, axis=-1)

    def _mean(self) -> Tensor:
        weighted = self.mixture_distribution.logits + self.distribution.log_rate
        return tf.exp(tf.reduce_logsumexp(weighted, axis=-1))

    def _variance(self) -> Tensor:
        return tf.exp(self._log_variance())

    def _stddev(self) -> Tensor:
        return tf.exp(0.5 * self._log_variance())

    def _log_variance(self) -> Tensor:
        # That of each point's distribution, and that of the points' means.
        off = self.distribution.mean() - self._mean()[..., tf.newaxis]
        both = tf.stack([self.distribution.log_rate, 2.0 * tf.log(tf.abs(off))], axis=-1)
        weights = self.mixture_distribution.logits[..., tf.newaxis]
        return tf.reduce_logsumexp(weights + both, axis=[-2, -1])
