"""Moving blocks between space, batch and depth: SpaceToBatchND, SpaceToDepth, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients
from stillflow.graph.static_value import static_value
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.pad import torch_order
from stillflow.ops.arrays.stack import stack
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util.renamed import renamed_argument

# ---- Cards

_ND = "T: type\nTblock_shape: {int32, int64} = int32\n"
space_to_batch_nd_op = op(
    "SpaceToBatchND(input: T, block_shape: Tblock_shape, paddings: Tpaddings) -> output: T\n"
    + _ND + "Tpaddings: {int32, int64} = int32",
    view=True, numbers=("block_shape", "paddings"))  # fmt: skip
batch_to_space_nd_op = op(
    "BatchToSpaceND(input: T, block_shape: Tblock_shape, crops: Tcrops) -> output: T\n"
    + _ND + "Tcrops: {int32, int64} = int32",
    view=True, numbers=("block_shape", "crops"))  # fmt: skip
space_to_batch_op = op(
    """
    SpaceToBatch(input: T, paddings: Tpaddings) -> output: T
    T: type
    Tpaddings: {int32, int64} = int32
    block_size: int >= 2
""",
    view=True,
    numbers=("paddings",),
)
batch_to_space_op = op(
    """
    BatchToSpace(input: T, crops: Tidx) -> output: T
    T: type
    block_size: int >= 2
    Tidx: {int32, int64} = int32
""",
    view=True,
    numbers=("crops",),
)


def _block(node: Node) -> tuple[int, Sequence[int] | None]:
    """Return the number of block dimensions, and the block's shape where it is known."""
    if "block_size" in node.op.attrs:
        return 2, (node.block_size, node.block_size)
    dims = node.dims(1)
    if dims is None or len(dims) != 1:
        raise ValueError("block_shape must have rank 1.")
    if dims[0] is None:
        raise ValueError("block_shape must have known size.")
    value = node.value(1)
    return dims[0], None if value is None else value.tolist()


def _blocks_of(node: Node, count: int) -> dims_lib.Dims:
    """Return the shape of the input, which has at least `count` dimensions after the batch."""
    if "block_size" in node.op.attrs:
        return dims_lib.with_rank(node.dims(0), 4)
    return dims_lib.with_rank_at_least(node.dims(0), count + 1)


def _margins(node: Node) -> list[list[int]] | None:
    value = node.value(len(node.inputs) - 1)
    return None if value is None else value.tolist()


def _run_time(node: Node) -> tuple[Any, ...] | None:
    """Shape, block and margins when a plan is made and all of them are known."""
    _, block = _block(node)
    margins, dims = _margins(node), node.dims(0)
    if node.planning and dims is not None and len(dims) != 4 and "block_size" in node.op.attrs:
        raise ValueError(f"Input rank should be: 4instead of: {len(dims)}")
    if not node.planning or block is None or margins is None or not dims_lib.is_known(dims):
        return None
    return dims, block, margins


def space_to_batch_shape(node: Node) -> Any:
    if node.planning and node.dims(len(node.inputs) - 1) is None:
        return None
    known = _run_time(node)
    if known is not None:
        return _to_batch_dims(*known)
    count, block = _block(node)
    dims = _blocks_of(node, count)
    dims_lib.merge(node.dims(len(node.inputs) - 1), (count, 2))
    margins = _margins(node)
    batch = _scaled_batch(dims_lib.dim(dims, 0), block, count, divide=False)
    sizes: list[Any] = [None] * count
    for axis, (start, end) in enumerate(margins or ()):
        if start < 0 or end < 0:
            raise ValueError("paddings cannot be negative")
        if block is not None:
            padded = dims_lib.add(dims_lib.dim(dims, axis + 1), start + end)
            sizes[axis] = dims_lib.divide(padded, block[axis])
    return dims_lib.concat((batch, *sizes), dims_lib.subshape(dims, count + 1))


