"""Laplace and exponential distributions of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distributions.gamma import Exponential
from stillflow.distributions.laplace import Laplace
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.distributions.bijectors.affine_linear_operator import AffineLinearOperator
from stillflow_contrib.distributions.moved import moved_from_contrib
from stillflow_contrib.distributions.scales import (
    check_operator,
    diagonal_scale,
    is_diagonal,
    optional_tensor,
    shapes_of,
)
from stillflow_contrib.distributions.stretched import StretchedDistribution


class _Vectors(StretchedDistribution):
    """Base of `VectorLaplaceLinearOperator` and `VectorExponentialLinearOperator`."""

    def _start(self, given: dict[str, Any], name: str) -> None:
        """Finishes construction, inside of the scope."""
        loc, scale = optional_tensor(given["loc"], "loc"), given["scale"]
        batch_shape, event_shape = shapes_of(loc, scale)
        super().__init__(
            distribution=self._numbers(scale.dtype, given["allow_nan_stats"]),
            bijector=AffineLinearOperator(
                shift=loc, scale=scale, validate_args=given["validate_args"]
            ),
            batch_shape=batch_shape,
            event_shape=event_shape,
            validate_args=given["validate_args"],
            name=name,
        )
        self._parameters = given

    def _numbers(self, dtype: Any, allow_nan_stats: bool) -> Any:
        """Return the distribution of the independent numbers."""
        raise NotImplementedError


class VectorLaplaceLinearOperator(_Vectors):
    """Laplace distributions of `loc + scale @ z`, where the numbers of z are independent.

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

    @moved_from_contrib
    def __init__(
        self, loc: Any = None, scale: Any = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "VectorLaplaceLinearOperator",
    ) -> None:  # fmt: skip
        given = dict(locals())
        check_operator(scale)
        # The name below is not the scope's: the scope of the methods lies in that one.
        with tf.name_scope(name, values=[loc, *scale.graph_parents]):
            self._start(given, name)

    def _numbers(self, dtype: Any, allow_nan_stats: bool) -> Laplace:
        return Laplace(loc=tf.zeros([], dtype=dtype), scale=tf.ones([], dtype=dtype))

    def _covariance(self) -> Tensor:
        return 2.0 * super()._covariance()

    def _variance(self) -> Tensor:
        low_rank = isinstance(self.scale, tf.linalg.LinearOperatorLowRankUpdate)
        if low_rank and self.scale.is_self_adjoint and not is_diagonal(self.scale):
            return tf.matrix_diag_part(2.0 * self._product())
        return 2.0 * super()._variance()

    def _stddev(self) -> Tensor:
        return np.sqrt(2) * super()._stddev()


class VectorExponentialLinearOperator(_Vectors):
    """Exponential distributions of `loc + scale @ z`, where the numbers of z are independent.

    Args:
      loc: the shift; nothing if None.
      scale, validate_args, ...: as of `VectorLaplaceLinearOperator`.

    Raises:
      ValueError: without `scale`, or if its size is another than that of `loc`.
      TypeError: if its type is no floating-point type.
    """

    @moved_from_contrib
    def __init__(
        self, loc: Any = None, scale: Any = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "VectorExponentialLinearOperator",
    ) -> None:  # fmt: skip
        given = dict(locals())
        check_operator(scale)
        with tf.name_scope(name, values=[loc, *scale.graph_parents]) as scope:
            self._start(given, scope)

    def _numbers(self, dtype: Any, allow_nan_stats: bool) -> Exponential:
        return Exponential(rate=tf.ones([], dtype=dtype), allow_nan_stats=allow_nan_stats)

    def _of_equal_numbers(self, numbers: Any) -> Tensor:
        """Return the images of vectors of ones or zeros."""
        moved = self.scale.matvec(numbers(self._value_shape(), self.dtype))
        return moved if self.loc is None else tf.identity(self.loc) + moved

    def _mean(self) -> Tensor:
        return self._of_equal_numbers(tf.ones)

    def _mode(self) -> Tensor:
        return self._of_equal_numbers(tf.zeros)


@export("contrib.distributions.VectorLaplaceDiag")
class VectorLaplaceDiag(VectorLaplaceLinearOperator):
    """Laplace distributions of vectors of independent numbers.

    Args:
      loc: means [..., n]; zero if None.
      scale_diag: scales [..., n]; one if None.
      scale_identity_multiplier: added to all scales; or all of them.
      validate_args: whether the graph checks that none is zero.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      ValueError: if nothing says how many numbers there are.
    """

    @moved_from_contrib
    def __init__(
        self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None,
        validate_args: bool = False, allow_nan_stats: bool = True, name: str = "VectorLaplaceDiag",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        values = [loc, scale_diag, scale_identity_multiplier]
        with tf.name_scope(name), tf.name_scope("init", values=values):
            scale = diagonal_scale(loc, scale_diag, scale_identity_multiplier)
        super().__init__(
            loc=loc, scale=scale, validate_args=validate_args, allow_nan_stats=allow_nan_stats,
            name=name,
        )  # fmt: skip
        self._parameters = parameters


@export("contrib.distributions.VectorExponentialDiag")
class VectorExponentialDiag(VectorExponentialLinearOperator):
    """Exponential distributions of vectors of independent numbers.

    Args:
      loc: the shift [..., n]; nothing if None.
      scale_diag, scale_identity_multiplier, ...: as of `VectorLaplaceDiag`.

    Raises:
      ValueError: if nothing says how many numbers there are.
    """

    @moved_from_contrib
    def __init__(
        self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None,
        validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "VectorExponentialDiag",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        values = [loc, scale_diag, scale_identity_multiplier]
        with tf.name_scope(name) as scope, tf.name_scope("init", values=values):
            scale = diagonal_scale(loc, scale_diag, scale_identity_multiplier)
        super().__init__(
            loc=loc, scale=scale, validate_args=validate_args, allow_nan_stats=allow_nan_stats,
            name=scope,
        )  # fmt: skip
        self._parameters = parameters
