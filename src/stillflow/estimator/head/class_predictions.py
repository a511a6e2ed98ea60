"""Predictions of classification heads."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.estimator.canned.classes import all_class_ids, all_classes, words_of_ids
from stillflow.estimator.canned.keys import PredictionKeys as Keys

CLASS_KEYS = [
    Keys.PROBABILITIES, Keys.CLASS_IDS, Keys.CLASSES, Keys.ALL_CLASS_IDS, Keys.ALL_CLASSES,
]  # fmt: skip


def class_predictions(scores: Any, logits: Any, keys: list[str], vocabulary: Any) -> dict[str, Any]:
    """Return probabilities, the most likely class, and all classes, as far as `keys` name them.

    `scores` are [..., n_classes]; `logits` tell how many examples there are. Without a vocabulary
    classes are numbers.
    """
    found = {}
    n_classes = scores.shape.as_list()[-1]
    if Keys.PROBABILITIES in keys:
        found[Keys.PROBABILITIES] = tf.nn.softmax(scores, name=Keys.PROBABILITIES)
    if Keys.CLASS_IDS in keys or Keys.CLASSES in keys:
        ids = tf.expand_dims(tf.argmax(scores, axis=-1, name=Keys.CLASS_IDS), axis=-1)
        if Keys.CLASS_IDS in keys:
            found[Keys.CLASS_IDS] = ids
        if Keys.CLASSES in keys:
            found[Keys.CLASSES] = words_of_ids(ids, vocabulary)
    if Keys.ALL_CLASS_IDS in keys:
        found[Keys.ALL_CLASS_IDS] = all_class_ids(logits, n_classes)
    if Keys.ALL_CLASSES in keys:
        found[Keys.ALL_CLASSES] = all_classes(logits, n_classes, vocabulary)
    return found
