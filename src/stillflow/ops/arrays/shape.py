"""Shapes as tensors, and changes of shape that leave all elements in place."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from stillflow.errors import invalid_argument
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.sparse_tensor import is_sparse
from stillflow.ops.arrays.broadcast import broadcast_args_op as broadcast_args_op
from stillflow.ops.arrays.broadcast import (
    broadcast_gradient_args_op as broadcast_gradient_args_op,
)
from stillflow.ops.arrays.broadcast import broadcast_to as broadcast_to
from stillflow.ops.constants import constant
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.forward_declarations import prod_op
from stillflow.ops.input_ranks import checked_rank
from stillflow.ops.kernels import either, index_maker, index_tensor, int_array, ints
from stillflow.ops.memory_limits import MOST_DIMENSIONS, require_possible
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util.renamed import renamed_argument

# ---- Shape, Size, Rank

# Traits of operations that look at shapes alone, and of those that hand on their input's memory.
_OF_SHAPES: Any = {"differentiable": False, "latency": "none", "metadata": True}
_ALIAS: Any = {"view": True, "latency": "none", "batching": "vmap", "aliases": True}

shape_op = op(
    "Shape(input: T) -> output: out_type; T: type; out_type: {int32, int64} = int32",
    **_OF_SHAPES,
)


@shape_op.shape
def shape_shape(node: Node) -> OutputDims:
    dims = node.dims(0)
    return (None if dims is None else len(dims),)


@shape_op.value
def shape_value(node: Node) -> Array | None:
    dims = node.dims(0)
    if dims is None or None in dims:
        return None
    return int_array(dims, node.out_type)


def run_time_shape(x: Any, dtype: DType) -> torch.Tensor:
    return index_tensor([*x.shape], dtype)


@shape_op.kernel
def shape_kernel(node: Node) -> Kernel:
    return node.call(run_time_shape, node.inputs[0], node.out_type)


@shape_op.samples
def shape_samples() -> Samples:
    yield Sample(np.zeros((2, 0, 3), np.float32))
    yield Sample(np.zeros((2, 3), np.float32), out_type=dtypes.int64)
    yield Sample(np.array(b"text", object))


size_op = op(
    "Size(input: T) -> output: out_type; T: type; out_type: {int32, int64} = int32",
    **_OF_SHAPES,
)


@size_op.shape
def size_shape(node: Node) -> OutputDims:
    return ()


def _is_known_to_python_only(node: Node) -> bool:
    """Return True if `constant_value` knows a size or rank that TF's shape functions do not use."""
    return not node.planning and node.value(0) is None


@size_op.value
def size_value(node: Node) -> Array | None:
    if _is_known_to_python_only(node):
        return None
    dims = node.dims(0)
    if dims is None or None in dims:
        value = node.value(0)
        return None if value is None else int_array(value.size, node.out_type)
    return int_array(dims_lib.num_elements(dims), node.out_type)


@size_op.kernel
def size_kernel(node: Node) -> Kernel:
    make = index_maker(node.out_type)
    return lambda x: make(x.size if isinstance(x, np.ndarray) else x.numel())


@size_op.samples
def size_samples() -> Samples:
    yield Sample(np.zeros((2, 3), np.float32))


rank_op = op("Rank(input: T) -> output: int32; T: type", **_OF_SHAPES)
rank_op.shape(size_shape)


@rank_op.value
def rank_value(node: Node) -> Array | None:
    if _is_known_to_python_only(node):
        return None
    dims = node.dims(0)
    return None if dims is None else np.array(len(dims), np.int32)


@rank_op.kernel
def rank_kernel(node: Node) -> Kernel:
    return lambda x: torch.tensor(x.ndim, dtype=torch.int32)


@rank_op.samples
def rank_samples() -> Samples:
    yield Sample(np.zeros((2, 3), np.float32))


