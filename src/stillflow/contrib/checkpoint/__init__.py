"""`tf.contrib.checkpoint`: objects in checkpoints of objects."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
