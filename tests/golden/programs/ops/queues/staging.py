"""Staging areas, conditional accumulators, and queues used in less usual ways."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, describe_error, program, raised


def _steps(tf, steps):
    """Return the results of a session's runs in order; {name: fetches or (fetches, feeds)}."""

    def call(session):
        values = {}
        for name, step in steps:
            fetches, feeds = step if isinstance(step, tuple) else (step, None)
            try:
                value = session.run(fetches, feeds)
                values[name] = value if value is not None else "done"
            except tf.errors.OpError as error:
                values[name] = describe_error(error)
        return values

    return Run(call=call)


# ---- Staging areas


@program
def staging_area(tf):
    area = tf.contrib.staging.StagingArea(
        [tf.float32, tf.int32],
        shapes=[[2], []],
        names=["x", "n"],
        capacity=3,
        memory_limit=1000,
        shared_name="area",
    )
    x = tf.placeholder(tf.float32, [2])
    n = tf.placeholder(tf.int32, [])
    put = area.put({"x": x, "n": n})
    run = _steps(
        tf,
        [
            ("put", (put, {x: [1.0, 2.0], n: 3})),
            ("again", (put, {x: [4.0, 5.0], n: 6})),
            ("size", area.size()),
            ("peek", area.peek(1)),
            ("get", area.get()),
            ("rest", area.size()),
            ("clear", area.clear()),
            ("empty", area.size()),
        ],
    )
    single = tf.contrib.staging.StagingArea([tf.string])
    run.facts = {
        "name": area.name,
        "names": area.names,
        "shapes": str(area.shapes),
        "dtypes": str(area.dtypes),
        "capacity": area.capacity,
        "limit": area.memory_limit,
        "no_dictionary": raised(area.put, [x, n])["class"],
        "other_type": raised(single.put, [n])["class"],
        "lengths": raised(tf.contrib.staging.StagingArea, [tf.int32], shapes=[[], []]),
    }
    return run


@program
def staging_area_without_names(tf):
    area = tf.contrib.staging.StagingArea([tf.float32, tf.float32])
    put = area.put([tf.constant([[1.0, 2.0]]), tf.constant(3.0)])
    first, second = area.get()
    return _steps(tf, [("put", put), ("get", [first, second]), ("size", area.size())])


# ---- Accumulators


@program
def dense_accumulator(tf):
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[2], name="mine")
    gradient = tf.placeholder(tf.float32, [2])
    step = tf.placeholder(tf.int64, [])
    apply = accumulator.apply_grad(gradient, step)
    set_step = accumulator.set_global_step(3)
    size = accumulator.num_accumulated()
    take = accumulator.take_grad(2)
    return _steps(
        tf,
        [
            ("one", (apply, {gradient: [1.0, 2.0], step: 0})),
            ("two", (apply, {gradient: [3.0, 5.0], step: 0})),
            ("three", (apply, {gradient: [8.0, 5.0], step: 0})),
            ("size", size),
            ("mean", take),
            ("empty", size),
            ("stale", (apply, {gradient: [1.0, 2.0], step: 0})),
            ("still_empty", size),
            ("set", set_step),
            ("fresh", (apply, {gradient: [1.0, 2.0], step: 3})),
            ("counted", size),
            ("too_few", accumulator.take_grad(0)),
        ],
    )


@program
def sums_of_gradients(tf):
    accumulator = tf.ConditionalAccumulator(
        tf.float64, shape=[None, 2], reduction_type="SUM", shared_name="shared"
    )
    applied = [
        accumulator.apply_grad(tf.constant([[1.0, 2.0]], tf.float64) * i, 0) for i in range(3)
    ]
    run = _steps(tf, [("apply", applied), ("take", accumulator.take_grad(3))])
    run.facts = {"name": accumulator.name, "dtype": accumulator.dtype.name}
    return run


