"""The functions of `tf.compat.v2` whose arguments differ from those of `tf`.

Each hands its arguments on to the function of TF 1, which makes the same nodes.
"""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.lazy import LazyModule
from stillflow.graph.operation import Tensor

# By path, since public functions of the packages hide modules of their names.
reductions: Any = LazyModule("stillflow.ops.math.reductions")
positions: Any = LazyModule("stillflow.ops.math.positions")
norms: Any = LazyModule("stillflow.ops.linalg.norms")
binary: Any = LazyModule("stillflow.ops.math.binary")
shapes: Any = LazyModule("stillflow.ops.arrays.shape")
fill: Any = LazyModule("stillflow.ops.arrays.fill")
gathering: Any = LazyModule("stillflow.ops.arrays.gather")
gathering_nd: Any = LazyModule("stillflow.ops.arrays.gather_nd")
transposing: Any = LazyModule("stillflow.ops.arrays.transpose")
padding: Any = LazyModule("stillflow.ops.arrays.pad")
reverse: Any = LazyModule("stillflow.ops.arrays.reverse")
masks: Any = LazyModule("stillflow.ops.arrays.masks")
depth: Any = LazyModule("stillflow.ops.arrays.depth")
space: Any = LazyModule("stillflow.ops.arrays.space")
conversion: Any = LazyModule("stillflow.graph.conversion")
poisson: Any = LazyModule("stillflow.ops.random.poisson")
elementwise: Any = LazyModule("stillflow.ops.strings.elementwise")
parts: Any = LazyModule("stillflow.ops.strings.parts")
joining: Any = LazyModule("stillflow.ops.strings.joining")
text_numbers: Any = LazyModule("stillflow.ops.strings.numbers")


@export("compat.v2.reduce_sum", "compat.v2.math.reduce_sum")
def reduce_sum(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_sum`."""
    return reductions.reduce_sum(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.reduce_prod", "compat.v2.math.reduce_prod")
def reduce_prod(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_prod`."""
    return reductions.reduce_prod(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.reduce_max", "compat.v2.math.reduce_max")
def reduce_max(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_max`."""
    return reductions.reduce_max(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.reduce_min", "compat.v2.math.reduce_min")
def reduce_min(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_min`."""
    return reductions.reduce_min(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.reduce_mean", "compat.v2.math.reduce_mean")
def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_mean`."""
    return reductions.reduce_mean(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.reduce_all", "compat.v2.math.reduce_all")
def reduce_all(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_all`."""
    return reductions.reduce_all(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.reduce_any", "compat.v2.math.reduce_any")
def reduce_any(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_any`."""
    return reductions.reduce_any(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.reduce_logsumexp", "compat.v2.math.reduce_logsumexp")
def reduce_logsumexp(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_logsumexp`."""
    return reductions.reduce_logsumexp(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.argmax", "compat.v2.math.argmax")
def argmax(
    input: Any, axis: Any = None, output_type: Any = dtypes.int64, name: str | None = None,
) -> Tensor:
    """See `tf.argmax`."""
    return positions.argmax(input, axis, name, output_type=output_type)  # type: ignore[no-any-return]


@export("compat.v2.argmin", "compat.v2.math.argmin")
def argmin(
    input: Any, axis: Any = None, output_type: Any = dtypes.int64, name: str | None = None,
) -> Tensor:
    """See `tf.argmin`."""
    return positions.argmin(input, axis, name, output_type=output_type)  # type: ignore[no-any-return]


@export("compat.v2.math.count_nonzero")
def count_nonzero(
    input: Any,
    axis: Any = None,
    keepdims: Any = None,
    dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """See `tf.math.count_nonzero`."""
    return reductions.count_nonzero(input, axis, bool(keepdims), dtype, name)  # type: ignore[no-any-return]


@export("compat.v2.norm", "compat.v2.linalg.norm")
def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: Any = None,
    name: str | None = None,
) -> Tensor:
    """See `tf.norm`."""
    return norms.norm(tensor, ord, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.scalar_mul", "compat.v2.math.scalar_mul")
def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Tensor:
    """See `tf.scalar_mul`."""
    return binary.scalar_mul(scalar, x, name)  # type: ignore[no-any-return]


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


@export("compat.v2.convert_to_tensor")
def convert_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None,
) -> Tensor:
    """See `tf.convert_to_tensor`."""
    return conversion.convert_to_tensor_public(value, dtype, name, dtype_hint=dtype_hint)  # type: ignore[no-any-return]


@export("compat.v2.random.poisson")
def random_poisson(
    shape: Any, lam: Any, dtype: Any = dtypes.float32, seed: Any = None, name: str | None = None,
) -> Tensor:
    """See `tf.random.poisson`."""
    return poisson.random_poisson(lam, shape, dtype, seed, name)  # type: ignore[no-any-return]


@export("compat.v2.strings.length")
def string_length(input: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """See `tf.strings.length`."""
    return elementwise.string_length(input, name, unit)  # type: ignore[no-any-return]


@export("compat.v2.strings.substr")
def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """See `tf.strings.substr`."""
    return parts.substr(input, pos, len, name, unit)  # type: ignore[no-any-return]


@export("compat.v2.strings.reduce_join")
def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """See `tf.strings.reduce_join`."""
    return joining.reduce_join(inputs, axis, keepdims=keepdims, separator=separator, name=name)  # type: ignore[no-any-return]


@export("compat.v2.strings.to_hash_bucket")
def string_to_hash_bucket(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """See `tf.strings.to_hash_bucket`."""
    return elementwise.string_to_hash_bucket(input, num_buckets, name)  # type: ignore[no-any-return]


@export("compat.v2.strings.to_number")
def string_to_number(input: Any, out_type: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """See `tf.strings.to_number`."""
    return text_numbers.string_to_number(input, out_type, name)  # type: ignore[no-any-return]
