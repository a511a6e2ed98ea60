"""What a model can be run for."""

from __future__ import annotations

TRAIN, TEST, PREDICT = "train", "test", "predict"
