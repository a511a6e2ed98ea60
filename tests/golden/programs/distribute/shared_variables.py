"""Replicas that share variables: on one device of the process, or on parameter servers."""

from __future__ import annotations

import tempfile

import numpy as np
from tests.golden.programs.distribute.mirrored import DEVICES, computed, without_names
from tests.golden.programs.distribute.mirrored_estimators import config, input_fn, model_fn, watcher
from tests.golden.registry import Run, program, raised

CLUSTER = {
    "chief": ["localhost:1"],
    "worker": ["localhost:2", "localhost:3"],
    "ps": ["localhost:4", "localhost:5"],
}


def central(tf, devices=DEVICES, **options):
    return tf.distribute.experimental.CentralStorageStrategy(devices, **options)


def described(value):
    return [type(value).__name__, value.name, value.device, value.shape.as_list()]


def train_step(tf, optimizer, sparse=False):
    """Return a replica's step of a small model, and its variables."""
    step_number = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
    b = tf.Variable([0.5], name="b")
    table = tf.get_variable("table", [4, 2], initializer=tf.ones_initializer())

    def step(x):
        if sparse:
            whole = table.get() if hasattr(table, "get") else table
            x = x + tf.gather(whole, [0, 2, 0, 3, 2, 0])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 1.0))
        train = optimizer.minimize(loss, global_step=step_number)
        with tf.control_dependencies([train]):
            return tf.identity(loss)

    return step, [w, b, table, step_number]


def rows(tf):
    return tf.constant(np.arange(12.0, dtype=np.float32).reshape(6, 2) / 10.0)


def training(tf, optimizer, strategy, sparse=False):
    with strategy.scope():
        step, variables = train_step(tf, optimizer, sparse)
        losses = strategy.experimental_run_v2(step, args=(rows(tf),))
        mean = strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)
    run = computed(
        tf,
        tf.global_variables_initializer(),
        [mean] * 3,
        variables=variables,
        losses=strategy.experimental_local_results(losses),
    )
    facts = {
        "slots": [v.name for v in optimizer.variables()],
        "all": [v.name for v in tf.global_variables()],
        "trainable": [v.name for v in tf.trainable_variables()],
        "ops": [op.name for op in tf.get_collection("train_op")],
    }
    return Run(facts=dict(facts, **run.facts))


@program
def training_by_gradient_descent(tf):
    return training(tf, tf.train.GradientDescentOptimizer(0.1), central(tf))


@program
def training_of_rows(tf):
    return training(tf, tf.train.AdagradOptimizer(0.1), central(tf), sparse=True)


@program
def training_with_variables_on_the_other_device(tf):
    strategy = central(tf, parameter_device="/cpu:1")
    return training(tf, tf.train.MomentumOptimizer(0.1, 0.9), strategy)


@program
def training_by_one_replica(tf):
    strategy = central(tf, ["/cpu:0"])
    return training(tf, tf.train.RMSPropOptimizer(0.1), strategy)


@program
def what_strategies_tell(tf):
    facts = {}
    for name, strategy in (
        ("default", tf.distribute.experimental.CentralStorageStrategy()),
        ("two", central(tf)),
        ("server", tf.distribute.experimental.ParameterServerStrategy()),
        ("older", tf.contrib.distribute.ParameterServerStrategy()),
    ):
        extended = strategy.extended
        proto = strategy.update_config_proto(tf.ConfigProto())
        facts[name] = {
            "replicas": strategy.num_replicas_in_sync,
            "workers": extended.worker_devices,
            "parameters": extended.parameter_devices,
            "flags": [
                extended.experimental_between_graph,
                extended.experimental_should_init,
                extended.should_checkpoint,
                extended.should_save_summary,
                extended.experimental_require_static_shapes,
                extended._global_batch_size,
            ],
            "config": str(proto),
        }
    return Run(facts=facts)


