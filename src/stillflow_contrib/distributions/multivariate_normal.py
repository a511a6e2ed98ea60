"""Normal distributions of vectors."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.distributions.kullback_leibler import register_kl
from stillflow.distributions.layout import dimension_size
from stillflow.distributions.normal import Normal
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.bijectors.affine_linear_operator import AffineLinearOperator
from stillflow_contrib.distributions.scales import (
    check_operator,
    diagonal_scale,
    is_diagonal,
    low_rank_update,
    optional_tensor,
    shapes_of,
)
from stillflow_contrib.distributions.stretched import StretchedDistribution


class MultivariateNormalLinearOperator(StretchedDistribution):
    """Normal distributions of `loc + scale @ z`, where the numbers of z are independent.

    Args:
      loc: means; zero if None.
      scale: a `tf.linalg.LinearOperator`.
      validate_args: whether the graph checks that the operator can be inverted.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: without `scale`, or if its size is another than that of `loc`.
      TypeError: if its type is no floating-point type.
    """

    def __init__(
        self, loc: Any = None, scale: Any = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "MultivariateNormalLinearOperator",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        check_operator(scale)
        with tf.name_scope(name, values=[loc, *scale.graph_parents]) as name:
            loc = optional_tensor(loc, "loc")
            shapes = shapes_of(loc, scale)
        standard = Normal(tf.zeros([], scale.dtype), tf.ones([], scale.dtype))
        stretch = AffineLinearOperator(loc, scale, validate_args=validate_args)
        super().__init__(standard, stretch, *shapes, validate_args, name)
        self._parameters = parameters


@register_kl(MultivariateNormalLinearOperator, MultivariateNormalLinearOperator)
def _kl(a: Any, b: Any, name: str | None = None) -> Tensor:
    """Return the divergence of two normal distributions of vectors."""

    def squared_norm(x: Any) -> Tensor:
        return tf.reduce_sum(tf.square(x), axis=[-2, -1])

    values = [a.loc, b.loc, *a.scale.graph_parents, *b.scale.graph_parents]
    with tf.name_scope(name, "kl_mvn", values=values):
        if is_diagonal(a.scale) and is_diagonal(b.scale):
            ratio = (a.stddev() / b.stddev())[..., tf.newaxis]
        else:
            ratio = b.scale.solve(a.scale.to_dense())
        log_ratio = b.scale.log_abs_determinant() - a.scale.log_abs_determinant()
        size = tf.cast(a.scale.domain_dimension_tensor(), a.dtype)
        spread = -size + squared_norm(ratio)
        apart = (b.mean() - a.mean())[..., tf.newaxis]
        divergence = log_ratio + 0.5 * (spread + squared_norm(b.scale.solve(apart)))
        divergence.set_shape(tf.broadcast_static_shape(a.batch_shape, b.batch_shape))
        return divergence


@export("contrib.distributions.MultivariateNormalDiag")
class MultivariateNormalDiag(MultivariateNormalLinearOperator):
    """Normal distributions of vectors of independent numbers.

    Args:
      loc: means [..., n]; zero if None.
      scale_diag: standard deviations [..., n]; one if None.
      scale_identity_multiplier: added to all standard deviations; or all of them.
      validate_args: whether the graph checks that none is zero.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: if nothing says how many numbers there are.
    """

    def __init__(
        self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None,
        validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiag",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        values = [loc, scale_diag, scale_identity_multiplier]
        with tf.name_scope(name) as name, tf.name_scope("init", values=values):
            scale = diagonal_scale(loc, scale_diag, scale_identity_multiplier)
        super().__init__(
            loc=loc, scale=scale, validate_args=validate_args, allow_nan_stats=allow_nan_stats,
            name=name,
        )  # fmt: skip
        self._parameters = parameters


@export("contrib.distributions.MultivariateNormalDiagWithSoftplusScale")
class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """`MultivariateNormalDiag` whose standard deviations are softplus of `scale_diag`.

    Args:
      loc, scale_diag, ...: as of `MultivariateNormalDiag`.
    """

    def __init__(
        self, loc: Any, scale_diag: Any, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "MultivariateNormalDiagWithSoftplusScale",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        with tf.name_scope(name, values=[scale_diag]) as name:
            diag = tf.nn.softplus(scale_diag)
            super().__init__(loc, diag, None, validate_args, allow_nan_stats, name)
        self._parameters = parameters


@export("contrib.distributions.MultivariateNormalTriL")
class MultivariateNormalTriL(MultivariateNormalLinearOperator):
    """Normal distributions of vectors, whose covariance is `scale_tril @ scale_tril.T`.

    Args:
      loc: means [..., n]; zero if None.
      scale_tril: lower triangular matrices [..., n, n]; the identity if None.
      validate_args: whether the graph checks that they can be inverted.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: without either.
    """

    def __init__(
        self, loc: Any = None, scale_tril: Any = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "MultivariateNormalTriL",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        if loc is None and scale_tril is None:
            raise ValueError("Must specify one or both of `loc`, `scale_tril`.")
        with tf.name_scope(name) as name, tf.name_scope("init", values=[loc, scale_tril]):
            loc, scale = _triangle(loc, scale_tril, validate_args)
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)
        self._parameters = parameters


def _triangle(loc: Any, scale_tril: Any, validate_args: bool) -> tuple[Any, Any]:
    """Return `loc` as a tensor, and the operator of `scale_tril`, or the identity."""
    loc, tril = optional_tensor(loc, "loc"), optional_tensor(scale_tril, "scale_tril")
    if tril is not None:
        return loc, tf.linalg.LinearOperatorLowerTriangular(
            tril, is_non_singular=True, is_self_adjoint=False, is_positive_definite=False
        )
    return loc, tf.linalg.LinearOperatorIdentity(
        num_rows=dimension_size(loc, -1), dtype=loc.dtype, is_self_adjoint=True,
        is_positive_definite=True, assert_proper_shapes=validate_args,
    )  # fmt: skip


@export("contrib.distributions.MultivariateNormalFullCovariance")
class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """Normal distributions of vectors of a given covariance.

    Args:
      loc: means [..., n]; zero if None.
      covariance_matrix: symmetric and positive definite [..., n, n]; the identity if None.
      validate_args: whether the graph checks that they are symmetric.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: without either.
    """

    def __init__(
        self, loc: Any = None, covariance_matrix: Any = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "MultivariateNormalFullCovariance",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        with tf.name_scope(name) as name, tf.name_scope("init", values=[loc, covariance_matrix]):
            scale_tril = None
            if covariance_matrix is not None:
                covariance = convert_to_tensor(covariance_matrix, name="covariance_matrix")
                if validate_args:
                    turned = tf.matrix_transpose(covariance)
                    message = "Matrix was not symmetric"
                    symmetric = tf.debugging.assert_near(covariance, turned, message=message)
                    covariance = with_dependencies([symmetric], covariance)
                scale_tril = tf.cholesky(covariance)
            super().__init__(
                loc=loc, scale_tril=scale_tril, validate_args=validate_args,
                allow_nan_stats=allow_nan_stats, name=name,
            )  # fmt: skip
        self._parameters = parameters


@export("contrib.distributions.MultivariateNormalDiagPlusLowRank")
class MultivariateNormalDiagPlusLowRank(MultivariateNormalLinearOperator):
    """Normal distributions of `loc + (diag(d) + U diag(m) U.T) @ z`.

    Args:
      loc: means [..., n]; zero if None.
      scale_diag: the numbers d [..., n]; one if None.
      scale_identity_multiplier: added to all of d; or all of them.
      scale_perturb_factor: the matrices U [..., n, k]; none if None.
      scale_perturb_diag: the numbers m [..., k]; one if None.
      validate_args: whether the graph checks that d is positive, or not zero without U and m.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: if nothing says how many numbers there are.
    """

    def __init__(
        self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None,
        scale_perturb_factor: Any = None, scale_perturb_diag: Any = None,
        validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagPlusLowRank",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        factor, diag = scale_perturb_factor, scale_perturb_diag
        values = [loc, scale_diag, scale_identity_multiplier, factor, diag]
        with tf.name_scope(name) as name, tf.name_scope("init", values=values):
            perturbed = factor is not None or diag is not None
            scale = diagonal_scale(
                loc, scale_diag, scale_identity_multiplier, validate_args=validate_args,
                assert_positive=perturbed,
            )  # fmt: skip
            factor = optional_tensor(factor, "scale_perturb_factor")
            diag = optional_tensor(diag, "scale_perturb_diag")
            if perturbed:
                scale = low_rank_update(scale, factor, diag)
        super().__init__(
            loc=loc, scale=scale, validate_args=validate_args, allow_nan_stats=allow_nan_stats,
            name=name,
        )  # fmt: skip
        self._parameters = parameters
