"""`MultiWorkerMirroredStrategy` of several workers, which are processes, or of several devices."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.ranks import Ranks

from stillflow.testing.local_cluster import free_ports
from stillflow_contrib.distribute.collective_reduction import CollectiveKeys

_PROGRAM = """
import json
import os
import numpy as np
import tensorflow as tf

rank = int(os.environ["RANK"])
jobs = json.loads(os.environ["JOBS"])
tasks = [(job, index) for job in ("chief", "worker") for index in range(len(jobs.get(job, [])))]
task = tasks[rank]
os.environ["TF_CONFIG"] = json.dumps({"cluster": jobs, "task": dict(zip(("type", "index"), task))})
rows = np.arange(24.0, dtype=np.float32).reshape(12, 2) / 10.0
strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
with strategy.scope():
    w = tf.Variable(tf.random.uniform([2, 1], seed=rank), name="w")
    table = tf.get_variable("table", [4, 2], initializer=tf.ones_initializer())
    dataset = tf.data.Dataset.from_tensor_slices(rows).repeat().batch(4)
    iterator = strategy.make_dataset_iterator(dataset)
    whole = table.get() if hasattr(table, "get") else table

    def step(x):
        x = x + tf.gather(whole, [rank, 2])
        loss = tf.reduce_sum(tf.square(tf.matmul(x, w) - 1.0)) / 4.0
        with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.1).minimize(loss)]):
            return tf.identity(loss)

    losses = strategy.experimental_run(step, iterator)
    total = strategy.reduce(tf.distribute.ReduceOp.SUM, losses)
server = tf.train.Server(jobs, *task)
with tf.Session(server.target, config=strategy.update_config_proto(tf.ConfigProto())) as session:
    session.run([tf.global_variables_initializer(), iterator.initialize()])
    before = session.run([w, table])
    values = [session.run(total) for _ in range(3)]
    after = session.run([w, table])
    print(json.dumps([strategy.num_replicas_in_sync, [x.tolist() for x in before],
                      [float(x) for x in values], [x.tolist() for x in after]]), flush=True)
    ready = tf.identity(tf.constant([1.0]))
    with tf.device("/job:%s/task:%d/cpu:0" % task):
        from tensorflow.python.ops import collective_ops
        meet = collective_ops.all_reduce(tf.identity(ready), 2, 9, 9, "Add", "Id")
    session.run(meet)
os._exit(0)
"""


def _expected(w: np.ndarray) -> tuple[list[float], np.ndarray, np.ndarray]:
    """Return losses and variables of one process that trains on the joint batches."""
    table = np.ones((4, 2))
    rows = np.arange(24.0).reshape(12, 2) / 10.0
    losses = []
    for first in range(0, 12, 4):
        total, grad_w, grad_table = 0.0, np.zeros_like(w), np.zeros_like(table)
        # Each worker has every other of the batches' halves.
        halves = [rows[first : first + 2], rows[first + 2 : first + 4]]
        for rank, half in enumerate(halves):
            x = half + table[[rank, 2]]
            error = x @ w - 1.0
            total += float((error**2).sum() / 4.0)
            grad = 2.0 * error / 4.0
            grad_w += x.T @ grad
            np.add.at(grad_table, [rank, 2], grad @ w.T)
        w, table = w - 0.1 * grad_w, table - 0.1 * grad_table
        losses.append(total)
    return losses, w, table


@pytest.mark.parametrize("has_chief", [True, False])
def test_two_workers_train_as_one_process_on_the_joint_batch(
    tmp_path: Path, has_chief: bool
) -> None:
    first, second = (f"localhost:{port}" for port in free_ports(2))
    jobs = {"chief": [first], "worker": [second]} if has_chief else {"worker": [first, second]}
    outputs = Ranks(tmp_path).run(_PROGRAM, JOBS=json.dumps(jobs))
    (replicas, before, losses, after), other = (json.loads(text) for text in outputs)
    assert replicas == 2 and other == [replicas, before, losses, after]
    expected, w, table = _expected(np.asarray(before[0]))
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(after[0], w, rtol=1e-5)
    np.testing.assert_allclose(after[1], table, rtol=1e-5)


def test_keys_count_up_by_thread_and_group() -> None:
    keys = CollectiveKeys(group_key_start=5, op_instance_key_start=10)
    here, there = "/job:worker/task:{}/device:CPU:0", "/job:worker/task:{}/device:GPU:1"
    assert [keys.get_group_key([here.format(task)]) for task in range(2)] == [5, 5]
    assert keys.get_group_key([there.format(0), here.format(0)]) == 6
    assert keys.get_group_key([here.format(3), there.format(3)]) == 6
    assert [keys.get_op_instance_key() for _ in range(2)] == [10, 11]
    assert [keys.get_variable_instance_key() for _ in range(2)] == [1_000_000, 1_000_001]
