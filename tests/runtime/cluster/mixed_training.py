"""A task of a cluster that trains, for TensorFlow 1.15.5 and Stillflow.

    python mixed_training.py JOB INDEX CLUSTER KIND

CLUSTER is JSON; KIND is async or sync. A worker prints its losses. JOB "alone" trains without a
cluster: what it prints is recorded in recorded/mixed_losses.json. With KIND data, a worker reads
iterators of its own and of the parameter server's; it prints the sums of their batches.
"""

import json
import sys

import numpy as np
import tensorflow as tf


def read(server):
    rows = tf.data.Dataset.range(10).map(lambda i: tf.cast(i, tf.float32) * 1.5)
    with tf.device("/job:ps/task:0"):
        there = rows.batch(4)
        iterator = tf.data.make_initializable_iterator(there, shared_name="there")
        batch = iterator.get_next()
    with tf.device("/job:worker/task:0"):
        here = tf.data.make_one_shot_iterator(rows.shard(2, 1).repeat().batch(3)).get_next()
        sums = tf.stack([tf.reduce_sum(batch), tf.reduce_sum(here)])
    found = []
    with tf.Session(server.target) as session:
        session.run(iterator.initializer)
        try:
            while True:
                found.append(session.run(sums).tolist())
        except tf.errors.OutOfRangeError:
            print(json.dumps(found))
            sys.stdout.flush()


def main(job, index, cluster, kind):
    server = None
    device = None
    if job != "alone":
        spec = tf.train.ClusterSpec(json.loads(cluster))
        server = tf.train.Server(spec, job_name=job, task_index=int(index))
        if job == "ps":
            server.join()
        if kind == "data":
            read(server)
            return
        device = tf.train.replica_device_setter(
            worker_device="/job:worker/task:" + index, cluster=spec
        )
    with tf.device(device):
        generator = np.random.RandomState(0)
        x = tf.placeholder(tf.float32, [None, 4])
        y = tf.placeholder(tf.float32, [None, 1])
        w1 = tf.get_variable("w1", initializer=tf.constant(generator.randn(4, 8).astype("f")))
        w2 = tf.get_variable(
            "w2", initializer=tf.constant(generator.randn(8, 1).astype("f")), use_resource=True
        )
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2) - y))
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.AdamOptimizer(0.05)
        hooks = [tf.train.StopAtStepHook(last_step=12)]
        if kind == "sync":
            count = spec.num_tasks("worker")
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, count, count)
            hooks.append(optimizer.make_session_run_hook(index == "0", num_tokens=0))
        train = optimizer.minimize(loss, global_step=step)
    losses = []
    master = server.target if server else ""
    with tf.train.MonitoredTrainingSession(master, index == "0", hooks=hooks) as session:
        while not session.should_stop():
            batch = {x: generator.randn(5, 4), y: generator.randn(5, 1)}
            losses.append(float(session.run([loss, train], batch)[0]))
        print(json.dumps(losses))
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
