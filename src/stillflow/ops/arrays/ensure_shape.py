"""EnsureShape: checks a tensor's shape when it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.tensor_shape import TensorShape, as_shape, shape_from_dims
from stillflow.ops.samples import Bad, Sample, Samples

ensure_shape_op = op(
    "EnsureShape(input: T) -> output: T; shape: shape; T: type", view=True, asserts=True
)


@ensure_shape_op.shape
def ensure_shape_shape(node: Node) -> OutputDims:
    expected, dims = as_shape(node.op.attrs["shape"])._dims, node.dims(0)
    if node.planning and not dims_lib.is_compatible(dims, expected):
        raise ValueError(_not_as_expected(node, dims, expected))
    if expected is not None:
        dims = dims_lib.with_rank(dims, len(expected))
    return dims_lib.merge(expected, dims)


def _not_as_expected(node: Any, dims: Any, expected: Any) -> str:
    return (
        f"Shape of tensor {node.input_name(0)} {dims_lib.to_string(dims)} is not "
        f"compatible with expected shape {dims_lib.to_string(expected)}."
    )


@ensure_shape_op.kernel
def ensure_shape_kernel(node: Any) -> Kernel:
    dims, expected = node.dims(0), as_shape(node.op.attrs["shape"])._dims
    if dims is not None and None not in dims:
        return node.same(0)

    def check(x: Any) -> Any:
        if not dims_lib.is_compatible(tuple(x.shape), expected):
            raise ValueError(_not_as_expected(node, tuple(x.shape), expected))
        return x

    return check


@ensure_shape_op.gradient
def ensure_shape_gradient(node: Node, grad: Tensor) -> Tensor:
    return grad


@ensure_shape_op.samples
def ensure_shape_samples() -> Samples:
    yield Sample(np.zeros((2, 3), np.float32), shape=TensorShape([None, 3]))
    yield Bad(np.zeros((2, 3), np.float32), shape=shape_from_dims((4,)), match="rank|expected")


@export("ensure_shape")
def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """`x` unchanged, checked to be of a shape when it runs and known to be of it from here on.

    Args:
      x: a tensor.
      shape: a shape, in which sizes may be unknown.
      name: of the operation.
    """
    return ensure_shape_op(x, shape=as_shape(shape), name=name)
