"""Non-maximum suppression: boxes without those that a better one overlaps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stillflow import native
from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.ops.input_ranks import kernel_ranks
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util import binary_heap

_TWO_TYPES = "T: {half, float} = float\n    T_threshold: {half, float} = float"

non_max_suppression_op = op(
    """
    NonMaxSuppression(boxes: float, scores: float, max_output_size: int32)
        -> selected_indices: int32
    iou_threshold: float = 0.5
    """,
    differentiable=False,
    devices="host",
)
non_max_suppression_v2_op = op(
    f"""
    NonMaxSuppressionV2(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold)
        -> selected_indices: int32
    {_TWO_TYPES}
    """,
    differentiable=False,
    numbers=("max_output_size",),
)
non_max_suppression_v3_op = op(
    f"""
    NonMaxSuppressionV3(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold,
        score_threshold: T_threshold) -> selected_indices: int32
    {_TWO_TYPES}
""",
    numbers=("max_output_size",),
)
non_max_suppression_v4_op = op(
    f"""
    NonMaxSuppressionV4(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold,
        score_threshold: T_threshold) -> (selected_indices: int32, valid_outputs: int32)
    {_TWO_TYPES}
    pad_to_max_output_size: bool = false
""",
    devices="host",
)
non_max_suppression_v5_op = op(
    """
    NonMaxSuppressionV5(boxes: T, scores: T, max_output_size: int32, iou_threshold: T,
        score_threshold: T, soft_nms_sigma: T)
        -> (selected_indices: int32, selected_scores: T, valid_outputs: int32)
    T: {half, float} = float
    pad_to_max_output_size: bool = false
""",
    devices="host",
)
non_max_suppression_with_overlaps_op = op(
    """
    NonMaxSuppressionWithOverlaps(overlaps: float, scores: float, max_output_size: int32,
        overlap_threshold: float, score_threshold: float) -> selected_indices: int32
    """,
    differentiable=False,
    devices="host",
)

# ---- Shapes

_THRESHOLDS: tuple[str, ...] = (
    "max_output_size", "iou_threshold", "score_threshold", "soft_nms_sigma",
)  # fmt: skip


def suppression_check(node: Node) -> None:
    """Raise an error for invalid ranks, with kernels' messages."""
    boxes, names = "boxes", _THRESHOLDS
    if node.op.type == "NonMaxSuppressionWithOverlaps":
        boxes, names = "overlaps", ("max_output_size", "overlap_threshold", "score_threshold")
    last = len(node.inputs)
    scalars = [(i, 0, f"{name} must be 0-D, got shape {{}}") for i, name in enumerate(names, 2)]
    kernel_ranks(
        *[wanted for wanted in scalars if wanted[0] < last],
        (0, 2, f"{boxes} must be 2-D{{}}"),
        (1, 1, "scores must be 1-D{}"),
    )(node)
    found, scores = node.dims(0), node.dims(1)
    if not (node.planning and dims_lib.is_known(found) and dims_lib.is_known(scores)):
        return
    if boxes == "boxes" and found[1] != 4:
        raise ValueError("boxes must have 4 columns")
    if boxes == "overlaps" and found[0] != found[1]:
        raise ValueError(f"overlaps must be square{dims_lib.to_string(found)}")
    if found[0] != scores[0]:
        raise ValueError("scores has incompatible shape")


def suppression_shape(node: Node) -> list[tuple[int | None, ...]] | tuple[int | None, ...]:
    boxes = dims_lib.with_rank(node.dims(0), 2)
    (scores,) = dims_lib.with_rank(node.dims(1), 1)
    for index in range(2, len(node.inputs)):
        dims_lib.with_rank(node.dims(index), 0)
    dims_lib.merge_dim(boxes[0], scores)
    if node.op.type == "NonMaxSuppressionWithOverlaps":
        dims_lib.merge_dim(boxes[0], boxes[1])
    else:
        dims_lib.with_value(boxes[1], 4)
    count = None
    most = node.value(2) if node.op.attrs.get("pad_to_max_output_size") else None
    if most is not None:
        count = dims_lib.make_dim(int(most), 2)
    chosen = (count,)
    if node.op.type == "NonMaxSuppressionV4":
        return [chosen, ()]
    return [chosen, chosen, ()] if node.op.type == "NonMaxSuppressionV5" else chosen


# ---- Overlaps


class Corners(NamedTuple):
    """Boxes as arrays of their ends and areas."""

    top: np.ndarray
    left: np.ndarray
    bottom: np.ndarray
    right: np.ndarray
    area: np.ndarray


def corners(boxes: np.ndarray) -> Corners:
    """Return the ends of boxes [count, 4] given by any two opposite corners."""
    top, bottom = np.minimum(boxes[:, 0], boxes[:, 2]), np.maximum(boxes[:, 0], boxes[:, 2])
    left, right = np.minimum(boxes[:, 1], boxes[:, 3]), np.maximum(boxes[:, 1], boxes[:, 3])
    return Corners(top, left, bottom, right, (bottom - top) * (right - left))


