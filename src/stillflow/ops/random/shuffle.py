"""Operations that rearrange or cut an array at random: RandomShuffle and RandomCrop."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from stillflow.errors import failed_precondition
from stillflow.graph import dims, dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.random_seed import get_seed
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.kernels import either, moving
from stillflow.ops.math.reductions import reduce_all
from stillflow.ops.random import native_kernels
from stillflow.ops.random.basic import random_uniform
from stillflow.ops.random.permutation import permutation
from stillflow.ops.random.philox import Philox
from stillflow.ops.random.streams import OpStream, is_free, op_stream
from stillflow.ops.samples import Bad, Sample, Samples

random_shuffle_op = op(
    """
    RandomShuffle(value: T) -> output: T
    seed: int = 0
    seed2: int = 0
    T: type
    flags: stateful
    """,
    view=True,
)


@random_shuffle_op.shape
def random_shuffle_shape(node: Node) -> OutputDims:
    return node.dims(0)


@random_shuffle_op.kernel
def random_shuffle_kernel(node: Node) -> Kernel:
    # Without a seed any permutation will do, and torch has a faster way to one.
    stream = None if is_free(node) else op_stream(node)
    tensors = moving(node.dtype(0), partial(_shuffled_tensor, stream=stream))
    return either(node, tensors, partial(_shuffled_array, stream=stream))


def _order(stream: OpStream | None, shape: Any) -> np.ndarray | None:
    """Return the order of the rows of an array of this shape; None if nothing is to shuffle."""
    if not _has_rows(shape):
        return None
    if stream is None:
        order: np.ndarray = torch.randperm(shape[0]).numpy()
        return order
    return permutation(_position(stream, shape[0]), shape[0])


def _has_rows(shape: Any) -> bool:
    return len(shape) > 0 and shape[0] > 1 and 0 not in shape


def _position(stream: OpStream, rows: int) -> Philox:
    """Return the position of the words that shuffle the rows."""
    return stream.reserve(-(-(rows - 1) // 4))


def _shuffled_array(value: np.ndarray, stream: OpStream | None) -> np.ndarray:
    order = _order(stream, value.shape)
    return value if order is None else value[order]


def _shuffled_tensor(value: Any, stream: OpStream | None) -> torch.Tensor:
    if stream is not None and _has_rows(value.shape) and native_kernels.takes_shuffle(value):
        return native_kernels.shuffled(value, _position(stream, len(value)))
    order = _order(stream, value.shape)
    if order is None:
        return value
    return value.index_select(0, torch.from_numpy(order).to(value.device))


@random_shuffle_op.samples
def random_shuffle_samples() -> Samples:
    yield Sample(np.arange(6.0, dtype=np.float32).reshape(3, 2), seed=5, seed2=6, grad=False)
    yield Sample(np.array(["a", "b", "c"]), seed=5, seed2=6)
    yield Sample(np.float32(1.0), seed=5, seed2=6, grad=False)


random_crop_op = op(
    """
    RandomCrop(image: T, size: int64) -> output: T
    T: {uint8, int8, int16, int32, int64, float, double}
    seed: int = 0
    seed2: int = 0
    flags: stateful
""",
    view=True,
    differentiable=False,
    numbers=("size",),
)


@random_crop_op.shape
def random_crop_shape(node: Node) -> OutputDims:
    image = dims.with_rank(node.dims(0), 3)
    (length,) = dims.with_rank(node.dims(1), 1)
    dims.with_value(length, 2)
    size = node.value(1)
    height, width = (None, None) if size is None else (int(size[0]), int(size[1]))
    return (height, width, image[2])


@random_crop_op.kernel
def random_crop_kernel(node: Node) -> Kernel:
    stream = op_stream(node)

    def run(image: Any, size: Any) -> Any:
        height, width = size.tolist()
        spare_height, spare_width = image.shape[0] - height, image.shape[1] - width
        for side, spare, given, wanted in (
            ("width", spare_width, image.shape[1], width),
            ("height", spare_height, image.shape[0], height),
        ):
            if spare < 0:
                raise failed_precondition(
                    f"{side} must be >= target_{side}: {side} = {given}, target_{side} = {wanted}"
                )
        words = iter(stream.reserve(1).words(2).tolist())
        left = next(words) % (spare_width + 1) if spare_width else 0
        top = next(words) % (spare_height + 1) if spare_height else 0
        return image[top : top + height, left : left + width]

    return run


@random_crop_op.samples
def random_crop_samples() -> Samples:
    image = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    yield Sample(image, [2, 2], seed=5, seed2=6, fixed=(1,), grad=False)
    yield Bad(image[0], [2, 2], match="Shape must be rank 3 but is rank 2")


@export("random.shuffle", "random_shuffle")
def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Put the rows of a tensor in random order.

    Args:
      value: a tensor, shuffled along its first dimension.
      seed: the operation's seed; see `tf.set_random_seed`.
      name: of the operation.
    """
    seed1, seed2 = get_seed(seed)
    shuffled: Tensor = random_shuffle_op(value, seed=seed1, seed2=seed2, name=name)
    return shuffled


@export("image.random_crop", "random_crop")
def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Cuts a part of the given size out of a tensor, anywhere with equal probability.

    Args:
      value: a tensor.
      size: the part's sizes, one per dimension; give a dimension's full size to leave it whole.
      seed: the operation's seed; see `tf.set_random_seed`.
      name: of the operation.

    Example:
      >>> tf.random_crop(tf.ones([32, 32, 3]), size=[24, 24, 3])
      <tf.Tensor 'random_crop:0' shape=(24, 24, 3) dtype=float32>
    """
    with name_scope(name, "random_crop", [value, size]) as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtype=dtypes.int32, name="size")
        shape = shape_of(value)
        check = Assert(
            reduce_all(shape >= size),
            ["Need value.shape >= size, got ", shape, size],
            summarize=1000,
        )
        shape = with_dependencies([check], shape)
        limit = shape - size + 1
        draws = random_uniform(shape_of(shape), dtype=size.dtype, maxval=size.dtype.max, seed=seed)
        return slice_(value, draws % limit, size, name=scope)
