"""Replicas on two CPU devices of one process."""

from __future__ import annotations

import os
import re
import tempfile

import numpy as np
from tests.golden.registry import Run, program, raised

DEVICES = ["/cpu:0", "/cpu:1"]
SUM, MEAN = "SUM", "MEAN"


def mirrored(tf, **options):
    return tf.distribute.MirroredStrategy(DEVICES, **options)


def two_cpus(tf):
    """Return a session with the devices that the programs name."""
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))


def computed(tf, setup, steps, **fetches):
    """Return the values of `fetches` in a session of two CPUs, after each of `steps`."""
    result = {}
    with two_cpus(tf) as session:
        session.run(setup)
        for number, step in enumerate(steps):
            session.run(step)
            for name, fetch in sorted(fetches.items()):
                result[f"{name}/{number}"] = session.run(fetch)
    return Run(facts=result)


def described(value):
    return {"kind": type(value).__name__, "names": [part.name for part in value.values]}


def without_names(error):
    """Return an error without the names of classes, which belong to one implementation."""
    return dict(error, message=re.sub("<[^>]*>", "<...>", error["message"]))


@program
def variables_have_a_part_on_each_device(tf):
    strategy = mirrored(tf)
    with strategy.scope():
        plain = tf.Variable(1.0)
        named = tf.Variable([1, 2], name="n", trainable=False)
        with tf.variable_scope("a"):
            got = tf.get_variable("w", [2, 3], initializer=tf.random_uniform_initializer(seed=1))
            with tf.variable_scope("b", reuse=tf.AUTO_REUSE):
                inner = tf.get_variable("v", initializer=[3.0])
                again = tf.get_variable("v", initializer=[3.0])
        with tf.name_scope("s"):
            scoped = tf.Variable(lambda: tf.zeros([2]), name="z")
        step = tf.train.get_or_create_global_step()
    made = [plain, named, got, inner, scoped, step]
    facts = {
        "described": [described(v) for v in made],
        "same": again is inner,
        "names": [v.name for v in tf.global_variables()],
        "trainable": [v.name for v in tf.trainable_variables()],
        "shapes": [v.shape.as_list() for v in made],
        "texts": [repr(got), str(strategy.extended.worker_devices)],
        "devices": [v.device for v in got.values],
        "isinstance": [isinstance(got, tf.Variable), isinstance(got, tf.compat.v2.Variable)],
    }
    run = computed(
        tf, tf.global_variables_initializer(), [tf.no_op()], values=[v.values for v in made]
    )
    return Run(facts=dict(facts, **run.facts))


@program
def reading_and_assigning_for_all_replicas(tf):
    strategy = mirrored(tf)
    with strategy.scope():
        v = tf.Variable([1.0, 2.0], name="v")
        n = tf.Variable(3, name="n")
        reads = [
            v + 1.0,
            v.read_value(),
            v.value(),
            tf.identity(v),
            -v,
            2.0 / v,
            v[0],
            n // 2,
            tf.convert_to_tensor(v),
            v.initialized_value(),
            2.0**v,
            v > 1.5,
        ]
        assigned = v.assign([3.0, 4.0])
        with tf.control_dependencies(strategy.experimental_local_results(assigned)):
            added = v.assign_add([1.0, 1.0])
        with tf.control_dependencies(strategy.experimental_local_results(added)):
            less = v.assign_sub([0.5, 0.5])
    outside = [v * 2.0, v.assign([0.0, 0.0])]
    return computed(
        tf,
        tf.global_variables_initializer(),
        [tf.no_op(), less.values, outside[1].values],
        reads=reads,
        parts=v.values,
        outside=outside[0],
        n=n,
        ready=v.is_initialized(),
        proto=tf.constant(str(v.to_proto())),
    )


