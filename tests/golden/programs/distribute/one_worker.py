"""`MultiWorkerMirroredStrategy` with one worker: of this process, or of a cluster."""

from __future__ import annotations

import tempfile

from tests.golden.programs.distribute.mirrored import described
from tests.golden.programs.distribute.mirrored_estimators import config, input_fn, model_fn, watcher
from tests.golden.programs.distribute.shared_variables import training
from tests.golden.registry import Run, program, raised

CLUSTER = {"worker": ["localhost:1"]}


def alone(tf, **options):
    return tf.distribute.experimental.MultiWorkerMirroredStrategy(**options)


@program
def training_by_gradient_descent(tf):
    return training(tf, tf.train.GradientDescentOptimizer(0.1), alone(tf))


@program
def training_with_adam_of_rows(tf):
    return training(tf, tf.train.AdamOptimizer(0.1), alone(tf), sparse=True)


@program
def what_strategies_tell(tf):
    facts = {}
    kinds = tf.distribute.experimental.CollectiveCommunication
    older = tf.contrib.distribute.CollectiveAllReduceStrategy
    for name, strategy, cluster in (
        ("plain", alone(tf), None),
        ("nccl", alone(tf, communication=kinds.NCCL), None),
        ("older", older(communication=kinds.RING), None),
        ("cluster", alone(tf), CLUSTER),
    ):
        proto = tf.ConfigProto(device_filters=["/job:other"])
        if cluster:
            strategy.configure(proto, cluster, "worker", 0)
        extended = strategy.extended
        facts[name] = {
            "replicas": strategy.num_replicas_in_sync,
            "workers": extended.worker_devices,
            "parameters": extended.parameter_devices,
            "flags": [
                extended.experimental_between_graph,
                extended.experimental_should_init,
                extended.should_checkpoint,
                extended.should_save_summary,
                extended._global_batch_size,
            ],
            "config": str(strategy.update_config_proto(proto)),
        }
    facts["kinds"] = [kind.name for kind in kinds]
    facts["no task"] = raised(alone(tf).configure, None, CLUSTER)
    return Run(facts=facts)


@program
def values_of_one_replica(tf):
    strategy = alone(tf)
    ops = tf.distribute.ReduceOp
    with strategy.scope():
        v = tf.Variable([1.0, 2.0], name="v", aggregation=tf.VariableAggregation.SUM)

        def step():
            context = tf.distribute.get_replica_context()
            return v.assign_add([1.0, 1.0]), context.all_reduce(ops.SUM, v * 2.0), tf.constant(3.0)

        values = strategy.experimental_run_v2(step)
        reduced = [strategy.reduce(op, values[2], None) for op in (ops.SUM, ops.MEAN)]
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(8).batch(4))
        element = iterator.get_next()
        started = iterator.initialize()
        facts = {"described": described(v), "devices": v.devices}
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), started])
        facts["values"] = session.run(
            [strategy.experimental_local_results(value) for value in values]
        )
        facts["reduced"] = session.run(reduced)
        facts["element"] = session.run(strategy.experimental_local_results(element))
        facts["v"] = session.run(v.values)
    return Run(facts=facts)


@program
def a_graph_for_a_worker(tf):
    strategy = alone(tf)
    strategy.configure(None, CLUSTER, "worker", 0)
    with strategy.scope():
        w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
        number = tf.train.get_or_create_global_step()

        def step(x):
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
            return tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, number)

        strategy.experimental_run_v2(step, args=(tf.ones([3, 2]),))
    return Run(facts={"devices": w.devices})


@program
def an_estimator(tf):
    estimator = tf.estimator.Estimator(
        model_fn(tf, lambda: tf.train.GradientDescentOptimizer(0.1)),
        tempfile.mkdtemp(),
        config(tf, train_distribute=alone(tf), eval_distribute=alone(tf)),
    )
    seen = {}
    estimator.train(input_fn(tf), hooks=[watcher(tf, seen)], steps=3)
    result = estimator.evaluate(input_fn(tf, repeats=1))
    return Run(facts={"training": seen, "result": result})


def on_two_devices(tf):
    kind = tf.compat.v2.distribute.experimental.MultiWorkerMirroredStrategy
    return kind._from_local_devices(["/cpu:0", "/cpu:1"])


@program
def training_of_rows_on_two_devices(tf):
    return training(tf, tf.train.AdagradOptimizer(0.1), on_two_devices(tf), sparse=True)


@program
def two_workers_share_a_graph(tf):
    """The graph of a worker that waits for the first one's variables."""
    found = {}
    for index in range(2):
        with tf.Graph().as_default() as graph:
            strategy = alone(tf)
            cluster = {"worker": ["localhost:1", "localhost:2"]}
            strategy.configure(None, cluster, "worker", index)
            with strategy.scope():
                w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
                number = tf.train.get_or_create_global_step()

                def step(x, w=w, number=number):
                    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
                    return tf.train.GradientDescentOptimizer(0.1).minimize(loss, number)

                strategy.experimental_run_v2(step, args=(tf.ones([3, 2]),))
            found[index] = [
                strategy.num_replicas_in_sync,
                w.devices,
                [
                    [op.name, op.type, op.device, [x.name for x in op.inputs]]
                    for op in graph.get_operations()
                ],
            ]
    return Run(facts=found)
