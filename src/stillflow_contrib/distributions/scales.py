"""Operators that stretch and turn vectors, made of the arguments of distributions."""

from __future__ import annotations

import functools
from typing import Any

import stillflow as tf
from stillflow.distributions.layout import prefer_static_broadcast_shape
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import dimension_value
from stillflow.ops.control_flow.identity_and_group import with_dependencies

_DIAGONAL = ("LinearOperatorIdentity", "LinearOperatorScaledIdentity", "LinearOperatorDiag")


def is_diagonal(scale: Any) -> bool:
    return isinstance(scale, tuple(getattr(tf.linalg, name) for name in _DIAGONAL))


def optional_tensor(value: Any, name: str) -> Tensor | None:
    return None if value is None else convert_to_tensor(value, name=name)


def positive_parameter(value: Any, name: str, validate_args: bool) -> Tensor:
    """Return a distribution's parameter, after a check that it is positive if so asked."""
    checks = [tf.assert_positive(value)] if validate_args else []
    with tf.control_dependencies(checks):
        return tf.identity(value, name=name)


def check_operator(scale: Any) -> None:
    """Raise an error for a missing operator, and one that is not floating-point.

    Raises:
      ValueError, TypeError: if it is one of these.
    """
    if scale is None:
        raise ValueError("Missing required `scale` parameter.")
    if not scale.dtype.is_floating:
        raise TypeError("`scale` parameter must have floating-point dtype.")


def shapes_of(loc: Any, scale: Any) -> tuple[Any, Any]:
    """Return the shapes of batch and event, that means and an operator of scales have together."""
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


def _checked(x: Any, diagonal: Any, validate_args: bool, assert_positive: bool) -> Tensor:
    """`x`, after a check of the diagonal that `diagonal` makes of it."""
    if not validate_args:
        return x
    if assert_positive:
        message = "diagonal part must be positive"
        return with_dependencies([tf.assert_positive(diagonal(x), message=message)], x)
    found, message = diagonal(x), "diagonal part must be non-zero"
    zero = tf.zeros([], x.dtype)
    return with_dependencies([tf.assert_none_equal(found, zero, message=message)], x)


def diagonal_scale(
    loc: Any,
    scale_diag: Any,
    multiplier: Any,
    shape_hint: Any = None,
    validate_args: bool = False,
    assert_positive: bool = False,
) -> Any:
    """Return an operator of numbers on a diagonal, such as standard deviations.

    Args:
      loc: vectors that say how many numbers there are and their type; or None.
      scale_diag: the numbers; one if None.
      multiplier: added to all of them; or all of them.
      shape_hint: how many there are.
      validate_args: whether the graph checks that none is zero, or that all are positive.
      assert_positive: whether they are.

    Raises:
      ValueError: if nothing says how many numbers there are.
    """

    def checked(x: Any) -> Tensor:
        return _checked(x, lambda same: same, validate_args, assert_positive)

    with tf.name_scope("make_diag_scale", values=[loc, scale_diag, multiplier]):
        loc = optional_tensor(loc, "loc")
        scale_diag = optional_tensor(scale_diag, "scale_diag")
        multiplier = optional_tensor(multiplier, "scale_identity_multiplier")
        if scale_diag is not None:
            if multiplier is not None:
                scale_diag += multiplier[..., tf.newaxis]
            return tf.linalg.LinearOperatorDiag(
                diag=checked(scale_diag), is_non_singular=True, is_self_adjoint=True,
                is_positive_definite=assert_positive,
            )  # fmt: skip
        if loc is None and shape_hint is None:
            raise ValueError(
                "Cannot infer `event_shape` unless `loc` or `shape_hint` is specified."
            )
        rows = loc.shape[-1] if shape_hint is None else shape_hint
        if multiplier is None:
            return tf.linalg.LinearOperatorIdentity(
                num_rows=rows, dtype=loc.dtype.base_dtype, is_self_adjoint=True,
                is_positive_definite=True, assert_proper_shapes=validate_args,
            )  # fmt: skip
        return tf.linalg.LinearOperatorScaledIdentity(
            num_rows=rows, multiplier=checked(multiplier), is_non_singular=True,
            is_self_adjoint=True, is_positive_definite=assert_positive,
            assert_proper_shapes=validate_args,
        )  # fmt: skip


def triangular_scale(
    loc: Any,
    scale_tril: Any,
    scale_diag: Any,
    multiplier: Any,
    shape_hint: Any = None,
    validate_args: bool = False,
    assert_positive: bool = False,
) -> Any:
    """Return an operator of a lower triangle and of numbers added to its diagonal.

    Args:
      scale_tril: matrices, of which the lower triangle counts; `diagonal_scale` if None.
      loc, scale_diag, ...: as of `diagonal_scale`.
    """
    with tf.name_scope("make_tril_scale", values=[loc, scale_diag, multiplier]):
        loc = optional_tensor(loc, "loc")
        scale_tril = optional_tensor(scale_tril, "scale_tril")
        scale_diag = optional_tensor(scale_diag, "scale_diag")
        multiplier = optional_tensor(multiplier, "scale_identity_multiplier")
    if scale_tril is None:
        return diagonal_scale(
            loc, scale_diag, multiplier, shape_hint, validate_args, assert_positive
        )
    scale_tril = tf.matrix_band_part(scale_tril, -1, 0)
    diagonal = tf.matrix_diag_part(scale_tril)
    if scale_diag is not None:
        diagonal += scale_diag
    if multiplier is not None:
        diagonal += multiplier[..., tf.newaxis]
    scale_tril = tf.matrix_set_diag(scale_tril, diagonal)
    return tf.linalg.LinearOperatorLowerTriangular(
        tril=_checked(scale_tril, tf.matrix_diag_part, validate_args, assert_positive),
        is_non_singular=True,
        is_self_adjoint=False,
        is_positive_definite=assert_positive,
    )


def low_rank_update(scale: Any, factor: Any, diag: Any) -> Any:
    """Return the operator `scale + factor @ diag @ factor.T`.

    Positive definite, as the caller knows.
    """
    return tf.linalg.LinearOperatorLowRankUpdate(
        scale,
        u=factor,
        diag_update=diag,
        is_diag_update_positive=diag is None,
        is_non_singular=True,
        is_self_adjoint=True,
        is_positive_definite=True,
        is_square=True,
    )


def broadcast_shape(*tensors: Any) -> list[int]:
    """Return the shape that tensors have together: a list, or a tensor where it is not known."""
    static = functools.reduce(tf.broadcast_static_shape, [each.shape for each in tensors])
    if static.is_fully_defined():
        return static.as_list()
    return functools.reduce(tf.broadcast_dynamic_shape, map(tf.shape, tensors))
