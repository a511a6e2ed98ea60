"""Functions of `tf.compat.v2` whose arguments stand in another order than those of `tf`."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


@program
def checks(tf):
    d = tf.compat.v2.debugging
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.constant([1.0, 2.0])
    ops = [
        d.assert_equal(x, y, "equal", 3, "a"), d.assert_near(x, y, 0.1, 0.1, "near", 3, "b"),
        d.assert_greater(x, y - 1.0, "greater"), d.assert_less(x, y + 1.0, name="less"),
        d.assert_greater_equal(x, y), d.assert_less_equal(x, y), d.assert_positive(x, "positive"),
        d.assert_non_negative(x, name="c"), d.assert_none_equal(x, y + 1.0, 3, "none"),
        d.assert_negative(-x, "negative", 2, "d"), d.assert_non_positive(-x),
    ]  # fmt: skip
    facts = {
        "static": [
            d.assert_rank(x, 1, "rank"), d.assert_rank_at_least(x, 1), d.assert_rank_in(x, [0, 1])
        ],
        "none": [
            d.assert_integer(tf.constant(1)), d.assert_scalar(tf.constant(1.0), "s"),
            d.assert_type(x, tf.float32, "t"),
        ],
        "rank": raised(d.assert_rank, x, 2, "told"),
        "integer": raised(d.assert_integer, x, "told"),
        "type": raised(d.assert_type, x, tf.int32, "told"),
        "scalar": raised(d.assert_scalar, x, "told"),
        "shapes": raised(d.assert_shapes, {x: (3,)}, None, None, "told"),
    }  # fmt: skip
    facts["static"] = [op.type for op in facts["static"]]
    finite = d.assert_all_finite(x, "finite")
    with tf.control_dependencies(ops):
        result = tf.identity(finite)
    return Run({"x": result}, feeds={x: [1.0, 2.0]}, facts=facts)


@program
def control(tf):
    v2 = tf.compat.v2
    x = tf.placeholder(tf.float32, [], name="x")
    branch = v2.cond(x > 0, lambda: [x * 2.0], lambda: [x - 1.0], name="branch")
    cases = v2.case([(x > 1, lambda: x), (x > 0, lambda: -x)], default=lambda: x + 5.0)
    (turns,) = v2.while_loop(lambda i: i < 10, lambda i: [i + 1], [0], maximum_iterations=4)
    together = v2.tuple([x, x + 1.0], [tf.no_op()], "together")
    with v2.name_scope("scope") as scope:
        inside = tf.identity(x)
    again = v2.name_scope("again")
    with again:
        tf.identity(x)
    with again as second:
        tf.identity(x)
    with v2.device(v2.DeviceSpec(device_type="CPU", device_index=0)):
        placed = tf.identity(x, name="placed")
    (slope,) = v2.gradients(x * x, [x])
    (curve,) = v2.hessians(x * x * x, [x])
    v2.random.set_seed(3)
    facts = {
        "scope": [scope, inside.op.name, again.name, second], "device": placed.device,
        "name": raised(v2.name_scope, None), "function": raised(v2.device, lambda op: "/cpu:0"),
        "spec": v2.DeviceSpec.from_string("/job:a/cpu:1").to_string(),
    }  # fmt: skip
    outputs = {
        "branch": branch, "cases": cases, "turns": turns, "together": together[1],
        "slope": slope, "curve": curve, "random": tf.random.uniform([2]),
    }  # fmt: skip
    return Run(outputs, feeds={x: 2.0}, facts=facts)


@program
def numbers(tf):
    v2 = tf.compat.v2
    sparse = tf.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 3])
    image = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    first, second = v2.sparse.split(sparse, 2, 1)
    data, ids = tf.range(4.0), tf.constant([0, 1, 3])
    return Run(
        {
            "sum": v2.sparse.reduce_sum(sparse, 1, True, name="sum"),
            "max": v2.sparse.reduce_max(sparse, 0, output_is_sparse=True).values,
            "sums": v2.sparse.add(sparse, sparse).values,
            "joined": v2.sparse.concat(0, [sparse, sparse], True, "joined").dense_shape,
            "split": first.values, "other": second.dense_shape,
            "segments": v2.sparse.segment_sum(data, ids, tf.constant([0, 0, 2]), 4),
            "means": v2.sparse.segment_mean(data, ids, tf.constant([0, 0, 2]), name="means"),
            "roots": v2.sparse.segment_sqrt_n(data, ids, tf.constant([0, 0, 2])),
            "counts": v2.math.bincount(tf.constant([1, 1, 3]), minlength=6, name="counts"),
            "text": v2.io.serialize_sparse(sparse, tf.string, "text"),
            "texts": v2.io.serialize_many_sparse(sparse),
            "fields": v2.io.decode_csv(["1,2,3"], [[0], [0]], select_cols=[0, 2]),
            "average": v2.nn.avg_pool(image, 2, 2, "VALID"),
            "largest": v2.nn.max_pool(image, 2, 1, "SAME"),
            "row": v2.nn.max_pool(image[0], 2, 2, "VALID", "NWC", "row"),
        },
        facts={"rank": raised(v2.nn.avg_pool, tf.range(3.0), 2, 2, "VALID")},
    )  # fmt: skip


@program
def examples(tf):
    v2 = tf.compat.v2
    example = tf.train.Example()
    example.features.feature["a"].int64_list.value.extend([1, 2])
    features = {"a": tf.io.FixedLenFeature([2], tf.int64)}
    text = example.SerializeToString()
    return Run(
        {
            "many": v2.io.parse_example([text], features, ["e"], "many")["a"],
            "one": v2.io.parse_single_example(text, features, name="one")["a"],
        }
    )


@program
def batch_normalization(tf):
    layer = tf.compat.v2.keras.layers.BatchNormalization(momentum=0.5)
    x = tf.constant(np.arange(6.0, dtype="float32").reshape(3, 2))
    trained = layer(x, training=True)
    updates = len(layer.updates)
    layer.trainable = False
    frozen = layer(x, training=True)
    return Run(
        {"trained": trained, "frozen": frozen},
        setup=[tf.global_variables_initializer()],
        facts={"updates": [updates, len(layer.updates)], "name": layer.name},
    )


@program
def strings(tf):
    s = tf.compat.v2.strings
    words = tf.placeholder(tf.string, [3], name="words")
    return Run({"buckets": s.to_hash_bucket(words, 100), "named": s.to_hash_bucket(words, 7, "n"),
                "numbers": s.to_number(words, tf.int64), "floats": s.to_number(words, name="f"),
                "length": s.length(words), "joined": s.reduce_join(words, separator="-")},
               {words: ["1", "-22", "333"]})
