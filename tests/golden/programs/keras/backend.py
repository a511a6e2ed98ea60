"""Functions of `tf.keras.backend` on pictures and sequences, and v2's recurrent cells."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

IMAGES = np.sin(np.arange(72.0)).reshape(2, 6, 6, 1).astype("float32")
PROBABILITIES = np.float32(
    [
        [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1]],
        [[0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.3, 0.3, 0.4]],
    ]
)


@program
def convolutions(tf):
    backend = tf.keras.backend
    x = tf.constant(IMAGES)
    kernel = tf.constant(np.cos(np.arange(18.0)).reshape(3, 3, 1, 2).astype("float32"))
    line = tf.reshape(x, [2, 12, 3])
    taps = tf.constant(np.cos(np.arange(12.0)).reshape(2, 3, 2).astype("float32"))
    return Run(
        {
            "conv2d": backend.conv2d(x, kernel, padding="same", strides=(2, 2)),
            "dilated": backend.conv2d(x, kernel, dilation_rate=(2, 2)),
            "causal": backend.conv1d(line, taps, padding="causal", dilation_rate=2),
            "transpose": backend.conv2d_transpose(
                x, tf.ones([2, 2, 3, 1]), (None, 12, 12, 3), (2, 2)
            ),
            "separable": backend.separable_conv2d(x, kernel, tf.ones([1, 1, 2, 3])),
            "max": backend.pool2d(x, (2, 2), (2, 2)),
            "avg": backend.pool2d(x, (3, 3), padding="same", pool_mode="avg"),
            "conv3d": backend.conv3d(tf.expand_dims(x, 1), tf.ones([1, 2, 2, 1, 2])),
            "pool3d": backend.pool3d(tf.expand_dims(x, 1), (1, 2, 2), pool_mode="avg"),
        }
    )


@program
def ctc(tf):
    backend = tf.keras.backend
    y = tf.constant(PROBABILITIES)
    cost = backend.ctc_batch_cost(tf.constant([[0, 1], [1, 0]]), y, [[3], [3]], [[2], [1]])
    greedy, greedy_scores = backend.ctc_decode(y, [3, 3])
    beams, scores = backend.ctc_decode(y, [3, 3], greedy=False, beam_width=5, top_paths=2)
    return Run(
        {
            "cost": cost,
            "greedy": greedy,
            "greedy_scores": greedy_scores,
            "beams": beams,
            "scores": scores,
        }
    )


@program
def cells_of_v2(tf):
    tf.set_random_seed(3)
    layers = tf.compat.v2.keras.layers
    x = tf.constant(np.sin(np.arange(24.0)).reshape(2, 4, 3).astype("float32"))
    fetches = {}
    for name in ("LSTMCell", "GRUCell"):
        cell = getattr(layers, name)(2)
        fetches[name] = tf.keras.layers.RNN(cell)(x)
        fetches[name + "_config"] = tf.constant(str(sorted(cell.get_config())))
    return Run(fetches, setup=[tf.global_variables_initializer()])


@program
def elementwise_functions(tf):
    b = tf.keras.backend
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.constant([[0.5, -1.0, 2.0]])
    one = {name: getattr(b, name)(x) for name in (
        "square", "abs", "exp", "round", "sign", "sin", "cos", "softmax", "softplus", "softsign",
        "sigmoid", "tanh")}
    two = {name: getattr(b, name)(x, y) for name in (
        "equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "maximum",
        "minimum", "pow")}
    return Run(dict(one, log=b.log(b.abs(x)), cast=b.cast(x, "int64"), axis=b.softmax(x, 0), **two),
               {x: [[0.5, 2.5, -2.0], [1.0, 3.0, 2.0]]})
