"""Choosing elements by a condition: Select, SelectV2, Where."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.constant_value import value_of
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.arrays.broadcast import broadcast_gradient_args_op
from stillflow.ops.arrays.fill import zeros, zeros_like
from stillflow.ops.arrays.native_kernels import choose, choose_rows
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.forward_declarations import reduce_sum
from stillflow.ops.kernels import is_object, moving
from stillflow.ops.samples import Bad, Sample, Samples

# ---- Select

_known_choice = value_of(np.where)

select_op = op(
    "Select(condition: bool, t: T, e: T) -> output: T; T: type", view=True, batching="vmap"
)


@select_op.shape
def select_shape(node: Node) -> OutputDims:
    condition, x, y = node.dims(0), node.dims(1), node.dims(2)
    if node.planning and all(map(dims_lib.is_known, (condition, x, y))):
        _check(node.op.name, condition, x, y)
    data = dims_lib.merge(x, y)
    if condition is None or data is None or not condition:
        return data
    if len(condition) != 1 or not data:
        return dims_lib.merge(data, condition)
    dims_lib.merge(condition, (data[0],))
    return data


def _check(name: str, condition: Any, x: Any, y: Any) -> None:
    """Raise an error for invalid shapes with the message of TF's kernel."""
    of_rows = len(condition) == 1 and len(x) > 1
    if of_rows and condition[0] != x[0]:
        raise ValueError(
            "Number of batches of 'then' must match size of 'cond', but saw: "
            f"{x[0]} vs. {condition[0]}"
        )
    if of_rows or not condition:
        if x != y:
            raise ValueError(
                "'then' and 'else' must have the same size.  but received: "
                f"{dims_lib.to_string(tuple(x))} vs. {dims_lib.to_string(tuple(y))}"
            )
        return
    for position, other in ((1, x), (2, y)):
        if condition != other:
            raise ValueError(
                f"Inputs to operation {name} of type Select must have the same size and shape.  "
                f"Input 0: {dims_lib.to_string(tuple(condition))} != input {position}: "
                f"{dims_lib.to_string(tuple(other))}"
            )


def _aligned(condition: Any, x: Any) -> Any:
    """Return a vector of conditions stands for whole slices along the first dimension."""
    if condition.ndim == 1 and x.ndim > 1:
        return condition.reshape(-1, *[1] * (x.ndim - 1))
    return condition


def _choose(x: Any, y: Any, condition: Any) -> torch.Tensor:
    return torch.where(condition, x, y)


def _choose_strings(x: Any, y: Any, condition: Any) -> Array:
    return np.where(condition.numpy(), x, y)


@select_op.value
def select_value(node: Node) -> Array | None:
    """Known where numpy's broadcasting means the same: all shapes equal, or a scalar condition."""
    condition = node.value(0)
    if condition is None or node.T.name == "string":
        return None
    return _known_choice(node) if condition.shape in ((), node.dims(1)) else None


@select_op.kernel
def select_kernel(node: Node) -> Kernel:
    condition, x, y = node.inputs
    known, dims = node.value(0), [node.dims(index) for index in (0, 1, 2)]
    if known is not None and known.ndim == 0:
        return node.same(1 if known else 2)
    moved = _choose_strings if is_object(node, 1) else moving(node.T, _choose, 2)
    if dims_lib.all_known(dims):
        if len(dims[0]) == 1 and len(dims[1]) > 1:
            if moved is _choose:
                return node.call(choose_rows, condition, x, y)
            return lambda c, t, e: moved(t, e, _aligned(c, t))
        if moved is _choose:
            return node.call(choose, condition, x, y)
        return node.call(moved, x, y, condition)

    name = node.op.name

    def select_at_run_time(c: Any, t: Any, e: Any) -> torch.Tensor | Array:
        _check(name, tuple(c.shape), tuple(t.shape), tuple(e.shape))
        return choose_rows(c, t, e) if moved is _choose else moved(t, e, _aligned(c, t))

    return select_at_run_time


@select_op.gradient
def select_gradient(node: Node, grad: Any) -> Gradients:
    condition, x = node.inputs[0], node.inputs[1]
    zero = zeros_like(x)
    return [None, where(condition, grad, zero), where(condition, zero, grad)]


@select_op.samples
def select_samples() -> Samples:
    x, y = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    yield Sample(np.array([[True, False, True]] * 2), x, y)
    yield Sample(np.array([True, False]), x, y)
    yield Sample(np.array(True), x, y)
    yield Sample(np.array(False), np.array(b"a", object), np.array(b"b", object))
    yield Bad(np.array([True]), x, y, match="must be equal|Number of batches")


# ---- SelectV2

select_v2_op = op("SelectV2(condition: bool, t: T, e: T) -> output: T; T: type")


