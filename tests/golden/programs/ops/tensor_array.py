"""tf.TensorArray: every method, its errors, and its gradients."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


@program
def written_and_read(tf):
    array = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
    array = array.write(0, [1.0, 2.0]).write(2, [5.0, 6.0]).write(1, [3.0, 4.0])
    named = tf.TensorArray(tf.int32, size=1, tensor_array_name="mine", name="a").write(
        0, 7, name="w")
    return Run({"first": array.read(0), "again": array.read(0), "all": array.stack(),
                "some": array.gather([2, 0]), "end_to_end": array.concat(), "size": array.size(),
                "named": named.read(0, name="r"), "same": array.identity().read(2)})


@program
def filled_at_once(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    rows = tf.TensorArray(tf.float32, size=3).unstack(x)
    spread = tf.TensorArray(tf.float32, size=5, element_shape=[2]).scatter([4, 0, 2], x)
    parts = tf.TensorArray(tf.float32, size=2, infer_shape=False, clear_after_read=False)
    parts = parts.split(x, [1, 2])
    even = tf.TensorArray(tf.float32, size=3).split(x, [1, 1, 1])
    return Run({"rows": rows.stack(), "zeros_between": spread.stack(), "part": parts.read(1),
                "joined": parts.concat(), "even": even.concat()},
               {x: [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]})


@program
def arrays_that_grow(tf):
    array = tf.TensorArray(tf.float64, size=0, dynamic_size=True, infer_shape=True)
    array = array.write(2, [1.0]).write(0, [2.0]).write(1, [3.0])
    texts = tf.TensorArray(tf.string, size=0, dynamic_size=True).write(0, "a").write(1, "b")
    return Run({"all": array.stack(), "size": array.size(), "texts": texts.stack()})


@program
def properties(tf):
    array = tf.TensorArray(tf.float32, size=2, element_shape=[None, 3])
    written = array.write(0, tf.zeros([4, 3]))
    return Run(facts={"before": str(array.element_shape), "dtype": array.dtype.name,
                      "dynamic": array.dynamic_size, "handle": array.handle.name,
                      "flow": written.flow.name, "read": str(written.read(0).shape),
                      "stack": str(written.stack().shape)})


@program
def constructions_that_are_refused(tf):
    made = tf.TensorArray(tf.float32, size=2)
    new = tf.TensorArray
    return Run(facts={
        "no_size": raised(new, tf.float32),
        "handle_and_name": raised(new, tf.float32, handle=made.handle, tensor_array_name="x"),
        "no_tensor": raised(new, tf.float32, handle="x"),
        "handle_and_size": raised(new, tf.float32, size=1, handle=made.handle),
        "handle_and_shape": raised(new, tf.float32, element_shape=[1], handle=made.handle),
        "no_flow": raised(new, tf.float32, handle=made.handle),
        "other_shape": raised(made.write(0, [1.0, 2.0]).write, 1, [1.0])})


@program
def runs_that_fail(tf):
    i = tf.placeholder(tf.int32, [], name="i")
    x = tf.placeholder(tf.float32, name="x")

    def array(**options):
        return tf.TensorArray(tf.float32, size=2, **options).write(0, [1.0, 2.0])

    return [  # messages that number the arrays are tested elsewhere
        Run({"beyond": array().read(i)}, {i: 2}, fails=True),
        Run({"lengths": tf.TensorArray(tf.float32, size=2).split(x, [1, 2]).flow},
            {x: [1.0, 2.0]}, fails=True),
        Run({"places": tf.TensorArray(tf.float32, size=1).unstack(x).flow},
            {x: [1.0, 2.0]}, fails=True),
        Run({"empty": tf.TensorArray(tf.float32, size=0).stack()}, fails=True),
    ]


@program
def gradients_through_arrays(tf):
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    rows = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(x)
    twice = rows.read(1) * rows.read(1)  # two gradients for one place
    written = tf.TensorArray(tf.float32, size=3).write(0, twice).write(1, rows.read(0) * 3.0)
    stacked = written.write(2, rows.read(2)).stack()
    joined = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(x, [2, 1]).concat()
    return Run({"stacked": stacked, "through": tf.gradients(stacked, x),
                "joined": tf.gradients(joined * joined, x)},
               {x: [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]})


@program
def arrays_in_loops(tf):
    x = tf.placeholder(tf.float32, [4, 2], name="x")
    w = tf.constant([[0.5, -1.0], [1.0, 0.25]])
    rows = tf.TensorArray(tf.float32, size=4).unstack(x)

    def body(i, state, out):
        state = tf.tanh(tf.matmul(state, w) + rows.read(i))
        return i + 1, state, out.write(i, state)

    out = tf.TensorArray(tf.float32, size=4)
    _, last, out = tf.while_loop(lambda i, *_: i < 4, body, [0, tf.zeros([1, 2]), out])
    y = out.stack()
    return Run({"last": last, "all": y, "gradients": tf.gradients(y, [x, w])},
               {x: np.arange(8.0).reshape(4, 2) / 8})


@program
def arrays_in_branches(tf):
    flag = tf.placeholder(tf.bool, [], name="flag")
    array = tf.TensorArray(tf.float32, size=2).write(0, 1.0)
    result = tf.cond(flag, lambda: array.write(1, 2.0).stack(), lambda: tf.zeros([2]))
    return [Run({"result": result}, {flag: True}), Run({"result": result}, {flag: False})]
