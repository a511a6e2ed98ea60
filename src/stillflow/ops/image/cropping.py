"""Cutting boxes out of images and resizing them: CropAndResize and its gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from stillflow.errors import out_of_range
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.image import native_kernels
from stillflow.ops.image.sizes import sized
from stillflow.ops.input_ranks import kernel_ranks
from stillflow.ops.kernels import as_signed, torch_type
from stillflow.ops.nn.interpolation import Weights
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util.renamed import renamed_argument

_TYPES = "{uint8, uint16, int8, int16, int32, int64, half, float, double}"

crop_and_resize_op = op(
    f"""
    CropAndResize(image: T, boxes: float, box_ind: int32, crop_size: int32) -> crops: float
    T: {_TYPES}
    method: {{"bilinear", "nearest"}} = "bilinear"
    extrapolation_value: float = 0
""",
    gpu_types="fractions",
    numbers=("crop_size",),
)
crop_and_resize_grad_image_op = op(
    """
    CropAndResizeGradImage(grads: float, boxes: float, box_ind: int32, image_size: int32)
        -> output: T
    T: {float, half, double}
    method: {"bilinear", "nearest"} = "bilinear"
""",
    gpu_types="fractions",
    numbers=("image_size",),
)
crop_and_resize_grad_boxes_op = op(
    f"""
    CropAndResizeGradBoxes(grads: float, image: T, boxes: float, box_ind: int32) -> output: float
    T: {_TYPES}
    method: {{"bilinear"}} = "bilinear"
""",
    gpu_types="fractions",
)


@crop_and_resize_op.shape
def crop_and_resize_shape(node: Node) -> OutputDims:
    image = dims_lib.with_rank(node.dims(0), 4)
    boxes = dims_lib.with_rank(node.dims(1), 2)
    (indices,) = dims_lib.with_rank(node.dims(2), 1)
    if node.planning and boxes[1] not in (None, 4):
        raise ValueError("boxes must have 4 columns")
    if node.planning and None not in (boxes[0], indices) and boxes[0] != indices:
        raise ValueError("box_index has incompatible shape")
    count = dims_lib.merge_dim(boxes[0], indices)
    dims_lib.with_value(boxes[1], 4)
    return sized(node, count, 3, image[3])


@crop_and_resize_grad_image_op.shape
def crop_and_resize_grad_image_shape(node: Node) -> OutputDims:
    dims_lib.with_rank(node.dims(3), 1)
    return dims_lib.with_rank(node.shape_value(3), 4)


@crop_and_resize_grad_boxes_op.shape
def crop_and_resize_grad_boxes_shape(node: Node) -> OutputDims:
    return node.dims(2)


_GRADS = (0, 4, "grads image must be 4-D{}")


def _boxes_at(first: int) -> tuple[tuple[int, int, str], ...]:
    """Check the ranks of boxes, at a position among the inputs, and of their indices after them."""
    return (first, 2, "boxes must be 2-D{}"), (first + 1, 1, "box_index must be 1-D{}")


crop_and_resize_op.check(kernel_ranks((0, 4, "input image must be 4-D{}"), *_boxes_at(1)))
crop_and_resize_grad_image_op.check(
    kernel_ranks(_GRADS, *_boxes_at(1), (3, 1, "image_size must be 1-D{}"))
)
crop_and_resize_grad_boxes_op.check(
    kernel_ranks(_GRADS, (1, 4, "input image must be 4-D{}"), *_boxes_at(2))
)


class Grid(NamedTuple):
    """Along one dimension of the crops of all boxes, each [boxes, outputs]."""

    place: Any
    inside: Any
    lower: Any
    upper: Any
    fraction: Any

    def weights(self) -> Weights:
        return Weights(*(part.contiguous().numpy() for part in self[2:]))

    def weights_inside(self) -> Weights:
        """Return the same, with -1 as the lower neighbour of places outside of the image."""
        return self._replace(lower=self.lower.masked_fill(~self.inside, -1)).weights()


def _grid(start: Any, end: Any, size: int, wanted: int, divide_first: bool = False) -> Grid:
    """Return the places of the crops' pixels in an image of `size` pixels."""
    if wanted > 1:
        if divide_first:
            step = (end - start) * float(np.float32(size - 1) / np.float32(wanted - 1))
        else:
            step = (end - start) * (size - 1) / (wanted - 1)
        count = torch.arange(wanted, dtype=torch.float32, device=start.device)
        place = (start * (size - 1))[:, None] + count * step[:, None]
    else:
        middle = 0.5 * (start + end).double() * (size - 1)
        place = middle.float()[:, None]
    inside = (place >= 0) & (place <= size - 1)
    safe = torch.where(inside, place, torch.zeros_like(place))
    floor = safe.floor()
    # A float32 that is not above a large size may still be one beyond it.
    lower, upper = (each.long().clamp_(max=size - 1) for each in (floor, safe.ceil()))
    return Grid(safe, inside, lower, upper, safe - floor)


