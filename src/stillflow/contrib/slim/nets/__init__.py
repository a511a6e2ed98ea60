"""`tf.contrib.slim.nets`: networks for images; their published checkpoints have these names."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
