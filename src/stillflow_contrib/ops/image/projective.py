"""Images seen through projective transforms: each output pixel looks up a place of the input."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, OutputDims
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.image.sizes import sized
from stillflow.ops.linalg.decompositions import matrix_inverse
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow_contrib.ops.image.transform_matrices import (
    flat_transforms_to_matrices,
    matrices_to_flat_transforms,
)

_ATTRS = """
    dtype: {uint8, int32, int64, half, float, double}
    interpolation: string
"""
_INTERPOLATIONS = (b"NEAREST", b"BILINEAR")

image_projective_transform_op = op(f"""
    ImageProjectiveTransform(images: dtype, transforms: float) -> transformed_images: dtype
    {_ATTRS}
""")
image_projective_transform_v2_op = op(
    f"""
    ImageProjectiveTransformV2(images: dtype, transforms: float, output_shape: int32)
        -> transformed_images: dtype
    {_ATTRS}
""",
    numbers=("output_shape",),
)


@image_projective_transform_op.shape
def image_projective_transform_shape(node: Node) -> OutputDims:
    return node.dims(0)


@image_projective_transform_v2_op.shape
def image_projective_transform_v2_shape(node: Node) -> OutputDims:
    image = dims_lib.with_rank(node.dims(0), 4)
    return sized(node, image[0], 2, image[3])


def _check(images: Any, transforms: Any, size: Any) -> None:
    if images.dim() != 4:
        raise ValueError("Input images must have rank 4")
    count, given = images.shape[0], tuple(transforms.shape)
    if given not in ((count, 8), (1, 8)):
        raise ValueError("Input transform should be num_images x 8 or 1 x 8")
    if min(size) <= 0:
        raise ValueError("output dimensions must be positive")


def _places(transforms: Any, height: int, width: int) -> tuple[Any, Any]:
    """Return each output pixel's source, y and x of [transforms, height, width]; NaN for none."""
    a0, a1, a2, b0, b1, b2, c0, c1 = transforms[:, :, None, None].unbind(1)
    x = torch.arange(width, device=transforms.device, dtype=torch.float32)
    y = torch.arange(height, device=transforms.device, dtype=torch.float32)[:, None]
    depth = c0 * x + c1 * y + 1
    depth = torch.where(depth == 0, torch.nan, depth)
    return (b0 * x + b1 * y + b2) / depth, (a0 * x + a1 * y + a2) / depth


def _read(images: Any, y: Any, x: Any) -> torch.Tensor:
    """Return the pixels at whole-numbered places, 0 outside."""
    batch, height, width, _ = images.shape
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    rows, columns = (torch.where(inside, place, 0).to(torch.int64) for place in (y, x))
    image = torch.arange(batch, device=images.device)[:, None, None]
    found = images[image, rows, columns]
    return torch.where(inside[..., None], found, images.new_zeros(()))


def _nearest(images: Any, y: Any, x: Any) -> torch.Tensor:
    # Halves go away from zero; double precision keeps the sum from rounding up to one.
    half = _half().to(images.device)
    wide = (place.to(torch.float64) for place in (y, x))
    return _read(images, *(torch.trunc(place + torch.copysign(half, place)) for place in wide))


def _half() -> torch.Tensor:
    return torch.tensor(0.5, dtype=torch.float64)


def _bilinear(images: Any, y: Any, x: Any) -> torch.Tensor:
    top, left = torch.floor(y), torch.floor(x)
    bottom, right = top + 1, left + 1

    def across(row: Any) -> torch.Tensor:
        first, second = (_read(images, row, column).to(torch.float32) for column in (left, right))
        return (right - x)[..., None] * first + (x - left)[..., None] * second

    mixed = (bottom - y)[..., None] * across(top) + (y - top)[..., None] * across(bottom)
    # Where a transform leads nowhere, the weights are no numbers.
    known = torch.isfinite(y + x)[..., None]
    return torch.where(known, mixed, 0.0).to(images.dtype)


def _transformed(images: Any, transforms: Any, size: Any, interpolation: bytes) -> torch.Tensor:
    height, width = images.shape[1:3] if size is None else size.tolist()
    _check(images, transforms, (height, width) if size is not None else (1, 1))
    if images.numel() == 0:
        return images.new_zeros((images.shape[0], height, width, images.shape[3]))
    read = _nearest if interpolation == b"NEAREST" else _bilinear
    y, x = _places(transforms, height, width)
    return read(images, y, x)


def projective_kernel(node: Node) -> Call:
    if node.interpolation not in _INTERPOLATIONS:
        raise ValueError(
            f"Invalid interpolation {node.interpolation.decode('latin-1')}. "
            "Supported types: NEAREST, BILINEAR"
        )
    images, transforms, *size = node.inputs
    return node.call(_transformed, images, transforms, size[0] if size else None,
                     node.interpolation)  # fmt: skip


for _card in (image_projective_transform_op, image_projective_transform_v2_op):
    _card.kernel(projective_kernel)


@image_projective_transform_v2_op.gradient
def image_projective_transform_v2_gradient(node: Node, grad: Tensor) -> Gradients:
    """Return the gradient seen through the inverse transforms; TensorFlow's is as approximate."""
    images, transforms, _ = node.inputs
    inverse = matrix_inverse(flat_transforms_to_matrices(transforms))
    turned = matrices_to_flat_transforms(inverse)
    size = shape_of(images)[1:3]
    back = image_projective_transform_v2_op(grad, turned, size, interpolation=node.interpolation)
    return [back, None, None]


_IMAGE = np.arange(60, dtype=np.float32).reshape(2, 5, 3, 2)
_MOVES = np.array(
    [[1.1, 0.2, -0.7, 0.3, 0.9, 0.4, 0.01, 0.02], [0, 1, 0, 1, 0, 0, 0, 0]], np.float32
)


@image_projective_transform_op.samples
def image_projective_transform_samples() -> Samples:
    for interpolation in _INTERPOLATIONS:
        yield Sample(_IMAGE, _MOVES, interpolation=interpolation, grad=False)


@image_projective_transform_v2_op.samples
def image_projective_transform_v2_samples() -> Samples:
    for interpolation in _INTERPOLATIONS:
        yield Sample(_IMAGE, _MOVES[:1], [4, 6], interpolation=interpolation, fixed=(2,),
                     grad=False)  # fmt: skip
    yield Bad(_IMAGE, _MOVES[:1, :7], [4, 6], interpolation="NEAREST",
              match="num_images x 8 or 1 x 8")  # fmt: skip
    yield Bad(_IMAGE, _MOVES, [0, 6], interpolation="NEAREST", match="must be positive")
    yield Bad(_IMAGE, _MOVES, [4, 6, 1], interpolation="NEAREST", match="must be 2 but is 3")
