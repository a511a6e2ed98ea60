"""`tf.contrib.proto`: messages of any type as tensors."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
