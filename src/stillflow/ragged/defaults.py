"""Elements of ragged rows by number, with a default where there is none."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays import broadcast as dense
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones_like, zeros_like
from stillflow.ops.arrays.gather import batch_gather
from stillflow.ops.arrays.shape import rank, shape
from stillflow.ops.constants import constant
from stillflow.ops.debugging.comparisons import assert_greater_equal
from stillflow.ops.math.cast import cast
from stillflow.ragged.broadcasting import broadcast_to
from stillflow.ragged.conversion import (
    common_splits_dtype,
    convert_to_tensor_or_ragged_tensor,
    is_ragged,
)
from stillflow.ragged.dynamic_shape import RaggedTensorDynamicShape
from stillflow.ragged.ranks import expand_dims
from stillflow.ragged.selecting import where


def batch_gather_with_default(
    params: Any, indices: Any, default_value: Any = "", name: str | None = None
) -> Tensor:
    """Return elements of each row by number, and a default for numbers without an element.

    Both are of known rank, dense or ragged, with the same dimensions but the last of `indices`; the
    default is a scalar or vector.
    """
    with name_scope(name, "RaggedBatchGatherWithDefault"):
        params = convert_to_tensor_or_ragged_tensor(params, name="params")
        indices = convert_to_tensor_or_ragged_tensor(indices, name="indices")
        default = convert_to_tensor_or_ragged_tensor(default_value, name="default_value")
        kind = common_splits_dtype(params, indices, default)
        if default.shape.ndims not in (0, 1):
            raise ValueError('"default_value" must be a scalar or vector')
        for what, tensor in (("Indices", indices), ("Params", params)):
            if tensor.shape.ndims is None:
                raise ValueError(f"{what} must have a known rank.")
        axis = indices.shape.ndims - 1
        with control_dependencies([assert_greater_equal(rank(params), rank(indices))]):
            if is_ragged(params):
                lengths = expand_dims(params.row_lengths(axis=axis), axis=-1)
                limits = cast(lengths, indices.dtype)
                pad = broadcast_to(default, _pad_shape(params, indices, kind))
            else:
                size = shape(params)
                pad_shape = concat([size[:axis], [1], size[axis + 1 : params.shape.ndims]], 0)
                limits = size[axis]
                pad = dense.broadcast_to(default, pad_shape)
            pad = cast(pad, params.dtype)
            padded = concat([pad, params], axis=axis)  # the default comes first in each row
            shifted = indices + 1
            missing = (indices < 0) | (indices > limits)
            places = where(missing, x=zeros_like(indices), y=shifted)
            return batch_gather(params=padded, indices=places, name=name)


def _pad_shape(params: Any, indices: Any, kind: Any) -> RaggedTensorDynamicShape:
    """Return the shape of one element for each row of `params`."""
    axis = indices.shape.ndims - 1
    size = RaggedTensorDynamicShape.from_tensor(params, dim_size_dtype=kind)
    outer = size.partitioned_dim_sizes
    if params.shape.ndims == indices.shape.ndims:
        if size.num_inner_dimensions == 0:
            return RaggedTensorDynamicShape((*outer[:-1], ones_like(outer[-1])), [])
        inner = concat([size.inner_dim_sizes[:-1], [1]], axis=0)
        return RaggedTensorDynamicShape(outer, inner)
    more = size.num_partitioned_dimensions - axis
    if axis == 0:
        one, ones = constant(1, dtype=kind), constant([1], dtype=kind)
        pad: tuple[Any, ...] = (one, *[ones] * (more - 1))
    else:
        pad = (*outer[:axis], *[ones_like(outer[axis])] * more)
    return RaggedTensorDynamicShape(pad, size.inner_dim_sizes)