def batch_to_space_shape(node: Node) -> Any:
    known = _run_time(node)
    if known is not None:
        return _to_space_dims(*known)
    count, block = _block(node)
    dims = _blocks_of(node, count)
    dims_lib.merge(node.dims(len(node.inputs) - 1), (count, 2))
    margins = _margins(node)
    batch = _scaled_batch(dims_lib.dim(dims, 0), block, count, divide=True)
    sizes: list[Any] = [None] * count
    for axis, (start, end) in enumerate(margins or ()):
        if start < 0 or end < 0:
            raise ValueError("crops cannot be negative")
        if block is not None:
            whole = dims_lib.multiply(dims_lib.dim(dims, axis + 1), block[axis])
            sizes[axis] = dims_lib.subtract(dims_lib.subtract(whole, start), end)
    return dims_lib.concat((batch, *sizes), dims_lib.subshape(dims, count + 1))


def _scaled_batch(batch: Any, block: Any, count: int, divide: bool) -> int | None:
    if block is None:
        return batch if count == 0 else None
    for size in block:
        if size < 1:
            raise ValueError("block_shape must be positive")
        if batch is not None:
            batch = dims_lib.divide(batch, size) if divide else dims_lib.multiply(batch, size)
    return batch


def _check_block(dims: Sequence[int], block: Sequence[int], margins: Any, what: str) -> None:
    count = len(block)
    if len(dims) < count + 1:
        raise ValueError(f"input rank should be >= {count + 1} instead of {len(dims)}")
    if len(margins) != count or any(len(pair) != 2 for pair in margins):
        raise ValueError(f"{what} should have shape [{count}, 2] instead of [{len(margins)}]")
    if prod(block) <= 0 or any(size < 1 for size in block):
        raise ValueError(f"Product of block sizes must be positive, got {prod(block)}")
    if any(number < 0 for pair in margins for number in pair):
        raise ValueError(f"{what.capitalize()} must be non-negative")


def _to_batch_dims(dims: Sequence[int], block: Sequence[int], margins: Any) -> tuple[int, ...]:
    """Return the shape of SpaceToBatchND's result, checked with the message of TF's kernel."""
    _check_block(dims, block, margins, "paddings")
    sizes = []
    for axis, (size, pair) in enumerate(zip(block, margins, strict=True)):
        padded = dims[axis + 1] + sum(pair)
        if padded % size:
            raise ValueError(
                f"padded_shape[{axis}]={padded} is not divisible by block_shape[{axis}]={size}"
            )
        sizes.append(padded // size)
    return (dims[0] * prod(block), *sizes, *dims[len(block) + 1 :])


def _to_space_dims(dims: Sequence[int], block: Sequence[int], margins: Any) -> tuple[int, ...]:
    """Return the shape of BatchToSpaceND's result, checked with the message of TF's kernel."""
    _check_block(dims, block, margins, "crops")
    if dims[0] % prod(block):
        raise ValueError(
            f"Input batch dimension ({dims[0]}) is not divisible by product of block sizes "
            f"({prod(block)})"
        )
    sizes = []
    for axis, (size, pair) in enumerate(zip(block, margins, strict=True)):
        cropped = dims[axis + 1] * size - sum(pair)
        if cropped < 0:
            raise ValueError(f"cropped_shape[{axis}]={cropped} must be non-negative")
        sizes.append(cropped)
    return (dims[0] // prod(block), *sizes, *dims[len(block) + 1 :])


# ---- Kernels


def permuted(x: Any, order: Sequence[int]) -> torch.Tensor | Array:
    return x.transpose(order) if isinstance(x, np.ndarray) else x.permute(*order)


def _to_batch(x: Any, block: Sequence[int], margins: Any) -> torch.Tensor:
    dims, count = _to_batch_dims(x.shape, block, margins), len(block)
    if any(number for pair in margins for number in pair):
        pairs = [[0, 0], *margins, *[[0, 0]] * (x.ndim - count - 1)]
        if isinstance(x, np.ndarray):
            x = np.pad(x, pairs, constant_values=b"")
        else:
            x = torch.constant_pad_nd(x, torch_order(pairs), 0)
    split = [x.shape[0]]
    for axis, size in enumerate(block):
        split += [dims[axis + 1], size]
    x = x.reshape(*split, *x.shape[count + 1 :])
    inner = range(2 * count + 1, x.ndim)
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count + 1, 2), *inner]
    return permuted(x, order).reshape(dims)


