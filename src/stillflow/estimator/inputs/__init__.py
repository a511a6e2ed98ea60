"""`tf.estimator.inputs`: input functions over arrays and data frames in memory."""

from __future__ import annotations