@program
def replicas_assign_with_an_aggregation(tf):
    strategy = mirrored(tf)
    modes = tf.VariableAggregation
    with strategy.scope():
        made = [
            tf.Variable(1.0, name="v", aggregation=mode)
            for mode in (modes.SUM, modes.MEAN, modes.ONLY_FIRST_REPLICA)
        ]
        none = tf.Variable(1.0, name="none")

        def step():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            value = tf.cast(number, tf.float32) + 2.0
            changed = [made[0].assign(value), made[1].assign_add(value), made[2].assign_sub(value)]
            return [tf.identity(x) for x in changed]

        changed = strategy.experimental_run_v2(step)
        refused = raised(strategy.experimental_run_v2, lambda: none.assign(1.0))
    run = computed(
        tf,
        tf.global_variables_initializer(),
        [[x.values for x in changed]],
        parts=[v.values for v in made],
    )
    return Run(facts=dict(run.facts, refused=refused))


@program
def variables_that_are_brought_together_on_reading(tf):
    strategy = mirrored(tf)
    modes = tf.VariableAggregation
    with strategy.scope():
        made = [
            tf.get_variable(
                f"v{mode.name}".lower(),
                [],
                initializer=tf.ones_initializer(),
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=mode,
            )
            for mode in (modes.SUM, modes.MEAN, modes.ONLY_FIRST_REPLICA)
        ]

        def step():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            value = tf.cast(number, tf.float32) + 2.0
            return [v.assign_add(value) for v in made] + [v.read_value() for v in made]

        changed = strategy.experimental_run_v2(step)
        reads = [v.read_value() for v in made] + [strategy.extended.read_var(v) for v in made]
        whole = [v.assign(8.0) for v in made]
        refused = raised(made[0].assign_add, 1.0)
    run = computed(
        tf,
        tf.global_variables_initializer(),
        [[x.values for x in changed], whole],
        reads=reads,
        parts=[v.values for v in made],
    )
    return Run(
        facts=dict(
            run.facts,
            refused=refused,
            kinds=[described(v) for v in made],
            trainable=[v.trainable for v in made],
        )
    )


@program
def putting_values_of_replicas_together(tf):
    strategy = mirrored(tf)
    ops = tf.distribute.ReduceOp

    def step(x, y=0.0):
        context = tf.distribute.get_replica_context()
        number = tf.cast(context.replica_id_in_sync_group, tf.float32)
        merged = context.merge_call(lambda s, v: s.reduce(ops.SUM, v), args=(x * number,))
        return x + number + y, {"m": merged, "l": [number, 1]}

    with strategy.scope():
        values, rest = strategy.experimental_run_v2(step, (tf.constant([[1.0, 2.0]]),), {"y": 1.0})
        open_ = tf.placeholder_with_default(tf.constant([[1.0, 2.0], [3.0, 4.0]]), [None, None])
        flat = tf.placeholder_with_default(tf.constant([1.0, 2.0]), [None])
        of_unknown = strategy.experimental_run_v2(lambda: (tf.identity(open_), tf.identity(flat)))
        reduced = [
            strategy.reduce(op, values, axis)
            for op in (ops.SUM, "mean")
            for axis in ((None, 0, -1) if op == ops.SUM else (None,))
        ]
        reduced += [
            strategy.reduce("mean", value, axis)
            for value in of_unknown
            for axis in (0, -1)
            if axis or value is of_unknown[0]
        ]
        also = strategy.extended.reduce_to(ops.MEAN, values, "/cpu:1")
        both = strategy.extended.batch_reduce_to(ops.SUM, [(values, values), (rest["m"], "/cpu:0")])
        spread = strategy.extended.broadcast_to(tf.constant(5.0), values)
        grouped = strategy.group(values, name="together")
        one = strategy.reduce(ops.MEAN, tf.constant(2.0))
        facts = {
            "refused": raised(strategy.reduce, ops.SUM, tf.constant(2.0)),
            "axis": raised(strategy.reduce, ops.MEAN, values, 2),
            "known": raised(strategy.reduce, ops.MEAN, values, 0),
            "zero": strategy.reduce(ops.SUM, 0),
            "texts": [str(values), repr(rest["l"][1]), str(rest["m"])],
            "results": len(strategy.experimental_local_results(rest["m"])),
        }
    run = computed(
        tf,
        tf.no_op(),
        [grouped],
        values=values.values,
        reduced=reduced,
        both=both[0].values,
        also=strategy.experimental_local_results(also),
        spread=spread.values,
        one=one,
    )
    return Run(facts=dict(facts, **run.facts))