def _to_space(x: Any, block: Sequence[int], margins: Any) -> torch.Tensor:
    dims, count = _to_space_dims(x.shape, block, margins), len(block)
    rest = tuple(x.shape[count + 1 :])
    x = x.reshape(*block, dims[0], *x.shape[1:])
    order = [count]
    for axis in range(count):
        order += [count + 1 + axis, axis]
    x = permuted(x, [*order, *range(2 * count + 1, x.ndim)])
    whole = [x.shape[1 + 2 * axis] * block[axis] for axis in range(count)]
    x = x.reshape(dims[0], *whole, *rest)
    cut = [slice(pair[0], size - pair[1]) for pair, size in zip(margins, whole, strict=True)]
    return x[(slice(None), *cut)]


def _block_kernel(function: Any) -> Callable[..., Any]:
    def kernel(node: Node) -> Any:
        fixed = (node.block_size,) * 2 if "block_size" in node.op.attrs else None
        margins = _margins(node)
        _, block = (2, fixed) if fixed else _block(node)
        if block is not None and margins is not None:
            return node.call(function, node.inputs[0], block, margins)
        if fixed is not None:
            return lambda x, margins: function(x, fixed, margins.tolist())
        return lambda x, block, margins: function(x, block.tolist(), margins.tolist())

    return kernel


def _nd_gradient(inverse: Any) -> Callable[..., Any]:
    def gradient(node: Node, grad: Any) -> list[Tensor | None]:
        return [inverse(grad, node.inputs[1], node.inputs[2]), None, None]

    return gradient


@space_to_batch_op.gradient
def space_to_batch_gradient(node: Node, grad: Any) -> Gradients:
    return [batch_to_space(grad, node.inputs[1], block_size=node.block_size), None]


@batch_to_space_op.gradient
def batch_to_space_gradient(node: Node, grad: Any) -> Gradients:
    return [space_to_batch(grad, node.inputs[1], block_size=node.block_size), None]


space_to_batch_nd_op.gradient(_nd_gradient(batch_to_space_nd_op))
batch_to_space_nd_op.gradient(_nd_gradient(space_to_batch_nd_op))
for _card in (space_to_batch_nd_op, space_to_batch_op):
    _card.shape(space_to_batch_shape)
    _card.kernel(_block_kernel(_to_batch))
for _card in (batch_to_space_nd_op, batch_to_space_op):
    _card.shape(batch_to_space_shape)
    _card.kernel(_block_kernel(_to_space))


@space_to_batch_nd_op.samples
def space_to_batch_nd_samples() -> Samples:
    x = np.arange(12, dtype=np.float32).reshape(1, 3, 4)
    yield Sample(x, [2], [[0, 1]], fixed=(1, 2))
    yield Sample(x, [2, 2], [[1, 0], [0, 0]], fixed=(1, 2))
    yield Bad(x, [2], [[0, 0]], match="evenly divisible|not divisible by block_shape")


@batch_to_space_nd_op.samples
def batch_to_space_nd_samples() -> Samples:
    x = np.arange(12, dtype=np.float32).reshape(4, 3, 1)
    yield Sample(x, [2], [[0, 1]], fixed=(1, 2))
    yield Bad(x, [3], [[0, 0]], match="evenly divisible|not divisible by product")


@space_to_batch_op.samples
def space_to_batch_samples() -> Samples:
    x = np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1)
    yield Sample(x, [[1, 0], [0, 0]], block_size=2, fixed=(1,))
    yield Bad(x, [[0, 0], [0, 0]], block_size=2, match="evenly divisible|not divisible by")


@batch_to_space_op.samples
def batch_to_space_samples() -> Samples:
    x = np.arange(24, dtype=np.float32).reshape(4, 3, 2, 1)
    yield Sample(x, [[1, 0], [0, 2]], block_size=2, fixed=(1,))
    yield Bad(x[:3], [[0, 0], [0, 0]], block_size=2, match="evenly divisible|not divisible by")


