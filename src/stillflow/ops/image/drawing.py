"""Drawing boxes on images."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops import native_calls
from stillflow.ops.image.sizes import same_with_rank_at_least
from stillflow.ops.samples import Bad, Sample, Samples

draw_bounding_boxes_op = op(
    """
    DrawBoundingBoxes(images: T, boxes: float) -> output: T
    T: {float, half} = float
    """,
    differentiable=False,
    devices="host",
)
draw_bounding_boxes_v2_op = op(
    """
    DrawBoundingBoxesV2(images: T, boxes: float, colors: float) -> output: T
    T: {float, half} = float
""",
    devices="host",
)

# Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
_COLOURS = (
    (1, 1, 0, 1), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 1), (0.5, 0, 0.5, 1),
    (0.5, 0.5, 0, 1), (0.5, 0, 0, 1), (0, 0, 0.5, 1), (0, 1, 1, 1), (1, 0, 1, 1),
)  # fmt: skip
_DEPTHS = "Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)"


@draw_bounding_boxes_op.shape
def draw_bounding_boxes_shape(node: Node) -> OutputDims:
    images = dims_lib.with_rank(node.dims(0), 4)
    if images[3] not in (None, 1, 3, 4):
        raise ValueError(_DEPTHS)
    boxes = dims_lib.with_rank(node.dims(1), 3)
    dims_lib.with_value(boxes[2], 4)
    return node.dims(0)


@draw_bounding_boxes_v2_op.shape
def draw_bounding_boxes_v2_shape(node: Node) -> OutputDims:
    return same_with_rank_at_least(node, 3)


def _check(images: Any, boxes: Any, colours: Any) -> None:
    depth = images.shape[-1]
    if images.dim() != 4:
        raise ValueError("The rank of the images should be 4")
    if boxes.dim() != 3:
        raise ValueError("The rank of the boxes tensor should be 3")
    if images.shape[0] != boxes.shape[0]:
        raise ValueError("The batch sizes should be the same")
    if depth not in (1, 3, 4):
        raise ValueError(_DEPTHS)
    if boxes.shape[2] != 4:
        raise ValueError(
            f"The size of the third dimension of the box must be 4. Received: {boxes.shape[2]}"
        )
    if colours is not None:
        shown = str(list(colours.shape)).replace(" ", "")
        if colours.dim() != 2:
            raise ValueError(f"colors must be a 2-D matrix{shown}")
        if colours.shape[1] < depth:
            raise ValueError(
                f"colors must have equal or more channels than the image provided: {shown}"
            )


def _table(depth: int, colours: Any, like: Any) -> torch.Tensor:
    if colours is not None and colours.numel():
        return colours[:, :depth].to(like.device, like.dtype)
    table = torch.tensor(_COLOURS, device=like.device, dtype=like.dtype)
    if depth == 1:
        table[:, 0] = 1
    return table[:, :depth]


def _draw(images: Any, boxes: Any, colours: Any = None) -> torch.Tensor:
    _check(images, boxes, colours)
    canvas = images.clone(memory_format=torch.contiguous_format)
    height, width, depth = images.shape[1:]
    table = _table(depth, colours, images)
    scale = torch.tensor([height - 1, width - 1] * 2, dtype=torch.float32, device=boxes.device)
    edges = (boxes.to(torch.float32) * scale).nan_to_num(-1.0, 1e9, -1e9)
    whole = edges.clamp(-1e9, 1e9).long()
    if native_calls.take(canvas, table := table.contiguous()) and native_calls.reach(whole):
        _draw_in_c(canvas, whole, table)
        return canvas
    for picture, own in zip(canvas, whole.tolist(), strict=True):
        for index, edge in enumerate(own):
            _draw_one(picture, edge, table[index % len(table)])
    return canvas


def _draw_in_c(canvas: Any, edges: Any, table: Any) -> None:
    library: Any = native.library()
    library.draw_boxes(
        canvas.data_ptr(), *canvas.shape, edges.data_ptr(), edges.shape[1], table.data_ptr(),
        len(table),
    )  # fmt: skip


def _draw_one(picture: Any, edge: list[int], colour: Any) -> None:
    """Draw a box's part inside of a picture; an inverted or outside box is left out."""
    top, left, bottom, right = edge
    height, width = picture.shape[:2]
    if top > bottom or left > right:
        return
    if top >= height or bottom < 0 or left >= width or right < 0:
        return
    rows = slice(max(top, 0), min(bottom, height - 1) + 1)
    columns = slice(max(left, 0), min(right, width - 1) + 1)
    for row in (top, bottom):
        if 0 <= row < height:
            picture[row, columns] = colour
    for column in (left, right):
        if 0 <= column < width:
            picture[rows, column] = colour


@draw_bounding_boxes_op.kernel
def draw_bounding_boxes_kernel(node: Node) -> Kernel:
    return node.call(_draw, *node.inputs)


@draw_bounding_boxes_v2_op.kernel
def draw_bounding_boxes_v2_kernel(node: Node) -> Kernel:
    return node.call(_draw, *node.inputs)


_BOXES = np.array([[[0.1, 0.2, 0.8, 0.9], [-0.5, 0.1, 0.3, 1.4], [0.9, 0.9, 0.1, 0.1]]], np.float32)


@draw_bounding_boxes_op.samples
def draw_bounding_boxes_samples() -> Samples:
    for depth in (3, 1, 4):
        yield Sample(np.zeros((1, 7, 9, depth), np.float32), _BOXES, grad=False)
    yield Bad(np.zeros((1, 7, 9, 2), np.float32), _BOXES, match="Channel depth")
    yield Bad(np.zeros((2, 7, 9, 3), np.float32), _BOXES, match="batch sizes should be the same")
    yield Bad(np.zeros((1, 7, 9, 3), np.float32), _BOXES[..., :3], match="must be 4")


@draw_bounding_boxes_v2_op.samples
def draw_bounding_boxes_v2_samples() -> Samples:
    image = np.zeros((1, 7, 9, 3), np.float32)
    colours = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    yield Sample(image, _BOXES, colours, grad=False)
    yield Sample(image, _BOXES, np.zeros((0, 3), np.float32), grad=False)
    yield Bad(image, _BOXES, colours[:, :2], match="equal or more channels")


@export("image.draw_bounding_boxes")
def draw_bounding_boxes(
    images: Any, boxes: Any, name: str | None = None, colors: Any = None
) -> Tensor:
    """Images with boxes drawn on them.

    Args:
      images: `[batch, height, width, depth]`, of half or single precision; depth 1, 3 or 4.
      boxes: `[batch, boxes, 4]`: top, left, bottom and right as parts of the image's size.
      name: of the operation.
      colors: `[colours, depth]`, taken in turn; ten of TensorFlow's own if left out.
    """
    if colors is None:
        return draw_bounding_boxes_op(images, boxes, name=name)
    return draw_bounding_boxes_v2_op(images, boxes, colors, name=name)
