"""Joining tensors along a dimension: ConcatV2, Pack, and their relatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops import forward_declarations
from stillflow.ops.arrays.shape import expand_dims
from stillflow.ops.arrays.splitting import split as split
from stillflow.ops.arrays.splitting import unstack as unstack
from stillflow.ops.arrays.stack import stack as stack
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.input_ranks import checked_rank
from stillflow.ops.kernels import either, index_tensor, int_array, ints
from stillflow.ops.samples import Bad, Sample, Samples

# ---- ConcatV2, Concat

concat_v2_op = op(
    """
    ConcatV2(values: N*T, axis: Tidx) -> output: T
    N: int >= 2
    T: type
    Tidx: {int32, int64} = int32
""",
    numbers=("axis",),
    batching="vmap",
)
concat_op = op(
    """
    Concat(concat_dim: int32, values: N*T) -> output: T
    N: int >= 2
    T: type
""",
    numbers=("concat_dim",),
)


def _parts(node: Node) -> tuple[int, range]:
    """Return the position of the axis among the inputs, and the positions of the values."""
    if node.op.type == "ConcatV2":
        return node.N, range(node.N)
    return 0, range(1, node.N + 1)


def concat_shape(node: Node) -> tuple[int | None, ...] | None:
    axis_index, positions = _parts(node)
    name = "axis" if node.op.type == "ConcatV2" else "concat_dim"
    refusal = f"{name} tensor should be a scalar integer, but got shape "
    checked_rank(node, axis_index, 0, refusal)
    axis = node.value(axis_index)
    parts = [node.dims(index) for index in positions]
    if axis is None:
        return None if node.planning else _some_rank(parts)
    if node.planning and dims_lib.all_known(parts):
        return joined_shape(parts, int(axis))
    return _merged(parts, int(axis))


def _some_rank(parts: list[Any]) -> tuple[int | None, ...] | None:
    rank = next((len(dims) for dims in parts if dims is not None), None)
    if rank is None:
        return None
    if rank == 0:
        raise ValueError("Can't concatenate scalars (use tf.stack instead)")
    for dims in parts:
        dims_lib.with_rank(dims, rank)
    return (None,) * rank


def _merged(parts: list[Any], axis: int) -> Any:
    """Return the sizes except the axis, merged from the last part on, and the sum along it."""
    least = -axis if axis < 0 else axis + 1
    before: Any = None
    after: Any = None
    middle: Any = 0
    for number, dims in enumerate(reversed(parts)):
        dims_lib.with_rank_at_least(dims, least)
        front = dims_lib.subshape(dims, 0, axis)
        back = () if axis == -1 else dims_lib.subshape(dims, axis + 1)
        before = dims_lib.merge(front, before) if number else front
        middle = dims_lib.add(middle, dims_lib.dim(dims, axis))
        after = dims_lib.merge(back, after) if number else back
    return dims_lib.concat(dims_lib.concat(before, (middle,)), after)


def joined_shape(parts: Sequence[Sequence[int]], axis: int) -> tuple[int, ...]:
    """Return the shape of a concatenation; its ValueErrors have the messages of TF's kernel."""
    first = tuple(parts[0])
    rank = len(first)
    if not -rank <= axis < rank:
        raise ValueError(
            "ConcatOp : Expected concatenating dimensions in the range "
            f"[{-rank}, {rank}), but got {axis}"
        )
    axis %= rank
    total = 0
    for index, dims in enumerate(parts):
        what = ""
        if len(dims) != rank:
            what = "Ranks of all input tensors should match"
        elif any(a != b and i != axis for i, (a, b) in enumerate(zip(dims, first, strict=True))):
            what = "Dimensions of inputs should match"
        if what:
            raise ValueError(
                f"ConcatOp : {what}: shape[0] = {dims_lib.to_string(first)} vs. "
                f"shape[{index}] = {dims_lib.to_string(tuple(dims))}"
            )
        total += dims[axis]
    return (*first[:axis], total, *first[axis + 1 :])


def concat_value(node: Node) -> Array | None:
    axis_index, positions = _parts(node)
    axis, values = node.value(axis_index), node.values(positions)
    if axis is None or values is None:
        return None
    return np.concatenate(values, axis=int(axis))


