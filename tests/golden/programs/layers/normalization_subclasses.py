"""Batch normalization whose moments a subclass takes, as those over several devices do."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

X = np.sin(np.arange(48.0)).reshape(2, 2, 3, 4).astype("float32")


def with_moments(base, seen):
    class Normalization(base):
        def _moments(self, inputs, reduction_axes, keep_dims):
            seen.append((list(reduction_axes), bool(keep_dims)))
            mean, variance = super()._moments(inputs, reduction_axes, keep_dims=keep_dims)
            return mean * 0.5, variance + 1.0

    return Normalization


@program
def own_moments(tf):
    x = tf.placeholder(tf.float32, [None, 2, 3, 4])
    training = tf.placeholder_with_default(True, [])
    seen = []
    layer = with_moments(tf.layers.BatchNormalization, seen)(fused=False)
    channels = with_moments(tf.layers.BatchNormalization, seen)(axis=1, fused=False)
    keras = with_moments(tf.keras.layers.BatchNormalization, seen)(fused=False)
    outputs = {
        "last": layer.apply(x, training=True),
        "first": channels.apply(x, training=training),
        "keras": keras(x, training=True),
        "unseen": with_moments(tf.layers.BatchNormalization, seen)(fused=False).apply(x),
    }
    outputs["gradient"] = tf.gradients(outputs["last"] * tf.cos(x), x)[0]
    start = [tf.global_variables_initializer()]
    return Run(outputs, {x: X}, start, facts={"seen": [str(each) for each in seen]})
