"""A box at random, which covers enough of an image's objects: SampleDistortedBoundingBox."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.ops.input_ranks import kernel_ranks
from stillflow.ops.kernels import torch_type
from stillflow.ops.random.range_samplers import Words
from stillflow.ops.random.streams import op_stream
from stillflow.ops.samples import Bad, Sample, Samples

_TYPES = "{uint8, int8, int16, int32, int64}"
_RANGES = """aspect_ratio_range: list(float) = [0.75, 1.330000043]
    area_range: list(float) = [0.050000001, 1.0]
    max_attempts: int = 100
    use_image_if_no_bounding_boxes: bool = false
    flags: stateful"""

sample_distorted_bounding_box_op = op(
    f"""
    SampleDistortedBoundingBox(image_size: T, bounding_boxes: float)
        -> (begin: T, size: T, bboxes: float)
    T: {_TYPES}
    seed: int = 0
    seed2: int = 0
    min_object_covered: float = 0.1
    {_RANGES}
    """,
    differentiable=False,
    devices="host",
)
sample_distorted_bounding_box_v2_op = op(
    f"""
    SampleDistortedBoundingBoxV2(image_size: T, bounding_boxes: float, min_object_covered: float)
        -> (begin: T, size: T, bboxes: float)
    T: {_TYPES}
    seed: int = 0
    seed2: int = 0
    {_RANGES}
    """,
    differentiable=False,
    devices="host",
)


_ranks = kernel_ranks(
    (0, 1, "image_size must be 1-dimensional{}"),
    (1, 3, "input boxes must be 3-dimensional [batch, num_boxes, coords]: {}"),
)


def sample_distorted_bounding_box_check(node: Node) -> None:
    """Raise an error for invalid shapes, with kernels' messages."""
    _ranks(node)
    size, boxes = node.dims(0), node.dims(1)
    if not (node.planning and dims_lib.is_known(size) and dims_lib.is_known(boxes)):
        return
    if size != (3,):
        raise ValueError(f"image_size must contain 3 elements{dims_lib.to_string(size)}")
    if boxes[-1] != 4:
        shown = dims_lib.to_string(boxes)
        raise ValueError(f"bounding boxes must have shape [4] or [*, 4], got {shown}")
    if len(node.inputs) == 3:
        kernel_ranks((2, 0, "min_object_covered must be 0-D, got shape {}"))(node)


def sample_distorted_bounding_box_shape(node: Node) -> list[tuple[int, ...]]:
    (length,) = dims_lib.with_rank(node.dims(0), 1)
    boxes = dims_lib.with_rank(node.dims(1), 3)
    if len(node.inputs) == 3:
        dims_lib.with_rank(node.dims(2), 0)
    dims_lib.with_value(length, 3)
    dims_lib.with_value(boxes[2], 4)
    return [(3,), (3,), (1, 1, 4)]


class Rectangle(NamedTuple):
    """Whole pixels, the ends left out."""

    left: int
    top: int
    right: int
    bottom: int

    def area(self) -> np.float32:
        return np.float32((self.right - self.left) * (self.bottom - self.top))

    def shared(self, other: Rectangle) -> np.float32:
        """Return the area of the intersection."""
        left, top = max(self.left, other.left), max(self.top, other.top)
        right, bottom = min(self.right, other.right), min(self.bottom, other.bottom)
        if left > right or top > bottom:
            return np.float32(0)
        return Rectangle(left, top, right, bottom).area()


class Limits(NamedTuple):
    """Limits of random crops, in single precision."""

    aspect: tuple[np.float32, np.float32]
    area: tuple[np.float32, np.float32]
    attempts: int


def _limits(node: Node) -> Limits:
    aspect, area = list(node.aspect_ratio_range), list(node.area_range)
    if len(aspect) != 2:
        raise ValueError("Aspect ratio range field must specify 2 dimensions")
    if min(aspect) <= 0:
        raise ValueError(f"Aspect ratio range must be non-negative: [{_pair(aspect)}]")
    if len(area) != 2:
        raise ValueError("Area range field must specify 2 dimensions")
    if min(area) <= 0:
        raise ValueError(f"Area range must be non-negative: [{_pair(area)}]")
    if max(area) > 1:
        raise ValueError(f"Area range must be less then or equal to 1.0: [{_pair(area)}]")
    if node.max_attempts <= 0:
        raise ValueError(f"Max attempts must be non-negative: {node.max_attempts}")
    single = np.float32
    return Limits(
        (single(aspect[0]), single(aspect[1])), (single(area[0]), single(area[1])),
        node.max_attempts,
    )  # fmt: skip


def _pair(numbers: list[float]) -> str:
    return ", ".join(f"{np.float32(number):g}" for number in numbers)


def _rounded(x: np.float32) -> int:
    return int(np.rint(x))


def _unit(words: Words) -> np.float32:
    """Return the next number in [0, 1) with 23 bits."""
    bits = (words.take(1) & np.uint32(0x7FFFFF)) | np.uint32(0x3F800000)
    return np.float32(bits.view(np.float32)[0] - np.float32(1))


