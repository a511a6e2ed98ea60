"""Half the sum of squares: L2Loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.nn.precision import precise_on_cpu
from stillflow.ops.samples import Sample, Samples

l2_loss_op = op(
    "L2Loss(t: T) -> output: T; T: {half, bfloat16, float, double}",
    cost=Cost(counts="first input"),
    batching="vmap",
)


@l2_loss_op.shape
def l2_loss_shape(node: Node) -> OutputDims:
    return ()


def _half_square_sum(t: Any) -> torch.Tensor:
    flat = t.reshape(-1)
    return torch.dot(flat, flat).mul_(0.5)


@l2_loss_op.kernel
def l2_loss_kernel(node: Node) -> Kernel:
    return node.call(precise_on_cpu(node, _half_square_sum, 1), node.inputs[0])


@l2_loss_op.gradient
def l2_loss_gradient(node: Node, grad: Tensor) -> Gradients:
    return node.inputs[0] * grad


@l2_loss_op.samples
def l2_loss_samples() -> Samples:
    yield Sample(np.array([[1, -2, 3], [0.5, 0, 4]], np.float32))
    yield Sample(np.float32(3))
    yield Sample(np.zeros((0, 2), np.float32))


@export("nn.l2_loss")
def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """`sum(t ** 2) / 2`, a scalar.

    Args:
      t: floating-point, of any shape.

    Example:
      >>> print(tf.Session().run(tf.nn.l2_loss([1.0, 3.0])))
      5.0
    """
    return l2_loss_op(t, name=name)
