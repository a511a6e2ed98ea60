"""The functions of arrays in `tf.compat.v2` whose arguments differ from those of `tf`."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays import fill, masks, reverse
from stillflow.ops.arrays import gather as gathering
from stillflow.ops.arrays import gather_nd as gathering_nd
from stillflow.ops.arrays import pad as padding
from stillflow.ops.arrays import shape as shapes
from stillflow.ops.arrays import space_to_batch as space
from stillflow.ops.arrays import transpose as transposing
from stillflow.ops.nn import depth_to_space as depth
from stillflow.util.newer_arguments import handed_on

expand_dims = export("compat.v2.expand_dims")(
    handed_on("input, axis, name=None", shapes, "expand_dims")
)


squeeze = export("compat.v2.squeeze")(handed_on("input, axis=None, name=None", shapes, "squeeze"))


shape = export("compat.v2.shape")(
    handed_on("input, out_type=..., name=None", shapes, "shape", out_type=dtypes.int32)
)


size = export("compat.v2.size")(
    handed_on("input, out_type=..., name=None", shapes, "size", out_type=dtypes.int32)
)


@export("compat.v2.zeros_like")
def zeros_like(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """See `tf.zeros_like`."""
    return fill.zeros_like(input, dtype, name)


@export("compat.v2.ones_like")
def ones_like(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """See `tf.ones_like`."""
    return fill.ones_like(input, dtype, name)


gather = export("compat.v2.gather")(
    handed_on(
        "params, indices, validate_indices=None, axis=None, batch_dims=0, name=None",
        gathering,
        "gather",
    )
)


gather_nd = export("compat.v2.gather_nd")(
    handed_on("params, indices, batch_dims=0, name=None", gathering_nd, "gather_nd")
)


transpose = export("compat.v2.transpose")(
    handed_on('a, perm=None, conjugate=False, name="transpose"', transposing, "transpose")
)


pad = export("compat.v2.pad")(
    handed_on('tensor, paddings, mode="CONSTANT", constant_values=0, name=None', padding, "pad")
)


reverse_sequence = export("compat.v2.reverse_sequence")(
    handed_on(
        "input, seq_lengths, seq_axis=None, batch_axis=None, name=None", reverse, "reverse_sequence"
    )
)


boolean_mask = export("compat.v2.boolean_mask")(
    handed_on('tensor, mask, axis=None, name="boolean_mask"', masks, "boolean_mask")
)


depth_to_space = export("compat.v2.nn.depth_to_space")(
    handed_on('input, block_size, data_format="NHWC", name=None', depth, "depth_to_space")
)


space_to_depth = export("compat.v2.nn.space_to_depth")(
    handed_on('input, block_size, data_format="NHWC", name=None', depth, "space_to_depth")
)


@export("compat.v2.space_to_batch", "compat.v2.nn.space_to_batch")
def space_to_batch(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """See `tf.space_to_batch_nd`."""
    return space.space_to_batch_nd(input, block_shape, paddings, name)


@export("compat.v2.batch_to_space")
def batch_to_space(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """See `tf.batch_to_space_nd`."""
    return space.batch_to_space_nd(input, block_shape, crops, name)