def _crop(
    width: int, height: int, limits: Limits, aspect: np.float32, words: Words
) -> Rectangle | None:
    """Return a crop of that aspect ratio, or None if there is none within the limits."""
    least, most = limits.area
    if width <= 0 or height <= 0 or least > most:
        return None
    least_area = least * np.float32(width) * np.float32(height)
    most_area = most * np.float32(width) * np.float32(height)
    rows = _rounded(np.sqrt(least_area / aspect))
    most_rows = _rounded(np.sqrt(most_area / aspect))
    if _rounded(np.float32(most_rows) * aspect) > width:
        most_rows = int((width + 0.5 - float(np.float32(1e-7))) / float(aspect))
    most_rows = min(most_rows, height)
    rows = min(rows, most_rows)
    if rows < most_rows:
        rows += words.below(most_rows - rows + 1)
    columns = _rounded(np.float32(rows) * aspect)
    # Rounding beyond a limit means one row more or less.
    if np.float32(columns * rows) < least_area:
        rows += 1
        columns = _rounded(np.float32(rows) * aspect)
    if np.float32(columns * rows) > most_area:
        rows -= 1
        columns = _rounded(np.float32(rows) * aspect)
    area = np.float32(columns * rows)
    if area < least_area or area > most_area or columns > width or rows > height:
        return None
    if columns <= 0 or rows <= 0:
        return None
    top = words.below(height - rows) if rows < height else 0
    left = words.below(width - columns) if columns < width else 0
    return Rectangle(left, top, left + columns, top + rows)


def _covers(crop: Rectangle, least: np.float32, objects: list[Rectangle]) -> bool:
    """Return True if a crop of at least one pixel covers enough of one of the objects."""
    if crop.area() < 1:
        return False
    return any(
        thing.area() >= 1 and np.float32(crop.shared(thing) / thing.area()) >= least
        for thing in objects
    )


def _objects(boxes: np.ndarray, width: int, height: int, or_image: bool) -> list[Rectangle]:
    flat = boxes.reshape(-1, 4)
    # Written so that NaN raises an error too.
    wrong = flat[~((flat >= 0) & (flat <= 1))]
    if len(wrong):
        raise ValueError(
            f"All bounding box coordinates must be in [0.0, 1.0]: {np.float32(wrong[0]):g}"
        )
    scale = np.array([height, width, height, width], np.float32)
    ends = (flat * scale).astype(np.int64).tolist()
    if not ends and not or_image:
        raise ValueError(
            "No bounding boxes provided as input. One must enable "
            "use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes."
        )
    if not ends:
        return [Rectangle(0, 0, width, height)]
    return [Rectangle(left, top, right, bottom) for top, left, bottom, right in ends]


def _sizes(image_size: Any) -> tuple[int, int]:
    height, width = image_size.tolist()[:2]
    for name, size in (("height", height), ("width", width)):
        if not 0 <= size < 2**31 - 1:
            raise ValueError(f"image {name} cannot be >= int32 max")
    return height, width


def sample_distorted_bounding_box_kernel(node: Node) -> Callable[..., Any]:
    limits, stream = _limits(node), op_stream(node)
    fixed = node.min_object_covered if len(node.inputs) == 2 else None
    or_image, dtype, device = node.use_image_if_no_bounding_boxes, torch_type(node.T), node.device

    def run(
        image_size: Any, boxes: Any, covered: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        height, width = _sizes(image_size)
        least = np.float32(fixed if covered is None else float(covered))
        if not least >= 0:
            raise ValueError(f"Min object covered must be non-negative: {least:g}")
        objects = _objects(boxes.cpu().numpy(), width, height, or_image)
        words = Words(stream.reserve(limits.attempts))
        chosen = Rectangle(0, 0, width, height)
        low, high = limits.aspect
        for _ in range(limits.attempts):
            crop = _crop(width, height, limits, _unit(words) * (high - low) + low, words)
            if crop is not None and _covers(crop, least, objects):
                chosen = crop
                break
        left, top, right, bottom = chosen
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.array([top, left, bottom, right], np.float32)
            box = ends / np.array([height, width, height, width], np.float32)
        begin = torch.tensor([top, left, 0]).to(device, dtype)
        size = torch.tensor([bottom - top, right - left, -1]).to(device, dtype)
        return begin, size, torch.from_numpy(box).view(1, 1, 4).to(device)

    return run


_BOX = np.array([[[0.1, 0.2, 0.7, 0.9], [0.5, 0.5, 0.9, 0.6]]], np.float32)


def _samples(*covered: np.float32) -> Samples:
    size = np.array([70, 90, 3], np.int32)
    seeds: dict[str, Any] = {"seed": 3, "seed2": 4}
    yield Sample(size, _BOX, *covered, grad=False, **seeds)
    yield Sample(
        size, _BOX[:, :0], *covered, grad=False, use_image_if_no_bounding_boxes=True, **seeds
    )
    yield Bad(size, _BOX[:, :0], *covered, match="No bounding boxes provided", **seeds)
    yield Bad(size, _BOX * 2, *covered, match="must be in \\[0.0, 1.0\\]: 1.4", **seeds)
    yield Bad(size, _BOX, *covered, match="less then or equal", area_range=[0.1, 2.0], **seeds)
    yield Bad(size, _BOX, *covered, match="must specify 2", aspect_ratio_range=[0.1], **seeds)


for _card in (sample_distorted_bounding_box_op, sample_distorted_bounding_box_v2_op):
    _card.shape(sample_distorted_bounding_box_shape)
    _card.check(sample_distorted_bounding_box_check)
    _card.kernel(sample_distorted_bounding_box_kernel)
sample_distorted_bounding_box_op.samples(_samples)
sample_distorted_bounding_box_v2_op.samples(lambda: _samples(np.float32(0.3)))