@select_v2_op.shape
def select_v2_shape(node: Node) -> OutputDims:
    condition, x, y = node.dims(0), node.dims(1), node.dims(2)
    if node.planning and all(map(dims_lib.is_known, (condition, x, y))):
        return _broadcast_three(condition, x, y)
    return dims_lib.broadcast(condition, dims_lib.broadcast(x, y))


def _broadcast_three(condition: Any, x: Any, y: Any) -> Any:
    texts = [dims_lib.to_string(tuple(dims)) for dims in (condition, x, y)]
    try:
        data = dims_lib.broadcast(x, y)
    except ValueError:
        raise ValueError(f"then {texts[1]} and else {texts[2]} must be broadcastable") from None
    try:
        return dims_lib.broadcast(condition, data)
    except ValueError:
        raise ValueError(
            f"condition {texts[0]}, then {texts[1]}, and else {texts[2]} must be broadcastable"
        ) from None


@select_v2_op.kernel
def select_v2_kernel(node: Node) -> Kernel:
    condition, x, y = node.inputs
    if is_object(node, 1):
        return node.call(_choose_strings, x, y, condition)
    moved = moving(node.T, _choose, 2)
    if moved is _choose:
        return node.call(choose, condition, x, y)
    return node.call(moved, x, y, condition)


@select_v2_op.gradient
def select_v2_gradient(node: Node, grad: Any) -> Gradients:

    condition, x, y = node.inputs
    zero = zeros([], dtype=grad.dtype.base_dtype)
    result: list[Any] = [None]
    output_shape = None
    for value, chosen in ((x, (grad, zero)), (y, (zero, grad))):
        part = where_v2(condition, *chosen)
        value_shape = shape(value)
        if output_shape is None:
            output_shape = shape(node.outputs[0])
        axes, _ = broadcast_gradient_args_op(value_shape, output_shape)
        result.append(reshape(reduce_sum.value(part, keepdims=True, axis=axes), value_shape))
    return result


@select_v2_op.samples
def select_v2_samples() -> Samples:
    yield Sample(np.array([True, False]), np.ones((3, 1), np.float32), np.float32(0))
    yield Bad(
        np.array([True, False]), np.ones((3,), np.float32), np.float32(0),
        match="must be equal|must be broadcastable",
    )  # fmt: skip


# ---- Where

where_op = op(
    """
    Where(input: T) -> index: int64
    T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, \
bfloat16, uint16, complex128, half, uint32, uint64, bool} = bool
"""
)


@where_op.shape
def where_shape(node: Node) -> OutputDims:
    dims = node.dims(0)
    return (None, None if dims is None else len(dims))


@where_op.kernel
def where_kernel(node: Node) -> Kernel:
    if node.dims(0) == ():
        raise ValueError("WhereOp : Unhandled input dimensions: 0")
    signed = {"uint16": "int16", "uint32": "int32", "uint64": "int64"}.get(node.T.name)
    if signed is not None:
        seen = getattr(torch, signed)
        return lambda x: torch.nonzero(x.view(seen))
    return node.call(torch.nonzero, node.inputs[0])


@where_op.samples
def where_samples() -> Samples:
    yield Sample(np.array([[True, False], [True, True]]))
    yield Sample(np.array([0.0, 2.0], np.float32), grad=False)


# ---- Public functions


@export("where")
@dispatchable
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Elements of `x` where the condition holds, of `y` elsewhere; or the positions where it holds.

    Args:
      condition: bool, of the shape of `x`, or a vector that chooses slices, or a scalar.
      x, y: tensors of one shape and type. Without them, the positions are returned.
      name: of the operation.

    Returns:
      A tensor like `x`, or an int64 matrix with one row for each true element.

    Raises:
      ValueError: if only one of `x` and `y` is given.

    Example:
      >>> x = tf.constant([1, -2, 3])
      >>> print(tf.Session().run(tf.where(x > 0, x, -x)))
      [1 2 3]
      >>> tf.Session().run(tf.where(x > 0)).tolist()
      [[0], [2]]
    """
    if x is None and y is None:
        return _positions(condition, name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return select_op(condition, x, y, name=name)


@export("where_v2", "compat.v2.where")
def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Select like `where`, with condition, `x` and `y` broadcast against each other.

    Raises:
      ValueError: if one of `x` and `y` is given and the other is not.
    """
    if x is None and y is None:
        return _positions(condition, name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return select_v2_op(condition, x, y, name=name)


def _positions(condition: Any, name: str | None) -> Tensor:
    with name_scope(name, "Where", [condition]) as scope:
        condition = convert_to_tensor(condition, preferred_dtype=dtypes.bool, name="condition")
        return where_op(condition, name=scope)
