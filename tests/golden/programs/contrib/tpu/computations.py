"""Computations for TPUs: their graphs, and what a machine without TPUs says of them."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


def refusal(tf, *fetches):
    """Class and beginning of what running each fetch raises.

    TensorFlow names the graph's first operation without a kernel, for any fetches.
    """
    found = []
    for fetch in fetches:
        with tf.Session() as session:
            error = raised(session.run, fetch)
        found.append([error["class"], error["message"].split(" used by")[0].split(": ")[0]])
    return found


@program
def systems(tf):
    tpu = tf.contrib.tpu
    start, stop = tpu.initialize_system(), tpu.shutdown_system()
    elsewhere = tf.tpu.initialize_system(job="worker")
    facts = {"core": tpu.core(3), "shape": str(start.shape),
             "runs": refusal(tf, start, stop, elsewhere)}
    return Run({}, facts=facts)


@program
def cross_shard_optimizer(tf):
    tpu = tf.contrib.tpu
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
    optimizer = tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1))
    step = tf.train.get_or_create_global_step()
    train = optimizer.minimize(tf.reduce_sum(v * v), global_step=step)
    grouped = tpu.CrossShardOptimizer(
        tf.train.GradientDescentOptimizer(0.1), tf.losses.Reduction.SUM, "grouped", [[0]]
    )
    pairs = grouped.compute_gradients(tf.reduce_sum(tf.gather(v, [0])), [v])
    grouped.apply_gradients([*pairs, (None, tf.get_variable("w", []))])
    bad = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1),
                                  group_assignment=[[0], [1]])
    facts = {
        "runs": refusal(tf, train), "slots": optimizer.get_slot_names(),
        "slot": optimizer.get_slot(v, "m").name, "name": optimizer.get_name(),
        "variables": [each.name for each in optimizer.variables()],
        "reduction": raised(tpu.CrossShardOptimizer, None, "none"),
        "keras": raised(tpu.CrossShardOptimizer, tf.keras.optimizers.SGD(0.1)),
        "groups": raised(bad.compute_gradients, tf.reduce_sum(v)),
    }
    return Run({}, facts=facts)


@program
def rewritten(tf):
    tpu = tf.contrib.tpu
    x = tf.placeholder(tf.float32, [2], name="x")
    outer = tf.constant(3.0, name="outer")

    def step(a, b):
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
        with tf.control_dependencies([outer]):
            c = tf.multiply(a, b, name="c")
        return c + v, tf.assign_add(v, [1.0, 1.0]), tf.no_op(name="done")

    flat = tpu.rewrite(step, [x, 2.0])
    nested = tpu.rewrite(lambda pair: {"sum": pair[0] + pair[1], "rest": [pair[0]]}, [(x, x)])
    nothing = tpu.rewrite(lambda: None)
    reference = tf.get_variable("r", [2], use_resource=False)
    facts = {
        "flat": [each.name for each in flat], "nothing": nothing.name,
        "nested": [nested["sum"].name, nested["rest"][0].name],
        "runs": refusal(tf, nothing, tpu.rewrite(lambda: [reference + 1.0])),
        "order": raised(tpu.rewrite, lambda: (tf.no_op(), 1)),
        "structure": raised(tpu.rewrite, lambda: [[tf.no_op()]]),
        "kind": raised(tpu.rewrite, lambda: object),
        "arguments": raised(tpu.rewrite, lambda a: a),
        "more": raised(tpu.rewrite, lambda a, b=1: a, [x, x, x]),
        "inputs": raised(tpu.replicate, lambda a: a, x),
        "within": raised(tpu.rewrite, lambda: tpu.rewrite(lambda: 1.0)),
    }
    return Run({}, facts=facts)


@program
def partitioned(tf):
    with tf.variable_scope("scope", partitioner=tf.fixed_size_partitioner(2)):
        whole = tf.tpu.rewrite(lambda: tf.get_variable("v", [4]))
    return Run({}, facts={"whole": whole[0].name, "shape": str(whole[0].shape)})


@program
def replicas_and_shards(tf):
    tpu = tf.contrib.tpu
    x = tf.zeros([4, 2])
    pairs = tpu.replicate(lambda a, b: (a * b, tpu.cross_replica_sum(a)), [[1.0, 2.0], [3.0, 4.0]])
    whole = tpu.batch_parallel(lambda a, b: (a * 2.0, b), [x, tf.zeros([4])], num_shards=2)
    columns = tpu.shard(lambda a: (tf.reduce_sum(a), a, a), [x], 2, [1],
                        output_shard_axes=[0, 1, 0], outputs_from_all_shards=[True, True, False])
    nothing = tpu.shard(lambda: tf.no_op(), num_shards=2)
    facts = {
        "pairs": [each.name for pair in pairs for each in pair],
        "whole": [[each.name, str(each.shape)] for each in whole],
        "columns": [[each.name, str(each.shape)] for each in columns],
        "nothing": [each.name for each in nothing],
        "runs": refusal(tf, pairs, whole),
        "count": raised(tpu.shard, lambda: None, num_shards=0),
        "axes": raised(tpu.shard, lambda a: a, [x], 2, [0, 1]),
        "output_axes": raised(tpu.shard, lambda a: a, [x], 2, output_shard_axes=[0, 1]),
        "list": raised(tpu.shard, lambda a: a, x),
        "lengths": raised(tpu.replicate, lambda *a: a, [[x], [x, x]]),
        "types": raised(tpu.replicate, lambda *a: a, [[1.0], [1]]),
    }
    return Run({}, facts=facts)


@program
def outside(tf):
    tpu = tf.contrib.tpu

    def step(a):
        with tf.device(tpu.core(1)):
            b = tpu.outside_compilation(lambda x: x * 3.0, a + 1.0)
        return tpu.outside_compilation(tf.square, x=b)

    with tf.device("/cpu:0"):
        result = tpu.rewrite(step, [tf.constant(2.0)])
    tpu.outside_compilation(tf.add, 1.0, 2.0)
    within = raised(tpu.rewrite, lambda: tpu.outside_compilation(
        lambda: tpu.outside_compilation(lambda: 1.0)))
    return Run({}, facts={"result": result[0].name, "within": within})


@program
def training_loops(tf):
    tpu = tf.contrib.tpu
    v = tf.get_variable("v", [], use_resource=True, initializer=tf.zeros_initializer())
    doubled = tpu.repeat(3, lambda a: a * 2.0, [tf.constant(1.0)])
    counted = tpu.repeat(2, lambda: v.assign_add(1.0).op)
    single = tpu.repeat(2, lambda a: (a + 1.0, v.assign_add(1.0).op), 5.0)
    summed = tpu.while_loop(lambda a, b: a < 3.0, lambda a, b: (a + 1.0, b + a), [0.0, 0.0])
    queue = tpu.InfeedQueue(tuple_types=[tf.float32], tuple_shapes=[[2]])
    facts = {
        "counted": counted.name,
        "types": raised(tpu.while_loop, lambda a: a < 3.0, lambda a: 1, [0.0]),
        "body": raised(tpu.while_loop, lambda a: a < 3.0, lambda: 1, [tf.constant(0.0)]),
        "condition": raised(tpu.while_loop, lambda: True, lambda a: a, [tf.constant(0.0)]),
        "order": raised(tpu.while_loop, lambda a: True, lambda a: (tf.no_op(), a), [0.0]),
        "queue": raised(tpu.repeat, 2, lambda a: tf.no_op(), infeed_queue=queue),
    }
    fetches = {"doubled": doubled, "single": single, "summed": summed}
    return Run(fetches, train=counted, setup=[tf.global_variables_initializer()], facts=facts)


@program
def training_in_a_computation(tf):
    tpu = tf.contrib.tpu

    def step(loss):
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
        loss = tf.reduce_sum(v * v) + 0.0 * loss
        optimizer = tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(0.1, 0.9))
        with tf.control_dependencies([optimizer.minimize(loss)]):
            return tf.identity(loss)

    def computation():
        return tpu.repeat(2, step, [0.0])

    losses = tpu.shard(computation, num_shards=2)
    return Run({}, facts={"losses": losses[0].name, "runs": refusal(tf, losses)})


@program
def infeed_queues(tf):
    tpu = tf.contrib.tpu
    x, y = tf.zeros([4, 2]), tf.zeros([4], tf.int32)
    queue = tpu.InfeedQueue(number_of_tuple_elements=2, shard_dimensions=[0, 0])
    queue.set_number_of_shards(2)
    enqueue = queue.split_inputs_and_generate_enqueue_ops([x, y])
    used = tpu.replicate(lambda a, b: a + tf.cast(b, tf.float32)[:, None], [[], []],
                         infeed_queue=queue)
    single = tpu.InfeedQueue(2, name="single")
    with tf.device("/cpu:0"):
        parts = [tf.ones([3]), tf.ones([2, 2])]
    several = single.generate_enqueue_ops([parts, parts], tpu_ordinal_function=lambda i: i)
    facts = {
        "enqueue": [[each.name, each.device] for each in enqueue],
        "used": [each[0].name for each in used], "several": [each.name for each in several],
        "types": [each.name for each in queue.tuple_types],
        "shapes": [str(each) for each in queue.tuple_shapes],
        "dimensions": [int(each) for each in queue.shard_dimensions],
        "policy": str(queue.sharding_policies[0]), "shards": single.number_of_shards,
        "single_shapes": [str(each) for each in single.tuple_shapes],
        "runs": refusal(tf, enqueue[0]),
        "again": raised(queue.split_inputs_and_generate_enqueue_ops, [x, y]),
        "again_out": raised(queue.generate_dequeue_op),
        "nothing": raised(tpu.InfeedQueue), "none": raised(tpu.InfeedQueue, 0),
        "frozen": raised(queue.set_number_of_shards, 3),
        "frozen_shapes": raised(queue.set_tuple_shapes, [[4, 4], [4]]),
        "length": raised(tpu.InfeedQueue, 2, [tf.float32]),
        "kind": raised(tpu.InfeedQueue, 1, ["nothing"]),
        "axis": raised(tpu.InfeedQueue(1, tuple_shapes=[[3]], shard_dimensions=[0])
                       .set_number_of_shards, 2),
        "unfrozen": raised(tpu.InfeedQueue(1).freeze),
    }
    return Run({}, facts=facts)


@program
def feeds(tf):
    tpu = tf.contrib.tpu
    x = tf.ones([2])
    incoming = tpu.infeed_dequeue(tf.float32, [2])
    several = tpu.infeed_dequeue_tuple([tf.float32, tf.int32], [[2], []])
    outgoing = tpu.outfeed_dequeue(tf.float32, [2], device_ordinal=1)
    outgoing_tuple = tpu.outfeed_dequeue_tuple([tf.float32], [[None, 2]])
    enqueued = [tpu.infeed_enqueue(x, [2]), tpu.infeed_enqueue_tuple([x, 1], [[2], []]),
                tpu.outfeed_enqueue(x), tpu.outfeed_enqueue_tuple([x, x])]
    facts = {
        "shapes": [str(each.shape) for each in [incoming, *several, outgoing, *outgoing_tuple]],
        "runs": refusal(tf, incoming, several, outgoing, outgoing_tuple, *enqueued),
        "tuple": type(several).__name__,
        "unknown": [str(each.shape)
                    for each in tpu.infeed_dequeue_tuple([tf.float32, tf.int32], [[2]])],
        "count": raised(tpu.outfeed_dequeue_tuple, [tf.float32], []),
    }
    return Run({}, facts=facts)


@program
def gradients_of_replicas(tf):
    def all_to_all(value, concat, split, count, groups):
        return tf.raw_ops.AllToAll(input=value, group_assignment=groups, concat_dimension=concat,
                                   split_dimension=split, split_count=count)

    x = tf.ones([4, 2])
    summed = tf.tpu.cross_replica_sum(x, [[0, 1]], name="summed")
    handed = all_to_all(summed, 0, 1, 2, [[0, 1]])
    moved = tf.raw_ops.CollectivePermute(input=handed, source_target_pairs=[[0, 1], [1, 0]])
    grads = tf.gradients(moved, [x])
    facts = {
        "grads": grads[0].name, "shapes": [str(each.shape) for each in (summed, handed, moved)],
        "runs": refusal(tf, summed, handed, moved),
        "uneven": str(all_to_all(x, 0, 1, 3, [[0, 1, 2]]).shape),
        "axis": raised(all_to_all, x, 2, 1, 2, [[0, 1]]),
        "split": raised(all_to_all, x, 0, 2, 2, [[0, 1]]),
        "rank": raised(all_to_all, tf.placeholder(tf.float32), 0, 2, 2, [[0, 1]]),
    }
    return Run({}, facts=facts)


@program
def variables_of_bfloat16(tf):
    with tf.variable_scope("model"), tf.tpu.bfloat16_scope() as scope:
        v = tf.get_variable("v", [2], tf.bfloat16, tf.ones_initializer())
        w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    facts = {"scope": scope.name, "types": [v.dtype.name, w.dtype.name]}
    return Run({"v": tf.cast(v, tf.float32), "w": w}, setup=[tf.global_variables_initializer()],
               facts=facts)
