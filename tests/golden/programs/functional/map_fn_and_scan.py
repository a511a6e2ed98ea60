"""tf.map_fn, tf.scan, tf.foldl, tf.foldr and TensorArrays as loop variables, with gradients."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


@program
def map_forms(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    k = tf.constant([1, 2, 3])
    squares = tf.map_fn(lambda e: e * e, x)
    several = tf.map_fn(lambda e: (e[0] + tf.cast(e[1], tf.float32), e[1]), (x, k),
                        dtype=(tf.float32, tf.int32), name="several")
    other_type = tf.map_fn(lambda e: tf.reduce_sum(e) > 2.0, x, dtype=tf.bool,
                           parallel_iterations=1)
    ragged = tf.map_fn(lambda e: tf.range(3 - e), tf.constant([1, 1]), infer_shape=False,
                       back_prop=False)
    return Run({"squares": squares, "several": several, "other_type": other_type,
                "ragged": ragged}, {x: [[1.0, 2.0], [3.0, -4.0], [0.5, 0.5]]})


@program
def map_gradients(tf):
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    w = tf.Variable([1.0, 2.0], name="w")
    y = tf.map_fn(lambda e: tf.tanh(e * w), x)
    return Run({"y": y, "gradients": tf.gradients(y, [x, w])},
               {x: [[1.0, 2.0], [3.0, -4.0], [0.5, 0.5]]}, setup=[w.initializer])


@program
def map_with_variables(tf):
    x = tf.placeholder(tf.float32, [2, 3], name="x")

    def layer(e):
        w = tf.get_variable("w", [3], initializer=tf.ones_initializer())
        return e * w

    y = tf.map_fn(layer, x)
    return Run({"y": y}, {x: np.ones([2, 3])}, setup=[tf.global_variables_initializer()])


@program
def maps_that_are_refused(tf):
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    facts = {"scalar": raised(tf.map_fn, lambda e: e, tf.constant(1.0)),
             "scalars": raised(tf.map_fn, lambda e: e, [tf.constant(1.0), tf.constant(2.0)]),
             "function": raised(tf.map_fn, 3, x),
             "structure": raised(tf.map_fn, lambda e: (e, e), x),
             "sparse": raised(tf.map_fn, lambda e: e, tf.SparseTensor([[0]], [1.0], [2]))}
    return Run(facts=facts)


@program
def scan_forms(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    sums = tf.scan(lambda a, e: a + e, x)
    started = tf.scan(lambda a, e: a * e, x, initializer=tf.constant([2.0, 2.0]), reverse=True)
    backwards = tf.scan(lambda a, e: a - e, x, reverse=True, name="backwards")
    pairs = tf.scan(lambda a, _: (a[1], a[0] + a[1]), tf.zeros([6]), (np.array(0), np.array(1)))
    growing = tf.scan(lambda a, e: tf.concat([a[:1], [tf.cast(e, tf.float32)]], 0),
                      tf.constant([1, 2, 3]), initializer=tf.zeros([2]), infer_shape=False)
    return Run({"sums": sums, "started": started, "backwards": backwards, "pairs": pairs,
                "growing": growing}, {x: [[1.0, 2.0], [3.0, -4.0], [0.5, 0.5]]})


@program
def scan_gradients(tf):
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    w = tf.Variable([0.5, 2.0], name="w")
    y = tf.scan(lambda a, e: tf.tanh(a * w + e), x, initializer=tf.zeros([2]))
    return Run({"y": y, "gradients": tf.gradients(y, [x, w])},
               {x: [[1.0, 2.0], [3.0, -4.0], [0.5, 0.5]]}, setup=[w.initializer])


@program
def folds(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    k = tf.constant([1, 2, 3, 4])
    left = tf.foldl(lambda a, e: a * 2.0 + e, x)
    right = tf.foldr(lambda a, e: a * 2.0 + e, x)
    started = tf.foldl(lambda a, e: a - e, k, initializer=tf.constant(100), name="started")
    from_right = tf.foldr(lambda a, e: a - e, k, initializer=tf.constant(100))
    several = tf.foldl(lambda a, e: a + e[0] * e[1], (k, k), initializer=0)
    return Run({"left": left, "right": right, "started": started, "from_right": from_right,
                "several": several, "gradients": [tf.gradients(left, x), tf.gradients(right, x)]},
               {x: [[1.0, 2.0], [3.0, -4.0], [0.5, 0.5]]})


@program
def arrays_as_loop_variables(tf):
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    source = tf.TensorArray(tf.float32, 3).unstack(x)
    target = tf.TensorArray(tf.float32, 3)

    def body(i, array, total):
        value = source.read(i)
        return i + 1, array.write(i, value * total), total + tf.reduce_sum(value)

    _, target, total = tf.while_loop(lambda i, *_: i < 3, body, [0, target, 1.0])
    y = target.stack()
    return Run({"y": y, "total": total, "gradient": tf.gradients(y, x)},
               {x: [[1.0, 2.0], [3.0, -4.0], [0.5, 0.5]]})


@program
def arrays_in_a_cond(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    array = tf.TensorArray(tf.float32, 2, clear_after_read=False).write(0, x)
    array = tf.cond(x > 0.0, lambda: array.write(1, x * 2.0), lambda: array.write(1, -x))
    return Run({"y": array.stack()}, [{x: 1.0}, {x: -3.0}], steps=2)


@program
def loops_of_maps(tf):
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    y = tf.map_fn(lambda row: tf.scan(lambda a, e: a + e * e, row), x)
    return Run({"y": y, "gradient": tf.gradients(y, x)}, {x: [[1.0, 2.0, 3.0], [0.5, 0.0, -1.0]]})
