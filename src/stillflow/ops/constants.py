"""Values that stand in the graph or are fed to it: Const, Placeholder."""

from __future__ import annotations

from typing import Any

from stillflow.errors import invalid_argument
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import const_card, constant_op
from stillflow.graph.dims import merge, to_string
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.tensor_proto import kernel_array
from stillflow.graph.tensor_shape import TensorShape, as_shape

_MOST_ELEMENTS = 2**63 - 1

const_op = op(
    """
    Const() -> output: dtype
    value: tensor
    dtype: type
""",
    latency="none",
)
const_card.provide(const_op)


def const_array(value: Any) -> Any:
    """Return the array of a Const's value attribute (a message in imported graphs)."""
    if type(value).__name__ != "TensorProto":
        return value
    if value.dtype == dtypes.variant.as_datatype_enum:
        from stillflow.ops.io.variants import from_message

        return from_message(value)
    return kernel_array(value)


def _countable(shape: TensorShape) -> TensorShape:
    """Return the shape, an error if the elements up to the first unknown size cannot be counted."""
    count = 1
    for size in shape._dims or ():
        if size is None:
            break
        count *= size
        if count > _MOST_ELEMENTS:
            listed = to_string(shape._dims)
            raise ValueError(f"Shape {listed} is too large (more than 2**63 - 1 entries)")
    return shape


@const_op.shape
def const_shape(node: Node) -> Any:
    value = node.op.attrs["value"]
    if type(value).__name__ == "TensorProto":
        if value.tensor_shape.unknown_rank:
            return ()
        shape = TensorShape(value.tensor_shape)
        if not shape.is_fully_defined():
            raise ValueError(f"Shape {to_string(shape._dims)} is not fully defined")
        return _countable(shape)
    return tuple(value.shape)


@const_op.check
def const_check(node: Node) -> None:
    value = node.op.attrs["value"]
    if node.planning and type(value).__name__ == "TensorProto":
        if node.op._values is None:
            _refuse(value)
        given, dtype = dtypes.as_dtype(value.dtype), node.op.attrs["dtype"]
        if given != dtype:
            mismatch = f"value ({dtypes.cpp_name(given)}) and dtype ({dtypes.cpp_name(dtype)})"
            raise ValueError(f"Type mismatch between {mismatch}")


@const_op.value
def const_value(node: Node) -> Array | None:
    """Return the array; None if the message is malformed, which fails when the constant is run."""
    try:
        return const_array(node.op.attrs["value"])
    except (TypeError, ValueError):
        return None


def _refuse(message: Any) -> None:
    """Raise InvalidArgumentError for a message whose values do not fit its type and shape."""
    text = str(message.__class__(dtype=message.dtype)).strip()
    try:
        const_array(message)
    except (TypeError, ValueError) as error:
        raise invalid_argument(f"Cannot parse tensor from proto: {text}\n{error}") from None


placeholder_op = op("""
    Placeholder() -> output: dtype
    dtype: type
    shape: shape = ?
""")


@placeholder_op.shape
def placeholder_shape(node: Node) -> Any:
    shape = node.op.attrs["shape"]
    # Graphs of producers before version 24 wrote an unknown shape as [].
    if node.op.graph._producer < 24 and not shape._dims:
        return None
    return _countable(shape)


@placeholder_op.kernel
def placeholder_kernel(node: Node) -> Kernel:
    dtype = node.op.attrs["dtype"]
    text = f"You must feed a value for placeholder tensor '{node.name}' with dtype "
    text += dtypes.cpp_name(dtype)
    shape = node.op.attrs["shape"]
    if shape._dims:
        text += f" and shape {to_string(shape._dims)}"

    def missing() -> None:
        raise invalid_argument(text)

    return missing


placeholder_v2_op = op("""
    PlaceholderV2() -> output: dtype
    dtype: type
    shape: shape
""")


@placeholder_v2_op.shape
def placeholder_v2_shape(node: Node) -> OutputDims:
    return node.op.attrs["shape"]