@program
def all_reduce_in_replicas_and_its_gradient(tf):
    strategy = mirrored(tf)

    def step(x):
        context = tf.distribute.get_replica_context()
        x = x * (tf.cast(context.replica_id_in_sync_group, tf.float32) + 1.0)
        total = context.all_reduce(tf.distribute.ReduceOp.SUM, x * x)
        mean, other = context.all_reduce(tf.distribute.ReduceOp.MEAN, [x, 2.0 * x])
        return total, mean, other, tf.gradients(tf.reduce_sum(total * 3.0), x)[0]

    with strategy.scope():
        values = strategy.experimental_run_v2(step, args=(tf.constant([1.0, 2.0]),))
    return computed(tf, tf.no_op(), [tf.no_op()], values=[v.values for v in values])


@program
def updating_parts_of_variables(tf):
    strategy = mirrored(tf)
    extended = strategy.extended
    with strategy.scope():
        v = tf.Variable(1.0, name="v")
        with extended.colocate_vars_with(v):
            beside = tf.Variable(2.0, name="beside")

        def change(variable, by, times=1.0):
            return variable.assign_add(by * times)

        grouped = extended.update(v, change, args=(2.0,), kwargs={"times": beside})
        apart = extended.update(v, change, args=(tf.constant(1.0),), group=False)
        slots = extended.non_slot_devices([v])
        non_slot = extended.update_non_slot(slots, lambda: tf.constant(7.0))
        facts = {
            "slots": slots,
            "apart": len(apart),
            "beside": described(beside),
            "container": extended.value_container(v.values[1]) is v,
            "made": [extended.variable_created_in_scope(v)],
        }
    facts["outside"] = without_names(raised(extended.colocate_vars_with, v))
    run = computed(
        tf,
        tf.global_variables_initializer(),
        [grouped.values, apart],
        parts=v.values,
        non_slot=non_slot.values,
    )
    return Run(facts=dict(facts, **run.facts))


def trained(tf, optimizer, strategy, sparse=False, steps=3):
    """Losses and parts of variables of a small model."""
    rows = np.arange(12.0, dtype=np.float32).reshape(6, 2) / 10.0
    with strategy.scope():
        step_number = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
        b = tf.Variable([0.5], name="b")
        table = tf.get_variable("table", [4, 2], initializer=tf.ones_initializer())

        def step(x):
            if sparse:
                x = x + tf.nn.embedding_lookup(table, [0, 2, 0, 3, 2, 0])
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 1.0))
            train = optimizer.minimize(loss, global_step=step_number)
            with tf.control_dependencies([train]):
                return tf.identity(loss)

        losses = strategy.experimental_run_v2(step, args=(tf.constant(rows),))
        mean = strategy.reduce(tf.distribute.ReduceOp.MEAN, losses)
    return (
        computed(
            tf,
            tf.global_variables_initializer(),
            [mean] * steps,
            w=w.values,
            b=b.values,
            losses=losses.values,
            number=step_number,
            table=table.values,
        ),
        [v.name for v in optimizer.variables()],
        [op.name for op in tf.get_collection("train_op")],
    )


def training(tf, optimizer, **options):
    run, names, ops = trained(tf, optimizer, mirrored(tf), **options)
    return Run(facts=dict(run.facts, names=names, ops=ops))


@program
def training_by_gradient_descent(tf):
    return training(tf, tf.train.GradientDescentOptimizer(0.1))