def overlaps_with(one: int, others: Any, of: Corners) -> np.ndarray:
    """Intersection over union of box number `one` and the boxes numbered `others`."""
    zero = of.area.dtype.type(0)
    height = np.minimum(of.bottom[one], of.bottom[others]) - np.maximum(of.top[one], of.top[others])
    width = np.minimum(of.right[one], of.right[others]) - np.maximum(of.left[one], of.left[others])
    shared = np.maximum(height, zero) * np.maximum(width, zero)
    empty = (of.area[others] <= 0) | (of.area[one] <= 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = shared / (of.area[one] + of.area[others] - shared)
    result: np.ndarray = np.where(empty, zero, ratio)
    return result


# ---- Choosing


def _is_plain(boxes: np.ndarray, scores: np.ndarray, lowest: Any) -> bool:
    """Return True if scores are distinct and all boxes have an area."""
    candidates = scores > lowest
    ranked = np.sort(scores[candidates])
    return bool((corners(boxes).area[candidates] > 0).all() and (ranked[1:] > ranked[:-1]).all())


def choose(
    scores: np.ndarray, limit: int, threshold: Any, lowest: Any, overlap: Callable[..., np.ndarray]
) -> list[int]:
    """Return indices of the best boxes that no better chosen one overlaps by `threshold` or more.

    Only scores above `lowest` count, of all boxes; `overlap` is that of a box with boxes, by
    number.
    """
    candidates = np.nonzero(scores > lowest)[0]
    order = candidates[np.argsort(-scores[candidates].astype(np.float64), kind="stable")]
    chosen: list[int] = []
    while len(order) and len(chosen) < limit:
        best, order = int(order[0]), order[1:]
        chosen.append(best)
        if len(chosen) < limit:
            # As TF does, `not >=` and not `<`: NaN suppresses nothing.
            order = order[~(overlap(best, order) >= threshold)]
    return chosen


def choose_softly(
    scores: np.ndarray, limit: int, threshold: Any, lowest: Any, sigma: Any,
    overlap: Callable[..., np.ndarray],
) -> tuple[list[int], list[Any]]:  # fmt: skip
    """Choose with scores that overlaps lower; return indices and the final scores."""
    kind = scores.dtype.type
    scale = kind(-0.5) / kind(sigma) if sigma > 0 else kind(0)
    heap: list[Any] = []
    for number, each in enumerate(scores):
        if each > lowest:
            binary_heap.push(heap, (each, number, 0))
    chosen: list[int] = []
    became: list[Any] = []
    while heap and len(chosen) < limit:
        score, index, seen = binary_heap.pop(heap)
        original = score
        rejected = False
        found = overlap(index, np.array(chosen[seen:], np.int64)) if seen < len(chosen) else ()
        for similarity in reversed(found):
            weight = kind(0)
            if similarity <= threshold:
                weight = kind(math.exp(float(scale * similarity * similarity)))
            score = kind(score * weight)
            rejected = bool(similarity >= threshold)
            if rejected or score <= lowest:
                break
        if rejected:
            continue
        compared = len(chosen)
        if score == original:
            chosen.append(index)
            became.append(score)
        # As TF does, also the one just chosen: as a rule it is rejected for overlapping itself.
        if score > lowest:
            binary_heap.push(heap, (score, index, compared))
    return chosen, became


_MOST_CHOSEN = 1 << 20


def _choose_in_loop(
    boxes: np.ndarray, scores: np.ndarray, limit: int, threshold: Any, lowest: Any, sigma: Any,
    with_overlaps: bool,
) -> tuple[np.ndarray, np.ndarray] | None:  # fmt: skip
    """Return the result of `choose_softly` from a native loop; None without one."""
    library, are_floats = native.library(), boxes.dtype == scores.dtype == np.float32
    if library is None or not are_floats or limit > _MOST_CHOSEN:
        return None
    boxes, scores = np.ascontiguousarray(boxes), np.ascontiguousarray(scores)
    # A box without an area does not overlap itself: it is chosen until there are enough.
    chosen, became = np.empty(limit, np.int32), np.empty(limit, np.float32)
    address = boxes.ctypes.data
    given = (None, address) if with_overlaps else (address, None)
    found = library.choose_boxes(
        *given,
        scores.ctypes.data,
        len(scores),
        limit,
        threshold,
        lowest,
        sigma,
        chosen.ctypes.data,
        became.ctypes.data,
    )
    if found < 0:
        raise MemoryError("choose_boxes: no memory for the candidates")
    return chosen[:found], became[:found]


# ---- Kernels


def _limit(value: Any, count: int, pad: bool) -> int:
    """Return the maximum number of boxes; all of them where TF reads a negative number as large."""
    limit = int(value)
    if limit >= 0:
        return limit
    if pad:
        raise ValueError("output size must be non-negative")
    return count


def _numpy(value: Any) -> np.ndarray:
    array: np.ndarray = value.cpu().numpy()
    return array


def _of_boxes(boxes: np.ndarray) -> Callable[..., np.ndarray]:
    ends = corners(boxes)
    return lambda one, others: overlaps_with(one, others, ends)


def _given(overlaps: np.ndarray) -> Callable[..., np.ndarray]:
    return lambda one, others: overlaps[one, others]


def _padded(values: Any, dtype: Any, limit: int, pad: bool) -> torch.Tensor:
    array = np.asarray(values, dtype)
    if pad:
        array = np.concatenate([array, np.zeros(limit - len(array), dtype)])
    return torch.from_numpy(array)


def suppression_kernel(node: Node) -> Callable[..., Any]:
    kind, pad = node.op.type, bool(node.op.attrs.get("pad_to_max_output_size"))
    fixed = node.iou_threshold if kind == "NonMaxSuppression" else None
    device = node.device
    with_overlaps = kind == "NonMaxSuppressionWithOverlaps"

    def run(
        boxes: Any, scores: Any, size: Any, *given: Any
    ) -> torch.Tensor | tuple[torch.Tensor, ...]:
        values, boxes_array = _numpy(scores), _numpy(boxes)
        numbers = [_numpy(number)[()] for number in given]
        threshold = fixed if fixed is not None else numbers[0]
        if not with_overlaps and not 0 <= threshold <= 1:
            raise ValueError("iou_threshold must be in [0, 1]")
        lowest = numbers[1] if len(numbers) > 1 else np.finfo(values.dtype).min
        limit = _limit(size, len(values), pad)
        overlap = _given(boxes_array) if with_overlaps else _of_boxes(boxes_array)
        sigma = numbers[2] if len(numbers) > 2 else 0
        if sigma < 0:
            raise ValueError("soft_nms_sigma_val must be non-negative")
        settings = (limit, threshold, lowest, sigma)
        found: Any = _choose_in_loop(boxes_array, values, *settings, with_overlaps)
        if found is None and (sigma > 0 or with_overlaps
                              or not _is_plain(boxes_array, values, lowest)):  # fmt: skip
            found = choose_softly(values, *settings, overlap)
        elif found is None:
            best = choose(values, limit, threshold, lowest, overlap)
            found = best, values[best]
        chosen, became = found
        indices = _padded(chosen, np.int32, limit, pad).to(device)
        valid = torch.tensor(len(chosen), dtype=torch.int32, device=device)
        if kind == "NonMaxSuppressionV5":
            return indices, _padded(became, values.dtype, limit, pad).to(device), valid
        return (indices, valid) if kind == "NonMaxSuppressionV4" else indices

    return run


_CARDS = (
    non_max_suppression_op, non_max_suppression_v2_op, non_max_suppression_v3_op,
    non_max_suppression_v4_op, non_max_suppression_v5_op, non_max_suppression_with_overlaps_op,
)  # fmt: skip

# ---- Samples

_BOXES = np.array(
    [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1],
     [1, 101, 0, 100]],
    np.float32,
)  # fmt: skip
_SCORES = np.array([0.9, 0.75, 0.6, 0.95, 0.5, 0.3], np.float32)


