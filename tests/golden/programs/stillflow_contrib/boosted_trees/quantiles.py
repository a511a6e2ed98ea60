"""Quantile accumulators of tf.contrib.boosted_trees, and buckets of features."""

from __future__ import annotations

import os
import tempfile

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

DENSE = np.array([[1], [2], [3], [4], [4], [5]], np.float32)
INDICES = np.array([[1, 0], [2, 1], [3, 0], [4, 1], [5, 0]])
SPARSE = np.array([2, 3, 4, 5, 6], np.float32)
WEIGHTS = np.array([[10], [1], [1], [1], [1], [1]], np.float32)
RANDOM = np.random.RandomState(4)
MANY = RANDOM.normal(size=[500, 1]).astype(np.float32)
MANY_WEIGHTS = RANDOM.uniform(size=[500, 1]).astype(np.float32)


def _ops(tf):
    return internal_module(
        tf, "stillflow_contrib.boosted_trees.quantile_ops",
        "contrib.boosted_trees.python.ops.quantile_ops")


def _config(error, count):
    return b"\x09" + np.float64(error).tobytes() + b"\x10" + bytes([count])


@program
def features(tf):
    ops = _ops(tf)
    shape = [6, 2]
    summaries = ops.make_quantile_summaries(
        [DENSE, -DENSE], [INDICES], [SPARSE], [shape], WEIGHTS, epsilon=0.1)
    large = ops.make_quantile_summaries(
        [MANY], [], [], [], MANY_WEIGHTS, epsilon=0.05, name="large")
    buckets = ops.quantile_buckets(
        [DENSE[:, 0]], [INDICES, INDICES], [SPARSE, -SPARSE], [shape, shape], WEIGHTS[:, 0],
        dense_config=[_config(0.33, 3)], sparse_config=[_config(0.33, 3), _config(0.1, 2)])
    found = ops.quantiles([DENSE[:, 0]], [SPARSE], [[1.0, 3.0, 4.0]], [[2.5, 4.0]], [INDICES])
    return Run({
        "dense": summaries.dense_summaries, "sparse": summaries.sparse_summaries,
        "large": large.dense_summaries, "dense_buckets": buckets.dense_buckets,
        "sparse_buckets": buckets.sparse_buckets, "found": found.dense_quantiles,
        "sparse_found": found.sparse_quantiles,
    })


@program
def boundaries(tf):
    bucketize = _ops(tf).bucketize_with_input_boundaries
    limits = [0.0, 10.5, 100.0]
    return Run({
        name: bucketize(tf.constant([[-5, 10000], [150, 10], [0, 100]], name), limits)
        for name in ("int32", "int64", "float32", "float64")
    })


def _stream(name, batches, **settings):
    def stream(tf):
        ops = _ops(tf)
        accumulator = ops.QuantileAccumulator(0, name="q/1", **settings)
        values = tf.placeholder(tf.float32, [None, 1])
        weights = tf.placeholder(tf.float32, [None, 1])
        early = accumulator.add_summary(7, values, weights)
        add = accumulator.add_summary(0, values, weights)
        sparse = accumulator.add_summary(
            0, tf.SparseTensor(INDICES, SPARSE, [6, 2]), WEIGHTS)
        flush = accumulator.flush(0, 1)
        ready, buckets = accumulator.get_buckets(1)
        late = accumulator.get_buckets(0)
        state = ops.quantile_accumulator_serialize(accumulator.resource_handle)
        again = accumulator.add_summary(1, values, weights)
        summary = accumulator.flush_summary(1, 2)

        def call(session):
            found = {"before": session.run(accumulator.is_initialized())}
            session.run(accumulator.initializer)
            found["empty"] = session.run([ready, buckets, *state])
            for batch in np.array_split(np.arange(len(MANY)), batches):
                feeds = {values: MANY[batch], weights: MANY_WEIGHTS[batch]}
                session.run([early], feeds)
                session.run([add], feeds)
            session.run(sparse)
            found["state"] = session.run(list(state))
            session.run(flush)
            found["after"] = session.run([accumulator.is_initialized(), ready, buckets, late])
            session.run(again, {values: DENSE, weights: WEIGHTS})
            found["summary"] = session.run(summary)
            found["last"] = session.run(list(state))
            return found

        return Run(call=call, facts={
            "collections": [len(tf.get_collection(key)) for key in ("resources",
                                                                    "saveable_objects")]})

    stream.__name__, stream.__module__ = name, __name__
    return program(stream)