@program
def training_with_momentum_of_rows(tf):
    return training(tf, tf.train.MomentumOptimizer(0.1, 0.9), sparse=True)


@program
def training_with_adam(tf):
    return training(tf, tf.train.AdamOptimizer(0.1), sparse=True)


@program
def training_with_a_dynamic_loss_scale(tf):
    strategy = tf.distribute.MirroredStrategy(DEVICES[1:])  # TensorFlow fails with two
    scales = tf.train.experimental
    with strategy.scope():
        v = tf.Variable([1.0, 2.0], name="v")
        step_number = tf.train.get_or_create_global_step()
        scale = scales.DynamicLossScale(initial_loss_scale=4, increment_period=1, multiplier=2)
        optimizer = scales.MixedPrecisionLossScaleOptimizer(
            tf.train.MomentumOptimizer(0.5, 0.9), scale
        )
        poison = tf.placeholder_with_default([1.0], [1])

        def step():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            loss = tf.reduce_sum(v * v * poison[number])
            return optimizer.minimize(loss, step_number)

        train = strategy.group(strategy.experimental_run_v2(step))
        refused = raised(optimizer.apply_gradients, [(tf.constant([1.0, 1.0]), v)])
        reads = [v.values, scale(), strategy.extended.read_var(step_number)]
    facts = {"refused": refused}
    with two_cpus(tf) as session:
        session.run(tf.global_variables_initializer())
        for number, factor in enumerate(([1.0], [float("inf")], [3.0])):
            session.run(train, {poison: factor})
            facts[f"values/{number}"] = session.run(reads)
    return Run(facts=facts)


@program
def training_by_way_of_all_reduce(tf):
    strategy = mirrored(tf, cross_device_ops=tf.distribute.HierarchicalCopyAllReduce(num_packs=2))
    run, names, _ = trained(tf, tf.train.AdagradOptimizer(0.1), strategy, sparse=True)
    return Run(facts=dict(run.facts, names=names))


@program
def training_by_way_of_one_device(tf):
    by_one = tf.distribute.ReductionToOneDevice("/cpu:1", lambda values: values[0] + values[1])
    run, _, _ = trained(tf, tf.train.RMSPropOptimizer(0.1), mirrored(tf, cross_device_ops=by_one))
    return run


@program
def layers_scopes_and_summaries_in_replicas(tf):
    strategy = mirrored(tf)

    def model(x):
        with tf.name_scope("net"):
            x = tf.layers.dense(
                x, 3, activation=tf.nn.relu, kernel_initializer=tf.ones_initializer()
            )
            x = tf.layers.batch_normalization(x, training=True)
            x = tf.layers.dense(x, 1, kernel_initializer=tf.ones_initializer(), name="out")
        loss = tf.losses.mean_squared_error(tf.ones_like(x), x)
        tf.summary.scalar("loss", loss)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        with tf.control_dependencies(updates):
            return tf.identity(loss)

    with strategy.scope():
        losses = strategy.experimental_run_v2(model, args=(tf.constant([[1.0, 2.0], [3.0, 1.0]]),))
    variables = tf.global_variables()
    run = computed(
        tf,
        tf.global_variables_initializer(),
        [losses.values] * 2,
        variables=[v.values for v in variables],
    )
    return Run(
        facts=dict(
            run.facts,
            names=[v.name for v in variables],
            summaries=[s.name for s in tf.get_collection("summaries")],
            kinds=[type(v).__name__ for v in variables],
        )
    )


