"""`tf.contrib.training`: training and evaluation loops, buckets, samples, hyperparameters."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
