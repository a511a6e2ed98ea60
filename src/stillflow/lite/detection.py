"""TFLite_Detection_PostProcess: from anchors and scores to the objects that were found.

Nearly every detector of the years of TensorFlow 1 ends with this operator, the only custom one that
TensorFlow Lite brings along and converters write.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.lite.float_operators import dequantize_as
from stillflow.lite.model_tensors import Array
from stillflow.lite.translation import FLOAT, QUANTIZED, Node, translates

_NAME = "CUSTOM TFLite_Detection_PostProcess"
_PER_CLASS = 100  # objects, where the options do not say


@translates(FLOAT, _NAME)
@translates(QUANTIZED, _NAME)
def _detection(node: Node) -> list[Tensor]:
    options = dict(node.options or {})
    try:
        count = int(options["max_detections"] * options["max_classes_per_detection"])
        if options["max_classes_per_detection"] != 1 and not options.get("use_regular_nms"):
            raise ValueError("More than one class for each detection is not supported by Stillflow")
        find = partial(_find, options, count)
        for name in (
            "num_classes",
            "nms_score_threshold",
            "nms_iou_threshold",
            *(f"{side}_scale" for side in "yxhw"),
        ):
            float(options[name])
    except KeyError as error:
        raise ValueError(f"{node.kind} has no option {error}") from None
    values = [
        node[i] if (found := node.quantization(i)) is None else dequantize_as(node[i], found)
        for i in range(3)
    ]
    found = tf.py_func(find, values, [tf.float32] * 4, stateful=False)
    for result, shape in zip(found, ([1, count, 4], [1, count], [1, count], [1])):
        result.set_shape(shape)
    return found


def _find(
    options: dict[str, Any], count: int, encodings: Array, scores: Array, anchors: Array
) -> tuple[Array, ...]:
    """Return boxes, classes, scores and the number of the objects found."""
    boxes = _decoded(options, encodings[0, :, :4], anchors)
    if (boxes[:, :2] >= boxes[:, 2:]).any():
        raise ValueError("A box of a detection has no area")
    of_classes = scores[0, :, scores.shape[2] - int(options["num_classes"]) :]
    choose = _one_class_each if not options.get("use_regular_nms") else _class_by_class
    places, classes = choose(options, boxes, of_classes)
    found = [np.zeros([1, count, 4], np.float32), *np.zeros([2, 1, count], np.float32)]
    number = len(places)
    values = (boxes[places], classes, of_classes[places, classes])
    for result, value in zip(found, values):
        result[0, :number] = value
    return (*found, np.array([number], np.float32))


def _decoded(options: dict[str, Any], encodings: Array, anchors: Array) -> Array:
    """Return corners, [boxes, 4], of boxes that are told by how they differ from anchors."""
    scales = np.array([options[f"{side}_scale"] for side in "yxhw"], np.float32)
    moved = encodings / scales
    centers = moved[:, :2] * anchors[:, 2:] + anchors[:, :2]
    halves = np.float32(0.5) * np.exp(moved[:, 2:]) * anchors[:, 2:]
    return np.concatenate([centers - halves, centers + halves], 1)


def _one_class_each(options: dict[str, Any], boxes: Array, scores: Array) -> tuple[Array, Array]:
    """Return the best boxes by their best class alone."""
    best = scores.argmax(1)
    places = _suppressed(options, boxes, scores.max(1), int(options["max_detections"]))
    return places, best[places]


def _class_by_class(options: dict[str, Any], boxes: Array, scores: Array) -> tuple[Array, Array]:
    """Return the best boxes of each class, then the best of all."""
    per_class = int(options.get("detections_per_class") or _PER_CLASS)
    places, classes = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for number in range(scores.shape[1]):
        chosen = _suppressed(options, boxes, scores[:, number], per_class)
        places = np.concatenate([places, chosen])
        classes = np.concatenate([classes, np.full(len(chosen), number)])
        order = np.argsort(-scores[places, classes], kind="stable")
        order = order[: int(options["max_detections"])]
        places, classes = places[order], classes[order]
    return places, classes


def _suppressed(options: dict[str, Any], boxes: Array, scores: Array, most: int) -> Array:
    """Return the places of the best boxes, without those that overlap a better one."""
    places = np.flatnonzero(scores >= np.float32(options["nms_score_threshold"]))
    places = places[np.argsort(-scores[places], kind="stable")]
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    chosen: list[int] = []
    while len(places) and len(chosen) < most:
        first, places = places[0], places[1:]
        chosen.append(int(first))
        low = np.maximum(boxes[first, :2], boxes[places, :2])
        high = np.minimum(boxes[first, 2:], boxes[places, 2:])
        common = np.maximum(high - low, 0).prod(1)
        overlap = common / (areas[first] + areas[places] - common)
        places = places[overlap <= np.float32(options["nms_iou_threshold"])]
    return np.array(chosen, np.int64)
