"""Distributions that lean to a side and have heavier or lighter tails than others."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.distributions.distribution import FULLY_REPARAMETERIZED
from stillflow.distributions.normal import Normal
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.static_value import static_value
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.bijectors.affine import Affine, AffineScalar
from stillflow_contrib.distributions.bijectors.chain import Chain
from stillflow_contrib.distributions.bijectors.curves import SinhArcsinh as Bend
from stillflow_contrib.distributions.moved import moved_from_contrib
from stillflow_contrib.distributions.scales import (
    broadcast_shape,
    diagonal_scale,
    optional_tensor,
    shapes_of,
)
from stillflow_contrib.distributions.transformed import TransformedDistribution


def checks_of_scalar(distribution: Any, dtype: Any, validate_args: bool) -> list[Any]:
    """Check that a distribution is of scalars, without batch.

    Raises:
      TypeError: if it is of another type.
      ValueError: if it is known not to be of scalars, or not differentiable.
    """
    if distribution.dtype != dtype:
        raise TypeError(
            f'dtype mismatch; distribution.dtype="{distribution.dtype.name}" is not "{dtype.name}"'
        )
    kind = distribution.reparameterization_type
    if validate_args and kind != FULLY_REPARAMETERIZED:
        raise ValueError(
            "Base distribution should be reparameterized or be a function of non-trainable "
            f'variables; distribution.reparameterization_type = "{kind}" != '
            '"FULLY_REPARAMETERIZED".'
        )
    checks = []
    with tf.name_scope("check_distribution"):
        for what in ("is_scalar_event", "is_scalar_batch"):
            scalar = getattr(distribution, what)()
            known = static_value(scalar)
            message = f"distribution must be scalar; distribution.{what}=False is not True"
            if known is not None and not known:
                raise ValueError(message)
            if known is None and validate_args:
                checks.append(tf.assert_equal(scalar, True, message=message))
    return checks


def _standard_normal(dtype: Any, allow_nan_stats: bool) -> Normal:
    return Normal(
        loc=tf.zeros([], dtype=dtype),
        scale=tf.ones([], dtype=dtype),
        allow_nan_stats=allow_nan_stats,
    )


def _bend(skewness: Any, tailweight: Any, leans: bool, scale: Any) -> tuple[Any, Any]:
    """Return the bend, and scales with which 2 stays at 2 of them if nothing leans."""
    bend = straight = Bend(skewness=skewness, tailweight=tailweight)
    if leans:
        none = skewness.dtype.as_numpy_dtype(0.0)
        straight = Bend(skewness=none, tailweight=tailweight)
    doubled = 2 * scale
    return bend, doubled / straight.forward(convert_to_tensor(2, dtype=scale.dtype))


class _Bent(TransformedDistribution):
    """Base of both distributions here."""

    _loc: Any
    _scale: Any
    _skewness: Any
    _tailweight: Any

    @property
    def loc(self) -> Any:
        """The shift."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The scale."""
        return self._scale

    @property
    def tailweight(self) -> Any:
        """The weight of tails."""
        return self._tailweight

    @property
    def skewness(self) -> Any:
        """The skewness."""
        return self._skewness


@export("contrib.distributions.SinhArcsinh")
class SinhArcsinh(_Bent):
    """The distribution of `loc + c * sinh((arcsinh(z) + skewness) * tailweight)`.

    Args:
      loc: the shift.
      scale: positive; c is such that z = 2 becomes loc + 2 scale without skewness.
      skewness: above 0 it leans to the right; 0 if None.
      tailweight: positive; above 1 tails are heavier; 1 if None.
      distribution: of the scalars z; the standard normal one if None.
      validate_args: whether the graph checks arguments.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      TypeError: if the distribution is of another type than `loc`.
      ValueError: if it is not of scalars.
    """

    @moved_from_contrib
    def __init__(
        self, loc: Any, scale: Any, skewness: Any = None, tailweight: Any = None,
        distribution: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "SinhArcsinh",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        leans = skewness is not None
        with tf.name_scope(name, values=[loc, scale, skewness, tailweight]) as scope:
            loc = convert_to_tensor(loc, name="loc")
            dtype = loc.dtype
            scale = convert_to_tensor(scale, name="scale", dtype=dtype)
            tailweight = 1.0 if tailweight is None else tailweight
            tailweight = convert_to_tensor(tailweight, name="tailweight", dtype=dtype)
            skewness = convert_to_tensor(skewness if leans else 0.0, name="skewness", dtype=dtype)
            batch_shape = broadcast_shape(loc, scale, tailweight, skewness)
            if distribution is None:
                distribution = _standard_normal(dtype, allow_nan_stats)
            else:
                checks = checks_of_scalar(distribution, dtype, validate_args)
                loc = with_dependencies(checks, loc) if checks else loc
            bend, factor = _bend(skewness, tailweight, leans, scale)
            affine = AffineScalar(shift=loc, scale=factor, validate_args=validate_args)
            super().__init__(
                distribution=distribution, bijector=Chain([affine, bend]),
                batch_shape=batch_shape, validate_args=validate_args, name=scope,
            )  # fmt: skip
        self._parameters = parameters
        self._loc, self._scale = loc, scale
        self._skewness, self._tailweight = skewness, tailweight


@export("contrib.distributions.VectorSinhArcsinhDiag")
class VectorSinhArcsinhDiag(_Bent):
    """`SinhArcsinh` of vectors, of a diagonal operator as scale.

    Args:
      loc: the shift [..., n]; nothing if None.
      scale_diag: scales [..., n]; one if None.
      scale_identity_multiplier: added to all scales; or all of them.
      skewness, tailweight, ...: as of `SinhArcsinh`.

    Raises:
      TypeError: if the distribution is of another type.
      ValueError: if it is not of scalars, or nothing says how many numbers there are.
    """

    @moved_from_contrib
    def __init__(
        self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None,
        skewness: Any = None, tailweight: Any = None, distribution: Any = None,
        validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "MultivariateNormalLinearOperator",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        leans = skewness is not None
        values = [loc, scale_diag, scale_identity_multiplier, skewness, tailweight]
        with tf.name_scope(name, values=values) as scope:
            loc = optional_tensor(loc, "loc")
            operator = diagonal_scale(loc, scale_diag, scale_identity_multiplier)
            batch_shape, event_shape = shapes_of(loc, operator)
            scale = operator.diag_part()
            if distribution is None:
                distribution = _standard_normal(scale.dtype, allow_nan_stats)
            else:
                checks = checks_of_scalar(distribution, scale.dtype, validate_args)
                scale = with_dependencies(checks, scale) if checks else scale
            dtype = scale.dtype
            skewness = convert_to_tensor(skewness if leans else 0.0, dtype=dtype, name="skewness")
            tailweight = 1.0 if tailweight is None else tailweight
            tailweight = convert_to_tensor(tailweight, dtype=dtype, name="tailweight")
            bend, factor = _bend(skewness, tailweight, leans, scale)
            affine = Affine(shift=loc, scale_diag=factor, validate_args=validate_args)
            super().__init__(
                distribution=distribution, bijector=Chain([affine, bend]),
                batch_shape=batch_shape, event_shape=event_shape, validate_args=validate_args,
                name=scope,
            )  # fmt: skip
        self._parameters = parameters
        self._loc, self._scale = loc, operator
        self._skewness, self._tailweight = skewness, tailweight
