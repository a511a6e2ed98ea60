"""`tf.contrib.losses.metric_learning`: losses that draw embeddings of one class together."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
