"""The same ops in every dtype that TF's CPU kernels have."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

INTEGERS = ["int8", "int16", "int32", "int64", "uint8"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
VALUES = np.array([[1, 2, 3], [4, 5, 7]])


def over_dtypes(tf, names, build):
    """build(x) gives a dict of tensors for each dtype."""
    fetches = {}
    for name in names:
        with tf.name_scope(name):
            x = tf.constant(VALUES, dtype=getattr(tf, name))
            fetches[name] = build(x)
    return Run(fetches)


@program
def arithmetic(tf):
    return over_dtypes(tf, ["int32", "int64", *FLOATS, *COMPLEX], lambda x: {
        "add": x + x, "sub": x - x[:1], "mul": x * x, "neg": -x, "square": tf.square(x),
        "sum": tf.reduce_sum(x, 0), "prod": tf.reduce_prod(x, 1), "mean": tf.reduce_mean(x),
        "matmul": tf.matmul(x, x, transpose_b=True), "add_n": tf.add_n([x, x]),
        "cumsum": tf.cumsum(x, 1), "equal": tf.equal(x, x[:1])})


@program
def small_integers(tf):
    return over_dtypes(tf, INTEGERS, lambda x: {
        "add": x + x, "mul": x * x, "max": tf.reduce_max(x, 1),
        "min": tf.reduce_min(x), "floor": x // x[:1],
        "less": tf.less(x, x[:1]), "sum": tf.reduce_sum(x, 0)})


@program
def order_and_rounding(tf):
    return over_dtypes(tf, ["int32", "int64", *FLOATS], lambda x: {
        "argmax": tf.argmax(x, 1), "top": tf.nn.top_k(x, 2), "relu": tf.nn.relu(x - 3),
        "clip": tf.clip_by_value(x, x[0, 1], x[1, 1]), "sign": tf.sign(x - 3), "abs": tf.abs(x),
        "less": tf.less(x, x[:1]), "minimum": tf.minimum(x, x[::-1]), "mod": x % 3,
        "segment": tf.segment_sum(x, [0, 0]), "unique": tf.unique(x[0])})


@program
def array_ops(tf):
    names = [*INTEGERS, *FLOATS, *COMPLEX]
    return over_dtypes(tf, names, lambda x: {
        "concat": tf.concat([x, x], 0), "stack": tf.stack([x, x], 1), "slice": x[:, 1:],
        "transpose": tf.transpose(x), "gather": tf.gather(x, [1, 0]), "tile": tf.tile(x, [1, 2]),
        "pad": tf.pad(x, [[1, 0], [0, 0]]), "reverse": tf.reverse(x, [1]),
        "split": tf.split(x, 3, 1)[1], "zeros": tf.zeros_like(x), "where": tf.where(
            [True, False], x, x[::-1]), "one": tf.ones([2], x.dtype), "fill": tf.fill([2], x[0, 0]),
        "scatter": tf.scatter_nd([[1], [0]], x, [2, 3])})


@program
def floating_functions(tf):
    return over_dtypes(tf, FLOATS, lambda x: {
        "exp": tf.exp(-x), "log": tf.log(x), "sqrt": tf.sqrt(x), "rsqrt": tf.rsqrt(x),
        "tanh": tf.tanh(x / 4), "sigmoid": tf.sigmoid(x), "softmax": tf.nn.softmax(x),
        "softplus": tf.nn.softplus(x), "elu": tf.nn.elu(x - 4), "pow": tf.pow(x, 0.5),
        "mean": tf.reduce_mean(x, 1), "l2": tf.nn.l2_loss(x), "xent":
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(x), logits=x),
        "gradient": tf.gradients(tf.reduce_sum(tf.tanh(x) * x), x)})


@program
def bfloat16(tf):
    x = tf.cast(tf.constant(VALUES, tf.float32) / 8.0, tf.bfloat16)
    fetches = {"add": x + x, "mul": x * x, "matmul": tf.matmul(x, x, transpose_b=True),
               "relu": tf.nn.relu(x - 0.5), "cast": x, "exp": tf.exp(x),
               "sum": tf.reduce_sum(x, 1)}
    return Run({name: tf.cast(y, tf.float32) for name, y in sorted(fetches.items())})


@program
def double_precision_training(tf):
    x = tf.placeholder(tf.float64, [None, 2])
    w = tf.get_variable("w", [2, 1], tf.float64, tf.constant_initializer(0.3))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    return Run({"w": w}, {x: [[1.0, 2.0], [3.0, -1.0]]},
               setup=[tf.global_variables_initializer()], train=[train, loss], steps=3)


@program(rtol=1e-3, reason="TF 1.15 adds up products of halves as halves, which rounds each sum")
def half_precision_layers(tf):
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float16, [None, 4])
    h = tf.layers.dense(x, 3, tf.nn.relu)
    loss = tf.reduce_mean(tf.cast(tf.layers.dense(h, 1), tf.float32))
    return Run({"h": h, "loss": loss, "gradients": tf.gradients(loss, tf.trainable_variables())},
               {x: VALUES[:, [0, 1, 2, 0]] / 8.0}, setup=[tf.global_variables_initializer()])


def scattered(tf, name, kinds, use_resource):
    """Return the variable after an operation that names a row twice, for each type."""
    fetches = {}
    for kind in kinds:
        start = tf.constant([[1, 2], [3, 4], [5, 6]], dtype=getattr(tf, kind))
        variable = tf.Variable(start, use_resource=use_resource, name=kind)
        updates = tf.constant([[2, 3], [4, 5], [6, 7]], dtype=getattr(tf, kind))
        rows = [[0], [2], [0]] if "_nd_" in name else [0, 2, 0]
        changed = getattr(tf, name)(variable, rows, updates)
        with tf.control_dependencies([changed]):
            fetches[kind] = variable.read_value()
    return fetches


@program
def scatters(tf):
    numbers = [*INTEGERS, "uint16", *FLOATS, *COMPLEX]
    kinds = {"scatter_add": numbers, "scatter_sub": numbers, "scatter_mul": numbers,
             "scatter_div": numbers, "scatter_update": numbers,
             "scatter_min": ["int32", "int64", *FLOATS], "scatter_max": ["int32", "int64", *FLOATS],
             "scatter_nd_add": numbers, "scatter_nd_sub": numbers, "scatter_nd_update": numbers}
    return [Run(scattered(tf, name, kinds[name], use_resource),
                setup=[tf.global_variables_initializer()])
            for name in sorted(kinds) for use_resource in (False, True)]


@program
def unsigned_minima_and_maxima(tf):
    runs = [scattered(tf, name, ["uint8", "uint16", "int8"], True)
            for name in ("scatter_min", "scatter_max")]
    return [Run(fetches, setup=[tf.global_variables_initializer()]) for fetches in runs]
