"""A task of a cluster that trains, for TensorFlow 1.15.5 and Stillflow.

    python mixed_training.py JOB INDEX CLUSTER KIND

CLUSTER is JSON; KIND is async or sync. A worker prints its losses. JOB "alone" trains without a
cluster: what it prints is recorded in recorded/mixed_losses.json.
"""

import json
import sys

import numpy as np
import tensorflow as tf


def main(job, index, cluster, kind):
    server = None
    device = None
    if job != "alone":
        spec = tf.train.ClusterSpec(json.loads(cluster))
        server = tf.train.Server(spec, job_name=job, task_index=int(index))
        if job == "ps":
            server.join()
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