@export("shape")
def shape(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Tensor:
    """Return the shape of a tensor as an integer vector; a constant where it is known now.

    Args:
      input: a tensor or sparse tensor.
      name: of the operation.
      out_type: `tf.int32` or `tf.int64`.

    Example:
      >>> x = tf.placeholder(tf.float32, [None, 3])
      >>> print(x.shape, tf.Session().run(tf.shape(x), {x: [[1, 2, 3]] * 5}))
      (?, 3) [5 3]
    """
    return shape_internal(input, name, True, out_type)


def shape_internal(
    input: Any, name: str | None = None, optimize: bool = True, out_type: Any = dtypes.int32
) -> Tensor:
    """See `shape`; without `optimize` it is never a constant."""
    with name_scope(name, "Shape", [input]) as scope:
        if is_sparse(input):
            from stillflow.ops.math.cast import cast_op

            return cast_op(input.dense_shape, DstT=dtypes.as_dtype(out_type))
        tensor = convert_to_tensor(input)
        dims = tensor._dims
        if optimize and dims is not None and None not in dims:
            return constant(list(dims), out_type, name=scope)
        return shape_op(tensor, out_type=out_type, name=scope)


@export("size")
@dispatchable
def size(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Tensor:
    """Return the number of elements of a tensor; a constant where it is known now.

    Args:
      input: a tensor or sparse tensor.
      name: of the operation.
      out_type: `tf.int32` or `tf.int64`.

    Example:
      >>> print(tf.Session().run(tf.size([[1, 2, 3], [4, 5, 6]])))
      6
    """
    return size_internal(input, name, True, out_type)


def size_internal(
    input: Any, name: str | None = None, optimize: bool = True, out_type: Any = dtypes.int32
) -> Tensor:
    """See `size`; without `optimize` it is never a constant."""
    with name_scope(name, "Size", [input]) as scope:
        if is_sparse(input):
            from stillflow.ops.math.cast import cast_op

            sizes = cast_op(input.dense_shape, DstT=dtypes.as_dtype(out_type))
            return prod_op.value(sizes, 0, name=scope)
        tensor = convert_to_tensor(input)
        dims = tensor._dims
        if optimize and dims is not None and (None not in dims or 0 in dims):
            return constant(dims_lib.num_elements(dims), out_type, name=scope)
        return size_op(tensor, out_type=out_type, name=scope)


@export("rank")
@dispatchable
def rank(input: Any, name: str | None = None) -> Tensor:
    """Return the number of dimensions of a tensor; a constant where it is known now.

    Args:
      input: a tensor or `SparseTensor`.
      name: of the operation.

    Returns:
      An int32 scalar.

    Example:
      >>> print(tf.Session().run(tf.rank([[1, 2, 3]])))
      2
    """
    return rank_internal(input, name)


def rank_internal(input: Any, name: str | None = None, optimize: bool = True) -> Tensor:
    """See `rank`; without `optimize` it is never a constant."""
    with name_scope(name, "Rank", [input]) as scope:
        if is_sparse(input):
            return size_op(input.dense_shape, name=scope)
        tensor = convert_to_tensor(input)
        if optimize and tensor._dims is not None:
            return constant(len(tensor._dims), dtypes.int32, name=scope)
        return rank_op(tensor, name=scope)


# ---- Reshape

reshape_op = op(
    "Reshape(tensor: T, shape: Tshape) -> output: T; T: type; Tshape: {int32, int64} = int32",
    numbers=("shape",),
    **_ALIAS,
)


@reshape_op.shape
def reshape_shape(node: Node) -> Any:
    if node.planning:
        checked_rank(node, 1, 1, "sizes input must be 1-D, not ")
        dims, wanted = node.dims(0), node.value(1)
        if wanted is not None and dims_lib.is_known(dims):
            return resolve_shape(dims, wanted.ravel().tolist())
    dims_lib.with_rank(node.dims(1), 1)
    source, target = node.dims(0), node.shape_value(1)
    if source is None or target is None:
        return target
    return _reshaped(source, target)


def _reshaped(source: tuple[Any, ...], target: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the target with a single unknown size inferred from the number of elements."""
    ins, in_count = _count(source)
    outs, out_count = _count(target)
    if ins > 1 or outs > 1:
        return target
    if not ins and not outs:
        if in_count != out_count:
            raise ValueError(
                f"Cannot reshape a tensor with {in_count} elements to shape "
                f"{dims_lib.to_string(target)} ({out_count} elements)"
            )
    elif not ins:
        if out_count > 0:
            inferred = dims_lib.divide(in_count, out_count)
            return dims_lib.replace_dim(target, target.index(None), inferred)
    elif not outs and in_count != 0:
        dims_lib.divide(out_count, in_count)
    return target


def _count(dims: tuple[Any, ...]) -> tuple[int, int]:
    """Return the number of unknown sizes, and the product of the others."""
    count = 1
    for dim in dims:
        if dim is not None:
            count *= dim
    return (0, 0) if 0 in dims else (dims.count(None), count)


def resolve_shape(source: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that a reshape gives at run time; ValueErrors are those of TF's kernel."""
    if len(wanted) > MOST_DIMENSIONS:
        require_possible(wanted, dtypes.bool, touched=False)
    unknown, result = -1, list(wanted)
    for index, dim in enumerate(wanted):
        if dim == -1:
            if unknown >= 0:
                raise ValueError(f"Only one input size may be -1, not both {unknown} and {index}")
            unknown = index
        elif dim < 0:
            raise ValueError(f"Size {index} must be non-negative, not {dim}")
    if unknown >= 0:
        # Sizes of 0 on both sides are left out, so that the others can still be told.
        known = prod(dim for dim in wanted if dim > 0)
        skip = 0 in wanted and 0 in source
        count = prod(dim for dim in source if dim or not skip)
        if count % known and not skip:
            raise ValueError(
                f"Input to reshape is a tensor with {count} values, but the requested shape "
                f"requires a multiple of {known}"
            )
        result[unknown] = count // known
    if prod(result) != prod(source):
        raise ValueError(
            f"Input to reshape is a tensor with {prod(source)} values, but the requested shape "
            f"has {prod(result)}"
        )
    return tuple(result)


@reshape_op.value
def reshape_value(node: Node) -> Array | None:
    value, wanted = node.value(0), node.value(1)
    if value is None or wanted is None:
        return None
    try:
        return value.reshape(resolve_shape(value.shape, wanted.ravel().tolist()))
    except ValueError:
        return None  # the op itself reports the error when it runs


def _reshape_to(x: Any, shape: Any) -> Any:
    if len(wanted := ints(shape)) < 8 and type(x) is torch.Tensor:
        try:
            return x.reshape(wanted)  # in a fraction of the time that it takes to look at sizes
        except RuntimeError:
            pass  # the other way says what is wrong, or knows a size that torch does not tell
    return x.reshape(resolve_shape(x.shape, wanted))


@reshape_op.kernel
def reshape_kernel(node: Node) -> Kernel:
    dims, source, wanted = node.out_dims(), node.dims(0), node.value(1)
    # Inferred dims are those of the result only if the shape's value is known: one that is fed
    # may ask for another number of elements.
    is_known = dims is not None and None not in dims and source is not None and None not in source
    if is_known and wanted is not None:
        if dims == source:
            return node.same(0)
        return node.call(either(node, torch.reshape, np.reshape), node.inputs[0], dims)
    known = None if wanted is None else tuple(wanted.ravel().tolist())

    def reshape_unless_same(x: Any, shape: Any) -> torch.Tensor | Array:
        return x if x.shape == known else _reshape_to(x, shape)

    return reshape_unless_same if known is not None else _reshape_to


def like_input(grad: Any, tensor: Tensor) -> Tensor:
    """Reshapes a gradient to the shape of the tensor that it belongs to."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="Converting sparse IndexedSlices to a dense Tensor.*"
        )
        return reshape(grad, shape(tensor))


@reshape_op.gradient
def reshape_gradient(node: Node, grad: Any) -> Gradients:
    return [like_input(grad, node.inputs[0]), None]


@reshape_op.samples
def reshape_samples() -> Samples:
    x = np.arange(6, dtype=np.float32)
    yield Sample(x, [2, -1], fixed=(1,))
    yield Sample(x, np.array([3, 1, 2], np.int64), fixed=(1,))
    yield Sample(np.array([b"a", b"b"], object), [2, 1], fixed=(1,))
    yield Bad(x, [4, -1], match="multiple of 4|divisible by 4")
    yield Bad(x, [-1, -1], match="Only one input size may be -1")


@export("reshape", "manip.reshape")
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return the same elements in another shape.

    Args:
      tensor: what to reshape.
      shape: the new sizes, int32 or int64; one of them may be -1, which follows from the others.
      name: of the operation.

    Raises:
      ValueError: if the number of elements is known not to fit.

    Example:
      >>> print(tf.Session().run(tf.reshape(tf.range(6), [2, -1])))
      [[0 1 2]
       [3 4 5]]
    """
    return reshape_op(tensor, shape, name=name)


# ---- ExpandDims, Squeeze

expand_dims_op = op(
    "ExpandDims(input: T, dim: Tdim) -> output: T; T: type; Tdim: {int32, int64} = int32",
    numbers=("dim",),
    **_ALIAS,
)


@expand_dims_op.shape
def expand_dims_shape(node: Node) -> OutputDims:
    dims, axis = node.dims(0), node.value(1)
    if axis is not None and axis.size != 1:
        raise ValueError("'dim' input must be a tensor with a single value")
    if axis is None or dims is None:
        return None
    position = _insertion(int(axis.ravel()[0]), len(dims), node.planning)
    return (*dims[:position], 1, *dims[position:])


def _insertion(axis: int, rank: int, running: bool) -> int:
    if not -rank - 1 <= axis <= rank:
        if running:
            raise ValueError(f"Tried to expand dim index {axis} for tensor with {rank} dimensions.")
        raise ValueError(f"dim {axis} not in the interval [{-rank - 1}, {rank}].")
    return axis + rank + 1 if axis < 0 else axis


@expand_dims_op.value
def expand_dims_value(node: Node) -> Array | None:
    value, axis = node.value(0), node.value(1)
    return None if value is None or axis is None else np.expand_dims(value, int(axis.ravel()[0]))


@expand_dims_op.kernel
def expand_dims_kernel(node: Node) -> Kernel:
    expand = either(node, torch.unsqueeze, np.expand_dims)
    axis = node.value(1)
    if axis is not None:
        return node.call(expand, node.inputs[0], int(axis.ravel()[0]))

    def run(x: Any, axis: Any) -> Any:
        axes = ints(axis)
        if len(axes) != 1:
            raise ValueError("'dim' must be a tensor with a single value")
        return expand(x, _insertion(axes[0], x.ndim, True))

    return run


@expand_dims_op.gradient
def expand_dims_gradient(node: Node, grad: Any) -> Gradients:
    return [like_input(grad, node.inputs[0]), None]


@expand_dims_op.samples
def expand_dims_samples() -> Samples:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for axis in (0, 1, -1):
        yield Sample(x, axis, fixed=(1,))
    yield Bad(x, 3, match="dim 3 not in|dim index 3")


@export("expand_dims")
@dispatchable
def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """Insert a dimension of size 1.

    Args:
      input: a tensor.
      axis: where the new dimension stands in the result; negative counts from the back.
      name: of the operation.
      dim: older name of `axis`.

    Raises:
      ValueError: if no axis is given or it is out of range.

    Example:
      >>> x = tf.placeholder(tf.float32, [None, 3])
      >>> tf.expand_dims(x, 0).shape.as_list(), tf.expand_dims(x, axis=-1).shape.as_list()
      ([1, None, 3], [None, 3, 1])
    """
    axis = renamed_argument("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return expand_dims_op(input, axis, name=name)


squeeze_op = op(
    "Squeeze(input: T) -> output: T; T: type; squeeze_dims: list(int) >= 0 = []",
    **_ALIAS,
)


@squeeze_op.shape
def squeeze_shape(node: Node) -> OutputDims:
    dims = node.dims(0)
    if dims is None:
        return None
    axes = _squeezed(node.squeeze_dims, len(dims), node.planning)
    if not axes:
        return None if None in dims else tuple([dim for dim in dims if dim != 1])
    for axis in axes:
        if dims[axis] not in (None, 1):
            raise ValueError(
                f"Can not squeeze dim[{axis}], expected a dimension of 1, got {dims[axis]}"
            )
    return tuple([dim for axis, dim in enumerate(dims) if axis not in axes])


def _squeezed(axes: Sequence[int], rank: int, running: bool) -> tuple[int, ...]:
    for index, axis in enumerate(axes):
        if not -rank <= axis < rank:
            if running:
                raise ValueError(
                    f"Tried to squeeze dim index {axis} for tensor with {rank} dimensions."
                )
            raise ValueError(f"squeeze_dims[{index}] not in [{-rank},{rank}).")
    return tuple(sorted({axis % rank for axis in axes}))


@squeeze_op.value
def squeeze_value(node: Node) -> Array | None:
    value, axes = node.value(0), tuple(node.squeeze_dims)
    if value is None or any(value.shape[axis] != 1 for axis in axes):
        return None
    return np.squeeze(value, axes or None)


@squeeze_op.kernel
def squeeze_kernel(node: Node) -> Kernel:
    dims = node.out_dims()
    if dims is not None and None not in dims:
        return node.call(either(node, torch.reshape, np.reshape), node.inputs[0], dims)
    wanted = node.squeeze_dims

    def squeeze_at_run_time(x: Any) -> torch.Tensor:
        axes = _squeezed(wanted, x.ndim, True)
        for axis in axes:
            if x.shape[axis] != 1:
                raise invalid_argument(
                    f"Can not squeeze dim[{axis}], expected a dimension of 1, got {x.shape[axis]}"
                )
        return x.squeeze(axes) if axes else x.squeeze()

    return squeeze_at_run_time


@squeeze_op.gradient
def squeeze_gradient(node: Node, grad: Any) -> Gradients:
    return like_input(grad, node.inputs[0])


@squeeze_op.samples
def squeeze_samples() -> Samples:
    x = np.arange(3, dtype=np.float32).reshape(1, 3, 1)
    yield Sample(x)
    yield Sample(x, squeeze_dims=[-1])
    yield Bad(x, squeeze_dims=[1], match="expected a dimension of 1, got 3")


@export("squeeze")
@dispatchable
def squeeze(
    input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None
) -> Tensor:
    """Remove dimensions of size 1.

    Args:
      input: a tensor.
      axis: which dimensions to remove, an integer or a list; by default all of size 1.
      name: of the operation.
      squeeze_dims: older name of `axis`.

    Raises:
      ValueError: if a dimension to be removed is known not to be of size 1.

    Example:
      >>> x = tf.ones([1, 3, 1, 2])
      >>> tf.squeeze(x).shape.as_list(), tf.squeeze(x, axis=[0]).shape.as_list()
      ([3, 2], [3, 1, 2])
    """
    axis = renamed_argument("axis", axis, "squeeze_dims", squeeze_dims)
    if np.isscalar(axis):
        axis = [axis]
    return squeeze_op(input, squeeze_dims=axis, name=name)
