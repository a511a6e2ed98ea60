"""Shapes of several tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.arrays.shape import run_time_shape
from stillflow.ops.kernels import int_array
from stillflow.ops.samples import Sample, Samples

shape_n_op = op(
    "ShapeN(input: N*T) -> output: N*out_type; N: int >= 1; T: type; "
    "out_type: {int32, int64} = int32",
    differentiable=False,
    metadata=True,
)


@shape_n_op.shape
def shape_n_shape(node: Node) -> OutputDims:
    all_dims = [node.dims(i) for i in range(node.N)]
    return [(None if dims is None else len(dims),) for dims in all_dims]


@shape_n_op.value
def shape_n_value(node: Node) -> list[Array] | None:
    all_dims = [node.dims(i) for i in range(node.N)]
    if any(dims is None or None in dims for dims in all_dims):
        return None
    return [int_array(dims, node.out_type) for dims in all_dims]


@shape_n_op.samples
def shape_n_samples() -> Samples:
    yield Sample([np.zeros((2, 3), np.float32), np.zeros((), np.float32)])
    yield Sample([np.zeros((4,), np.float32)], out_type=dtypes.int64)


@shape_n_op.kernel
def shape_n_kernel(node: Node) -> Kernel:
    dtype = node.out_type
    if node.N == 1:
        return lambda x: run_time_shape(x, dtype)
    return lambda *xs: [run_time_shape(x, dtype) for x in xs]


@export("shape_n")
def shape_n(
    input: Sequence[Any], out_type: Any = dtypes.int32, name: str | None = None
) -> list[Tensor]:
    """Return the shapes of several tensors, by one operation."""
    return shape_n_op(input, out_type=out_type, name=name)