def _nearest(grid: Grid) -> torch.Tensor:
    """Return the places rounded, halves up."""
    return torch.where(grid.fraction >= 0.5, grid.upper, grid.lower)


def _check_boxes(boxes: Any, indices: Any, batch: int) -> None:
    if boxes.numel() == 0 and indices.numel() == 0:
        return
    if boxes.shape[1] != 4:
        raise ValueError("boxes must have 4 columns")
    if boxes.shape[0] != indices.shape[0]:
        raise ValueError("box_index has incompatible shape")
    if bool(((indices < 0) | (indices >= batch)).any()):
        raise out_of_range("box_index has values outside [0, batch_size)")


def _check_image(height: int, width: int) -> None:
    if height <= 0 or width <= 0:
        raise ValueError("image dimensions must be positive")


def _corners(image: Any, batch: Any, rows: Grid, columns: Grid) -> list[Any]:
    """Return the four neighbours of each place: top left, top right, bottom left, bottom right."""
    seen = as_signed(image)
    return [
        seen[batch, row[:, :, None], column[:, None, :]].view(image.dtype).to(torch.float32)
        for row in rows[2:4]
        for column in columns[2:4]
    ]


def _crop(
    image: Any, boxes: Any, indices: Any, size: Any, method: bytes, outside: float
) -> torch.Tensor:
    height, width = size.tolist()
    if image.shape[0] and min(image.shape[1:3]) <= 0:
        raise ValueError("image dimensions must be positive")
    if height <= 0 or width <= 0:
        raise ValueError("crop dimensions must be positive")
    _check_image(*image.shape[1:3])
    _check_boxes(boxes, indices, image.shape[0])
    if not len(boxes):
        return torch.zeros(0, height, width, image.shape[3], device=image.device)
    found = native_kernels.crop(image, boxes, indices, (height, width), method, outside)
    if found is not None:
        return found
    rows = _grid(boxes[:, 0], boxes[:, 2], image.shape[1], height)
    columns = _grid(boxes[:, 1], boxes[:, 3], image.shape[2], width)
    if method == b"nearest":
        seen, batch = as_signed(image), indices.long()[:, None, None]
        found = seen[batch, _nearest(rows)[:, :, None], _nearest(columns)[:, None, :]]
        crops = found.view(image.dtype).to(torch.float32)
    else:
        crops = _between(image, indices.long(), rows, columns)
    crops[~(rows.inside[:, :, None] & columns.inside[:, None, :])] = outside
    return crops


def _between(image: Any, indices: Any, rows: Grid, columns: Grid) -> torch.Tensor:
    """Return the crops before the outside of the image is filled in."""
    corners = _corners(image, indices[:, None, None], rows, columns)
    across = columns.fraction[:, None, :, None]
    top = corners[0] + (corners[1] - corners[0]) * across
    bottom = corners[2] + (corners[3] - corners[2]) * across
    return top + (bottom - top) * rows.fraction[:, :, None, None]


@crop_and_resize_op.kernel
def crop_and_resize_kernel(node: Node) -> Kernel:
    return node.call(_crop, *node.inputs, node.method, node.extrapolation_value)


def _check_grads(grads: Any, boxes: Any) -> None:
    if grads.shape[1] <= 0 or grads.shape[2] <= 0:
        raise ValueError("grads dimensions must be positive")
    if grads.shape[0] != boxes.shape[0]:
        raise ValueError("boxes and grads have incompatible shape")


