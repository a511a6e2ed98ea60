"""Odd operands of barriers, queues, tables and tensor arrays, and their errors."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


def failing(*operations):
    return [Run({}, train=operation, fails=True) for operation in operations]


@program
def barriers(tf):
    raw = tf.raw_ops
    kinds, shapes = [tf.float32, tf.int32], [[], [2]]
    barrier = raw.Barrier(component_types=kinds, shapes=shapes)
    limited = raw.Barrier(component_types=kinds, shapes=shapes, capacity=2)
    plain = raw.Barrier(component_types=kinds)
    keys = np.array([b"a", b"b"], object)
    taken = raw.BarrierTakeMany(
        handle=barrier, num_elements=1, component_types=kinds, allow_small_batch=True
    )
    facts = {
        "few": raised(raw.BarrierInsertMany, handle=barrier, keys=keys, values=[1.0],
                      component_index=0),
        "scalar": raised(raw.BarrierInsertMany, handle=barrier, keys=keys, values=1.0,
                         component_index=0),
    }
    put = [raw.BarrierInsertMany(handle=barrier, keys=keys, values=values, component_index=place)
           for place, values in enumerate(([1.0, 2.0], [[1, 2], [3, 4]]))]
    beyond = raw.BarrierInsertMany(handle=barrier, keys=keys, values=[1, 2], component_index=2)
    sizes = [raw.BarrierReadySize(handle=handle) for handle in (limited, plain)]
    return [
        Run({}, train=put[0], facts=facts), Run({}, train=put[1]),
        Run({"keys": taken.keys, "values": taken.values[1]}),
        *failing(beyond, *sizes),
    ]


@program
def queues(tf):
    raw = tf.raw_ops
    kinds = [tf.float32, tf.int32]
    queue = raw.FIFOQueueV2(component_types=kinds, shapes=[[], []])
    few = raw.QueueDequeueUpToV2(handle=queue, n=-1, component_types=kinds)
    one = tf.placeholder_with_default(1, None)
    scalar = raw.QueueEnqueueManyV2(handle=queue, components=[[1.0, 2.0], one])
    return failing(few[0].op, scalar)


@program
def tables(tf):
    raw = tf.raw_ops
    keys, values = tf.placeholder(tf.string), tf.placeholder(tf.int64)
    table = raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    fill = raw.InitializeTableV2(table_handle=table, keys=keys, values=values)
    drop = raw.LookupTableRemoveV2(table_handle=table, keys=["a"])
    two = np.array([b"a", b"b"], object)
    return [
        Run({}, {keys: two, values: np.int64(1)}, train=fill, fails=True),
        Run({}, {keys: two[:, None], values: np.int64([1, 2])}, train=fill, fails=True),
        Run({}, {keys: two, values: np.int64([1, 2, 3])}, train=fill, fails=True),
        *failing(drop),
    ]


@program
def tensor_arrays(tf):
    shape = tf.TensorShape([2])
    words = tf.TensorArray(tf.string, 2, element_shape=shape)
    numbers = tf.TensorArray(tf.float32, 2, element_shape=shape).write(0, [1.0, 2.0])
    other = tf.raw_ops.TensorArrayGatherV3(
        handle=numbers.handle, indices=[0], flow_in=numbers.flow, dtype=tf.float32,
        element_shape=[3],
    )
    ranks = tf.raw_ops.TensorArrayGatherV3(
        handle=numbers.handle, indices=[0], flow_in=numbers.flow, dtype=tf.float32,
        element_shape=[2, 1],
    )
    return [Run({"out": out}, fails=True) for out in (words.read(0), other, ranks)]