@dataclass(frozen=True)
class Joined:
    """Function that joins some of its inputs along an axis.

    Attributes:
      join: `torch.cat`, or NumPy's function.
      start, stop: which inputs.
      axis: along which they are joined.
    """

    __name__ = "concat"  # torch.fx names nodes by it

    join: Callable[..., Any]
    start: int
    stop: int
    axis: int

    def __call__(self, *inputs: Any) -> Any:
        return self.join(inputs[self.start : self.stop], self.axis)


def concat_kernel(node: Node) -> Callable[..., Any]:
    join = either(node, torch.cat, np.concatenate, 0 if node.op.type == "ConcatV2" else 1)
    axis_index, positions = _parts(node)
    axis = node.value(axis_index)
    start, stop = positions.start, positions.stop
    if axis is not None and all(dims_lib.is_known(node.dims(index)) for index in positions):
        bound = int(axis)
        return Joined(join, start, stop, bound)

    def join_at_run_time(*inputs: Any) -> torch.Tensor | Array:
        chosen = int(inputs[axis_index])
        parts = inputs[start:stop]
        joined_shape([part.shape for part in parts], chosen)
        return join(parts, chosen)

    return join_at_run_time


def concat_gradient(node: Node, grad: Any) -> list[Tensor | IndexedSlices | None]:
    from stillflow.ops.arrays.concat_gradients import concat_gradients

    axis_index, positions = _parts(node)
    values = [node.inputs[index] for index in positions]
    grads = concat_gradients(grad, values, node.inputs[axis_index])
    return [None, *grads] if axis_index == 0 else [*grads, None]


for _card in (concat_v2_op, concat_op):
    _card.shape(concat_shape)
    _card.value(concat_value)
    _card.kernel(concat_kernel)
    _card.gradient(concat_gradient)


@concat_v2_op.samples
def concat_v2_samples() -> Samples:
    x, y = np.ones((2, 3), np.float32), np.zeros((2, 1), np.float32)
    yield Sample([x, y], -1, fixed=(2,))
    yield Sample([x, x], np.int64(0), fixed=(2,), grad=False)  # TF cannot, for such an axis
    yield Sample([np.array([b"a"], object), np.array([b"b"], object)], 0, fixed=(2,))
    yield Bad([x, y], 0, match="Dimension|must be equal")


@concat_op.samples
def concat_samples() -> Samples:
    yield Sample(1, [np.ones((2, 3), np.float32), np.zeros((2, 1), np.float32)], fixed=(0,))


@export("concat")
@dispatchable
def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Join tensors along an existing dimension.

    Args:
      values: a list of tensors of one type, whose shapes differ along `axis` only.
      axis: scalar: which dimension; negative counts from the back.
      name: of the operation.

    Raises:
      ValueError: if the shapes are known not to fit.

    Example:
      >>> print(tf.Session().run(tf.concat([[[1, 2]], [[3, 4]]], axis=0)))
      [[1 2]
       [3 4]]
      >>> print(tf.Session().run(tf.concat([[[1, 2]], [[3, 4]]], axis=1)))
      [[1 2 3 4]]
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        with name_scope(name):
            scalar = convert_to_tensor(axis, name="concat_dim", dtype=dtypes.int32)
            scalar.get_shape().assert_has_rank(0)
            return identity(values[0], name=name)
    return concat_v2_op(values, axis, name=name)


forward_declarations.concat.provide(concat)


# ---- ConcatOffset

concat_offset_op = op(
    """
    ConcatOffset(concat_dim: int32, shape: N*int32) -> offset: N*int32
    N: int >= 2
""",
    differentiable=False,
    numbers=("concat_dim",),
)


@concat_offset_op.shape
def concat_offset_shape(node: Node) -> OutputDims:
    return [node.dims(index + 1) for index in range(node.N)]


