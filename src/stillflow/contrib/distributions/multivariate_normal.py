"""Normal distributions of vectors."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.distributions.bijectors.affine_linear_operator import AffineLinearOperator
from stillflow.contrib.distributions.transformed import TransformedDistribution
from stillflow.distributions.kullback_leibler import moved, register_kl
from stillflow.distributions.layout import dimension_size, prefer_static_broadcast_shape
from stillflow.distributions.normal import Normal
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import dimension_value

_DIAGONAL = ("LinearOperatorIdentity", "LinearOperatorScaledIdentity", "LinearOperatorDiag")


def _is_diagonal(scale: Any) -> bool:
    return isinstance(scale, tuple(getattr(tf.linalg, name) for name in _DIAGONAL))


def _tensor(value: Any, name: str) -> Any:
    return None if value is None else convert_to_tensor(value, name=name)


def _shapes(loc: Any, scale: Any) -> tuple[Any, Any]:
    """The shapes of batch and event, that means and an operator of scales have together."""
    with tf.name_scope("shapes_from_loc_and_scale", values=[loc, *scale.graph_parents]):
        size = scale.range_dimension_tensor()
        known = static_value(size)
        event_shape = size[tf.newaxis] if known is None else known.reshape([1])
        if loc is not None:
            of_loc = dimension_value(loc.shape[-1])
            if None not in (of_loc, known) and of_loc not in (1, known):
                raise ValueError(
                    # In the order in which TensorFlow says them.
                    f"Event size of 'scale' ({of_loc}) could not be broadcast up to that of 'loc' "
                    f"({known})."
                )
        batch_shape = scale.batch_shape_tensor()
        if loc is None:
            static = static_value(batch_shape)
            return batch_shape if static is None else static, event_shape
        of_loc = loc.shape.with_rank_at_least(1)[:-1]
        if loc.shape.ndims is None or not of_loc.is_fully_defined():
            of_loc = tf.shape(loc)[:-1]
        else:
            of_loc = convert_to_tensor(of_loc, name="loc_batch_shape")
        return prefer_static_broadcast_shape(batch_shape, of_loc), event_shape


class MultivariateNormalLinearOperator(TransformedDistribution):
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

    @moved
    def __init__(
        self, loc: Any = None, scale: Any = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "MultivariateNormalLinearOperator",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        if scale is None:
            raise ValueError("Missing required `scale` parameter.")
        if not scale.dtype.is_floating:
            raise TypeError("`scale` parameter must have floating-point dtype.")
        with tf.name_scope(name, values=[loc, *scale.graph_parents]) as name:
            loc = _tensor(loc, "loc")
            batch_shape, event_shape = _shapes(loc, scale)
        super().__init__(
            distribution=Normal(
                loc=tf.zeros([], dtype=scale.dtype), scale=tf.ones([], dtype=scale.dtype)
            ),
            bijector=AffineLinearOperator(shift=loc, scale=scale, validate_args=validate_args),
            batch_shape=batch_shape,
            event_shape=event_shape,
            validate_args=validate_args,
            name=name,
        )
        self._parameters = parameters

    @property
    def loc(self) -> Any:
        """The means."""
        return self.bijector.shift

    @property
    def scale(self) -> Any:
        """The operator."""
        return self.bijector.scale

    def _mean(self) -> Any:
        shape: Any = self.batch_shape.concatenate(self.event_shape)
        static = shape.is_fully_defined()
        if not static:
            shape = tf.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        if self.loc is None:
            return tf.zeros(shape, self.dtype)
        if static and shape == self.loc.shape:
            return tf.identity(self.loc)
        return tf.identity(self.loc) + tf.zeros(shape, self.dtype)

    def _mode(self) -> Any:
        return self._mean()

    def _covariance(self) -> Any:
        if _is_diagonal(self.scale):
            return tf.matrix_diag(tf.square(self.scale.diag_part()))
        return self.scale.matmul(self.scale.to_dense(), adjoint_arg=True)

    def _variance(self) -> Any:
        if _is_diagonal(self.scale):
            return tf.square(self.scale.diag_part())
        return tf.matrix_diag_part(self._product())

    def _stddev(self) -> Any:
        if _is_diagonal(self.scale):
            return tf.abs(self.scale.diag_part())
        return tf.sqrt(tf.matrix_diag_part(self._product()))

    def _product(self) -> Any:
        """The operator times its adjoint."""
        low_rank = isinstance(self.scale, tf.linalg.LinearOperatorLowRankUpdate)
        if low_rank and self.scale.is_self_adjoint:
            return self.scale.matmul(self.scale.to_dense())
        return self.scale.matmul(self.scale.to_dense(), adjoint_arg=True)


@register_kl(MultivariateNormalLinearOperator, MultivariateNormalLinearOperator)
@moved
def _kl(a: Any, b: Any, name: str | None = None) -> Any:
    """The divergence of two normal distributions of vectors."""

    def squared_norm(x: Any) -> Any:
        return tf.reduce_sum(tf.square(x), axis=[-2, -1])

    values = [a.loc, b.loc, *a.scale.graph_parents, *b.scale.graph_parents]
    with tf.name_scope(name, "kl_mvn", values=values):
        if _is_diagonal(a.scale) and _is_diagonal(b.scale):
            ratio = (a.stddev() / b.stddev())[..., tf.newaxis]
        else:
            ratio = b.scale.solve(a.scale.to_dense())
        divergence = (
            b.scale.log_abs_determinant()
            - a.scale.log_abs_determinant()
            + 0.5
            * (
                -tf.cast(a.scale.domain_dimension_tensor(), a.dtype)
                + squared_norm(ratio)
                + squared_norm(b.scale.solve((b.mean() - a.mean())[..., tf.newaxis]))
            )
        )
        divergence.set_shape(tf.broadcast_static_shape(a.batch_shape, b.batch_shape))
        return divergence


def _diagonal_scale(loc: Any, scale_diag: Any, multiplier: Any) -> Any:
    """An operator of standard deviations."""
    with tf.name_scope("make_diag_scale", values=[loc, scale_diag, multiplier]):
        loc = _tensor(loc, "loc")
        scale_diag = _tensor(scale_diag, "scale_diag")
        multiplier = _tensor(multiplier, "scale_identity_multiplier")
        if scale_diag is not None:
            if multiplier is not None:
                scale_diag += multiplier[..., tf.newaxis]
            return tf.linalg.LinearOperatorDiag(
                diag=scale_diag, is_non_singular=True, is_self_adjoint=True,
                is_positive_definite=False,
            )  # fmt: skip
        if loc is None:
            raise ValueError(
                "Cannot infer `event_shape` unless `loc` or `shape_hint` is specified."
            )
        if multiplier is None:
            return tf.linalg.LinearOperatorIdentity(
                num_rows=loc.shape[-1], dtype=loc.dtype.base_dtype, is_self_adjoint=True,
                is_positive_definite=True, assert_proper_shapes=False,
            )  # fmt: skip
        return tf.linalg.LinearOperatorScaledIdentity(
            num_rows=loc.shape[-1], multiplier=multiplier, is_non_singular=True,
            is_self_adjoint=True, is_positive_definite=False, assert_proper_shapes=False,
        )  # fmt: skip


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

    @moved
    def __init__(
        self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None,
        validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiag",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        values = [loc, scale_diag, scale_identity_multiplier]
        with tf.name_scope(name) as name, tf.name_scope("init", values=values):
            scale = _diagonal_scale(loc, scale_diag, scale_identity_multiplier)
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

    @moved
    def __init__(
        self, loc: Any, scale_diag: Any, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "MultivariateNormalDiagWithSoftplusScale",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        with tf.name_scope(name, values=[scale_diag]) as name:
            super().__init__(
                loc=loc, scale_diag=tf.nn.softplus(scale_diag), validate_args=validate_args,
                allow_nan_stats=allow_nan_stats, name=name,
            )  # fmt: skip
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

    @moved
    def __init__(
        self, loc: Any = None, scale_tril: Any = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "MultivariateNormalTriL",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        if loc is None and scale_tril is None:
            raise ValueError("Must specify one or both of `loc`, `scale_tril`.")
        with tf.name_scope(name) as name, tf.name_scope("init", values=[loc, scale_tril]):
            loc, scale_tril = _tensor(loc, "loc"), _tensor(scale_tril, "scale_tril")
            if scale_tril is None:
                scale: Any = tf.linalg.LinearOperatorIdentity(
                    num_rows=dimension_size(loc, -1), dtype=loc.dtype, is_self_adjoint=True,
                    is_positive_definite=True, assert_proper_shapes=validate_args,
                )  # fmt: skip
            else:
                scale = tf.linalg.LinearOperatorLowerTriangular(
                    scale_tril, is_non_singular=True, is_self_adjoint=False,
                    is_positive_definite=False,
                )  # fmt: skip
        super().__init__(
            loc=loc, scale=scale, validate_args=validate_args, allow_nan_stats=allow_nan_stats,
            name=name,
        )  # fmt: skip
        self._parameters = parameters
