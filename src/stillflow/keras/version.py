"""The version of Keras that `tf.keras` of TensorFlow 1.15 is."""

from __future__ import annotations

VERSION = "2.2.4-tf"
