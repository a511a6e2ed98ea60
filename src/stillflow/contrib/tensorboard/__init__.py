"""`tf.contrib.tensorboard`: what TensorBoard's plugins find beside the events."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
