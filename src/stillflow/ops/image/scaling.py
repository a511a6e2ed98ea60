"""Images scaled and moved by any amounts, with a choice of sampling kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel
from stillflow.ops.image import taps
from stillflow.ops.image.resizing import image_rank, original_shape, resize_shape
from stillflow.ops.image.sampling_kernels import KERNELS, sampled
from stillflow.ops.samples import Bad, Sample, Samples

_ATTRS = """
    kernel_type: string = "lanczos3"
    antialias: bool = true
"""

scale_and_translate_op = op(
    f"""
    ScaleAndTranslate(images: T, size: int32, scale: float, translation: float)
        -> resized_images: float
    T: {{int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}}
    {_ATTRS}
""",
    devices="host",
)
scale_and_translate_grad_op = op(
    f"""
    ScaleAndTranslateGrad(grads: T, original_image: T, scale: float, translation: float)
        -> output: T
    T: {{float}}
    {_ATTRS}
""",
    devices="host",
)


scale_and_translate_op.shape(resize_shape)
scale_and_translate_op.check(image_rank)
scale_and_translate_grad_op.shape(original_shape)


def _kernel_name(node: Node) -> str:
    name: str = node.kernel_type.decode("latin-1").lower()
    if name not in KERNELS:
        raise ValueError(f"Unrecognized kernel type: {node.kernel_type.decode('latin-1')}")
    return name


def _amounts(scale: Any, translation: Any) -> list[tuple[float, float]]:
    """Scale and translation of height and of width."""
    for value in (scale, translation):
        if value.dim() != 1:
            raise ValueError(f"t must be 1-dimensional{shape_text(value.shape)}")
        if value.numel() != 2:
            raise ValueError(f"t must have two elements{shape_text(value.shape)}")
    scales = scale.tolist()
    if not min(scales) > 0:
        raise ValueError("Scale must be greater than zero.")
    return list(zip(scales, translation.tolist(), strict=True))


def _scaled(
    images: Any, size: Any, scale: Any, translation: Any, kernel: str, antialias: bool
) -> torch.Tensor:
    wanted = size.tolist()
    if min(wanted) <= 0:
        raise ValueError("output dimensions must be positive")
    if images.shape[3] <= 0:
        raise ValueError("image must have at least one channel")
    if 0 in images.shape[1:3]:
        raise ValueError("input image must be of non-zero size")
    result = images
    for axis, amounts in zip((1, 2), _amounts(scale, translation), strict=True):
        found = sampled(result.shape[axis], wanted[axis - 1], *amounts, kernel, antialias)
        result = taps.gather(result, found, axis)
    return result


@scale_and_translate_op.kernel
def scale_and_translate_kernel(node: Node) -> Kernel:
    return node.call(_scaled, *node.inputs, _kernel_name(node), node.antialias)


def _spread(
    grad: Any, original: Any, scale: Any, translation: Any, kernel: str, antialias: bool
) -> torch.Tensor:
    for name, image in (("input_grad", grad), ("original_image", original)):
        if image.dim() != 4:
            raise ValueError(f"{name} must be 4-dimensional{shape_text(image.shape)}")
    result = grad
    for axis, amounts in zip((1, 2), _amounts(scale, translation), strict=True):
        size = original.shape[axis]
        found = sampled(size, grad.shape[axis], *amounts, kernel, antialias)
        result = taps.scatter(result, found, axis, size)
    return result


@scale_and_translate_grad_op.kernel
def scale_and_translate_grad_kernel(node: Node) -> Kernel:
    return node.call(_spread, *node.inputs, _kernel_name(node), node.antialias)


@scale_and_translate_op.gradient
def scale_and_translate_gradient(node: Node, grad: Tensor) -> Gradients:
    images, _, scale, translation = node.inputs
    back = scale_and_translate_grad_op(
        grad, images, scale, translation, kernel_type=node.kernel_type, antialias=node.antialias
    )
    return [back, None, None, None]


@scale_and_translate_op.samples
def scale_and_translate_samples() -> Samples:
    image = np.sin(np.arange(60, dtype=np.float32)).reshape(1, 6, 5, 2)
    scale, move = np.array([0.7, 1.6], np.float32), np.array([0.3, -1.2], np.float32)
    for kernel in KERNELS:
        yield Sample(image, [4, 7], scale, move, kernel_type=kernel, fixed=(1,), grad=False)
    yield Sample(image, [2, 2], scale / 4, move, antialias=False, fixed=(1,), grad=False)
    yield Bad(image, [4, 7], scale, move, kernel_type="none", match="Unrecognized kernel type")
    yield Bad(image, [4, 7], -scale, move, match="greater than zero")
    yield Bad(image, [0, 7], scale, move, match="must be positive")


@scale_and_translate_grad_op.samples
def scale_and_translate_grad_samples() -> Samples:
    grad = np.cos(np.arange(56, dtype=np.float32)).reshape(1, 4, 7, 2)
    image = np.zeros([1, 6, 5, 2], np.float32)
    yield Sample(
        grad, image, np.array([0.7, 1.6], np.float32), np.array([0.3, -1.2], np.float32), grad=False
    )