@program
def variables_that_replicas_share(tf):
    strategy = central(tf)
    modes = tf.VariableAggregation
    with strategy.scope():
        v = tf.Variable([1.0, 2.0], name="v")
        n = tf.Variable(3, name="n", trainable=False)
        summed, mean, first = [
            tf.Variable(1.0, name="a", aggregation=mode)
            for mode in (modes.SUM, modes.MEAN, modes.ONLY_FIRST_REPLICA)
        ]
        with strategy.extended.colocate_vars_with(v):
            beside = tf.Variable(2.0, name="beside")
        reads = [
            v + 1.0,
            v.read_value(),
            tf.identity(v),
            -v,
            2.0 / v,
            v[0],
            n // 2,
            tf.convert_to_tensor(v),
            v.initialized_value(),
            2.0**v,
            v > 1.5,
            v * v,
            strategy.extended.read_var(v),
        ]
        assigned = v.assign([3.0, 4.0])
        with tf.control_dependencies([assigned]):
            added = v.assign_add([1.0, 1.0])
        with tf.control_dependencies([added]):
            less = v.assign_sub([0.5, 0.5])

        def step():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            value = tf.cast(number, tf.float32) + 2.0
            changed = [summed.assign(value), mean.assign_add(value), first.assign_sub(value)]
            return [tf.identity(x) for x in changed]

        changed = strategy.experimental_run_v2(step)
        made = [v, n, summed, mean, first, beside]
        facts = {
            "described": [described(x) for x in made],
            "isinstance": [isinstance(v, tf.Variable), isinstance(v, tf.compat.v2.Variable)],
            "container": strategy.extended.value_container(v.get()) is v,
            "made": [strategy.extended.variable_created_in_scope(x) for x in made],
            "text": repr(v),
            "all": [x.name for x in tf.global_variables()],
            "trainable": [x.name for x in tf.trainable_variables()],
            "aggregation": str(mean.aggregation),
            "none": raised(strategy.experimental_run_v2, lambda: v.assign([0.0, 0.0])),
            "plain": raised(strategy.experimental_run_v2, lambda: summed.assign(3.0)),
        }
    facts["outside"] = without_names(raised(strategy.extended.colocate_vars_with, v))
    steps = [tf.no_op(), less, [x.values for x in changed]]
    run = computed(tf, tf.global_variables_initializer(), steps, reads=reads, variables=made)
    return Run(facts=dict(facts, **run.facts))


@program
def updating_where_variables_are(tf):
    strategy = central(tf)
    extended = strategy.extended
    with strategy.scope():
        v = tf.Variable(1.0, name="v")

        def change(variable, by, times=1.0):
            return variable.assign_add(by * times)

        grouped = extended.update(v, change, args=(2.0,), kwargs={"times": 3.0})
        apart = extended.update(v, change, args=(tf.constant(1.0),), group=False)
        slots = extended.non_slot_devices([v])
        non_slot = extended.update_non_slot(slots, lambda: tf.constant(7.0))
        values = strategy.experimental_run_v2(
            lambda: tf.identity(tf.distribute.get_replica_context().replica_id_in_sync_group)
        )
        spread = extended.broadcast_to(tf.constant(5.0), values)
        reduced = [
            extended.reduce_to(op, values, to)
            for op in ("sum", "mean")
            for to in ("/cpu:0", "/cpu:1")
        ]
        both = extended.batch_reduce_to("sum", [(values, values), (values, "/cpu:1")])
        facts = {
            "slots": slots is v,
            "apart": len(apart),
            "several": without_names(raised(extended.update, v, change, (spread,))),
            "differs": without_names(raised(extended.update, v, change, (values,))),
            "no variable": without_names(raised(extended.update, 3.0, change, (1.0,))),
        }
    run = computed(
        tf,
        tf.global_variables_initializer(),
        [grouped, apart],
        v=v,
        non_slot=non_slot,
        reduced=reduced,
        both=both[0].values,
        spread=spread.values,
    )
    for name in ("several", "differs"):
        facts[name]["message"] = facts[name]["message"].split(" object ")[0]
    return Run(facts=dict(facts, **run.facts))


