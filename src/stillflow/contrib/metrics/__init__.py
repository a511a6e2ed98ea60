"""`tf.contrib.metrics`: `tf.metrics` under older names, and metrics that are here alone."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
