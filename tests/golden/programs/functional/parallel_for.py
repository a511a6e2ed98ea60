"""pfor and Jacobians: values and shapes; of the loops that `use_pfor=False` makes, nodes too."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, eagerly, program, raised

ROWS = np.array([[1, 2], [3, 4], [5, 7]], np.float32)


class Library:
    """The functions, which programs import from inside of TensorFlow."""

    def __init__(self, tf):
        if tf.__name__ == "stillflow":
            from stillflow.functional import jacobians, parallel_for
        else:
            from tensorflow.python.ops import parallel_for

            jacobians = parallel_for
        self.pfor, self.for_loop = parallel_for.pfor, parallel_for.for_loop
        self.jacobian, self.batch_jacobian = jacobians.jacobian, jacobians.batch_jacobian


def computed(tf, make):
    """Values and static shapes of what `make()` builds in a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        made = make()
        session.run(tf.global_variables_initializer())
        flat = tf.contrib.framework.nest.flatten(made)
        shapes = [str(getattr(item, "shape", None)) for item in flat]
        values = [None if item is None else session.run(item) for item in flat]
        return {"shapes": shapes, "values": values}


def looping(tf):
    x = tf.constant(ROWS)
    lengths = tf.constant([2, 0, 1])

    def total(i):
        return tf.while_loop(
            lambda j, _: j < tf.gather(lengths, i),
            lambda j, s: (j + 1, s + tf.gather(tf.gather(x, i), j)),
            [0, 0.0],
        )[1]

    return tf.reshape(Library(tf).pfor(total, 3), [3])


def through_a_loop(tf):
    x = tf.constant(ROWS[:1])
    w = tf.constant(ROWS[1:])
    out = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.matmul(y, w)), [0, x])[1]
    return Library(tf).batch_jacobian(out, x)


def of_sparse(tf):
    def row(i):
        place = tf.cast(tf.reshape(i, [1, 1]), tf.int64)
        return tf.SparseTensor(place, [i * 2], tf.constant([4], tf.int64))

    return tf.sparse.to_dense(Library(tf).pfor(row, 3))


def reduced(tf):
    def each(i, pfor_config):
        row = tf.gather(tf.constant(ROWS), i)
        return [
            row - pfor_config.reduce_mean(row),
            pfor_config.reduce_sum(row * 2),
            pfor_config.reduce_concat(i),
        ]

    return Library(tf).pfor(each, 3)


def per_example(tf):
    x = tf.constant(ROWS)
    w = tf.get_variable("w", initializer=np.ones([2, 2], np.float32))

    def gradient(i):
        return tf.gradients(tf.nn.l2_loss(tf.matmul(tf.gather(x, i)[None], w)), [w])

    return Library(tf).pfor(gradient, 3, parallel_iterations=2)


@program
def values(tf):
    parallel = Library(tf)
    makers = {
        "numbers": lambda: parallel.pfor(lambda i: {"a": i, "b": [i * i, None]}, 4),
        "constant": lambda: parallel.pfor(lambda i: 2.0, 3),
        "unknown": lambda: parallel.pfor(lambda i: i, tf.placeholder_with_default(3, [])),
        "none": lambda: parallel.pfor(lambda i: i + 1, 0),
        "loop": lambda: looping(tf),
        "through_a_loop": lambda: through_a_loop(tf),
        "sparse": lambda: of_sparse(tf),
        "reduced": lambda: reduced(tf),
        "per_example": lambda: per_example(tf),
    }

    def jacobians():
        a = tf.constant(ROWS)
        y = tf.matmul(a, a, transpose_a=True)
        return [parallel.jacobian(y, [a, tf.constant(1.0)]), parallel.batch_jacobian(a * a, a)]

    def hessian():
        a = tf.constant(ROWS)
        return parallel.batch_jacobian(parallel.batch_jacobian(a * a * a, a)[:, 0], a)

    makers["jacobians"] = jacobians
    makers["hessian"] = hessian

    def call(session):
        return {name: computed(tf, make) for name, make in makers.items()}

    def refusals():
        with tf.Graph().as_default():
            return {
                "zero": raised(parallel.pfor, lambda i: 1, 8, parallel_iterations=0),
                "one": raised(parallel.pfor, lambda i: 1, 8, parallel_iterations=1),
                "cond": raised(parallel.pfor, lambda i: tf.cond(i > 1, lambda: i, lambda: -i), 2),
                "no body": raised(parallel.pfor, 3, 2),
                "reduction": raised(
                    parallel.pfor, lambda i, pfor_config: pfor_config.reduce_sum(i), 3,
                    parallel_iterations=2,
                ),
                "batches": raised(parallel.batch_jacobian, tf.ones([3, 2]), tf.ones([2, 2])),
                "results": raised(parallel.for_loop, lambda i: (i, i), tf.int32, 2),
                "unconnected": parallel.batch_jacobian(tf.constant(ROWS), tf.ones([3, 2])),
            }  # fmt: skip

    return Run(call=call, facts=refusals())


@program
def loops(tf):
    parallel = Library(tf)
    x = tf.placeholder(tf.float32, [None, 2])
    known = tf.constant(ROWS)
    fetches = {
        "loop": parallel.for_loop(lambda i: [i, tf.gather(known, i)], [tf.int32, tf.float32], 3),
        "jacobian": parallel.jacobian(known * known, known, use_pfor=False),
        "batch": parallel.batch_jacobian(x * x * x, x, use_pfor=False),
        "of unknown size": parallel.jacobian(
            tf.reduce_sum(x * x, 1), [x], use_pfor=False, parallel_iterations=2
        ),
    }
    return Run(fetches, {x: ROWS})


@program
def eager(tf):
    def compute(tf):
        x = tf.constant(ROWS)
        pfor = Library(tf).pfor
        return [pfor(lambda i: tf.gather(x, i) * 2.0, 3).numpy(),
                pfor(lambda i: (i, -i), tf.constant(2))[1].numpy()]  # fmt: skip

    return eagerly(tf, compute)
