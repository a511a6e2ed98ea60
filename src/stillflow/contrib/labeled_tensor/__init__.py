"""`tf.contrib.labeled_tensor`: tensors whose axes have names, and places along them labels."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
