"""`tf.train.SyncReplicasOptimizer`: the graph of a worker, and training with a single replica."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program


def model(tf, rows=None):
    """Return a loss on two variables, one of them looked up where there are `rows`."""
    with tf.variable_scope("model"):
        w = tf.get_variable("w", initializer=tf.constant([[0.5], [-0.25]]))
        b = tf.get_variable("b", initializer=tf.constant(0.1))
    x = tf.constant([[1.0, 2.0], [0.5, -1.0]])
    if rows is not None:
        table = tf.get_variable("table", initializer=tf.constant(np.eye(3, 2, dtype=np.float32)))
        x += tf.nn.embedding_lookup(table, rows)
    return tf.reduce_mean(tf.square(tf.matmul(x, w) + b - [[1.0], [0.0]]))


@program
def worker_of_a_cluster(tf):
    setter = tf.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:1")
    with tf.device(setter):
        step = tf.train.get_or_create_global_step()
        loss = model(tf, rows=[0, 2])
        optimizer = tf.train.SyncReplicasOptimizer(
            tf.train.AdamOptimizer(0.1), replicas_to_aggregate=3, total_num_replicas=2
        )
        optimizer.minimize(loss, global_step=step)
        optimizer.get_init_tokens_op()
        optimizer.get_init_tokens_op(1)
    facts = {"slots": optimizer.get_slot_names(), "of": [v.name for v in optimizer.variables()]}
    return Run(facts=facts)


@program
def averages_after_each_step(tf):
    step = tf.train.get_or_create_global_step()
    loss = model(tf)
    averages = tf.train.ExponentialMovingAverage(0.9, step)
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(0.1),
        1,
        variable_averages=averages,
        variables_to_average=tf.trainable_variables(),
        name="in_step",
    )
    pairs = optimizer.compute_gradients(loss)
    optimizer.apply_gradients([*pairs, (None, tf.get_variable("unused", ()))], global_step=step)
    return Run({"name": tf.constant(optimizer.get_init_tokens_op(0).name)})


@program
def one_replica(tf):
    """Return the replica's part of a step, and the chief's, in one run."""
    step = tf.train.get_or_create_global_step()
    loss = model(tf, rows=[1, 1])
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), 1)
    train = optimizer.minimize(loss, global_step=step)
    (sync,) = optimizer.get_chief_queue_runner().enqueue_ops
    setup = [
        tf.global_variables_initializer(),
        tf.local_variables_initializer(),
        optimizer.chief_init_op,
    ]
    variables = {v.op.name: v for v in (*tf.global_variables(), *tf.local_variables())}

    def steps(session):
        for op in setup:
            session.run(op)
        found = {}
        for number in range(4):
            values = session.run([loss, train, sync])
            found[f"loss {number}"], found[f"local step {number}"] = values[:2]
            for name, value in session.run(variables).items():
                found[f"{name} {number}"] = value
        return found

    return Run(call=steps)