@program
def sparse_accumulator(tf):
    accumulator = tf.SparseConditionalAccumulator(tf.float32, shape=[4, 2], name="sparse")
    first = tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([0, 2]), [4, 2])
    second = tf.IndexedSlices(tf.constant([[5.0, 6.0]]), tf.constant([2]), [4, 2])
    steps = [
        accumulator.apply_indexed_slices_grad(first, 0),
        accumulator.apply_indexed_slices_grad(second, 0),
        accumulator.apply_grad([3], [[7.0, 8.0]], [4, 2], 0),
    ]
    taken = accumulator.take_indexed_slices_grad(3)
    wrong = accumulator.apply_grad([9, 1], [[7.0, 8.0], [1.0, 1.0]], [3, 2], 1)
    return _steps(
        tf,
        [
            ("apply", steps),
            ("size", accumulator.num_accumulated()),
            ("take", taken),
            ("wrong", wrong),
            ("set", accumulator.set_global_step(7)),
        ],
    )


@program
def accumulators_of_several_variables(tf):
    accumulator = tf.SparseConditionalAccumulator(tf.float32, reduction_type="SUM")
    parts = [accumulator.apply_grad([i, i + 1], [[1.0 * i], [2.0]], local_step=0) for i in range(3)]
    return _steps(tf, [("apply", parts), ("take", list(accumulator.take_grad(2)))])


# ---- Queues, by ways that are less usual


@program
def a_queue_among_several(tf):
    queues = [tf.FIFOQueue(5, tf.int32, shapes=[[]], name=f"q{i}") for i in range(3)]
    fill = [queue.enqueue_many([[10 * i, 10 * i + 1]]) for i, queue in enumerate(queues)]
    index = tf.placeholder(tf.int32, [])
    chosen = tf.QueueBase.from_list(index, queues)
    taken = chosen.dequeue()
    run = _steps(
        tf,
        [
            ("fill", fill),
            ("second", (taken, {index: 1})),
            ("third", (taken, {index: 2})),
            ("again", (taken, {index: 1})),
            ("beyond", (taken, {index: 7})),
        ],
    )
    mixed = [queues[0], tf.FIFOQueue(5, tf.float32)]
    run.facts = {
        "types": raised(tf.QueueBase.from_list, index, mixed),
        "no_queues": raised(tf.QueueBase.from_list, index, [1, 2]),
    }
    return run


@program
def batches_up_to(tf):
    queue = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[[], [2]], shared_name="mine")
    fill = queue.enqueue_many([[1, 2, 3, 4, 5], [["a", "b"]] * 5])
    up_to = queue.dequeue_up_to(3)
    return _steps(
        tf,
        [
            ("fill", fill),
            ("three", up_to),
            ("close", queue.close()),
            ("two", up_to),
            ("none", up_to),
            ("closed", queue.is_closed()),
            ("late", fill),
            ("size", queue.size()),
        ],
    )


@program
def padded_batches(tf):
    queue = tf.PaddingFIFOQueue(10, [tf.int32, tf.string], shapes=[[None, 2], [None]])
    one = queue.enqueue([[[1, 2]], ["a"]])
    two = queue.enqueue([[[3, 4], [5, 6]], ["b", "c", "d"]])
    many = queue.enqueue_many([np.zeros([2, 1, 2], np.int32), [["x"], ["y"]]])
    bad = tf.placeholder(tf.int32)
    return _steps(
        tf,
        [
            ("fill", [one]),
            ("more", [two]),
            ("many", many),
            ("batch", queue.dequeue_many(3)),
            ("one", queue.dequeue()),
            ("rank", (queue.enqueue([bad, ["a"]]), {bad: [1, 2]})),
        ],
    )


@program
def sorted_batches(tf):
    queue = tf.PriorityQueue(10, [tf.string], [[]], shared_name="sorted")
    fill = queue.enqueue_many([np.array([5, -1, 3, 5, 0]), ["a", "b", "c", "d", "e"]])
    return _steps(
        tf,
        [
            ("fill", fill),
            ("three", queue.dequeue_many(3)),
            ("one", queue.dequeue()),
            ("close", queue.close(True)),
            ("rest", queue.dequeue()),
            ("none", queue.dequeue_many(1)),
        ],
    )


@program
def handles(tf):
    queue = tf.raw_ops.FIFOQueue(component_types=[tf.int32], shared_name="q")
    barrier = tf.raw_ops.Barrier(component_types=[tf.int32], shapes=[[]], shared_name="b")
    return _steps(tf, [("queue", queue), ("barrier", barrier)])
