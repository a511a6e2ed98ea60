"""`tf.contrib.quantization`: operations on quantized tensors, and on others."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
