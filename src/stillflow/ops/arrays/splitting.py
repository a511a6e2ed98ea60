"""Splitting tensors along a dimension: Split, SplitV, Unpack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.tensor_shape import Dimension
from stillflow.ops.arrays.stack import pack_axis, stack
from stillflow.ops.forward_declarations import concat
from stillflow.ops.kernels import either, ints, is_handle
from stillflow.ops.samples import Bad, Sample, Samples


def _known_axis(node: Node, index: int, rank: int | None) -> int | None:
    """Return the axis that a scalar input names, where it is known."""
    value = node.value(index)
    if value is None:
        return None
    if node.planning and node.op.type == "SplitV":
        if value.size != 1:
            raise ValueError("split_dim_tensor must have exactly one element.")
        value = value.reshape(())
    if value.ndim:
        raise ValueError(f"Input must be scalar but has rank {value.ndim}")
    if node.planning and rank is not None:
        return run_time_axis(int(value), rank)
    return dims_lib.scalar_axis(int(value), rank)


def run_time_axis(axis: int, rank: int) -> int:
    """Return the axis to split along, checked with the message of TF's kernel."""
    if not -rank <= axis < rank:
        raise ValueError(f"-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {axis}")
    return axis % rank


# ---- Split

split_op = op(
    """
    Split(split_dim: int32, value: T) -> output: num_split*T
    num_split: int >= 1
    T: type
""",
    view=True,
    numbers=("split_dim",),
    batching="vmap",
)


@split_op.shape
def split_shape(node: Node) -> OutputDims:
    dims, count = node.dims(1), node.num_split
    axis = _known_axis(node, 0, dims_lib.rank(dims))
    if axis is None:
        return [dims_lib.unknown(dims_lib.rank(dims))] * count
    dims_lib.with_rank_at_least(dims, axis + 1)
    if dims is None:
        return [None] * count
    if node.planning:
        _even(dims[axis], axis, count)
    size = dims_lib.in_context(
        "Number of ways to split should evenly divide the split dimension",
        dims_lib.divide, dims[axis], count,
    )  # fmt: skip
    return [dims_lib.replace_dim(dims, axis, size)] * count


def _even(size: Any, axis: int, count: int) -> Any:
    if size is not None and size % count:
        raise ValueError(
            "Number of ways to split should evenly divide the split dimension, but got "
            f"split_dim {axis} (size = {size}) and num_split {count}"
        )
    return size // count if size is not None else None


@split_op.value
def split_value(node: Node) -> list[Array] | None:
    axis, value = node.value(0), node.value(1)
    if axis is None or value is None:
        return None
    return np.split(value, node.num_split, int(axis))


def _unwrapped(node: Node, function: Any) -> Callable[..., Any]:
    """Return an op with exactly one output gives it bare."""
    if len(node.outputs) != 1:
        return function
    return lambda *inputs: function(*inputs)[0]


@split_op.kernel
def split_kernel(node: Node) -> Kernel:
    count, part = node.num_split, either(node, torch.tensor_split, np.split, 1)
    axis, dims = node.value(0), node.dims(1)
    if axis is not None and dims_lib.is_known(dims):
        if count == 1:
            return node.same(1)
        return node.call(part, node.inputs[1], count, int(axis))

    def split_at_run_time(axis: Any, value: Any) -> list[Array] | tuple[torch.Tensor, ...]:
        chosen = run_time_axis(int(axis), value.ndim)
        _even(value.shape[chosen], chosen, count)
        return part(value, count, chosen)

    return _unwrapped(node, split_at_run_time)


@split_op.gradient
def split_gradient(node: Node, *grads: Any) -> Gradients:
    return [None, concat.value(list(grads), node.inputs[0])]


@split_op.samples
def split_samples() -> Samples:
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    yield Sample(1, x, num_split=3, fixed=(0,))
    yield Sample(0, np.array([b"a", b"b"], object), num_split=2, fixed=(0,))
    yield Bad(1, x, num_split=4, match="evenly divi")
    yield Bad(2, x, num_split=2, match="must be in range|input rank")


# ---- SplitV

split_v_op = op(
    """
    SplitV(value: T, size_splits: Tlen, split_dim: int32) -> output: num_split*T
    num_split: int >= 1
    T: type
    Tlen: {int32, int64} = int64
""",
    view=True,
    numbers=("size_splits", "split_dim"),
)


@split_v_op.shape
def split_v_shape(node: Node) -> OutputDims:
    dims, count = node.dims(0), node.num_split
    sizes = node.value(1)
    given = node.dims(1)
    if node.planning and dims_lib.is_known(given) and len(given) != 1:
        raise ValueError(
            "size of the split_tensor must be 1-D and have the same elements as outputs got "
            f"{dims_lib.rank(given)} -D and {dims_lib.num_elements(given)} elements"
        )
    axis = _known_axis(node, 2, dims_lib.rank(dims))
    if dims is None:
        return [None] * count
    if not dims:
        raise ValueError("Can't split scalars")
    if axis is None:
        return [dims_lib.unknown(len(dims))] * count
    if sizes is None:
        return [dims_lib.replace_dim(dims, axis, None)] * count
    total = dims[axis]
    if node.planning and total is not None:
        parts: Sequence[Any] = run_time_sizes(sizes.tolist(), count, total)
    else:
        parts = _static_sizes(sizes.tolist(), count, total)
    return [dims_lib.replace_dim(dims, axis, size) for size in parts]


