"""`tf.train`: optimizers, learning-rate schedules, moving averages, the global step."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