def _shares(rows: Grid, columns: Grid, method: bytes) -> Iterator[tuple[Any, Any, Any]]:
    """(row, column, weight) of the pixels that each place takes from."""
    if method == b"nearest":
        yield _nearest(rows), _nearest(columns), None
        return
    for row, down in ((rows.lower, 1 - rows.fraction), (rows.upper, rows.fraction)):
        for column, across in (
            (columns.lower, 1 - columns.fraction), (columns.upper, columns.fraction)
        ):  # fmt: skip
            yield row, column, (down[:, :, None] * across[:, None, :])[..., None]


def _grad_image(
    grads: Any, boxes: Any, indices: Any, size: Any, method: bytes, dtype: Any
) -> torch.Tensor:
    if len(size) != 4:
        raise ValueError(f"image_size must have 4 elements[{len(size)}]")
    batch, height, width, depth = size.tolist()
    _check_grads(grads, boxes)
    _check_image(height, width)
    if grads.shape[3] != depth:
        raise ValueError("image_size and grads are incompatible")
    _check_boxes(boxes, indices, batch)
    sums = torch.float64 if dtype == torch.float64 else torch.float32
    total = torch.zeros(batch * height * width, depth, dtype=sums, device=grads.device)
    if len(boxes):
        rows = _grid(boxes[:, 0], boxes[:, 2], height, grads.shape[1])
        columns = _grid(boxes[:, 1], boxes[:, 3], width, grads.shape[2])
        if method == b"bilinear" and dtype == torch.float32:
            found = native_kernels.of_images(grads, indices, size.tolist(), rows, columns)
            if found is not None:
                return found
        inside = (rows.inside[:, :, None] & columns.inside[:, None, :])[..., None]
        given = grads.masked_fill(~inside, 0)
        first = indices.long()[:, None, None] * height
        for row, column, share in _shares(rows, columns, method):
            places = (first + row[:, :, None]) * width + column[:, None, :]
            part = given if share is None else given * share
            total.index_add_(0, places.flatten(), part.reshape(-1, depth).to(sums))
    return total.view(batch, height, width, depth).to(dtype)


@crop_and_resize_grad_image_op.kernel
def crop_and_resize_grad_image_kernel(node: Node) -> Kernel:
    return node.call(_grad_image, *node.inputs, node.method, torch_type(node.T))


def _slopes(slope: Any, size: int, wanted: int) -> tuple[Any, Any]:
    """Return the gradients of a box's two ends along one dimension, given that of each place."""
    if wanted <= 1:
        half = slope.sum(1) * 0.5 * (size - 1)
        return half, half
    ratio = float(np.float32(size - 1) / np.float32(wanted - 1))
    reached = torch.arange(wanted, dtype=torch.float32, device=slope.device) * ratio
    return (slope * (size - 1 - reached)).sum(1), (slope * reached).sum(1)


def _grad_boxes(grads: Any, image: Any, boxes: Any, indices: Any) -> torch.Tensor:
    _check_image(*image.shape[1:3])
    if image.shape[3] != grads.shape[3]:
        raise ValueError("image, grads depth differ")
    _check_grads(grads, boxes)
    _check_boxes(boxes, indices, image.shape[0])
    if not len(boxes):
        return torch.zeros(0, 4, device=grads.device)
    height, width = image.shape[1:3]
    rows = _grid(boxes[:, 0], boxes[:, 2], height, grads.shape[1], divide_first=True)
    columns = _grid(boxes[:, 1], boxes[:, 3], width, grads.shape[2], divide_first=True)
    found = native_kernels.of_boxes(grads, image, indices, rows, columns)
    if found is not None:
        return found
    corners = _corners(image, indices.long()[:, None, None], rows, columns)
    top_left, top_right, bottom_left, bottom_right = corners
    across, down = columns.fraction[:, None, :, None], rows.fraction[:, :, None, None]
    inside = (rows.inside[:, :, None] & columns.inside[:, None, :])[..., None]
    given = grads.masked_fill(~inside, 0)
    slope_y = (1 - across) * (bottom_left - top_left) + across * (bottom_right - top_right)
    slope_x = (1 - down) * (top_right - top_left) + down * (bottom_right - bottom_left)
    y1, y2 = _slopes((slope_y * given).sum((2, 3)), height, grads.shape[1])
    x1, x2 = _slopes((slope_x * given).sum((1, 3)), width, grads.shape[2])
    return torch.stack([y1, x1, y2, x2], 1)