# ---- Public functions


def _square(block_size: Any) -> np.ndarray:
    return np.array([block_size, block_size], dtype=np.int64)


@export("space_to_batch_nd", "manip.space_to_batch_nd")
def space_to_batch_nd(
    input: Any, block_shape: Any, paddings: Any, name: str | None = None
) -> Tensor:
    """Split spatial dimensions into blocks and move the positions inside blocks to the batch.

    Args:
      input: `[batch, spatial..., rest...]`.
      block_shape: an integer vector, the size of the blocks.
      paddings: zeros added before and after each spatial dimension first, `[n, 2]`.
      name: of the operation.
    """
    return space_to_batch_nd_op(input, block_shape, paddings, name=name)


@export("batch_to_space_nd", "manip.batch_to_space_nd")
def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """Return the inverse of `space_to_batch_nd`, after which `crops` are cut off."""
    return batch_to_space_nd_op(input, block_shape, crops, name=name)


@export("space_to_batch", "nn.space_to_batch")
def space_to_batch(
    input: Any,
    paddings: Any,
    block_size: Any = None,
    name: str | None = None,
    block_shape: Any = None,
) -> Tensor:
    """`space_to_batch_nd` for images `[batch, height, width, depth]` and square blocks."""
    block_size = renamed_argument("block_shape", block_shape, "block_size", block_size)
    result = space_to_batch_nd(input, paddings=paddings, block_shape=_square(block_size), name=name)
    result.set_shape(result.get_shape().with_rank(4))
    return result


@export("batch_to_space")
def batch_to_space(
    input: Any,
    crops: Any,
    block_size: Any,
    name: str | None = None,
    block_shape: Any = None,
) -> Tensor:
    """`batch_to_space_nd` for images `[batch, height, width, depth]` and square blocks."""
    block_size = renamed_argument("block_shape", block_shape, "block_size", block_size)
    result = batch_to_space_nd(input, crops=crops, block_shape=_square(block_size), name=name)
    result.set_shape(result.get_shape().with_rank(4))
    return result


@export("required_space_to_batch_paddings")
def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return the paddings that make sizes divisible by a block, and the crops that undo them.

    Args:
      input_shape: the spatial sizes, int32.
      block_shape: the block's sizes, int32; how many must be known.
      base_paddings: the least paddings, `[n, 2]`; none by default.
      name: of the scope.

    Returns:
      Two `[n, 2]` tensors: paddings and crops.
    """
    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        input_shape = convert_to_tensor(input_shape, dtype=dtypes.int32, name="input_shape")
        block_shape = convert_to_tensor(block_shape, dtype=dtypes.int32, name="block_shape")
        block_shape.get_shape().assert_is_fully_defined()
        block_shape.get_shape().assert_has_rank(1)
        count = block_shape._dims[0]
        if count == 0:
            return zeros([0, 2], dtypes.int32), zeros([0, 2], dtypes.int32)
        input_shape.get_shape().assert_is_compatible_with([count])
        if base_paddings is not None:
            base = convert_to_tensor(base_paddings, dtype=dtypes.int32, name="base_paddings")
            base.get_shape().assert_is_compatible_with([count, 2])
        else:
            base = zeros([count, 2], dtypes.int32)
        given: list[Any] = [block_shape, input_shape, base]
        known = [static_value(item) for item in given]
        if all(value is not None for value in known):
            given = known
        return _paddings_and_crops(*given, count)  # type: ignore[call-arg]


def _paddings_and_crops(block: Any, sizes: Any, base: Any, count: int) -> tuple[Tensor, Tensor]:
    start, end = base[:, 0], base[:, 1]
    full = sizes + start + end
    extra = (block - full % block) % block
    whole_end = end + extra
    paddings = stack([[start[i], whole_end[i]] for i in range(count)], name="paddings")
    return paddings, stack([[0, extra[i]] for i in range(count)], name="crops")