@program
def input_of_replicas(tf):
    strategy = central(tf)
    dataset = tf.data.Dataset.range(24).batch(4)
    seen = []

    def from_function(context):
        seen.append(
            [context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync]
        )
        return tf.data.Dataset.range(100, 112).batch(2)

    with strategy.scope():
        iterators = [
            strategy.make_dataset_iterator(dataset),
            strategy.experimental_distribute_dataset(dataset).make_initializable_iterator(),
            strategy.make_input_fn_iterator(from_function),
        ]
        elements = [iterator.get_next().values for iterator in iterators]
        starts = [iterator.initialize() for iterator in iterators]
    run = computed(tf, starts, [tf.no_op()] * 2, elements=elements)
    return Run(facts=dict(run.facts, contexts=seen))


def built_for_task(tf, task_type, task_id, strategy, optimizer):
    config_proto = tf.ConfigProto(device_filters=["/job:other"])
    strategy.configure(config_proto, CLUSTER, task_type, task_id)
    extended = strategy.extended
    with strategy.scope():
        step, variables = train_step(tf, optimizer, sparse=True)
        with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
            parts = list(tf.get_variable("parts", [4], initializer=tf.zeros_initializer()))
        losses = strategy.experimental_run_v2(step, args=(rows(tf),))
        strategy.reduce(tf.distribute.ReduceOp.MEAN, losses)
        iterator = strategy.make_input_fn_iterator(
            lambda context: tf.data.Dataset.from_tensors(
                [context.num_input_pipelines, context.input_pipeline_id]
            )
        )
        iterator.initialize()
        iterator.get_next()
        other = None
        if task_type == "worker":
            neighbour = f"/job:worker/task:{1 - task_id}/cpu:0"
            other = raised(extended.reduce_to, "sum", tf.constant(1.0), neighbour)
    return Run(
        facts={
            "described": [described(v) for v in variables + parts],
            "other": other,
            "workers": extended.worker_devices,
            "parameters": extended.parameter_devices,
            "flags": [
                extended.experimental_should_init,
                extended.should_checkpoint,
                extended.should_save_summary,
            ],
            "config": str(config_proto),
        }
    )


@program
def graph_of_a_chief(tf):
    strategy = tf.distribute.experimental.ParameterServerStrategy()
    return built_for_task(tf, "chief", 0, strategy, tf.train.AdamOptimizer(0.1))


@program
def graph_of_a_worker(tf):
    strategy = tf.distribute.experimental.ParameterServerStrategy()
    return built_for_task(tf, "worker", 0, strategy, tf.train.GradientDescentOptimizer(0.1))


@program
def graph_of_a_worker_with_gpus(tf):
    strategy = tf.contrib.distribute.ParameterServerStrategy(num_gpus_per_worker=2)
    return built_for_task(tf, "worker", 1, strategy, tf.train.MomentumOptimizer(0.1, 0.9))


@program
def a_resolver_tells_the_cluster(tf):
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(CLUSTER), task_type="worker", task_id=1, num_accelerators={"GPU": 0}
    )
    strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
    with strategy.scope():
        made = [tf.Variable(1.0), tf.get_variable("w", [2])]
    without_servers = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": ["localhost:1"]}),
        task_type="worker",
        task_id=0,
        num_accelerators={},
    )
    without_task = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(CLUSTER), num_accelerators={}
    )
    make = tf.distribute.experimental.ParameterServerStrategy
    return Run(
        facts={
            "made": [described(v) for v in made],
            "workers": strategy.extended.worker_devices,
            "filters": list(strategy.update_config_proto(tf.ConfigProto()).device_filters),
            "no servers": raised(make, without_servers),
            "no task": raised(make, without_task),
            "bad cluster": raised(strategy.configure, None, [1], "worker", 0),
            "no such task": raised(strategy.configure, None, CLUSTER, "worker", 7),
        }
    )


@program
def an_estimator_of_shared_variables(tf):
    strategy = central(tf)
    estimator = tf.estimator.Estimator(
        model_fn(tf, lambda: tf.train.GradientDescentOptimizer(0.1)),
        tempfile.mkdtemp(),
        config(tf, train_distribute=strategy, eval_distribute=strategy),
    )
    seen = {}
    estimator.train(input_fn(tf), hooks=[watcher(tf, seen)], steps=3)
    result = estimator.evaluate(input_fn(tf, repeats=1))
    values = {name: estimator.get_variable_value(name) for name in estimator.get_variable_names()}
    return Run(facts={"training": seen, "result": result, "values": values})
