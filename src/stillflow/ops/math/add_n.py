"""Sums of several tensors of one shape."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dims import shape_text
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices, convert_n_to_tensor_or_indexed_slices
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, OutputDims
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.math.kernels import ANY_NUMBER, NUMPY_TYPES, through_numpy
from stillflow.ops.samples import Bad, Sample, Samples

_FEW = 8  # scalars that are added as fast one by one

add_n_op = op(
    f"""
    AddN(inputs: N*T) -> sum: T
    N: int >= 1
    T: {ANY_NUMBER[:-1]}, variant}}
    flags: commutative, aggregate
""",
    batching="vmap",
    handle="any",
)


@add_n_op.shape
def add_n_shape(node: Node) -> OutputDims:
    if node.planning:
        _check_sizes(node)
    shape = node.dims(node.N - 1)
    for i in reversed(range(node.N - 1)):
        try:
            shape = dims.merge(node.dims(i), shape)
        except ValueError as error:
            raise ValueError(f"{error}\n\tFrom merging shape {i} with other shapes.") from None
    return shape


def _check_sizes(node: Node) -> None:
    """Raise an error if shapes of inputs differ from the first, with the message of the kernel."""
    first = node.dims(0)
    for i in range(1, node.N):
        if not dims.is_compatible(first, node.dims(i)):
            raise ValueError(
                f"Inputs to operation {node.name} of type AddN must have the same size and shape.  "
                f"Input 0: {dims.to_string(first)} != input {i}: {dims.to_string(node.dims(i))}"
            )


def add_all(first: Any, second: Any, *others: Any) -> torch.Tensor:
    total = torch.add(first, second)
    for other in others:
        total.add_(other)
    return total


def _sum_of_scalars(*values: Any) -> torch.Tensor:
    return torch.stack(values).sum(dtype=values[0].dtype)


def _sum_of_objects(*values: Any) -> Any:
    for index, value in enumerate(values):
        if isinstance(value, np.ndarray) and value.ndim:
            raise ValueError(
                "AddN of non-scalar Tensor with dtype=DT_VARIANT is not supported; "
                f"inputs[{index} has shape: {shape_text(value.shape)}."
            )
    try:
        return functools.reduce(operator.add, values)
    except TypeError:
        kind = type(values[0]).__name__
        raise ValueError(f"Variants that hold a {kind} cannot be added.") from None


def _sum_kernel(node: Node) -> Call | Callable[..., Any]:
    if node.T.name == "variant":
        return _sum_of_objects
    if node.N == 1:
        return node.same(0)
    if node.T in NUMPY_TYPES:
        return through_numpy(lambda *arrays: np.sum(arrays, 0, arrays[0].dtype), node.T)
    if node.N > _FEW and node.T.is_integer and node.dims(0) == ():
        return node.call(_sum_of_scalars, *node.inputs)  # the order has no effect
    return node.call(torch.add if node.N == 2 else add_all, *node.inputs)


add_n_op.kernel(_sum_kernel)


@add_n_op.gradient
def add_n_gradient(node: Node, grad: Tensor) -> Gradients:
    return [grad] * len(node.inputs)


@add_n_op.samples
def add_n_samples() -> Samples:
    x = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    for count in (1, 2, 5):
        yield Sample([x * (i + 1) for i in range(count)])
    yield Bad([x, x[0]], match="equal rank|same size and shape")


accumulate_nv2_op = op(f"""
    AccumulateNV2(inputs: N*T) -> sum: T
    N: int >= 1
    T: {ANY_NUMBER}
    shape: shape
    flags: commutative, aggregate
""")


@accumulate_nv2_op.shape
def accumulate_nv2_shape(node: Node) -> OutputDims:
    if node.planning:
        return add_n_shape(node)
    return node.shape


accumulate_nv2_op.kernel(_sum_kernel)


@accumulate_nv2_op.gradient
def accumulate_nv2_gradient(node: Node, grad: Tensor) -> Gradients:
    return [grad] * len(node.inputs)


@accumulate_nv2_op.samples
def accumulate_nv2_samples() -> Samples:
    x = np.array([1.0, 2.0], np.float32)
    yield Sample([x, x, x], shape=TensorShape([2]))


@export("math.add_n", "add_n")
@dispatchable
def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """Return the sum of a list of tensors of one type and shape; no broadcasting.

    Args:
      inputs: tensors or `IndexedSlices`.
      name: of the operation.

    Raises:
      ValueError: if there are none, or their shapes differ.

    Example:
      >>> print(tf.Session().run(tf.add_n([[1, 2], [3, 4], [5, 6]])))
      [ 9 12]
    """
    message = (
        "inputs must be a list of at least one Tensor/IndexedSlices with the same dtype and shape"
    )
    if not isinstance(inputs, (list, tuple)):
        iter(inputs)  # TensorFlow looks for ragged tensors, and raises an error for other objects
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError(message)
    inputs = convert_n_to_tensor_or_indexed_slices(inputs)
    if not all(isinstance(x, (Tensor, IndexedSlices)) for x in inputs):
        raise ValueError(message)
    if len(inputs) > 1:
        return add_n_op(inputs, name=name)
    value = convert_to_tensor(inputs[0])
    return identity(value, name=name) if name else value


@export("math.accumulate_n", "accumulate_n")
@dispatchable
def accumulate_n(
    inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Tensor:
    """Return the sum of a list of tensors of one type and shape, whose shape may be stated.

    Raises:
      ValueError: if there are none, or their types or shapes differ.
      TypeError: if `tensor_dtype` is not their type.
    """
    message = "inputs must be a list of at least one Tensor with the same dtype and shape"
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError(message)
    inputs = convert_n_to_tensor_or_indexed_slices(inputs)
    if not all(isinstance(x, Tensor) for x in inputs):
        raise ValueError(message)
    if not all(x.dtype == inputs[0].dtype for x in inputs):
        raise ValueError(message)
    merged = as_shape(shape) if shape is not None else TensorShape(None)
    for tensor in inputs:
        merged = merged.merge_with(tensor.get_shape())
    if tensor_dtype is not None and tensor_dtype != inputs[0].dtype:
        raise TypeError(f"tensor_dtype is {tensor_dtype}, but input is of type {inputs[0].dtype}")
    if len(inputs) == 1:
        return inputs[0] if name is None else identity(inputs[0], name=name)
    return accumulate_nv2_op(inputs, shape=merged, name=name)
