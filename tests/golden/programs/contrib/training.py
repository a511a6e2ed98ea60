"""tf.contrib.training: buckets, samples, segments of sequences, hyperparameters, training."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


def _running(tf, fetch, steps, feed=None):
    """Return a pipeline's results in some steps, while its threads run."""

    def call(session):
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        values = {}
        try:
            for step in range(steps):
                values[str(step)] = session.run(fetch, feed)
        except tf.errors.OutOfRangeError:
            values["ended_after"] = len(values)
        coord.request_stop()
        try:
            coord.join(threads, stop_grace_period_secs=20)
        except tf.errors.CancelledError:  # it depends on what a thread was doing
            pass
        return values

    return call


# ---- Buckets


@program
def buckets_by_parity(tf):
    number = tf.train.limit_epochs(tf.constant(0), 8)
    counter = tf.Variable(-1, trainable=False)
    with tf.control_dependencies([number]):
        number = counter.assign_add(1) + 0
    which, (value, text) = tf.contrib.training.bucket(
        [number, tf.as_string(number)], number % 2, 2, 2, capacity=4, name="parity"
    )

    def in_order(session):
        values = _running(tf, [which, value, text], 4)(session)
        return {"rows": sorted([row[0], row[1].tolist()] for row in values.values())}

    return Run(call=in_order)


@program
def buckets_of_dictionaries(tf):
    number = tf.placeholder(tf.int32, [])
    _, taken = tf.contrib.training.bucket(
        {"b": number, "a": tf.fill([number], 1.0)},
        number % 3,
        [1, 2, 3],
        3,
        num_threads=2,
        bucket_capacities=[5, 6, 7],
        shapes=[[None], []],
        dynamic_pad=True,
        allow_smaller_final_batch=True,
        keep_input=number > 2,
        shared_name="mine",
    )
    return Run(facts={"names": sorted(taken), "shape": taken["a"].shape.as_list()})


@program
def buckets_by_length(tf):
    length = tf.placeholder(tf.int32, [])
    lengths, taken = tf.contrib.training.bucket_by_sequence_length(
        length, [tf.range(length), tf.constant("x")], 4, [3, 7], dynamic_pad=True
    )
    single, _ = tf.contrib.training.bucket_by_sequence_length(
        length, [tf.constant(1.0)], tf.placeholder(tf.int32, []), [5], shapes=[[]]
    )
    shapes = [x.shape.as_list() for x in [lengths, single, *taken]]
    return Run(facts={"shapes": shapes})


@program
def refusals_of_buckets(tf):
    bucket = tf.contrib.training.bucket
    by_length = tf.contrib.training.bucket_by_sequence_length
    x = tf.constant(1)
    return Run(
        facts={
            "sizes": raised(bucket, [x], 0, [1, 2], 3),
            "capacities": raised(bucket, [x], 0, 2, 3, bucket_capacities=[1, 2]),
            "nothing": raised(bucket, [], 0, 2, 3),
            "keep": raised(bucket, [x], 0, 2, 3, keep_input=[True]),
            "boundaries": raised(by_length, x, [x], 2, 5),
            "no_boundaries": raised(by_length, x, [x], 2, []),
            "floats": raised(by_length, x, [x], 2, [1.5, 2.5]),
            "order": raised(by_length, x, [x], 2, [3, 3]),
        }
    )


# ---- Samples


@program
def resampled_rows(tf):
    tf.set_random_seed(4)
    rows = tf.constant(np.arange(12.0).reshape(6, 2))
    weights = tf.placeholder(tf.float32, [6])
    rates = tf.constant([0.0, 1.0, 3.0, 0.5, 2.0, 1.0])
    fetches = {
        "at_rate": tf.contrib.training.resample_at_rate([rows, tf.range(6)], rates, seed=3),
        "weighted": tf.contrib.training.weighted_resample([rows], weights, 1.0, seed=5),
        "named": tf.contrib.training.weighted_resample([rows], weights, 2.0, scope="s", seed=6),
    }
    setup = [tf.global_variables_initializer(), tf.local_variables_initializer()]
    return Run(fetches, {weights: [0.1, 1, 2, 0.5, 0.5, 3]}, setup=setup, steps=3)


@program
def rejected_examples(tf):
    tf.set_random_seed(4)
    x = tf.constant(np.arange(10.0, dtype=np.float32))
    sample = tf.contrib.training.rejection_sample
    all_of_them = sample(
        [x, x * 2], lambda parts: tf.constant(1.0), 3, enqueue_many=True, runtime_checks=True
    )
    sample([x], lambda parts: tf.reduce_mean(parts[0]), 4, queue_threads=2, name="mine")
    return Run(call=_running(tf, all_of_them, 1))


