"""Interpolation of two vectors or linear operators, at the points of a quadrature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import stillflow as tf
from stillflow.graph.tensor_shape import dimension_value
from stillflow.linalg.linear_operator_diag import LinearOperatorDiag
from stillflow.linalg.linear_operator_full_matrix import LinearOperatorLowerTriangular
from stillflow.linalg.linear_operator_identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
)
from stillflow_contrib.distributions.addition import add_operators

if TYPE_CHECKING:
    from stillflow.linalg.linear_operator import LinearOperator


def add(x: Any, y: Any) -> Any:
    """Return the sum, where None is nothing."""
    if x is None or y is None:
        return y if x is None else x
    return x + y


def _count(grid: Any) -> int:
    count = dimension_value(grid.shape.with_rank_at_least(1)[-1])
    if count is None:
        raise ValueError("Num quadrature grid points must be known prior to graph execution.")
    return count


def interpolate_loc(grid: Any, loc: Sequence[Any]) -> list[Any]:
    """Return the vectors at all points.

    Args:
      grid: [..., 2, points], how much each point has of both vectors.
      loc: two vectors; None is nothing.

    Raises:
      ValueError: if the number of points is not known.
    """
    count = _count(grid)
    with tf.name_scope("interpolate_loc", values=[grid, loc]):
        if loc[0] is None and loc[1] is None:
            return [None] * count
        weights = grid[..., tf.newaxis, :, :]
        first, second = (None if each is None else each[..., tf.newaxis] for each in loc)
        if first is None:
            found = weights[..., 1, :] * second
        elif second is None:
            found = weights[..., 0, :] * first
        else:
            delta = first - second
            found = weights[..., 0, :] * delta + second
        return [found[..., point] for point in range(count)]


def interpolate_scale(grid: Any, scale: Sequence[Any]) -> list[Any]:
    """Return the linear operators at all points; arguments as of `interpolate_loc`."""
    points = range(_count(grid))

    def mixed(point: int) -> LinearOperator:
        parts = [_scaled(grid[..., end, point], each) for end, each in enumerate(scale)]
        return add_operators(parts)[0]

    with tf.name_scope("interpolate_scale", values=[grid]):
        return list(map(mixed, points))


def _scaled(weight: Any, operator: Any) -> LinearOperator:
    """Return a multiple of a linear operator."""
    with tf.name_scope("linop_scale", values=[weight]):
        hints = {
            name: getattr(operator, name)
            for name in ("is_non_singular", "is_self_adjoint", "is_positive_definite")
        }
        if isinstance(operator, (LinearOperatorIdentity, LinearOperatorScaledIdentity)):
            if isinstance(operator, LinearOperatorScaledIdentity):
                weight = weight * operator.multiplier
            rows = operator.range_dimension_tensor()
            return LinearOperatorScaledIdentity(num_rows=rows, multiplier=weight, **hints)
        if isinstance(operator, LinearOperatorDiag):
            diag = weight[..., tf.newaxis] * operator.diag_part()
            return LinearOperatorDiag(diag=diag, **hints)
        if isinstance(operator, LinearOperatorLowerTriangular):
            tril = weight[..., tf.newaxis, tf.newaxis] * operator.to_dense()
            return LinearOperatorLowerTriangular(tril=tril, **hints)
        raise NotImplementedError(f"Unsupported Linop type ({type(operator).__name__})")


class Shapes(NamedTuple):
    """Shapes of batches and events, as far as they are known, and as tensors."""

    batch: Any
    batch_tensor: Any
    event: Any
    event_tensor: Any


def shapes_of(grid: Any, endpoint_affine: Sequence[Any]) -> Shapes:
    """Return the shapes of a mixture between the images of vectors under `endpoint_affine`."""
    with tf.name_scope("determine_batch_event_shapes"):
        batch, batch_tensor = grid.shape[:-2], tf.shape(grid)[:-2]
        event = event_tensor = None
        for affine in endpoint_affine:
            for own in _own_shapes(affine):
                batch = tf.broadcast_static_shape(batch, own.batch())
                batch_tensor = tf.broadcast_dynamic_shape(batch_tensor, own.batch_tensor())
                own_event, own_tensor = own.event(), own.event_tensor()
                if event is None:
                    event, event_tensor = own_event, own_tensor
                else:
                    event = tf.broadcast_static_shape(event, own_event)
                    event_tensor = tf.broadcast_dynamic_shape(event_tensor, own_tensor)
        return Shapes(batch, batch_tensor, event, event_tensor)


def _own_shapes(affine: Any) -> list[Shapes]:
    """Return the lazy shapes of the vector and the operator of `affine`."""
    found = []
    shift, scale = affine.shift, affine.scale
    if shift is not None:
        found.append(
            Shapes(
                lambda: shift.shape[:-1],
                lambda: tf.shape(shift)[:-1],
                lambda: shift.shape[-1:],
                lambda: tf.shape(shift)[-1:],
            )
        )
    if scale is not None:
        found.append(
            Shapes(
                lambda: scale.batch_shape,
                scale.batch_shape_tensor,
                lambda: tf.TensorShape([scale.range_dimension]),
                lambda: scale.range_dimension_tensor()[tf.newaxis],
            )
        )
    return found
