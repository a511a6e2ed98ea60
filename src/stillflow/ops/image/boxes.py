"""Boxes: drawn at random, and the best of those that overlap."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.image.combined_suppression import combined_non_max_suppression_op
from stillflow.ops.image.sampling import sample_distorted_bounding_box_v2_op
from stillflow.ops.image.suppression import (
    non_max_suppression_v3_op,
    non_max_suppression_v4_op,
    non_max_suppression_v5_op,
    non_max_suppression_with_overlaps_op,
)

_LOWEST = float("-inf")


@export("image.sample_distorted_bounding_box")
def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """Return a box at random that covers enough of one of the objects in an image.

    Args:
      image_size: `[height, width, channels]`, integers.
      bounding_boxes: `[batch, objects, 4]`: y1, x1, y2, x2 as parts of the image's size.
      seed, seed2: of the random numbers; both 0 or left out ask for other ones in every session.
      min_object_covered: which part of an object the box has to cover.
      aspect_ratio_range: least and largest width / height; by default [0.75, 1.33].
      area_range: least and largest part of the image; by default [0.05, 1].
      max_attempts: after so many vain attempts it is the whole image; by default 100.
      use_image_if_no_bounding_boxes: whether the image is the object where none are given.
      name: of the operation.

    Returns:
      (begin, size, bboxes): the first two as `tf.slice` takes them, the last `[1, 1, 4]`.
    """
    with name_scope(name, "sample_distorted_bounding_box"):
        return sample_distorted_bounding_box_v2_op(
            image_size, bounding_boxes, min_object_covered, seed=seed, seed2=seed2,
            aspect_ratio_range=aspect_ratio_range, area_range=area_range,
            max_attempts=max_attempts,
            use_image_if_no_bounding_boxes=use_image_if_no_bounding_boxes, name=name,
        )  # fmt: skip


def _thresholds(iou_threshold: Any, score_threshold: Any) -> tuple[Any, Any]:
    return (
        convert_to_tensor(iou_threshold, name="iou_threshold"),
        convert_to_tensor(score_threshold, name="score_threshold"),
    )


@export("image.non_max_suppression")
def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _LOWEST,
    name: str | None = None,
) -> Tensor:
    """Return indices of the best boxes, without those that a better one overlaps.

    Args:
      boxes: `[boxes, 4]`: y1, x1, y2, x2 of any two opposite corners.
      scores: `[boxes]`.
      max_output_size: how many at most.
      iou_threshold: boxes that overlap (intersection over union) so much are one too many.
      score_threshold: boxes count that have more.
      name: of the operation.
    """
    with name_scope(name, "non_max_suppression"):
        thresholds = _thresholds(iou_threshold, score_threshold)
        return non_max_suppression_v3_op(boxes, scores, max_output_size, *thresholds)


@export("image.non_max_suppression_with_scores")
def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _LOWEST,
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """`non_max_suppression` that can lower scores instead of leaving boxes out.

    Args:
      boxes, scores, max_output_size, iou_threshold, score_threshold: as there.
      soft_nms_sigma: where it is not 0, a box's score is multiplied by
        exp(-0.5 overlap**2 / sigma) for each better box that it overlaps.
      name: of the operation.

    Returns:
      (indices, scores) of the boxes.
    """
    with name_scope(name, "non_max_suppression_with_scores"):
        thresholds = _thresholds(iou_threshold, score_threshold)
        sigma = convert_to_tensor(soft_nms_sigma, name="soft_nms_sigma")
        indices, became, _ = non_max_suppression_v5_op(
            boxes, scores, max_output_size, *thresholds, sigma, pad_to_max_output_size=False
        )
        return indices, became


@export("image.non_max_suppression_padded")
def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _LOWEST,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> Any:
    """`non_max_suppression` whose result can be padded with zeros to one size.

    Returns:
      (indices, how many of them are valid).
    """
    with name_scope(name, "non_max_suppression_padded"):
        thresholds = _thresholds(iou_threshold, score_threshold)
        return non_max_suppression_v4_op(
            boxes, scores, max_output_size, *thresholds,
            pad_to_max_output_size=pad_to_max_output_size,
        )  # fmt: skip


@export("image.non_max_suppression_overlaps")
def non_max_suppression_with_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = _LOWEST,
    name: str | None = None,
) -> Tensor:
    """`non_max_suppression` given how much boxes overlap, `[boxes, boxes]`."""
    with name_scope(name, "non_max_suppression_overlaps"):
        threshold = convert_to_tensor(overlap_threshold, name="overlap_threshold")
        return non_max_suppression_with_overlaps_op(
            overlaps, scores, max_output_size, threshold, score_threshold
        )


@export("image.combined_non_max_suppression")
def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _LOWEST,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> Any:
    """Non-maximum suppression for each class of each image of a batch.

    Args:
      boxes: `[batch, boxes, 1 or classes, 4]`.
      scores: `[batch, boxes, classes]`.
      max_output_size_per_class, max_total_size: how many at most of each class, and together.
      iou_threshold: boxes of a class that overlap more are one too many.
      score_threshold: boxes count that have more.
      pad_per_class: whether results have at most `max_output_size_per_class * classes` entries.
      clip_boxes: whether coordinates of the result are kept within [0, 1].
      name: of the operation.

    Returns:
      (boxes, scores, classes, how many are valid), the first three padded with zeros.
    """
    with name_scope(name, "combined_non_max_suppression"):
        iou = convert_to_tensor(iou_threshold, dtype=dtypes.float32, name="iou_threshold")
        lowest = convert_to_tensor(score_threshold, dtype=dtypes.float32, name="score_threshold")
        return combined_non_max_suppression_op(
            boxes, scores, max_output_size_per_class, max_total_size, iou, lowest,
            pad_per_class=pad_per_class, clip_boxes=clip_boxes,
        )  # fmt: skip
