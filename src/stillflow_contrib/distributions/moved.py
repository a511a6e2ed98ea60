"""Deprecation notice of `tf.contrib.distributions`, with the new place."""

from __future__ import annotations

from stillflow.util.deprecation import deprecated

moved_from_contrib = deprecated(
    "2018-10-01",
    "The TensorFlow Distributions library has moved to TensorFlow Probability "
    "(https://github.com/tensorflow/probability). You should update all references to use "
    "`tfp.distributions` instead of `tf.contrib.distributions`.",
    warn_once=True,
)
