"""Input of replicas on two CPU devices: datasets, iterators, arrays and functions."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

DEVICES = ["/cpu:0", "/cpu:1"]


def mirrored(tf):
    return tf.distribute.MirroredStrategy(DEVICES)


def two_cpus(tf):
    """Return a session with the devices that the programs name."""
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))


def walked(tf, start, fetch, rounds=1):
    """All that an iterator gives."""
    found = []
    with two_cpus(tf) as session:
        for _ in range(rounds):
            session.run(start)
            try:
                for _ in range(20):
                    found.append(session.run(fetch))
            except tf.errors.OutOfRangeError:
                found.append("end")
    return found


def unbatched_parts(tf, strategy, element):
    return [strategy.experimental_local_results(part) for part in tf.nest.flatten(element)]


@program
def batches_are_shared(tf):
    strategy = mirrored(tf)
    with strategy.scope():
        dataset = tf.data.Dataset.range(10).map(lambda x: {"x": x, "y": [x, -x]}).batch(4)
        iterator = strategy.make_dataset_iterator(dataset)
        element = iterator.get_next()
    facts = {
        "parts": {name: repr(value) for name, value in element.items()},
        "shapes": {name: str(shape) for name, shape in iterator.output_shapes.items()},
        "types": {name: dtype.name for name, dtype in iterator.output_types.items()},
        "walked": walked(tf, iterator.initialize(), unbatched_parts(tf, strategy, element), 2),
    }
    return Run(facts=facts)


@program
def batches_of_known_size_are_shared(tf):
    strategy = mirrored(tf)
    with strategy.scope():
        dataset = tf.data.Dataset.from_tensor_slices(np.arange(14.0).reshape(7, 2))
        dataset = dataset.batch(3, drop_remainder=True).repeat(2).prefetch(1)
        distributed = strategy.experimental_distribute_dataset(dataset)
        iterator = distributed.make_initializable_iterator()
        element = iterator.get_next()
    facts = {
        "shapes": str(iterator.output_shapes),
        "spec": str(distributed.element_spec),
        "walked": walked(tf, iterator.initializer, unbatched_parts(tf, strategy, element)),
        "refused": raised(distributed.make_one_shot_iterator),
        "iter": raised(lambda: iter(distributed)),
    }
    return Run(facts=facts)


@program
def partial_batches_are_shared(tf):
    strategy = mirrored(tf)
    found = {}
    with strategy.scope():
        datasets = {
            "even": tf.data.Dataset.range(6).batch(4),
            "odd": tf.data.Dataset.range(8).batch(5),
            "mapped": tf.data.Dataset.range(6).batch(4).map(lambda x: x + 1).prefetch(2),
            "fused": tf.data.Dataset.range(6).apply(
                tf.data.experimental.map_and_batch(lambda x: x * 2, 4)
            ),
            "padded": tf.data.Dataset.range(1, 7)
            .map(lambda x: tf.fill([x % 3], x))
            .padded_batch(4, [None]),
            "whole": tf.data.Dataset.from_tensors(tf.range(5)),
        }
        for name in sorted(datasets):
            iterator = strategy.make_dataset_iterator(datasets[name])
            fetch = unbatched_parts(tf, strategy, iterator.get_next())
            found[name] = walked(tf, iterator.initialize(), fetch)
    return Run(facts=found)


@program
def every_batch_has_a_part_for_each_replica(tf):
    distribute = "python.data.experimental.ops.distribute"
    module = internal_module(tf, "data.sharing", distribute)
    rebatched = getattr(module, "_RebatchDataset", None) or module.RebatchDataset
    datasets = {
        "rest of one": tf.data.Dataset.range(9).batch(4),
        "in the middle": tf.data.Dataset.range(5).batch(4).repeat(2),
        "ones": tf.data.Dataset.range(2).batch(1),
        "rows": tf.data.Dataset.from_tensor_slices(np.arange(6).reshape(2, 3)),
    }
    found = {}
    for name in sorted(datasets):
        for replicas in (1, 2, 4):
            dataset = rebatched(datasets[name], replicas)
            iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
            found[f"{name}/{replicas}"] = walked(tf, iterator.initializer, iterator.get_next())
    return Run(facts=found)


@program
def walks_go_on_with_orders_and_caches(tf):
    tf.set_random_seed(42)
    strategy = mirrored(tf)
    found = {}
    with strategy.scope():
        cached = tf.data.Dataset.range(2).map(
            lambda x: x + tf.random.uniform([], 0, 99, tf.int64, 7)
        )
        datasets = {
            "shuffled": tf.data.Dataset.range(9).shuffle(5).batch(4),
            "one order": tf.data.Dataset.range(9).shuffle(5, 1, False).batch(4),
            "cached": cached.cache().batch(2),
        }
        for name in sorted(datasets):
            iterator = strategy.make_dataset_iterator(datasets[name].repeat(1))
            fetch = unbatched_parts(tf, strategy, iterator.get_next())
            found[name] = walked(tf, iterator.initialize(), fetch, 3)
    return Run(facts=found)


@program
def input_functions(tf):
    strategy = mirrored(tf)
    seen = []

    def dataset(context):
        seen.append(
            [
                context.num_input_pipelines,
                context.input_pipeline_id,
                context.num_replicas_in_sync,
                context.get_per_replica_batch_size(4),
            ]
        )
        return tf.data.Dataset.range(5).batch(2)

    def function(context):
        counter = tf.get_variable("counter", [], tf.int32, tf.zeros_initializer())
        return lambda: (counter.assign_add(1), tf.constant([1.0]))

    with strategy.scope():
        iterator = strategy.make_input_fn_iterator(dataset)
        element = iterator.get_next()
        called = strategy.make_input_fn_iterator(lambda context: lambda: tf.constant([1.0]))
        ones = called.get_next()
        from_function = strategy.experimental_distribute_datasets_from_function(dataset)
        other = from_function._make_initializable_iterator()
        third = other.get_next()
        facts = {"refused": raised(strategy.make_input_fn_iterator, lambda context: 1)}
    facts["seen"] = seen
    facts["walked"] = walked(tf, iterator.initialize(), element.values)
    facts["third"] = walked(tf, other.initialize(), third.values)
    with two_cpus(tf) as session:
        session.run(called.initialize())
        facts["called"] = session.run(strategy.experimental_local_results(ones))
    return Run(facts=facts)


@program
def arrays_in_variables(tf):
    strategy = mirrored(tf)
    with two_cpus(tf) as session, strategy.scope():
        arrays = {"x": np.arange(6, dtype=np.float32).reshape(3, 2), "y": np.array([1, 2, 3])}
        dataset = strategy.experimental_make_numpy_dataset(arrays, session=session)
        element = tf.data.make_initializable_iterator(dataset)
        fetch = element.get_next()
        session.run(element.initializer)
        found = [session.run(fetch) for _ in range(3)]
    return Run(
        facts={
            "found": found,
            "names": [v.name for v in tf.global_variables()],
            "trainable": len(tf.trainable_variables()),
        }
    )


@program
def input_of_one_device(tf):
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(5).batch(2))
        element = iterator.get_next()
        doubled = strategy.experimental_run(lambda x: x * 2, iterator)
    return Run(facts={"walked": walked(tf, iterator.initialize(), doubled), "text": repr(element)})


@program
def each_replica_has_a_whole_batch_in_strategies_of_contrib(tf):
    strategy = tf.contrib.distribute.MirroredStrategy(DEVICES)
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(12).batch(2))
        doubled = strategy.unwrap(strategy.experimental_run(lambda x: x * 2, iterator))
    return Run(facts={"walked": walked(tf, iterator.initialize(), doubled, 2)})


@program
def an_iterator_over_several_devices(tf):
    module = internal_module(tf, "data.multi_device", "python.data.ops.multi_device_iterator_ops")
    dataset = tf.data.Dataset.range(7).map(lambda x: (x, tf.cast(x, tf.float32) / 2.0))
    iterator = module.MultiDeviceIterator(dataset, DEVICES, max_buffer_size=4)
    both = iterator.get_next()
    first = iterator.get_next(DEVICES[0])
    facts = {"walked": walked(tf, iterator.initializer, both, 2)}
    with two_cpus(tf) as session:
        session.run(iterator.initializer)
        facts["first"] = [session.run(first) for _ in range(2)]
    return Run(facts=facts)


@program
def steps_on_an_iterator(tf):
    strategy = mirrored(tf)
    with strategy.scope():
        total = tf.get_variable(
            "total", [], initializer=tf.zeros_initializer(), aggregation=tf.VariableAggregation.SUM
        )
        dataset = tf.data.Dataset.range(40).map(lambda x: tf.cast(x, tf.float32)).batch(4)
        iterator = strategy.make_dataset_iterator(dataset.repeat())

        def step(context, x):
            def replica(x):
                added = total.assign_add(tf.reduce_sum(x))
                with tf.control_dependencies([added]):
                    return tf.reduce_sum(x)

            sums = strategy.experimental_run_v2(replica, args=(x,))
            context.set_last_step_output("sum", sums, "sum")
            context.set_last_step_output("each", sums)
            return strategy.group(sums)

        context = strategy.extended.experimental_run_steps_on_iterator(
            step, iterator, iterations=3, initial_loop_values={"sum": 0.0, "each": (0.0, 0.0)}
        )
    outputs = context.last_step_outputs
    with two_cpus(tf) as session:
        session.run([tf.global_variables_initializer(), iterator.initialize()])
        session.run(context.run_op)
        facts = {
            "total": session.run(total.values),
            "sum": session.run(outputs["sum"]),
            "names": sorted(outputs),
        }
    return Run(facts=facts)


@program
def replicas_without_rows_get_empty_parts(tf):
    strategy = mirrored(tf)
    strategy.extended.experimental_enable_get_next_as_optional = True
    with strategy.scope():
        dataset = tf.data.Dataset.range(9).map(lambda x: {"x": x, "y": [x, -x]}).batch(4)
        iterator = strategy.make_dataset_iterator(dataset)
        element = iterator.get_next()
        of_function = strategy.make_input_fn_iterator(lambda _: tf.data.Dataset.range(5).batch(2))
        other = of_function.get_next()
    facts = {
        "parts": {name: repr(value) for name, value in element.items()},
        "walked": walked(tf, iterator.initialize(), unbatched_parts(tf, strategy, element), 2),
        "of function": walked(tf, of_function.initialize(), unbatched_parts(tf, strategy, other)),
    }
    return Run(facts=facts)


@program
def a_strategy_of_several_tasks(tf):
    names = ["/job:worker/task:%d/device:CPU:0" % index for index in range(2)]
    operations = internal_module(
        tf, "stillflow_contrib.distribute.multi_worker_all_reduce",
        "python.distribute.cross_device_ops",
    )  # fmt: skip
    found = {}
    for title, spec in (
        ("shuffles", ("pscpu/pscpu", 2, -1)),
        ("ring", [("pscpu", 2, 3), ("xring", 1, -1)]),
    ):
        with tf.Graph().as_default() as graph:
            reduction = operations.MultiWorkerAllReduce([name[:19] for name in names], 1, spec)
            strategy = tf.distribute.MirroredStrategy(names, cross_device_ops=reduction)
            with strategy.scope():
                w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
                b = tf.get_variable("b", [6], initializer=tf.ones_initializer())
                dataset = tf.data.Dataset.from_tensors([[1.0, 2.0]]).repeat().batch(2)
                iterator = strategy.make_dataset_iterator(dataset)

                def step(x, w=w, b=b):
                    loss = tf.reduce_mean(tf.matmul(x[0], w)) * tf.reduce_sum(b)
                    return tf.train.GradientDescentOptimizer(0.1).minimize(loss)

                strategy.experimental_run(step, iterator)
            found[title] = [
                strategy.num_replicas_in_sync,
                strategy.extended.worker_devices,
                [[op.name, op.type, op.device] for op in graph.get_operations()],
            ]
    found["refused"] = raised(lambda: tf.distribute.MirroredStrategy(names))
    return Run(facts=found)
