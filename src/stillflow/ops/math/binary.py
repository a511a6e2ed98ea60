"""Element-wise functions of two tensors, with broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.constant_value import value_of
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node


def broadcast_shape(node: Node) -> Any:
    return dims.broadcast(node.dims(0), node.dims(1))


add_op = op("""
    Add(x: T, y: T) -> z: T
    T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, string}
""")
add_op.shape(broadcast_shape)
add_op.value(value_of(np.add))


@add_op.kernel
def add_kernel(node: Node) -> Any:
    return node.call(torch.add, *node.inputs)
