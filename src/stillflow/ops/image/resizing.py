"""Resizing images: nearest neighbour, bilinear, bicubic and area, with their gradients."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel
from stillflow.ops.arrays.indexing import slice_helper
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.image import nearest, taps
from stillflow.ops.image.sizes import check_resize, check_resize_gradient, sized
from stillflow.ops.input_ranks import kernel_ranks
from stillflow.ops.kernels import torch_type
from stillflow.ops.nn.interpolation import Weights, interpolate, spread_by, weights
from stillflow.ops.samples import Bad, Sample, Samples

_TYPES = "{int8, uint8, int16, uint16, int32, int64, half, float, double}"
_GRID = """
    align_corners: bool = false
    half_pixel_centers: bool = false
"""

resize_bilinear_op = op(
    f"""
    ResizeBilinear(images: T, size: int32) -> resized_images: float
    T: {{int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}}
    {_GRID}
""",
    gpu_types="fractions",
    numbers=("size",),
)
resize_bilinear_grad_op = op(
    f"""
    ResizeBilinearGrad(grads: float, original_image: T) -> output: T
    T: {{float, bfloat16, half, double}}
    {_GRID}
""",
    gpu_types="fractions",
)
resize_nearest_neighbor_op = op(
    f"""
    ResizeNearestNeighbor(images: T, size: int32) -> resized_images: T
    T: {_TYPES}
    {_GRID}
""",
    numbers=("size",),
)
resize_nearest_neighbor_grad_op = op(
    f"""
    ResizeNearestNeighborGrad(grads: T, size: int32) -> output: T
    T: {{uint8, int8, int32, half, float, double}}
    {_GRID}
""",
    numbers=("size",),
)
resize_bicubic_op = op(
    f"""
    ResizeBicubic(images: T, size: int32) -> resized_images: float
    T: {_TYPES}
    {_GRID}
""",
    numbers=("size",),
)
resize_bicubic_grad_op = op(f"""
    ResizeBicubicGrad(grads: float, original_image: T) -> output: T
    T: {{float, double}}
    {_GRID}
""")
resize_area_op = op(
    f"""
    ResizeArea(images: T, size: int32) -> resized_images: float
    T: {_TYPES}
    align_corners: bool = false
""",
    numbers=("size",),
)

RESIZERS = {
    "bilinear": resize_bilinear_op,
    "nearest": resize_nearest_neighbor_op,
    "bicubic": resize_bicubic_op,
    "area": resize_area_op,
}

# ---- Shapes and checks


def resize_shape(node: Node) -> tuple[int | None, ...]:
    image = dims_lib.with_rank(node.dims(0), 4)
    return sized(node, image[0], 1, image[3])


image_rank = kernel_ranks((0, 4, "input must be 4-dimensional{}"))

for _card in (*RESIZERS.values(), resize_nearest_neighbor_grad_op):
    _card.shape(resize_shape)
    _card.check(image_rank)


def original_shape(node: Node) -> tuple[int | None, ...] | None:
    return node.dims(1)


for _card in (resize_bilinear_grad_op, resize_bicubic_grad_op):
    _card.shape(original_shape)
    _card.check(
        kernel_ranks(
            (0, 4, "input_grad must be 4-dimensional{}"),
            (1, 4, "original_image must be 4-dimensional{}"),
        )
    )


def _centers(node: Node) -> bool:
    return bool(node.op.attrs.get("half_pixel_centers", False))


# ---- Kernels


def _bilinear(image: Any, size: Any, align: bool, centers: bool) -> torch.Tensor:
    wanted = size.tolist()
    check_resize(align, centers, image.shape, wanted)
    if wanted == list(image.shape[1:3]):
        return image.to(torch.float32, copy=True)
    return interpolate(image, *_weights(image, wanted, align, centers), torch.float32)


def _weights(image: Any, wanted: Any, align: bool, centers: bool) -> tuple[Weights, Weights]:
    """Return the weights of rows and columns for an image's new height and width."""
    rows, columns = (
        weights(size, count, align, centers)
        for size, count in zip(image.shape[1:3], wanted, strict=True)
    )
    return rows, columns


def _bicubic(image: Any, size: Any, align: bool, centers: bool) -> torch.Tensor:
    wanted = size.tolist()
    check_resize(align, centers, image.shape, wanted)
    result = image
    for axis, count in ((1, wanted[0]), (2, wanted[1])):
        result = taps.gather(result, taps.cubic(result.shape[axis], count, align, centers), axis)
    return result


def _area(image: Any, size: Any, align: bool, centers: bool) -> torch.Tensor:
    wanted = size.tolist()
    check_resize(align, False, image.shape, wanted)
    scales = [taps.scale_of(image.shape[a + 1], wanted[a], align) for a in range(2)]
    result = image
    for axis, count in ((2, wanted[1]), (1, wanted[0])):
        result = taps.gather(result, taps.area(result.shape[axis], count, align), axis)
    return result.mul_(float(np.float32(1 / (scales[0] * scales[1]))))