placeholder_with_default_op = op(
    """
    PlaceholderWithDefault(input: dtype) -> output: dtype
    dtype: type
    shape: shape
""",
    view=True,
)


placeholder_v2_op.kernel(placeholder_kernel)


@placeholder_with_default_op.shape
def placeholder_with_default_shape(node: Node) -> OutputDims:
    shape = node.op.attrs["shape"]
    merge(node.dims(0), shape._dims)  # rejects a default of another shape
    return shape


@placeholder_with_default_op.kernel
def placeholder_with_default_kernel(node: Node) -> Kernel:
    return node.same(0)


@placeholder_with_default_op.gradient
def placeholder_with_default_gradient(node: Node, grad: Tensor) -> Tensor:
    return grad


@export("constant")
def constant(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Return a tensor whose value stands in the graph.

    Args:
      value: a number, string, (nested) list or array.
      dtype: element type; by default int32 or float32 for Python numbers, the array's type else.
      shape: if larger than `value`, the last element fills the rest.
      name: of the operation.
      verify_shape: reject a value of another shape instead of filling.

    Raises:
      TypeError: if the value does not fit dtype, or not `shape` under `verify_shape`.
      ValueError: if the value has more elements than `shape`.

    Example:
      >>> tf.constant([[1, 2], [3, 4]], name="table")
      <tf.Tensor 'table:0' shape=(2, 2) dtype=int32>
      >>> print(tf.Session().run(tf.constant(0.5, shape=[3])))
      [0.5 0.5 0.5]
    """
    return constant_op(value, dtype, shape, name or "Const", verify_shape)


@export("compat.v2.constant")
def constant_v2(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Tensor:
    """Return a tensor whose value stands in the graph; only a single value fills a larger shape.

    Args:
      value: a number, string, (nested) list or array.
      dtype: element type; by default int32 or float32 for Python numbers, the array's type else.
      shape: of the tensor, by default that of the value.
      name: of the operation.

    Raises:
      TypeError: if the value does not fit dtype or shape.
    """
    return constant_op(value, dtype, shape, name, allow_broadcast=True)


@export("placeholder")
def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """Return a tensor that must be fed when it is used.

    Args:
      dtype: its element type.
      shape: the static shape; None if unknown.
      name: of the operation.

    Raises:
      RuntimeError: where operations run when they are called.

    Example:
      >>> x = tf.placeholder(tf.float32, shape=[None, 2], name="x")
      >>> print(x.shape, tf.Session().run(x + 1.0, feed_dict={x: [[1.0, 2.0]]}))
      (?, 2) [[2. 3.]]
    """
    if executing_eagerly():
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    return placeholder_op(dtype=dtype, shape=shape, name=name)


@export("placeholder_with_default")
def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return a tensor that may be fed and is `input` otherwise.

    `shape` is the common shape of both.

    Args:
      input: the default value.
      shape: a shape that the default value and the feeds have; None for unknown sizes.
      name: of the operation.

    Returns:
      A tensor of the type of `input`.

    Example:
      >>> x = tf.placeholder_with_default([1, 2], shape=[None])
      >>> print(tf.Session().run(x), tf.Session().run(x, feed_dict={x: [3, 4, 5]}))
      [1 2] [3 4 5]
    """
    return placeholder_with_default_op(input, shape=shape, name=name)


def scalar(value: Any, dtype: Any, name: str = "Const") -> Tensor:
    """Return a constant for use inside other ops' functions."""
    return constant_op(value, dtype, None, name)


def shape_as_tensor(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Return a static shape as a constant: int32, or int64 if a size needs it."""
    dims = as_shape(shape)._dims
    if dims is None or None in dims:
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {shape}")
    large = next((dim for dim in dims if dim is not None and dim >= 2**31), 0)
    if dtype is None:
        dtype = dtypes.int64 if large else dtypes.int32
    elif dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype}")
    elif dtype == dtypes.int32 and large:
        raise ValueError(
            f"Cannot convert a TensorShape to dtype int32; a dimension is too large ({large})"
        )
    return constant(list(dims), dtype, name=name or "shape_as_tensor")
