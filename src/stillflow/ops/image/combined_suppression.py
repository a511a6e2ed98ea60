"""Non-maximum suppression class by class for batches: CombinedNonMaxSuppression."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stillflow import native
from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops import native_calls
from stillflow.ops.image.suppression import corners, overlaps_with
from stillflow.ops.native_calls import int64s
from stillflow.ops.samples import Bad, Sample, Samples

combined_non_max_suppression_op = op(
    """
    CombinedNonMaxSuppression(boxes: float, scores: float, max_output_size_per_class: int32,
        max_total_size: int32, iou_threshold: float, score_threshold: float)
        -> (nmsed_boxes: float, nmsed_scores: float, nmsed_classes: float,
            valid_detections: int32)
    pad_per_class: bool = false
    clip_boxes: bool = true
    """,
    differentiable=False,
    devices="host",
)


def _size(node: Node, index: int) -> int | None:
    value = node.value(index)
    return None if value is None else int(value)


def _check_sizes(per_class: int | None, total: int | None, pad: bool) -> None:
    if total is not None and total <= 0:
        raise ValueError("max_total_size should be > 0 ")
    if pad and per_class is not None and per_class <= 0:
        raise ValueError("max_output_size_per_class must be > 0 if pad_per_class is set to true ")


@combined_non_max_suppression_op.shape
def combined_non_max_suppression_shape(node: Node) -> OutputDims:
    boxes = dims_lib.with_rank(node.dims(0), 4)
    scores = dims_lib.with_rank(node.dims(1), 3)
    for index in range(2, 6):
        dims_lib.with_rank(node.dims(index), 0)
    dims_lib.merge_dim(boxes[0], scores[0])
    dims_lib.merge_dim(boxes[1], scores[1])
    dims_lib.with_value(boxes[3], 4)
    if None not in (boxes[2], scores[2]) and boxes[2] not in (1, scores[2]):
        raise ValueError(
            "third dimension of boxes must be either 1 or equal to the third dimension of scores"
        )
    per_class, total = _size(node, 2), _size(node, 3)
    _check_sizes(per_class, total, node.pad_per_class)
    size = total
    if node.pad_per_class:
        boxes_each, size = scores[2], None
        if per_class is not None and boxes_each is not None and total is not None:
            size = min(total, per_class * boxes_each)
    return [(boxes[0], size, 4), (boxes[0], size), (boxes[0], size), (boxes[0],)]


class Found(NamedTuple):
    """Boxes chosen in one image, best first."""

    boxes: np.ndarray
    scores: np.ndarray
    classes: np.ndarray


def _choose(boxes: np.ndarray, scores: np.ndarray, limit: int, iou: Any, lowest: Any) -> list[int]:
    """Return the best boxes of a class.

    Unlike elsewhere an overlap as large as `iou` is allowed.
    """
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > lowest]
    ends = corners(boxes)
    chosen: list[int] = []
    while len(order) and len(chosen) < limit:
        best, order = int(order[0]), order[1:]
        chosen.append(best)
        order = order[~(overlaps_with(best, order, ends) > iou)]
    return chosen


def _of_image(boxes: np.ndarray, scores: np.ndarray, limit: int, iou: Any, lowest: Any) -> Found:
    """Chooses among boxes `[count, 1 or classes, 4]` with scores `[count, classes]`."""
    parts = []
    for label in range(scores.shape[1]):
        own = boxes[:, label if boxes.shape[1] > 1 else 0]
        chosen = _choose(own, scores[:, label], min(limit, len(own)), iou, lowest)
        parts.append((own[chosen], scores[chosen, label], np.full(len(chosen), label, np.float32)))
    found = Found(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    order = np.argsort(-found.scores, kind="stable")
    return Found(*(part[order] for part in found))


@combined_non_max_suppression_op.kernel
def combined_non_max_suppression_kernel(node: Node) -> Kernel:
    pad, clip, device = node.pad_per_class, node.clip_boxes, node.device

    def run(boxes: Any, scores: Any, *numbers: Any) -> tuple[Any, ...]:
        all_boxes, all_scores = (np.ascontiguousarray(x.cpu()) for x in (boxes, scores))
        limit, total = int(numbers[0]), int(numbers[1])
        iou, lowest = (np.float32(float(number)) for number in numbers[2:])
        if limit <= 0:
            raise ValueError("max_size_per_class must be positive")
        if total <= 0:
            raise ValueError("max_total_size must be > 0")
        if not 0 <= iou <= 1:
            raise ValueError("iou_threshold must be in [0, 1]")
        batch, _, classes = all_scores.shape
        size = min(total, limit * classes) if pad else total
        result = (
            np.zeros((batch, size, 4), np.float32), np.zeros((batch, size), np.float32),
            np.zeros((batch, size), np.float32), np.zeros(batch, np.int32),
        )  # fmt: skip
        if native.library() is not None and classes:
            sizes = int64s([*boxes.shape[:3], classes])
            at = [each.ctypes.data for each in (all_boxes, all_scores, *result)]
            native_calls.call(
                "choose_of_classes", *at[:2], sizes, limit, size, iou, lowest, *at[2:]
            )
        for index in range(batch if classes and native.library() is None else 0):
            found = _of_image(all_boxes[index], all_scores[index], limit, iou, lowest)
            count = min(len(found.scores), size)
            for out, part in zip(result[:3], found, strict=True):
                out[index, :count] = part[:count]
            result[3][index] = count
        if clip:
            np.clip(result[0], 0, 1, out=result[0])
        return tuple(torch.from_numpy(part).to(device) for part in result)

    return run


@combined_non_max_suppression_op.samples
def combined_non_max_suppression_samples() -> Samples:
    starts = np.array([0, 0.1, 0.4, 0.45, 2.0], np.float32)
    boxes = np.stack([starts, starts, starts + 0.5, starts + 0.5], 1)[None, :, None]
    scores = np.array([[[0.9, 0.2], [0.75, 0.3], [0.6, 0.8], [0.95, 0.7], [0.1, 0]]], np.float32)
    numbers = (np.int32(2), np.int32(7), np.float32(0.5), np.float32(0.15))
    for flags in ({}, {"pad_per_class": True}, {"clip_boxes": False}):
        yield Sample(boxes, scores, *numbers, fixed=(2, 3), grad=False, **flags)
    yield Sample(np.tile(boxes, (1, 1, 2, 1)), scores, *numbers, fixed=(2, 3), grad=False)
    yield Bad(boxes, scores, np.int32(2), np.int32(0), *numbers[2:], match="should be > 0|must be")
    yield Bad(np.tile(boxes, (1, 1, 3, 1)), scores, *numbers, match="third dimension of boxes")
