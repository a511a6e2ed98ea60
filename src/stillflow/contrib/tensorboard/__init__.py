"""`tf.contrib.tensorboard`: files of TensorBoard's plugins next to the events."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
