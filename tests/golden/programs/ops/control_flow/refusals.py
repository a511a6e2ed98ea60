"""Errors of loops, tensor arrays and recurrent networks: at construction and at run time."""

from __future__ import annotations

import re

import numpy as np
from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program, raised


@program
def bodies_of_other_forms(tf):
    def loop(body, *start, **options):
        return raised(tf.while_loop, lambda *values: values[0] < 3, body, list(start), **options)

    x = tf.placeholder(tf.float32, [2, None])
    return Run(facts={
        "grows": loop(lambda i, y: (i + 1, tf.concat([y, y], 0)), 0, tf.zeros([2])),
        "loses_a_size": loop(lambda i, y: (i + 1, tf.placeholder(tf.float32, [None])), 0,
                             tf.zeros([2])),
        "another_rank": loop(lambda i, y: (i + 1, y[None]), 0, tf.zeros([2])),
        "narrow": loop(lambda i, y: (i + 1, y), 0, x,
                       shape_invariants=[tf.TensorShape([]), tf.TensorShape([2, 3])]),
        "beyond_the_invariant": loop(
            lambda i, y: (i + 1, tf.zeros([4, 3])), 0, tf.zeros([2, 3]),
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([2, None])]),
        "fewer": loop(lambda i, y: i + 1, 0, 1)["class"],
        "more": loop(lambda i, y: (i, y, y), 0, 1)["class"],
        "nested": loop(lambda i, y: (i + 1, [y]), 0, 1)["class"],
        "nothing": loop(lambda i: None, 0)["class"],
        "no_tensor": raised(tf.while_loop, lambda i: 3, lambda i: i + 1, [0])["class"],
        "no_variables": raised(tf.while_loop, lambda: True, lambda: 1, []),
        "parallel": loop(lambda i: i + 1, 0, parallel_iterations=0),
        "limit": loop(lambda i: i + 1, 0, maximum_iterations=[1, 2])})


@program
def places_of_arrays(tf):
    i = tf.placeholder(tf.int32, [], name="i")
    x = tf.placeholder(tf.float32, name="x")

    def array(**options):
        return tf.TensorArray(tf.float32, size=3, tensor_array_name="a", **options)

    written = array(clear_after_read=False).write(0, [1.0, 2.0])
    runs = {
        "read_beyond": (written.read(i), {i: 7}),
        "gather_beyond": (written.gather([0, 5]), {}),
        "scatter_beyond": (array().scatter([0, 9], tf.zeros([2])).flow, {}),
        "scatter_count": (array().scatter([0, 1, 2], x).flow, {x: [1.0, 2.0]}),
        "negative_size": (tf.TensorArray(tf.float32, size=i).flow, {i: -2}),
        "scalar_rows": (array().unstack(x).flow, {x: 1.0}),
        "split_sums": (array().split(x, [1, 1, 5]).flow, {x: [1.0, 2.0, 3.0]}),
        "split_scalar": (array().split(x, [1, 1, 1]).flow, {x: 1.0}),
    }
    return [Run({name: fetch}, feed, fails=True) for name, (fetch, feed) in runs.items()]


@program
def states_of_arrays(tf):
    def array(**options):
        return tf.TensorArray(tf.float32, size=3, infer_shape=False, **options)

    def text(fetch):
        with tf.Session() as session:
            found = raised(session.run, fetch)
        place = found["message"].index("TensorArray ")
        cut = found["message"].index(":", place)
        return found["class"], found["message"][:place], found["message"][cut:]

    once = array().write(0, 1.0)
    with tf.control_dependencies([once.read(0)]):
        again = once.read(0)
    other = array().write(0, [1.0]).write(1, [1.0, 2.0])
    return Run(facts={
        "unwritten": text(array().read(1)),
        "unwritten_stack": text(array().write(0, 1.0).stack()),
        "beyond": text(array().write(3, 1.0).flow),
        "before": text(array().write(-1, 1.0).flow),
        "twice": text(array().write(1, 1.0).write(1, 2.0).flow),
        "cleared": text(again),
        "shapes": text(other.stack())})


@program
def functions_over_rows(tf):
    x = tf.placeholder(tf.float32, [None, 2])
    return [
        Run({"empty": tf.map_fn(lambda row: row * 2.0, x)}, {x: np.zeros((0, 2), np.float32)}),
        Run({"scan_of_nothing": tf.scan(lambda a, b: a + b, x)},
            {x: np.zeros((0, 2), np.float32)}, fails=True),
        Run({"sum_of_nothing": tf.foldl(lambda a, b: a + b, x, tf.zeros([2]))},
            {x: np.zeros((0, 2), np.float32)}),
    ]


@program
def lengths_of_sequences(tf):
    tf.set_random_seed(4)
    x = tf.placeholder(tf.float32, [2, None, 1], name="x")
    n = tf.placeholder(tf.int32, [None], name="n")
    cell = tf.nn.rnn_cell.BasicRNNCell(2, name="cell")
    y, state = tf.nn.dynamic_rnn(cell, x, sequence_length=n, dtype=tf.float32)
    fetches = {"y": y, "state": state}
    return [
        Run(fetches, {x: wave(2, 3, 1), n: [2, 3]}, setup=[tf.global_variables_initializer()]),
        Run(fetches, {x: wave(2, 3, 1), n: [-1, 0]}),
        Run(fetches, {x: wave(2, 3, 1), n: [7, 2]}),
        Run(fetches, {x: wave(2, 3, 1), n: [1]}, fails=True),
        Run(fetches, {x: np.zeros((2, 0, 1), np.float32), n: [0, 0]}),
    ]


@program
def reversed_sequences(tf):
    x = tf.placeholder(tf.float32, [2, None], name="x")
    n = tf.placeholder(tf.int64, [2], name="n")
    y = tf.reverse_sequence(x, n, seq_axis=1)
    return [Run({"y": y}, {x: wave(2, 3), n: [0, 3]}),
            Run({"beyond": y}, {x: wave(2, 3), n: [4, 1]}, fails=True),
            Run({"negative": y}, {x: wave(2, 3), n: [-1, 1]}, fails=True)]


@program
def python_functions_that_fail(tf):
    def fails():
        raise KeyError("missing")

    def text(function, types):
        with tf.Session() as session:
            found = raised(session.run, tf.py_func(function, [], types))
        return found["class"], re.sub(r"pyfunc_\d+", "F", found["message"])

    return Run(facts={
        "raises": text(fails, tf.float32), "type": text(lambda: 1, tf.float32),
        "wide": text(lambda: np.float32(1), tf.float64), "text": text(lambda: "x", tf.int32),
        "count": text(lambda: (1.0, 2.0), tf.float64), "none": text(lambda: None, tf.float64),
        "dict": text(lambda: {"a": 1}, tf.float64),
        "date": text(lambda: np.zeros(1, "M8[s]"), tf.int64)})
