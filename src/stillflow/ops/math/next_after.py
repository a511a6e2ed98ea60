"""The next number of a floating-point type."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.api import control_dependencies
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel
from stillflow.ops.arrays import fill as fills
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.math.binary import broadcasting_op
from stillflow.ops.math.broadcasting import summing_targets
from stillflow.ops.math.kernels import broadcasting_call
from stillflow.ops.samples import Sample, Samples

next_after_op = broadcasting_op("""
    NextAfter(x1: T, x2: T) -> output: T
    T: {double, float} = float
""")


@next_after_op.kernel
def next_after_kernel(node: Node) -> Kernel:
    return broadcasting_call(node, torch.nextafter)


@next_after_op.gradient
def next_after_gradient(node: Node, grad: Any) -> Gradients:
    x1, x2 = node.inputs
    to_x1, to_x2 = summing_targets(x1, x2)
    with control_dependencies([grad]):
        partial_x1 = fills.ones(to_x1.shape, dtype=x1.dtype)
        partial_x2 = fills.zeros(to_x2.shape, dtype=x2.dtype)
        return to_x1.reduce(partial_x1 * grad), to_x2.reduce(partial_x2 * grad)


@next_after_op.samples
def next_after_samples() -> Samples:
    yield Sample(np.array([1.0, -1.0, 0.0]), np.array([2.0, -2.0, 1.0]), grad=False)


@export("math.nextafter")
@dispatchable
def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """Return the next number of the type after `x1` towards `x2`, element by element."""
    return next_after_op(x1, x2, name=name)