def _static_sizes(sizes: list[int], count: int, total: int | None) -> list[int | None]:
    """Return the sizes of the parts, with a single -1 resolved where that is possible."""
    if len(sizes) != count:
        raise ValueError("Length of size_splits should be equal to num_outputs")
    if sizes.count(-1) > 1:
        raise ValueError("size_splits can only have one -1")
    given = sum(size for size in sizes if size != -1)
    if total is not None and (given > total if -1 in sizes else given != total):
        listed = ",".join(str(size) for size in sizes)
        raise ValueError(f"can't split axis of size {total} into pieces of size [{listed}]")
    parts: list[int | None] = []
    for size in sizes:
        part = total - given if size == -1 and total is not None else size
        if part < -1:
            raise dims_lib.InvalidSize(f"Dimension {part} must be >= 0")
        parts.append(None if part == -1 else part)
    return parts


def run_time_sizes(sizes: list[int], count: int, total: int) -> list[int]:
    """Return the sizes of the parts, checked with the message of TF's kernel."""
    if len(sizes) != count:
        raise ValueError(
            "size of the split_tensor must be 1-D and have the same elements as outputs got "
            f"1 -D and {len(sizes)} elements"
        )
    if count == 1:
        if sizes[0] not in (-1, total):
            raise ValueError(
                "If there is only one output, it must have the same size as the input. Input "
                f"size: {total} output size: {sizes[0]}"
            )
        return [total]
    if sizes.count(-1) > 1:
        raise ValueError("There can only be one -1 in the input.")
    given = sum(size for size in sizes if size != -1)
    if given > total or (given != total and -1 not in sizes):
        raise ValueError(
            "Determined shape must either match input shape along split_dim exactly if fully "
            "specified, or be less than the size of the input along split_dim if not fully "
            f"specified.  Got: {given}"
        )
    parts = [total - given if size == -1 else size for size in sizes]
    for index, size in enumerate(parts):
        if size < 0:
            raise ValueError(f"Split size at index {index} must be >= 0. Got: {size}")
    return parts


def _split_strings(value: Any, sizes: list[int], axis: int) -> list[Array]:
    return np.split(value, np.cumsum(sizes)[:-1], axis)


@split_v_op.value
def split_v_value(node: Node) -> list[Array] | None:
    value, sizes, axis = node.value(0), node.value(1), node.value(2)
    if value is None or sizes is None or axis is None or np.size(axis) != 1:
        return None
    if value.ndim == 0 or not -value.ndim <= int(axis) < value.ndim:
        return None
    sizes = sizes.tolist()
    total = value.shape[int(axis)]
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = total - (sum(sizes) + 1)
    if min(sizes, default=0) < 0 or sum(sizes) != total:
        return None  # the op itself reports the error when it runs
    return np.split(value, np.cumsum(sizes)[:-1], int(axis))


@split_v_op.kernel
def split_v_kernel(node: Node) -> Kernel:
    count, part = node.num_split, either(node, torch.split, _split_strings)
    sizes, axis, dims = node.value(1), node.value(2), node.dims(0)
    if sizes is not None and axis is not None and dims_lib.is_known(dims):
        if count == 1:
            return node.same(0)
        assert dims is not None
        total: Any = dims[int(axis)]
        known = run_time_sizes(sizes.tolist(), count, total)
        return node.call(part, node.inputs[0], known, int(axis))

    def split_at_run_time(
        value: Any, sizes: Any, axis: Any
    ) -> list[Array] | tuple[torch.Tensor, ...]:
        if axis.numel() != 1:
            raise ValueError("split_dim_tensor must have exactly one element.")
        chosen = run_time_axis(int(axis), value.ndim)
        wanted = run_time_sizes(ints(sizes), count, value.shape[chosen])
        return part(value, wanted, chosen)

    return _unwrapped(node, split_at_run_time)


@split_v_op.gradient
def split_v_gradient(node: Node, *grads: Any) -> Gradients:
    return [concat.value(list(grads), node.inputs[2]), None, None]


@split_v_op.samples
def split_v_samples() -> Samples:
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    yield Sample(x, np.array([1, -1, 2]), 1, num_split=3, fixed=(1, 2))
    yield Sample(np.array([b"a", b"b"], object), np.array([2, 0]), 0, num_split=2, fixed=(1, 2))
    yield Bad(x, np.array([1, 2]), 1, num_split=2, match="can't split|Determined shape")


