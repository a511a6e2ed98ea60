"""tf.vectorized_map: values, shapes and errors; its nodes are not TensorFlow's."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, eagerly, program, raised

ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)


def computed(tf, make):
    """Values and static shapes of what `make()` builds in a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        made = make()
        session.run(tf.global_variables_initializer())
        shapes = tf.contrib.framework.nest.map_structure(lambda t: str(t.shape), made)
        return {"shapes": shapes, "values": session.run(made)}


def per_example(tf):
    w = tf.get_variable("w", initializer=np.ones([2, 1], np.float32), use_resource=True)

    def gradient(row):
        return tf.gradients(tf.nn.l2_loss(tf.matmul(row[None], w)), [w])[0]

    return tf.vectorized_map(gradient, tf.constant(ROWS))


def of_the_result(tf):
    x = tf.constant(ROWS)
    return tf.gradients(tf.vectorized_map(lambda row: row * row * 3.0, x), x)[0]


@program
def in_graphs(tf):
    each = tf.vectorized_map
    makers = {
        "products": lambda: each(lambda row: tf.tensordot(row, row, 0), tf.constant(ROWS)),
        "nested": lambda: each(lambda pair: {"s": pair[0] + pair[1], "d": [pair[0][0]]},
                               (tf.constant(ROWS), tf.constant(ROWS * 2))),
        "unknown": lambda: each(lambda row: row * 2,
                                tf.placeholder_with_default(ROWS, [None, 2])),
        "per_example": lambda: per_example(tf),
        "gradients": lambda: of_the_result(tf),
        "constant": lambda: each(lambda row: tf.constant(5.0), ROWS),
        "number": lambda: each(lambda row: 5.0, ROWS),
        "empty": lambda: each(lambda row: row + 1, ROWS[:0]),
        "integers": lambda: each(lambda i: i % 2 + tf.cast(i > 2, tf.int32), np.arange(5)
                                 .astype(np.int32)),
    }  # fmt: skip

    def call(session):
        return {name: computed(tf, make) for name, make in makers.items()}

    def refusals():
        with tf.Graph().as_default():
            return {
                "nothing": each(lambda row: None, ROWS),
                "cond": raised(
                    each, lambda row: tf.cond(row[0] > 1.0, lambda: row, lambda: -row), ROWS
                ),
                "scalar": raised(each, lambda x: x, tf.constant(1.0)),
            }

    return Run(call=call, facts=refusals())


@program
def eager(tf):
    def compute(tf):
        x = tf.constant(ROWS)
        layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
        layer(x)

        def gradients(row):
            with tf.GradientTape() as tape:
                loss = tf.nn.l2_loss(layer(row[None]))
            return tape.gradient(loss, [layer.kernel, layer.bias])

        with tf.GradientTape() as tape:
            tape.watch(x)
            squares = tf.vectorized_map(lambda row: row * row, x)
        return {
            "squares": squares.numpy(),
            "gradient": tape.gradient(squares, x).numpy(),
            "gradients": [g.numpy() for g in tf.vectorized_map(gradients, x)],
        }

    return eagerly(tf, compute)
