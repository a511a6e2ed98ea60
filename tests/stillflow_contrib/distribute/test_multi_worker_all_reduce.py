"""Sums over the devices of several tasks, by each algorithm that CPUs can run."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.distribute.device_map import ReplicaDeviceMap
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.distribute.values import PerReplica

WORKERS = ["/job:worker/task:0", "/job:worker/task:1"]
DEVICES = [f"/job:worker/replica:0/task:{task}/device:CPU:0" for task in range(2)]


@pytest.fixture(scope="module")
def target():
    workers, _ = tf.test.create_local_cluster(2, 0)
    return workers[0].target


def per_replica(*arrays):
    parts = []
    for name, array in zip(DEVICES, arrays, strict=True):
        with tf.device(name):
            parts.append(tf.identity(tf.constant(array)))
    return PerReplica(ReplicaDeviceMap(DEVICES), parts)


@pytest.mark.parametrize(
    ("spec", "packing"),
    [
        (("pscpu/pscpu", 2, -1), (0, 0, 0)),
        (("pscpu/pscpu", 2), (1, 0, 0)),
        ("pscpu", (0, 100, 10)),
        ([("pscpu", 2, 4), ("xring", 1, -1)], (0, 0, 0)),
    ],
)
def test_values_of_two_tasks_are_summed_on_both(target, spec, packing):
    arrays = [np.arange(4.0, dtype="float32"), np.ones((3, 2), "float32")]
    with tf.Graph().as_default():
        reduction = tf.contrib.distribute.MultiWorkerAllReduce(WORKERS, 1, spec, *packing)
        values = [per_replica(array, 10.0 * array) for array in arrays]
        sums = reduction.batch_reduce(ReduceOp.SUM, [(value, value) for value in values])
        means = reduction.batch_reduce(ReduceOp.MEAN, [(value, value) for value in values])
        with tf.Session(target) as session:
            found = session.run([value.values for value in sums])
            halves = session.run([value.values for value in means])
        assert [part.device for part in sums[0].values] == DEVICES
    for array, parts, mean in zip(arrays, found, halves, strict=True):
        for part in parts:
            np.testing.assert_allclose(part, 11.0 * array)
        for part in mean:
            np.testing.assert_allclose(part, 5.5 * array)


def test_what_is_no_algorithm_is_refused():
    make = tf.contrib.distribute.MultiWorkerAllReduce
    with pytest.raises(ValueError, match="A tuple is expected"):
        make(WORKERS, 1, ["xring"])
    with pytest.raises(ValueError, match="Too many elements"):
        make(WORKERS, 1, ("xring", 1, 2, 3))
    with tf.Graph().as_default():
        value = per_replica(np.ones(2, "float32"), np.ones(2, "float32"))
        with pytest.raises(ValueError, match="unsupported all_reduce alg"):
            make(WORKERS, 1, "other").reduce(ReduceOp.SUM, value, value)
        with pytest.raises(ValueError, match="only 2 devices, but group_size=3"):
            make(WORKERS, 1, ("pscpu", 3)).reduce(ReduceOp.SUM, value, value)
