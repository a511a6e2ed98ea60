"""`tf.contrib.tensorrt`: graphs made ready for TensorRT, which is refused."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