@export("split")
def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """Split a tensor along a dimension.

    Args:
      value: the tensor.
      num_or_size_splits: an integer: so many equal parts; or the parts' sizes as a list or vector,
        one of which may be -1.
      axis: which dimension; negative counts from the back.
      num: how many parts, where that does not follow from the shape of the sizes.
      name: of the operation.

    Raises:
      ValueError: if the number of parts is not known.

    Example:
      >>> a, b = tf.split(tf.range(5), [2, 3])
      >>> print(*tf.Session().run([a, b]))
      [0 1] [2 3 4]
      >>> [x.shape.as_list() for x in tf.split(tf.ones([4, 6]), 3, axis=1)]
      [[4, 2], [4, 2], [4, 2]]
    """
    if type(num_or_size_splits) is int and get_default_graph().runs_at_once:
        return split_op(axis, value, num_split=num_or_size_splits, name=name)
    sizes = convert_to_tensor(num_or_size_splits)
    if isinstance(num_or_size_splits, (int, Dimension)):
        count = int(num_or_size_splits)
        return split_op(axis, value, num_split=count, name=name)
    if sizes._dims == ():
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
            f"Argument provided: {num_or_size_splits}"
        )
    if num is None:
        num = sizes._dims[0] if sizes._dims else None
        if num is None:
            raise ValueError(f"Cannot infer num from shape {num_or_size_splits}")
    return split_v_op(value, sizes, axis, num_split=num, name=name)


# ---- Unpack

unpack_op = op(
    """
    Unpack(value: T) -> output: num*T
    num: int >= 0
    T: type
    axis: int = 0
""",
    view=True,
    batching="vmap",
)


@unpack_op.shape
def unpack_shape(node: Node) -> OutputDims:
    dims, count = node.dims(0), node.num
    if dims is None:
        return [None] * count
    axis = pack_axis(node.axis, len(dims))
    if node.planning and dims[axis] not in (None, count):
        raise ValueError(_wrong_size(axis, count, dims))
    dims_lib.with_value(dims[axis], count)
    return [dims[:axis] + dims[axis + 1 :]] * count


def _wrong_size(axis: int, count: int, dims: Any) -> str:
    shape = dims_lib.to_string(tuple(dims))
    return f"Input shape axis {axis} must equal {count}, got shape {shape}"


@unpack_op.value
def unpack_value(node: Node) -> list[Array] | None:
    value = node.value(0)
    if value is None or not node.num:
        return None
    return _unbind_strings(value, node.axis)


def _unbind_strings(value: Any, axis: int) -> list[Array]:
    # The ellipsis keeps single elements arrays.
    first = np.moveaxis(value, axis, 0)
    return [first[index, ...] for index in range(len(first))]


def _unbind_handles(value: Any, axis: int) -> list[Any]:
    """Parts of an array of handles; a single one is no array."""
    return [np.moveaxis(value, axis, 0)[index] for index in range(value.shape[axis])]


@unpack_op.kernel
def unpack_kernel(node: Node) -> Kernel:
    axis, count = node.axis, node.num
    if is_handle(node.T):
        part = _unbind_handles
    else:
        part = either(node, torch.unbind, _unbind_strings)
    if count == 0:
        return lambda value: []
    if dims_lib.is_known(node.dims(0)) and count > 1:
        return node.call(part, node.inputs[0], axis)

    def unstack_at_run_time(value: Any) -> list[Array] | tuple[torch.Tensor, ...]:
        chosen = pack_axis(axis, value.ndim)
        if value.shape[chosen] != count:
            raise ValueError(_wrong_size(chosen, count, value.shape))
        return part(value, chosen)

    return _unwrapped(node, unstack_at_run_time)


@unpack_op.gradient
def unpack_gradient(node: Node, *grads: Any) -> Gradients:
    return stack(grads, axis=node.axis)


@unpack_op.samples
def unpack_samples() -> Samples:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    yield Sample(x, num=3, axis=-1)
    yield Sample(x[:1], num=1)
    yield Sample(np.array([b"a", b"b"], object), num=2)
    yield Bad(x, num=3, match="must be 3|must equal 3")


@export("unstack")
def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """Return the slices of a tensor along a dimension, which they no longer have.

    Args:
      value: the tensor.
      num: how many, where that does not follow from its shape.
      axis: which dimension; negative counts from the back.
      name: of the operation.

    Raises:
      ValueError: if `axis` is out of range or the number is not known.

    Example:
      >>> a, b = tf.unstack(tf.constant([[1, 2], [3, 4]]))
      >>> print(*tf.Session().run([a, b]))
      [1 2] [3 4]
    """
    if num is None:
        value = convert_to_tensor(value)
        dims = value._dims
        if dims is not None:
            rank = len(dims)
            if not -rank <= axis < rank:
                raise ValueError(f"axis = {axis} not in [{-rank}, {rank})")
            num = dims[axis]
    if num is None:
        raise ValueError(f"Cannot infer num from shape {value.get_shape()}")
    return unpack_op(value, num=num, axis=axis, name=name)
