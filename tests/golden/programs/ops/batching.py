"""Inputs of several runs computed together; here a single run at a time, whose batch times out."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import InternalNames, Run, program, raised

MICROS = 2000


@program
def functions(tf):
    shift = tf.get_variable("shift", initializer=[10.0, 20.0], use_resource=True)
    scale = tf.constant(2.0) * 1

    @tf.nondifferentiable_batch_function(1, 10, MICROS)
    def plain(x):
        return x * scale + shift

    @tf.contrib.batching.batch_function(2, 8, MICROS, allowed_batch_sizes=[4, 8],
                                        max_enqueued_batches=3, autograph=False)
    def two(x, y):
        return tf.reshape(x, [-1, 1, 2]) * tf.cast(tf.size(y), tf.float32), tf.cast(y, tf.float64)

    x, y = tf.placeholder(tf.float32, [None, 2], "x"), tf.placeholder(tf.int32, [None], "y")
    first = plain(x)
    outs = two(x, y)
    feeds = {x: np.arange(6.0).reshape(3, 2), y: [1, 2, 3]}
    return Run({"plain": first, "two": outs}, feeds, setup=[tf.global_variables_initializer()],
               facts={"kinds": [type(first).__name__, type(outs).__name__],
                      "no tensor": raised(plain, [1.0]),
                      "gradient": raised(tf.gradients, first[0], x)})


@program
def operations(tf):
    x, words = tf.placeholder(tf.float32, [None, 2], "x"), tf.placeholder(tf.string, [None])
    batched = tf.raw_ops.Batch(
        in_tensors=[x, words], num_batch_threads=1, max_batch_size=8, batch_timeout_micros=MICROS,
        grad_timeout_micros=100000, allowed_batch_sizes=[5, 8], batching_queue="q")
    y = batched.batched_tensors[0] * 3
    result = tf.raw_ops.Unbatch(batched_tensor=y, batch_index=batched.batch_index,
                                id=batched.id, timeout_micros=100000, shared_name="shared")
    again = tf.raw_ops.Unbatch(batched_tensor=batched.batched_tensors[1],
                               batch_index=batched.batch_index, id=batched.id,
                               timeout_micros=100000)
    return Run({"batched": batched.batched_tensors, "rows": batched.batch_index[:, 1:],
                "result": result, "again": again},
               {x: [[1, 2], [3, 4]], words: ["a", "b"]})


@program
def sizes_that_shrink(tf):
    x = tf.placeholder(tf.float32, [None])
    batched = _batch(tf, [x], allowed_batch_sizes=[4, 2, 8])
    return Run({"y": batched.batched_tensors}, {x: [1.0]}, fails=True)


@program
def last_size(tf):
    x = tf.placeholder(tf.float32, [None])
    batched = _batch(tf, [x], allowed_batch_sizes=[2, 4])
    return Run({"y": batched.batched_tensors}, {x: [1.0]}, fails=True)


def _batch(tf, tensors, **options):
    return tf.raw_ops.Batch(in_tensors=tensors, num_batch_threads=1, max_batch_size=8,
                            batch_timeout_micros=MICROS, grad_timeout_micros=1000, **options)


@program
def refused_while_running(tf):
    x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32, name="y")
    two = _batch(tf, [x, y]).batched_tensors

    @tf.nondifferentiable_batch_function(1, 4, MICROS)
    def loses_rows(each):
        return each[:1]

    @tf.nondifferentiable_batch_function(1, 4, MICROS)
    def total(each):
        return tf.reduce_sum(each)

    known = tf.placeholder(tf.float32, [None])
    index, key = tf.placeholder(tf.int64, [None, None]), tf.placeholder(tf.int64, [])
    unbatched = tf.raw_ops.Unbatch(batched_tensor=known, batch_index=index, id=key,
                                   timeout_micros=1000)
    grad = tf.raw_ops.UnbatchGrad(original_input=known, batch_index=index, grad=known, id=key)
    runs = [
        ({"two": two}, {x: [1.0], y: [1.0, 2.0]}),
        ({"two": two}, {x: 1.0, y: 2.0}),
        ({"two": two}, {x: np.ones(9), y: np.ones(9)}),
        ({"rows": loses_rows(known)}, {known: [1.0, 2.0]}),
        ({"total": total(known)}, {known: [1.0, 2.0]}),
        ({"unbatched": unbatched}, {known: [1.0], index: [[1, 0, 1], [2, 1, 2]], key: 1}),
        ({"unbatched": unbatched}, {known: [1.0], index: [[1, 0]], key: 1}),
        ({"unbatched": unbatched}, {known: [1.0], index: [[1, 0, 2]], key: 1}),
        ({"unbatched": unbatched}, {known: [1.0], index: [[5, 0, 1]], key: 1}),
        ({"grad": grad}, {known: [1.0], index: np.zeros([0, 3]), key: 1}),
    ]
    return [Run(fetches, feeds, fails=True) for fetches, feeds in runs]


@program
def gradients(tf):
    x = tf.placeholder(tf.float32, [None, 2], "x")
    batched = _batch(tf, [x], allowed_batch_sizes=[2, 8])
    y = tf.raw_ops.Unbatch(batched_tensor=tf.square(batched.batched_tensors[0]),
                           batch_index=batched.batch_index, id=batched.id, timeout_micros=100000)
    return Run({"y": y, "unknown": tf.shape(y)}, {x: [[1, 2], [3, 4]]})


@program
def shapes(tf):
    rows, unknown = tf.placeholder(tf.float32, [3, None]), tf.placeholder(tf.float32)
    made = _batch(tf, [rows, unknown])
    return Run({"rows": tf.zeros([1])}, facts={
        "batched": [str(t.shape) for t in made.batched_tensors],
        "others": [str(made.batch_index.shape), str(made.id.shape)],
        "scalar": raised(_batch, tf, [tf.constant(1.0)]),
        "grad": str(tf.raw_ops.UnbatchGrad(
            original_input=rows, batch_index=made.batch_index, grad=rows, id=made.id).shape)})


@program
def by_operations_around_a_function(tf):
    module = InternalNames(tf, "contrib.batching.python.ops.batch_ops")
    x, words = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.string, [None])

    @module.batch_function_v1(1, 8, MICROS, allowed_batch_sizes=[4, 8], max_enqueued_batches=3)
    def several(values, texts):
        return [2.0 * values, texts]

    @module.batch_function_v1(1, 8, MICROS)
    def one(values):
        return tf.reduce_sum(values, 1)

    return Run({"several": several(x, words), "one": one(x)},
               {x: [[1.0, 2.0], [3.0, 4.0]], words: ["a", "b"]},
               facts={"refused": raised(one, 1.0)})
