"""Tensors made of one repeated value: Fill, ZerosLike, OnesLike, and `tf.zeros`, `tf.ones`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dims import is_known
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays.sequences import range as range
from stillflow.ops.arrays.sequences import range_op as range_op
from stillflow.ops.arrays.shape import reshape, shape_internal
from stillflow.ops.constants import constant, shape_as_tensor
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.forward_declarations import reduce_sum
from stillflow.ops.input_ranks import checked_rank
from stillflow.ops.kernels import ints, is_handle, is_object, torch_type
from stillflow.ops.memory_limits import require_room
from stillflow.ops.samples import Bad, Sample, Samples

# Larger constants are made by an operation, so that graphs stay small.
MAX_CONSTANT_ELEMENTS = 1000

# ---- Fill

fill_op = op(
    """
    Fill(dims: index_type, value: T) -> output: T
    T: type
    index_type: {int32, int64} = int32
""",
    numbers=("dims",),
    batching="vmap",
)


@fill_op.shape
def fill_shape(node: Node) -> OutputDims:
    checked_rank(node, 0, 1, "dims must be a vector, got shape ")
    checked_rank(node, 1, 0, "value must be a scalar, got shape ")
    sizes = node.value(0)
    if sizes is not None and (sizes < 0).any():
        if node.planning:
            negative = int(sizes[sizes < 0][0])
            raise ValueError(f"Dimension {negative} must be >= 0")
        raise ValueError("Fill dimensions must be >= 0")
    return node.shape_value(0)


@fill_op.value
def fill_value(node: Node) -> Array | None:
    value, dims = node.value(1), node.out_dims()
    if value is None or not is_known(dims) or prod(dims) > MAX_CONSTANT_ELEMENTS:
        return None
    if is_handle(node.dtype(1)):
        return None
    return np.full(dims, value, value.dtype)


def _fill_numbers(dtype: dtypes.DType, dims: Any, value: Any) -> torch.Tensor:
    sizes = _checked(ints(dims))
    require_room(sizes, dtype)
    return value.expand(sizes).contiguous()


def _fill_objects(dims: Any, value: Any) -> Array:
    return np.full(_checked(ints(dims)), value, object)


def _checked(sizes: list[int]) -> list[int]:
    for size in sizes:
        if size < 0:
            raise ValueError(f"Dimension {size} must be >= 0")
    return sizes


@fill_op.kernel
def fill_kernel(node: Any) -> Kernel:
    dims, value = node.out_dims(), node.value(1)
    if is_object(node, 1) or is_handle(node.dtype(1)):
        return _fill_objects
    if dims is None or None in dims:
        return partial(_fill_numbers, node.T)
    require_room(dims, node.T)
    dtype = torch_type(node.T)
    if value is not None and value.dtype.kind in "biufc":
        if value.dtype.kind == "u" and int(value) >> 63:
            return partial(_fill_numbers, node.T)  # torch takes no Python integer that large
        return node.call(torch.full, dims, value.item(), dtype=dtype, device=node.device)
    return lambda _, value: value.expand(dims).contiguous()


@fill_op.gradient
def fill_gradient(node: Node, grad: Tensor) -> Gradients:
    return [None, reduce_sum.value(grad)]


@fill_op.samples
def fill_samples() -> Samples:
    yield Sample([2, 3], np.float32(1.5), fixed=(0,))
    yield Sample([0], np.array(b"a", object), fixed=(0,))
    yield Bad([-1], np.float32(1), match="must be >= 0")


@export("fill")
def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """Return a tensor filled with a scalar.

    Args:
      dims: its shape, int32 or int64.
      value: a scalar.
      name: of the operation.

    Example:
      >>> print(tf.Session().run(tf.fill([2, 3], 7)))
      [[7 7 7]
       [7 7 7]]
    """
    return fill_op(dims, value, name=name)


# ---- ZerosLike, OnesLike

zeros_like_op = op(
    "ZerosLike(x: T) -> y: T; T: type", differentiable=False, batching="vmap", handle="any"
)
ones_like_op = op(
    """
    OnesLike(x: T) -> y: T
    T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, int64, complex64, \
complex128, bool}
""",
    differentiable=False,
    batching="vmap",
)


def _same_shape(node: Node) -> tuple[int | None, ...] | None:
    return node.dims(0)


def _zero_strings(x: Any) -> Array:
    return np.full(x.shape, b"", object)


def _like_value(make: Callable[..., Any]) -> Callable[[Node], Any]:
    """Return a value part that needs only a known shape, not the input's value."""

    def value(node: Node) -> Any:
        dims, dtype = node.dims(0), node.dtype(0)
        if not is_known(dims) or prod(dims) > MAX_CONSTANT_ELEMENTS:
            return None
        if dtype == dtypes.string or dtype.is_quantized or dtype.np_dtype is None:
            return None
        return make(dims, dtype.as_numpy_dtype)

    return value