def concat_offsets(axis: int, shapes: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return each tensor's offset in the concatenated one; ValueError if shapes do not fit."""
    first = list(shapes[0])
    rank = len(first)
    position = axis + rank if axis < 0 else axis
    if not 0 <= position < rank:
        raise ValueError(f"Concat dim is out of range: {axis} vs. {rank}")
    offsets, total = [], 0
    for index, shape in enumerate(shapes):
        if len(shape) != rank:
            raise ValueError(f"input {index} should contain {rank} elements, but got {len(shape)}")
        if any(a != b and i != position for i, (a, b) in enumerate(zip(shape, first, strict=True))):
            mine, other = (" ".join(str(d) for d in s) for s in (shape, first))
            raise ValueError(
                f"All dimensions except {position} must match. Input {index} has shape "
                f"[{mine}] and doesn't match input 0 with shape [{other}]."
            )
        offset = [0] * rank
        offset[position] = total
        total += shape[position]
        offsets.append(offset)
    return offsets


@concat_offset_op.value
def concat_offset_value(node: Node) -> list[Array] | None:
    values = node.values(range(node.N + 1))
    if values is None:
        return None
    if [value.ndim for value in values] != [0, *[1] * node.N]:
        return None
    try:
        found = concat_offsets(int(values[0]), [value.tolist() for value in values[1:]])
    except ValueError:
        return None
    return [int_array(offset, dtypes.int32) for offset in found]


@concat_offset_op.kernel
def concat_offset_kernel(node: Node) -> Kernel:
    def offsets(axis: Any, *shapes: Any) -> list[torch.Tensor]:
        if axis.ndim:
            text = dims_lib.to_string(tuple(axis.shape))
            raise ValueError(f"Concat dim tensor should be a scalar integer, but got shape {text}")
        for index, shape in enumerate(shapes):
            if shape.ndim != 1:
                text = dims_lib.to_string(tuple(shape.shape))
                raise ValueError(f"input {index + 1} should be a vector, but got shape {text}")
        found = concat_offsets(int(axis), [ints(shape) for shape in shapes])
        return [index_tensor(offset, dtypes.int32) for offset in found]

    return offsets


@concat_offset_op.samples
def concat_offset_samples() -> Samples:
    shapes = [np.array([2, 2], np.int32), np.array([2, 3], np.int32)]
    yield Sample(np.int32(1), shapes)
    yield Bad(np.int32(0), shapes, match="All dimensions except 0 must match")
    yield Bad(
        np.array([1], np.int32), shapes, match=r"should be a scalar integer, but got shape \[1\]"
    )


# ---- ParallelConcat

parallel_concat_op = op("""
    ParallelConcat(values: N*T) -> output: T
    N: int >= 1
    T: type
    shape: shape
""")


@parallel_concat_op.shape
def parallel_concat_shape(node: Node) -> OutputDims:
    shape = node.op.attrs["shape"]._dims
    if not dims_lib.is_known(shape):
        raise ValueError("shape attr must be fully defined.")
    current = dims_lib.replace_dim(shape, 0, 1)
    for index in range(node.N):
        dims = node.dims(index)
        if not dims_lib.is_known(dims):
            if node.planning:
                continue
            raise ValueError("All input shapes must be fully defined.")
        assert dims is not None and shape is not None
        if not dims or dims[0] != 1:
            raise ValueError("Size of first dimension must be 1.")
        current = dims_lib.in_context(
            f"From merging shape {index} with other shapes.", dims_lib.merge, dims, current
        )
    if node.planning and shape[0] != node.N:
        raise ValueError(f"The shape has {shape[0]} rows for {node.N} values")
    return shape


@parallel_concat_op.kernel
def parallel_concat_kernel(node: Node) -> Kernel:
    join = either(node, torch.cat, np.concatenate)
    return lambda *parts: join(parts, 0)


@parallel_concat_op.samples
def parallel_concat_samples() -> Samples:
    x = np.ones((1, 3), np.float32)
    yield Sample([x, x], shape=TensorShape([2, 3]))


@export("parallel_stack")
def parallel_stack(values: Sequence[Any], name: str = "parallel_stack") -> Tensor:
    """Stacks tensors of one fully known shape along a new first dimension.

    Args:
      values: a list of tensors.
      name: of the operation.
    """
    with name_scope(name):
        first = convert_to_tensor(values[0])
        shape = TensorShape([len(values)]).concatenate(first.get_shape())
        parts = [expand_dims(value, 0) for value in values]
        return parallel_concat_op(parts, shape=shape)
