"""The functions of arrays in `tf.compat.v2` whose arguments differ from those of `tf`."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.lazy import LazyModule
from stillflow.graph.operation import Tensor

# By path, since public functions of the packages hide modules of their names.
shapes: Any = LazyModule("stillflow.ops.arrays.shape")
fill: Any = LazyModule("stillflow.ops.arrays.fill")
gathering: Any = LazyModule("stillflow.ops.arrays.gather")
gathering_nd: Any = LazyModule("stillflow.ops.arrays.gather_nd")
transposing: Any = LazyModule("stillflow.ops.arrays.transpose")
padding: Any = LazyModule("stillflow.ops.arrays.pad")
reverse: Any = LazyModule("stillflow.ops.arrays.reverse")
masks: Any = LazyModule("stillflow.ops.arrays.masks")
depth: Any = LazyModule("stillflow.ops.nn.depth_to_space")
space: Any = LazyModule("stillflow.ops.arrays.space_to_batch")


@export("compat.v2.expand_dims")
def expand_dims(input: Any, axis: Any, name: str | None = None) -> Tensor:
    """See `tf.expand_dims`."""
    return shapes.expand_dims(input, axis, name)  # type: ignore[no-any-return]


@export("compat.v2.squeeze")
def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """See `tf.squeeze`."""
    return shapes.squeeze(input, axis, name)  # type: ignore[no-any-return]


@export("compat.v2.shape")
def shape(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """See `tf.shape`."""
    return shapes.shape(input, name, out_type)  # type: ignore[no-any-return]


@export("compat.v2.size")
def size(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """See `tf.size`."""
    return shapes.size(input, name, out_type)  # type: ignore[no-any-return]


@export("compat.v2.zeros_like")
def zeros_like(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """See `tf.zeros_like`."""
    return fill.zeros_like(input, dtype, name)  # type: ignore[no-any-return]


@export("compat.v2.ones_like")
def ones_like(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """See `tf.ones_like`."""
    return fill.ones_like(input, dtype, name)  # type: ignore[no-any-return]


@export("compat.v2.gather")
def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """See `tf.gather`."""
    return gathering.gather(params, indices, validate_indices, name, axis, batch_dims)  # type: ignore[no-any-return]


@export("compat.v2.gather_nd")
def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: str | None = None) -> Tensor:
    """See `tf.gather_nd`."""
    return gathering_nd.gather_nd(params, indices, name, batch_dims)  # type: ignore[no-any-return]


@export("compat.v2.transpose")
def transpose(
    a: Any, perm: Any = None, conjugate: bool = False, name: str | None = "transpose",
) -> Tensor:
    """See `tf.transpose`."""
    return transposing.transpose(a, perm, name, conjugate)  # type: ignore[no-any-return]


@export("compat.v2.pad")
def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: Any = 0,
    name: str | None = None,
) -> Tensor:
    """See `tf.pad`."""
    return padding.pad(tensor, paddings, mode, name, constant_values)  # type: ignore[no-any-return]


@export("compat.v2.reverse_sequence")
def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
) -> Tensor:
    """See `tf.reverse_sequence`."""
    return reverse.reverse_sequence(input, seq_lengths, seq_axis, batch_axis, name)  # type: ignore[no-any-return]


@export("compat.v2.boolean_mask")
def boolean_mask(
    tensor: Any, mask: Any, axis: Any = None, name: str | None = "boolean_mask",
) -> Tensor:
    """See `tf.boolean_mask`."""
    return masks.boolean_mask(tensor, mask, name, axis)  # type: ignore[no-any-return]


@export("compat.v2.nn.depth_to_space")
def depth_to_space(
    input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None,
) -> Tensor:
    """See `tf.nn.depth_to_space`."""
    return depth.depth_to_space(input, block_size, name, data_format)  # type: ignore[no-any-return]


@export("compat.v2.nn.space_to_depth")
def space_to_depth(
    input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None,
) -> Tensor:
    """See `tf.nn.space_to_depth`."""
    return depth.space_to_depth(input, block_size, name, data_format)  # type: ignore[no-any-return]


@export("compat.v2.space_to_batch", "compat.v2.nn.space_to_batch")
def space_to_batch(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """See `tf.space_to_batch_nd`."""
    return space.space_to_batch_nd(input, block_shape, paddings, name)  # type: ignore[no-any-return]


@export("compat.v2.batch_to_space")
def batch_to_space(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """See `tf.batch_to_space_nd`."""
    return space.batch_to_space_nd(input, block_shape, crops, name)  # type: ignore[no-any-return]