@crop_and_resize_grad_boxes_op.kernel
def crop_and_resize_grad_boxes_kernel(node: Node) -> Kernel:
    return node.call(_grad_boxes, *node.inputs)


@crop_and_resize_op.gradient
def crop_and_resize_gradient(node: Node, grad: Any) -> Gradients:
    image, boxes, indices, _ = node.inputs
    known = image.get_shape()
    size = known.as_list() if known.is_fully_defined() else shape_of(image)
    grad_image = None
    if image.dtype in (dtypes.float16, dtypes.float32, dtypes.float64):
        grad_image = crop_and_resize_grad_image_op(
            grad, boxes, indices, size, T=node.T, method=node.method
        )
    # Of nearest pixels the boxes' gradient is that of bilinear ones.
    grad_boxes = crop_and_resize_grad_boxes_op(grad, image, boxes, indices)
    return [grad_image, grad_boxes, None, None]


_BOXES = np.array(
    [[0.13, 0.21, 0.72, 0.93], [-0.3, 0.1, 1.2, 0.47], [0.9, 0.8, 0.2, 0.13]], np.float32
)


def _pictures(*sizes: int) -> np.ndarray:
    return np.sin(np.arange(np.prod(sizes)) * 1.3).reshape(sizes).astype(np.float32)


@crop_and_resize_op.samples
def crop_and_resize_samples() -> Samples:
    image = _pictures(2, 5, 6, 2)
    indices = np.array([0, 1, 1], np.int32)
    yield Sample(image, _BOXES, indices, [3, 4], fixed=(3,), grad=False)
    yield Sample(image, _BOXES, indices, [1, 1], fixed=(3,), grad=False)
    yield Sample(
        image, _BOXES, indices, [4, 3], fixed=(3,), grad=False, method="nearest",
        extrapolation_value=2.5,
    )  # fmt: skip
    yield Bad(image, _BOXES, indices, [0, 3], match="crop dimensions must be positive")
    yield Bad(image, _BOXES[:, :3], indices, [2, 3], match="must be 4")


@crop_and_resize_grad_image_op.samples
def crop_and_resize_grad_image_samples() -> Samples:
    indices = np.array([0, 1, 1], np.int32)
    for method in ("bilinear", "nearest"):
        yield Sample(
            _pictures(3, 3, 4, 2), _BOXES, indices, [2, 5, 6, 2], fixed=(3,), grad=False,
            T=dtypes.float32, method=method,
        )  # fmt: skip


@crop_and_resize_grad_boxes_op.samples
def crop_and_resize_grad_boxes_samples() -> Samples:
    indices = np.array([0, 1, 1], np.int32)
    yield Sample(_pictures(3, 3, 4, 2), _pictures(2, 5, 6, 2), _BOXES, indices, grad=False)
    yield Sample(_pictures(3, 1, 1, 2), _pictures(2, 5, 6, 2), _BOXES, indices, grad=False)


@export("image.crop_and_resize")
def crop_and_resize(
    image: Any,
    boxes: Any,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Tensor:
    """Boxes cut out of images and resized to one size.

    Args:
      image: `[batch, height, width, channels]`.
      boxes: `[boxes, 4]`: y1, x1, y2, x2, where 1 is the last pixel.
      box_ind: older name of `box_indices`.
      crop_size: height and width of the crops.
      method: "bilinear" or "nearest".
      extrapolation_value: of pixels outside the image.
      name: of the operation.
      box_indices: `[boxes]`, which image each box is of.

    Returns:
      `[boxes, crop height, crop width, channels]`, single precision.
    """
    indices = renamed_argument("box_indices", box_indices, "box_ind", box_ind)
    return crop_and_resize_op(
        image, boxes, indices, crop_size, method=method,
        extrapolation_value=extrapolation_value, name=name,
    )  # fmt: skip
