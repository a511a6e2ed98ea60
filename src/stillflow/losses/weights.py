"""Weights that broadcast to values: the checks losses and metrics share."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.constant_value import constant_value
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones_like
from stillflow.ops.arrays.shape import expand_dims, rank, shape, size
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.control_flow.identity_and_group import no_op
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.math.binary import multiply
from stillflow.ops.math.comparison import equal
from stillflow.ops.sparse.sets import set_difference

_REFUSED = "weights can not be broadcast to values."


def _described(value: Any, name: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return the tensor, its shape and its rank."""
    with name_scope(None, name, [value]) as scope:
        tensor = convert_to_tensor(value, name=scope)
        return tensor, shape(tensor, name="shape"), rank(tensor, name="rank")


def _dims_fit(weights_shape: Tensor, values_shape: Tensor) -> Tensor:
    with name_scope(None, "has_invalid_dims", [weights_shape, values_shape]) as scope:
        sizes = expand_dims(values_shape, -1)
        valid = concat([sizes, ones_like(sizes)], axis=1)
        invalid = set_difference(expand_dims(weights_shape, -1), valid)
        return equal(0, size(invalid.values, name="num_invalid_dims"), name=scope)


def _shape_fits(
    weights_rank: Any, weights_shape: Any, values_rank: Any, values_shape: Any
) -> Tensor:
    inputs = [weights_rank, weights_shape, values_rank, values_shape]
    with name_scope(None, "has_valid_nonscalar_shape", inputs) as scope:
        is_same_rank = equal(values_rank, weights_rank, name="is_same_rank")
        return cond(
            is_same_rank,
            lambda: _dims_fit(weights_shape, values_shape),
            lambda: is_same_rank,
            name=scope,
        )


def _check_known(weights: Tensor, values: Tensor, shapes: tuple[Any, Any]) -> Operation | None:
    """Return an operation that does nothing if the known shapes fit, None if they are not known."""
    if weights.shape.ndims == 0:
        return no_op(name="static_scalar_check_success")
    if weights.shape.ndims != values.shape.ndims:
        raise ValueError(
            f"{_REFUSED} values.rank={values.shape.ndims}. weights.rank={weights.shape.ndims}. "
            f"values.shape={values.shape}. weights.shape={weights.shape}."
        )
    of_weights, of_values = (constant_value(tensor) for tensor in shapes)
    if of_weights is None or of_values is None:
        return None
    for axis, (weight, value) in enumerate(zip(of_weights, of_values, strict=True)):
        if weight not in (1, value):
            raise ValueError(
                f"{_REFUSED} Mismatch at dim {axis}. values.shape={of_values} "
                f"weights.shape={of_weights}."
            )
    return no_op(name="static_dims_check_success")


def assert_broadcastable(weights: Any, values: Any) -> Operation | None:
    """Return an assertion that `weights` is a scalar or fits `values` in every dimension.

    ValueError if the shapes are known and do not fit.
    """
    with name_scope(None, "assert_broadcastable", [weights, values]) as scope:
        weights, weights_shape, weights_rank = _described(weights, "weights")
        values, values_shape, values_rank = _described(values, "values")
        if weights.shape.ndims is not None and values.shape.ndims is not None:
            known = _check_known(weights, values, (weights_shape, values_shape))
            if known is not None or executing_eagerly():  # where all shapes are known
                return known
        is_scalar = equal(0, weights_rank, name="is_scalar")
        data = [
            *(_REFUSED, "weights.shape=", weights.name, weights_shape),
            *("values.shape=", values.name, values_shape, "is_scalar=", is_scalar),
        ]
        fits = cond(
            is_scalar,
            lambda: is_scalar,
            lambda: _shape_fits(weights_rank, weights_shape, values_rank, values_shape),
            name="is_valid_shape",
        )
        return Assert(fits, data, name=scope)


def broadcast_weights(weights: Any, values: Any) -> Tensor:
    """Return `weights` in the shape of `values`; ValueError if known shapes do not fit."""
    with name_scope(None, "broadcast_weights", [weights, values]) as scope:
        values = convert_to_tensor(values, name="values")
        weights = convert_to_tensor(weights, dtype=values.dtype.base_dtype, name="weights")
        both_known = weights.shape.is_fully_defined() and values.shape.is_fully_defined()
        if both_known and weights.shape.is_compatible_with(values.shape):
            return weights
        with control_dependencies([assert_broadcastable(weights, values)]):
            return multiply(weights, ones_like(values), name=scope)