_RESIZE = {
    "ResizeBilinear": _bilinear, "ResizeNearestNeighbor": nearest.resize,
    "ResizeBicubic": _bicubic, "ResizeArea": _area,
}  # fmt: skip


def resize_kernel(node: Node) -> Call:
    align = bool(node.align_corners)
    return node.call(_RESIZE[node.op.type], *node.inputs, align, _centers(node))


for _card in RESIZERS.values():
    _card.kernel(resize_kernel)


def _spread(
    grad: Any, original: Any, align: bool, centers: bool, find: Any, dtype: Any
) -> torch.Tensor:
    check_resize_gradient(align, centers, grad.shape, original.shape)
    library = native.library()
    if find is taps.linear and dtype == torch.float32 and grad.is_cpu and library is not None:
        rows, columns = _weights(original, grad.shape[1:3], align, centers)
        return spread_by(library, grad, original.shape[1], original.shape[2], rows, columns)
    result = grad.to(torch.float64 if dtype == torch.float64 else torch.float32)
    for axis in (1, 2):
        size = original.shape[axis]
        found = find(size, grad.shape[axis], align, centers)
        result = taps.scatter(result, found, axis, size)
    return result.to(dtype)


def resize_grad_kernel(node: Node) -> Call:
    find = taps.linear if node.op.type == "ResizeBilinearGrad" else taps.cubic
    align = bool(node.align_corners)
    dtype = torch_type(node.T)
    return node.call(_spread, *node.inputs, align, _centers(node), find, dtype)


for _card in (resize_bilinear_grad_op, resize_bicubic_grad_op):
    _card.kernel(resize_grad_kernel)


@resize_nearest_neighbor_grad_op.kernel
def resize_nearest_neighbor_grad_kernel(node: Node) -> Kernel:
    align = bool(node.align_corners)
    return node.call(nearest.gradient, *node.inputs, align, _centers(node))


# ---- Gradients


def _resize_gradient(card: Any, node: Node, grad: Any) -> list[Tensor | None]:
    image = node.inputs[0]
    if card is resize_bicubic_grad_op and image.dtype not in (dtypes.float32, dtypes.float64):
        return [None, None]
    options = {name: getattr(node, name) for name in ("align_corners", "half_pixel_centers")}
    return [card(grad, image, **options), None]


resize_bilinear_op.gradient(partial(_resize_gradient, resize_bilinear_grad_op))
resize_bicubic_op.gradient(partial(_resize_gradient, resize_bicubic_grad_op))


@resize_nearest_neighbor_op.gradient
def resize_nearest_neighbor_gradient(node: Node, grad: Any) -> Gradients:
    image = node.inputs[0]
    size: Any = image.get_shape()[1:3]
    if not size.is_fully_defined():
        size = slice_helper(shape_of(image), slice(1, 3))
    options = {name: getattr(node, name) for name in ("align_corners", "half_pixel_centers")}
    return [resize_nearest_neighbor_grad_op(grad, size, **options), None]


# ---- Samples


def _picture(*sizes: int) -> np.ndarray:
    values = np.sin(np.arange(np.prod(sizes), dtype=np.float64) * 1.7)
    return values.reshape(sizes).astype(np.float32)


def _resize_samples(card: Any) -> Samples:
    image = _picture(2, 3, 4, 3)
    differentiable = card is not resize_area_op
    yield Sample(image, [5, 7], fixed=(1,), grad=differentiable)
    yield Sample(image, [2, 2], fixed=(1,), grad=differentiable)
    yield Sample(image[..., :1], [3, 9], fixed=(1,), grad=differentiable, align_corners=True)
    yield Sample(image, [3, 4], fixed=(1,), grad=differentiable)
    if card is not resize_area_op:
        yield Sample(image, [6, 3], fixed=(1,), half_pixel_centers=True)
    yield Sample(_picture(1, 5, 40, 2), [2, 1], fixed=(1,), grad=differentiable)
    yield Bad(image, [5, 0], match="output dimensions must be positive")
    yield Bad(image[0], [5, 7], match="must be rank 4")
    yield Bad(image, [5, 7, 1], match="must be 2")


for _card in RESIZERS.values():
    _card.samples(partial(_resize_samples, _card))


@resize_bilinear_grad_op.samples
def resize_bilinear_grad_samples() -> Samples:
    yield Sample(_picture(1, 5, 7, 2), _picture(1, 3, 4, 2), grad=False)
    yield Sample(_picture(1, 2, 9, 2), _picture(1, 4, 3, 2), grad=False, align_corners=True)


@resize_bicubic_grad_op.samples
def resize_bicubic_grad_samples() -> Samples:
    yield Sample(_picture(1, 5, 7, 2), _picture(1, 3, 4, 2), grad=False)
    yield Sample(_picture(1, 2, 9, 2), _picture(1, 4, 3, 2), grad=False, half_pixel_centers=True)


@resize_nearest_neighbor_grad_op.samples
def resize_nearest_neighbor_grad_samples() -> Samples:
    yield Sample(_picture(1, 5, 7, 2), [3, 4], fixed=(1,), grad=False)
    yield Bad(_picture(1, 5, 7, 2), [3, 0], match="must be positive")