@program
def saving_and_restoring(tf):
    strategy = mirrored(tf)
    with strategy.scope():
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
        total = tf.get_variable(
            "total",
            [],
            initializer=tf.ones_initializer(),
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
        saver = tf.train.Saver()
        reset = strategy.group(v.assign([5.0, 6.0]))
    result = {}
    with two_cpus(tf) as session:
        session.run(tf.global_variables_initializer())
        session.run(reset)
        path = saver.save(session, os.path.join(tempfile.mkdtemp(), "model"))
        result["saved"] = {
            name: tf.train.load_variable(path, name).tolist()
            for name, _ in tf.train.list_variables(path)
        }
        session.run(tf.global_variables_initializer())
        saver.restore(session, path)
        result["restored"] = session.run([v.values, total.values])
    return Run(facts=result)


@program
def where_replicas_go_wrong(tf):
    strategy, other = mirrored(tf), mirrored(tf)

    def uneven():
        context = tf.distribute.get_replica_context()
        if tf.contrib.util.constant_value(context.replica_id_in_sync_group) == 0:
            context.merge_call(lambda s: None)

    def names():
        number = len(tf.get_collection("calls"))
        tf.add_to_collection("calls", number)
        return tf.Variable(1.0, name="v" + "ab"[number])

    def minimize():
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0), var_list=[v.values[0]])

    with strategy.scope():
        v = tf.Variable(1.0, name="v")
        facts = {
            "uneven": raised(strategy.experimental_run_v2, uneven),
            "names": raised(strategy.experimental_run_v2, names),
            "raises": raised(strategy.experimental_run_v2, lambda: tf.zeros([2]) + tf.zeros([3])),
            "nested": without_names(raised(other.scope().__enter__)),
            "cross": raised(tf.train.GradientDescentOptimizer(0.1).apply_gradients, [(v, v)]),
            "handle": raised(lambda: v.handle),
            "unequal": raised(
                strategy.extended.update,
                v,
                lambda var, x: var.assign(x),
                (strategy.experimental_run_v2(lambda: tf.identity(1.0)),),
            ),
            "none": raised(
                tf.Variable, 1.0, name="n", synchronization=tf.VariableSynchronization.NONE
            ),
        }
    with strategy.scope():
        facts["inside"] = raised(
            strategy.experimental_run_v2, lambda: strategy.reduce("sum", tf.constant(1.0))
        )
    facts["minimize"] = raised(minimize)
    return Run(facts=facts)


@program
def strategies_of_newer_names(tf):
    v2 = tf.compat.v2.distribute
    kinds = [
        v2.MirroredStrategy, v2.OneDeviceStrategy, v2.experimental.CentralStorageStrategy,
        v2.experimental.ParameterServerStrategy, v2.experimental.MultiWorkerMirroredStrategy,
    ]  # fmt: skip
    old = [
        tf.distribute.MirroredStrategy, tf.distribute.OneDeviceStrategy,
        tf.distribute.experimental.CentralStorageStrategy,
        tf.distribute.experimental.ParameterServerStrategy,
        tf.distribute.experimental.MultiWorkerMirroredStrategy,
    ]  # fmt: skip
    strategy = v2.MirroredStrategy(DEVICES)
    with strategy.scope():
        total = tf.get_variable(
            "total", [], initializer=tf.zeros_initializer(), aggregation=tf.VariableAggregation.SUM
        )
        data = tf.data.Dataset.from_tensor_slices(np.arange(4.0, dtype=np.float32))
        iterator = strategy.make_dataset_iterator(data.batch(4))

        def step(x):
            with tf.control_dependencies([total.assign_add(tf.reduce_sum(x))]):
                return tf.reduce_sum(x)

        losses = strategy.experimental_run_v2(step, args=(iterator.get_next(),))
        reduced = strategy.reduce(SUM, losses, axis=None)
    run = computed(
        tf, [tf.global_variables_initializer(), iterator.initialize()], [()], reduced=reduced
    )
    run.facts["derive"] = [
        [issubclass(kind, v2.Strategy), issubclass(kind, tf.distribute.Strategy)] for kind in kinds
    ]
    run.facts["differ"] = [
        [issubclass(one, v2.Strategy), one is two] for one, two in zip(old, kinds)
    ]
    run.facts["axis"] = raised(strategy.reduce, SUM, losses)["class"]
    run.facts["session"] = raised(
        strategy.experimental_make_numpy_dataset, np.zeros(2), session=None
    )["class"]
    return run