def _zero_variants(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value.zeros_like()
    zeros = np.empty(value.shape, object)
    zeros.reshape(-1)[:] = [each.zeros_like() for each in value.flat]
    return zeros


def _like_kernel(name: str) -> Callable[[Any], Any]:
    def kernel(node: Any) -> Any:
        dims, dtype = node.dims(0), node.dtype(0)
        if dtype == dtypes.string:
            return _zero_strings
        if dtype == dtypes.variant:
            return _zero_variants
        if dims is None or None in dims:
            like = getattr(torch, name + "_like")
            return lambda x: like(x, memory_format=torch.contiguous_format)
        make = getattr(torch, name)
        return node.call(make, dims, dtype=torch_type(dtype), device=node.device)

    return kernel


for _card, _name in ((zeros_like_op, "zeros"), (ones_like_op, "ones")):
    _card.shape(_same_shape)
    _card.value(_like_value(getattr(np, _name)))
    _card.kernel(_like_kernel(_name))


@zeros_like_op.samples
def zeros_like_samples() -> Samples:
    yield Sample(np.ones((2, 3), np.float32))
    yield Sample(np.array([b"a"], object))


@ones_like_op.samples
def ones_like_samples() -> Samples:
    yield Sample(np.zeros((2, 3), np.float32))


# ---- Public functions


def _filled(value: Any, shape: Any, dtype: Any, name: str) -> Tensor:
    """Return a constant where that is small, else a Fill. The name is a scope, with its slash."""
    graph = get_default_graph()
    if graph.runs_at_once and (dims := _whole(shape)) is not None:
        return graph.filled(value, dims, dtype)  # type: ignore[attr-defined]
    if not isinstance(shape, Tensor):
        try:
            if _is_small(shape):
                try:
                    return constant(value, shape=shape, dtype=dtype, name=name)
                except (NotImplementedError, TypeError):
                    pass
            shape = shape_as_tensor(TensorShape(shape))
        except (TypeError, ValueError):
            shape = convert_to_tensor(shape, dtype=dtypes.int32)  # a list with tensors in it
    if not shape._dims:
        shape = reshape(shape, [-1])
    return fill(shape, constant(value, dtype=dtype), name=name)


def _whole(shape: Any) -> tuple[int, ...] | None:
    """Return the sizes of a shape that is written as a list of whole numbers.

    None for other shapes.
    """
    dims = shape._dims if isinstance(shape, TensorShape) else shape
    if (
        isinstance(dims, (list, tuple))
        and set(map(type, dims)) <= {int}
        and min(dims, default=0) >= 0
    ):
        return tuple(dims)
    return None


def _is_small(shape: Any) -> bool:
    """Return True if the product of the sizes is small.

    TF finds out by multiplying and comparing the elements of the list, which adds a Mul and a Less
    to the graph if it holds tensors; so it is done here.
    """
    if isinstance(shape, TensorShape):
        dims = shape._dims
        return is_known(dims) and prod(dims) < MAX_CONSTANT_ELEMENTS
    try:
        if not isinstance(shape, (list, tuple)):
            return bool(np.prod(shape) < MAX_CONSTANT_ELEMENTS)
        product = shape[0] if shape else 1
        for size in shape[1:]:
            product = product * size
        return bool(product < MAX_CONSTANT_ELEMENTS)
    except (NotImplementedError, TypeError):
        return False


@export("zeros")
def zeros(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """Return a tensor of zeros (empty strings, False).

    Args:
      shape: a list of sizes, some of which may be tensors, or an integer vector.
      dtype: the type of the elements.
      name: of the operation.

    Example:
      >>> print(tf.Session().run(tf.zeros([2, 3], tf.int32)))
      [[0 0 0]
       [0 0 0]]
    """
    dtype = dtypes.as_dtype(dtype).base_dtype
    with name_scope(name, "zeros", [shape]) as scope:
        zero: Any = 0
        if dtype == dtypes.bool:
            zero = False
        elif dtype == dtypes.string:
            zero = ""
        return _filled(zero, shape, dtype, scope)


@export("ones")
def ones(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """Return a tensor of ones (True).

    Args:
      shape: a list of sizes, some of which may be tensors, or an integer vector.
      dtype: the type of the elements.
      name: of the operation.

    Example:
      >>> print(tf.Session().run(tf.ones([2, 3])))
      [[1. 1. 1.]
       [1. 1. 1.]]
    """
    dtype = dtypes.as_dtype(dtype).base_dtype
    with name_scope(name, "ones", [shape]) as scope:
        return _filled(True if dtype == dtypes.bool else 1, shape, dtype, scope)


@export("zeros_like")
@dispatchable
def zeros_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Zeros in the shape of a tensor.

    Args:
      tensor: gives the shape.
      dtype: the type of the elements, that of `tensor` by default.
      name: of the operation.
      optimize: whether a shape that is known now makes a constant.

    Example:
      >>> print(tf.Session().run(tf.zeros_like([[5, 6]])))
      [[0 0]]
    """
    with name_scope(name, "zeros_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        is_variant = tensor.dtype == dtypes.variant
        if optimize and tensor.shape.is_fully_defined() and not is_variant:
            return zeros(tensor.shape, dtype=dtype or tensor.dtype, name=scope)
        if dtype is not None and dtype != tensor.dtype and dtype != dtypes.variant:
            return zeros(shape_internal(tensor, optimize=optimize), dtype=dtype, name=scope)
        return zeros_like_op(tensor, name=scope)


@export("ones_like")
@dispatchable
def ones_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Ones in the shape of a tensor.

    Args:
      tensor: gives the shape.
      dtype: the type of the elements, that of `tensor` by default.
      name: of the operation.
      optimize: whether a shape that is known now makes a constant.

    Example:
      >>> print(tf.Session().run(tf.ones_like([[5, 6]], dtype=tf.float32)))
      [[1. 1.]]
    """
    with name_scope(name, "ones_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        sizes = shape_internal(tensor, optimize=optimize)
        result = ones(sizes, dtype=tensor.dtype if dtype is None else dtype, name=scope)
        result.set_shape(tensor.get_shape())
        return result