@program
def stratified_examples(tf):
    tf.set_random_seed(4)
    x = tf.placeholder(tf.float32, [None, 2])
    labels = tf.placeholder(tf.int32, [None])
    sample = tf.contrib.training.stratified_sample
    values, taken = sample([x], labels, [0.5, 0.25, 0.25], 4, enqueue_many=True)
    sample(
        [x[0], labels[0]],
        labels[0],
        [0.5, 0.5],
        2,
        init_probs=[0.9, 0.1],
        threads_per_queue=2,
        queue_capacity=5,
        name="one",
    )
    shapes = [values[0].shape.as_list(), taken.shape.as_list()]
    facts = {
        "shapes": shapes,
        "lengths": raised(sample, [x], labels, [0.5, 0.5], 4, [0.2, 0.2, 0.6], True),
        "rank": raised(sample, [x], [labels], [0.5, 0.5], 4, [0.2, 0.8], True),
        "rows": raised(sample, [tf.zeros([3])], tf.zeros([2], tf.int32), [1.0], 4, [1.0], True),
    }
    return Run(facts=facts)


# ---- Segments of sequences


def _sequences(tf, count, **options):
    steps = np.arange(2.0 * count, dtype=np.float32).reshape(count, 2)
    options = dict({"num_threads": 1, "capacity": 4}, **options)
    return tf.contrib.training.batch_sequences_with_states(
        input_key=tf.constant("key"),
        input_sequences={"steps": tf.constant(steps), "words": tf.constant(list("abcdef")[:count])},
        input_context={"who": tf.constant(7)},
        input_length=tf.constant(count),
        initial_states={"sum": tf.constant([0.0, 0.0])},
        num_unroll=2,
        batch_size=1,
        **options,
    )


@program
def segments_with_states(tf):
    batch = _sequences(tf, 5, make_keys_unique=True, make_keys_unique_seed=3)
    total = batch.state("sum") + tf.reduce_sum(batch.sequences["steps"], 1)
    fetch = {
        "key": tf.substr(batch.key, 0, 15),
        "length": batch.length,
        "sum": total,
        "steps": batch.sequences["steps"],
        "words": batch.sequences["words"],
        "who": batch.context["who"],
        "number": batch.sequence,
        "count": batch.sequence_count,
        "total": batch.total_length,
        "size": batch.batch_size,
        "save": batch.save_state("sum", total),
    }
    return Run(call=_running(tf, fetch, 3))


@program
def sparse_segments(tf):
    sparse = tf.SparseTensor([[0, 1], [3, 0], [4, 2]], [1.0, 2.0, 3.0], [5, 3])
    context = tf.SparseTensor([[0, 1]], [9], [2, 2])
    batch = tf.contrib.training.batch_sequences_with_states(
        input_key=tf.constant("key"),
        input_sequences={"sparse": sparse},
        input_context={"context": context},
        input_length=None,
        initial_states={"state": tf.constant(0)},
        num_unroll=2,
        batch_size=1,
        num_threads=1,
        capacity=2,
        make_keys_unique=True,
        name="sparse",
    )
    save = batch.save_state("state", batch.state("state") + 1)
    fetch = [batch.sequences["sparse"], batch.context["context"], batch.state("state"), save]
    return Run(call=_running(tf, fetch, 3))


@program
def sequences_that_are_not_padded(tf):
    batch = _sequences(tf, 6, pad=False)
    saver = tf.contrib.training.SequenceQueueingStateSaver(
        2,
        3,
        tf.constant(3),
        tf.constant("k"),
        {"x": tf.zeros([3, 2])},
        {"c": tf.zeros([])},
        {"s": tf.zeros([4])},
        capacity=5,
        name="saver",
    )
    closing = saver.close(cancel_pending_enqueues=True)
    prefetch = saver.prefetch_op
    names = [saver.name, saver.barrier.name, closing.name, prefetch.name]
    return Run(
        facts={
            "names": names,
            "size": [saver.batch_size, saver.num_unroll],
            "length": batch.length.shape.as_list(),
        }
    )


@program
def refusals_of_segments(tf):
    saver = tf.contrib.training.SequenceQueueingStateSaver
    x, k, s, n = {"x": tf.zeros([4, 2])}, tf.constant("k"), {"s": tf.zeros([4])}, tf.constant(3)
    unknown = tf.placeholder(tf.float32, [None, None])
    return Run(
        facts={
            "capacity": raised(saver, 3, 2, n, k, x, {}, s, 2),
            "no_states": raised(saver, 3, 2, n, k, x, {}, {}),
            "states": raised(saver, 3, 2, n, k, x, {}, [1]),
            "colon": raised(saver, 3, 2, n, k, x, {}, {"a:b": tf.zeros([])}),
            "sequence_colon": raised(saver, 3, 2, n, k, {"a:b": tf.zeros([2])}, {}, s),
            "no_sequences": raised(saver, 3, 2, n, k, {}, {}, s),
            "length": raised(saver, 3, 2, tf.constant(3.0), k, x, {}, s),
            "key": raised(saver, 3, 2, n, tf.constant(1), x, {}, s),
            "key_rank": raised(saver, 3, 2, n, tf.constant(["a"]), x, {}, s),
            "undefined": raised(saver, 3, 2, n, k, {"x": unknown}, {}, s),
        }
    )


