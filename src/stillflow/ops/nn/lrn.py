"""Local response normalization across channels: LRN."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.input_ranks import kernel_ranks
from stillflow.ops.nn.precision import HALVES, in_type
from stillflow.ops.samples import Bad, Sample, Samples

_ATTRS = """
    depth_radius: int = 5
    bias: float = 1
    alpha: float = 1
    beta: float = 0.5
    T: {half, bfloat16, float} = float
"""


def _norms(image: Any, radius: int, bias: float, alpha: float) -> torch.Tensor:
    """`bias + alpha * (sum of squares over neighbouring channels)`."""
    return _neighbours(image.square(), radius).mul_(alpha).add_(bias)


def _neighbours(values: Any, radius: int) -> torch.Tensor:
    """Return sums over the channels up to `radius` away: a product with a band of ones."""
    place = torch.arange(values.shape[-1], device=values.device)
    band = ((place[:, None] - place).abs() <= radius).to(values.dtype)
    return values @ band


def _normalize(image: Any, radius: int, bias: float, alpha: float, beta: float) -> torch.Tensor:
    norms = _norms(image, radius, bias, alpha)
    if beta == 0.5:
        return image * norms.rsqrt_()
    return image * norms.pow_(-beta)


def _backward(
    grads: Any, image: Any, output: Any, radius: int, bias: float, alpha: float, beta: float
) -> torch.Tensor:
    norms = _norms(image, radius, bias, alpha)
    shared = _neighbours(grads * output / norms, radius).mul_(-2 * alpha * beta)
    return grads * norms.pow_(-beta) + image * shared


def _kernel(node: Node, function: Any) -> Call:
    if node.T in HALVES:
        function = in_type(function, torch.float32, len(node.inputs))
    if node.depth_radius < 0:
        raise ValueError(f"depth_radius = {node.depth_radius} larger than int max")
    return node.call(function, *node.inputs, node.depth_radius, node.bias, node.alpha, node.beta)


lrn_op = op(f"LRN(input: T) -> output: T\n{_ATTRS}")
lrn_op.check(kernel_ranks((0, 4, "in must be 4-dimensional")))


@lrn_op.shape
def lrn_shape(node: Node) -> OutputDims:
    return dims.with_rank(node.dims(0), 4)


@lrn_op.kernel
def lrn_kernel(node: Node) -> Kernel:
    return _kernel(node, _normalize)


@lrn_op.gradient
def lrn_gradient(node: Node, grad: Tensor) -> Gradients:
    attrs = {name: node.op.attrs[name] for name in ("depth_radius", "bias", "alpha", "beta")}
    return lrn_grad_op(grad, node.inputs[0], node.outputs[0], **attrs)


@lrn_op.samples
def lrn_samples() -> Samples:
    image = np.sin(np.arange(48, dtype=np.float32)).reshape(2, 2, 2, 6)
    yield Sample(image)
    yield Sample(image, depth_radius=2, bias=2.0, alpha=0.5, beta=0.75)
    yield Sample(image, depth_radius=1, beta=1.0)
    yield Bad(image[0], match="must be rank 4")


lrn_grad_op = op(f"LRNGrad(input_grads: T, input_image: T, output_image: T) -> output: T\n{_ATTRS}")
lrn_grad_op.check(kernel_ranks(*[(index, 4, "inputs must be 4-dimensional") for index in range(3)]))


@lrn_grad_op.shape
def lrn_grad_shape(node: Node) -> OutputDims:
    result = dims.with_rank(node.dims(0), 4)
    return dims.merge(dims.merge(result, node.dims(1)), node.dims(2))


@lrn_grad_op.kernel
def lrn_grad_kernel(node: Node) -> Kernel:
    return _kernel(node, _backward)


@lrn_grad_op.samples
def lrn_grad_samples() -> Samples:
    image = np.sin(np.arange(48, dtype=np.float32)).reshape(2, 2, 2, 6)
    yield Sample(image + 1, image, image * 0.5, depth_radius=2, beta=0.75, grad=False)


@export("nn.local_response_normalization", "nn.lrn")
def local_response_normalization(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """`input / (bias + alpha * sum of squares) ** beta`.

    Args:
      input: [batch, height, width, channels], floating-point.
      depth_radius: how many channels on either side the sum goes over.
    """
    return lrn_op(input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta, name=name)
