"""Modes of a model's runs."""

from __future__ import annotations

TRAIN, TEST, PREDICT = "train", "test", "predict"


class ModeKeys:
    """The same under the names that TensorFlow has for them."""

    TRAIN, TEST, PREDICT = TRAIN, TEST, PREDICT
