"""`tf.contrib.fused_conv`: convolutions with all that follows them."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