few = _stream("few", 3, epsilon=0.1, num_quantiles=4)
many_batches = _stream("many_batches", 40, epsilon=0.01, num_quantiles=10, max_elements=600)
exact = _stream("exact", 7, epsilon=0.05, num_quantiles=5, generate_quantiles=True)


@program
def saved(tf):
    accumulator = _ops(tf).QuantileAccumulator(3, 0.1, 3, name="saved")
    add = accumulator.add_summary(3, MANY, MANY_WEIGHTS)
    flush, buckets = accumulator.flush(3, 4), accumulator.get_buckets(4)
    saver = tf.train.Saver()
    path = os.path.join(tempfile.mkdtemp(), "model")

    def call(session):
        session.run(accumulator.initializer)
        session.run(add)
        saver.save(session, path)
        session.run(flush)
        found = {"first": session.run(buckets)}
        session.run(_ops(tf).quantile_accumulator_flush(accumulator.resource_handle, 4, 5))
        saver.restore(session, path)
        found["restored"] = session.run(buckets)
        session.run(flush)
        found["again"] = session.run(buckets)
        reader = tf.train.NewCheckpointReader(path)
        found["names"] = sorted(reader.get_variable_to_shape_map())
        return found

    return Run(call=call)


@program
def scheduled(tf):
    ops = _ops(tf)
    together = internal_module(
        tf, "stillflow_contrib.boosted_trees.scheduling",
        "contrib.boosted_trees.python.ops.batch_ops_utils")
    streams = [ops.QuantileAccumulator(0, 0.1, 3, name="s" + name) for name in "ab"]
    stamp = tf.constant(0, tf.int64)
    added = together.run_handler_scheduled_ops(
        {stream: [stream.schedule_add_summary(stamp, factor * DENSE, WEIGHTS)]
         for factor, stream in enumerate(streams, 1)}, stamp, "/cpu:0")
    found = together.run_handler_scheduled_ops(
        {stream: [stream.schedule_get_buckets()] for stream in streams}, tf.constant(1, tf.int64),
        "/cpu:0")
    return Run(
        {str(place): found[stream] for place, stream in enumerate(streams)},
        setup=[[stream.initializer for stream in streams], [added[each] for each in streams],
               [stream.flush(stamp, 1) for stream in streams]])


@program
def refused(tf):
    ops = _ops(tf)
    return Run(facts={
        "rank": raised(ops.make_quantile_summaries, [DENSE[:, 0]], [], [], [], WEIGHTS, 0.1),
        "examples": raised(ops.make_quantile_summaries, [DENSE[1:]], [], [], [], WEIGHTS, 0.1),
        "weights": raised(ops.make_quantile_summaries, [DENSE], [], [], [], WEIGHTS[:, 0], 0.1),
    })


def _fails(name, build):
    def fails(tf):
        return Run({"found": build(tf, _ops(tf))}, fails=True)

    fails.__name__, fails.__module__ = name, __name__
    return program(fails)


not_sorted = _fails("not_sorted", lambda tf, ops: ops.bucketize_with_input_boundaries(
    [1.0], [2.0, 1.0]))
no_vectors = _fails("no_vectors", lambda tf, ops: ops.quantiles(
    [DENSE[:, 0]], [], [[[1.0]]], [], [])[0])
batch_size = _fails("batch_size", lambda tf, ops: ops.make_quantile_summaries(
    [], [INDICES], [SPARSE], [[5, 2]], WEIGHTS, 0.1)[1])
configs = _fails("configs", lambda tf, ops: ops.quantile_buckets(
    [DENSE], [], [], [], WEIGHTS, dense_config=[], sparse_config=[])[0])
not_a_config = _fails("not_a_config", lambda tf, ops: ops.quantile_buckets(
    [DENSE], [], [], [], WEIGHTS, dense_config=["\xff"], sparse_config=[])[0])
no_accumulator = _fails("no_accumulator", lambda tf, ops: ops.QuantileAccumulator(
    0, 0.1, 3, name="q").get_buckets(0))
