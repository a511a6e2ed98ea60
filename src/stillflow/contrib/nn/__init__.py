"""`tf.contrib.nn`: cross entropies with logits first, and dropout for self-normalizing nets."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