# ---- Hyperparameters


@program
def hyperparameters(tf):
    make = tf.contrib.training.HParams
    params = make(layers=3, rate=0.1, name="net", flag=True, sizes=[1, 2], words=["a", "b"])
    parse = tf.contrib.training.parse_values
    types = {"a": int, "b": float, "c": bool, "d": str}
    facts = {"text": str(params), "repr": repr(params), "json": params.to_json(sort_keys=True)}
    params.parse("layers=4,sizes=[5,6,7],name=other,flag=false,rate=1e-3")
    facts["parsed"] = str(sorted(params.values().items()))
    facts["overridden"] = str(params.override_from_dict({"rate": 2}).rate)
    facts["from_json"] = str(params.parse_json('{"layers": 9, "words": ["x"]}').layers)
    facts["again"] = str(make(hparam_def=params.to_proto()).to_json(sort_keys=True))
    facts["got"] = [params.get("layers", 1), params.get("absent", 5), "layers" in params]
    facts["values"] = str(sorted(parse("a=1,b=2.5,c=True,d=x y, a2[3]=7", types, True).items()))
    facts["indexed"] = str(sorted(parse("a[1]=5,a[0]=6,b=[1,2 3]", types).items()))
    refused = {
        "type": "a=x",
        "again": "a=1,a=2",
        "index_again": "a[1]=1,a[1]=2",
        "mixed": "a=1,a[0]=2",
        "unknown": "e=1",
        "malformed": "a+1",
        "list_index": "b[0]=[1,2]",
        "bool": "c=maybe",
    }
    for name, text in refused.items():
        facts["refused_" + name] = raised(parse, text, types)
    facts["no_list"] = raised(params.set_hparam, "layers", [1])
    facts["list"] = raised(params.set_hparam, "sizes", 1)
    facts["float_for_int"] = raised(params.set_hparam, "layers", 1.5)
    facts["number_for_text"] = raised(params.set_hparam, "name", 3)
    facts["int_for_bool"] = raised(params.set_hparam, "flag", 1)
    facts["empty"] = raised(params.add_hparam, "none", [])
    facts["reserved"] = raised(params.add_hparam, "layers", 1)
    facts["default"] = raised(params.get, "layers", "x")
    facts["default_list"] = raised(params.get, "sizes", 1)
    return Run(facts={key: str(value) for key, value in facts.items()})


# ---- Training


@program
def train_operations(tf):
    tf.set_random_seed(2)
    training = tf.contrib.training
    x = tf.constant(np.arange(6.0, dtype=np.float32).reshape(3, 2))
    w = tf.get_variable("w", initializer=[[0.5], [-0.5]])
    frozen = tf.get_variable("frozen", initializer=1.0, trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(frozen, 1.0).op)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
    train = training.create_train_op(
        loss,
        tf.train.GradientDescentOptimizer(0.01),
        summarize_gradients=True,
        transform_grads_fn=training.clip_gradient_norms_fn(0.3),
    )
    plain = training.create_train_op(
        loss,
        tf.train.GradientDescentOptimizer(0.01),
        global_step=None,
        update_ops=[],
        variables_to_train=[w],
        check_numerics=False,
        transform_grads_fn=lambda pairs: training.multiply_gradients(pairs, {"w": 0.5}),
    )
    facts = {
        "no_list": raised(training.multiply_gradients, (), {w: 1.0}),
        "empty": raised(training.multiply_gradients, [], {}),
        "none": raised(training.multiply_gradients, [(None, w)], {w: 1.0}),
    }
    step = tf.train.get_global_step()
    setup = [tf.global_variables_initializer()]
    return [
        Run(
            {"w": w, "step": step, "frozen": frozen}, train=train, setup=setup, steps=3, facts=facts
        ),
        Run({"w": w, "step": step}, train=plain),
    ]


@program
def device_strategies(tf):
    training = tf.contrib.training
    greedy = training.GreedyLoadBalancingStrategy(3, training.byte_size_load_fn)
    shapes = ([10], [2, 2], [3], [1], [40], [5], [5])
    with tf.device(tf.train.replica_device_setter(ps_tasks=3, ps_strategy=greedy)):
        for number, shape in enumerate(shapes):
            tf.get_variable(f"greedy_{number}", shape)
    with tf.device(tf.train.replica_device_setter(3, ps_strategy=training.RandomStrategy(3, 7))):
        for number in range(6):
            tf.get_variable(f"random_{number}", [2])
    two = tf.split(tf.zeros([2]), 2)[0].op
    return Run(facts={"several": str(raised(training.byte_size_load_fn, two))[:30]})
