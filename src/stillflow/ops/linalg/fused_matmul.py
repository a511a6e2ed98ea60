"""_FusedMatMul: a matrix product, biases and an activation, as TensorFlow's optimizer writes them.

Graphs that were saved after Grappler's remapper ran contain it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.graph.traits import Cost
from stillflow.ops.linalg.matmul import mat_mul_shape
from stillflow.ops.samples import Bad, Sample, Samples

fused_mat_mul_op = op(
    """
    _FusedMatMul(a: T, b: T, args: num_args*T) -> product: T
    transpose_a: bool = false
    transpose_b: bool = false
    T: {float}
    num_args: int >= 0
    fused_ops: list(string) = []
    epsilon: float = 9.9999997e-05
""",
    devices="host",
    cost=Cost("product"),
    latency="long",
)
fused_mat_mul_op.shape(mat_mul_shape)


def _activations() -> dict[tuple[bytes, ...], Callable[[Any], Any]]:
    """Return the activations after the biases, by the names of the fused operations."""
    functional = torch.nn.functional
    return {
        (b"BiasAdd",): lambda x: x,
        (b"BiasAdd", b"Relu"): torch.relu_,
        (b"BiasAdd", b"Relu6"): lambda x: functional.hardtanh_(x, 0.0, 6.0),
        (b"BiasAdd", b"Elu"): functional.elu_,
    }


def _activation(node: Node) -> Callable[[Any], Any]:
    """Return the activation of a node.

    An OpError for others than TF's kernel supports, in its words.
    """
    fused = tuple(node.fused_ops)
    if not fused:
        raise errors.invalid_argument("Fused MatMul must have at least one fused op.")
    found = _activations().get(fused)
    if found is None:
        names = b",".join(fused).decode()
        raise errors.unimplemented(f"Fusion is not implemented: [{names}]")
    if node.num_args != 1:
        raise errors.invalid_argument(
            "Fused MatMul with BiasAdd must have one extra argument: bias."
        )
    return found


@fused_mat_mul_op.kernel
def fused_mat_mul_kernel(node: Node) -> Kernel:
    activation, a_turned, b_turned = _activation(node), node.transpose_a, node.transpose_b

    def run(a: Any, b: Any, bias: Any) -> torch.Tensor:
        a, b = a.mT if a_turned else a, b.mT if b_turned else b
        if not a.shape[1]:  # TensorFlow adds no biases to nothing
            return torch.mm(a, b)
        columns = b.shape[1]
        if bias.ndim != 1:
            shape = dims.to_string(tuple(bias.shape))
            raise errors.invalid_argument(f"bias must be 1-dimensional{shape}")
        if len(bias) < columns:  # TensorFlow reads past their end in memory
            raise errors.invalid_argument(f"bias has {len(bias)} elements for {columns} columns")
        return activation(torch.addmm(bias[:columns], a, b))

    return run


@fused_mat_mul_op.samples
def fused_mat_mul_samples() -> Samples:
    random = np.random.RandomState(3)
    a, b = random.randn(3, 4).astype(np.float32), random.randn(4, 2).astype(np.float32)
    bias = np.array([0.5, -1.0], np.float32)
    for activation in ([], [b"Relu"], [b"Relu6"], [b"Elu"]):
        yield Sample(a, b, [bias], fused_ops=[b"BiasAdd", *activation], grad=False)
    yield Sample(a.T, b.T, [bias], fused_ops=[b"BiasAdd"], transpose_a=True, transpose_b=True,
                 grad=False)  # fmt: skip
    yield Bad(a, a, [bias], fused_ops=[b"BiasAdd"], match="must be equal|size-incompatible")
    yield Bad(a, b, [bias[:1]], fused_ops=[b"BiasAdd"], match="bias has 1 elements for 2 columns")