def _samples(card: Any) -> Samples:
    count = len(card.signature.inputs) - 3
    numbers = tuple(np.float32(value) for value in (0.5, 0.4, 0.3)[:count])
    boxes = _BOXES
    if card is non_max_suppression_with_overlaps_op:
        boxes = np.outer(_SCORES, _SCORES).astype(np.float32)
        yield Sample(boxes[:3, :3], _SCORES[:3], np.int32(3), *numbers, fixed=(2,), grad=False)
    for limit in (3, 0, 30):
        yield Sample(boxes, _SCORES, np.int32(limit), *numbers, fixed=(2,), grad=False)
    if count == 3:  # a deviation of 0 means no soft suppression
        yield Sample(boxes, _SCORES, np.int32(3), *numbers[:2], np.float32(0), grad=False)
    yield Sample(boxes, _SCORES, np.int32(-1), *numbers)
    if "pad_to_max_output_size" in card.text:
        yield Bad(
            boxes, _SCORES, np.int32(-1), *numbers, pad_to_max_output_size=True,
            match="must be non-negative",
        )  # fmt: skip
    yield Bad(boxes, _SCORES[:3], np.int32(3), *numbers, match="6 and 3|incompatible shape")
    if card is not non_max_suppression_with_overlaps_op and count:
        bad = (np.float32(1.5), *numbers[1:])
        yield Bad(boxes, _SCORES, np.int32(3), *bad, match="must be in \\[0, 1\\]")


for _card in _CARDS:
    _card.shape(suppression_shape)
    _card.check(suppression_check)
    _card.kernel(suppression_kernel)
    _card.samples(lambda card=_card: _samples(card))
