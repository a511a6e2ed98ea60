"""Cross entropies and sampled losses of tf.nn, embeddings."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program, raised

LOGITS = np.array([[1.0, 2.0, -1.0], [0.5, -3.0, 4.0]], np.float32)
ONE_HOT = np.array([[0.0, 1.0, 0.0], [0.1, 0.0, 0.9]], np.float32)


@program
def softmax_cross_entropy(tf):
    logits = tf.placeholder(tf.float32, [None, 3], name="logits")
    labels = tf.placeholder(tf.float32, [None, 3], name="labels")
    old = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    new = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    by_hand = -tf.reduce_sum(labels * tf.log(tf.nn.softmax(logits)), reduction_indices=[1])
    fetches = {
        "old": old,
        "new": new,
        "by_hand": by_hand,
        "old_gradient": tf.gradients(tf.reduce_mean(old), logits),
        "new_gradient": tf.gradients(tf.reduce_mean(new), [logits, labels]),
        "axis": tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, axis=0),
        "three": tf.nn.softmax_cross_entropy_with_logits_v2(
            labels=tf.ones([2, 1, 3]) / 3.0, logits=tf.reshape(logits, [2, 1, 3])),
    }
    facts = {"positional": raised(tf.nn.softmax_cross_entropy_with_logits, logits, labels),
             "shapes": raised(tf.nn.softmax_cross_entropy_with_logits_v2,
                              labels=tf.ones([2, 4]), logits=tf.ones([2, 3]))}
    return Run(fetches, {logits: LOGITS, labels: ONE_HOT}, facts=facts)


@program
def softmax_cross_entropy_second_order(tf):
    logits = tf.placeholder(tf.float32, [2, 3])
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=ONE_HOT, logits=logits)
    first = tf.gradients(loss, logits)[0]
    sparse = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 2], logits=logits)
    return Run({"first": first, "second": tf.gradients(tf.square(first), logits),
                "hessian": tf.hessians(tf.reduce_sum(loss), logits),
                "sparse": tf.gradients(sparse, logits)}, {logits: LOGITS})


@program
def sparse_softmax_cross_entropy(tf):
    logits = tf.placeholder(tf.float32, [None, 3])
    labels = tf.placeholder(tf.int32, [None])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    sequence = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.constant([[0, 1], [2, 2]], tf.int64), logits=wave(2, 2, 3), name="sequence")
    fetches = {"loss": loss, "sequence": sequence, "gradient": tf.gradients(loss, logits)}
    facts = {"rank": raised(tf.nn.sparse_softmax_cross_entropy_with_logits,
                            labels=tf.zeros([2, 3], tf.int32), logits=logits)}
    return [Run(fetches, {logits: LOGITS, labels: [1, 2]}, facts=facts),
            Run({"loss": loss}, {logits: LOGITS, labels: [0, 3]}, fails=True)]


@program
def sigmoid_cross_entropies(tf):
    logits = tf.placeholder(tf.float32, [None, 3])
    labels = tf.placeholder(tf.float32, [None, 3])
    loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    weighted = tf.nn.weighted_cross_entropy_with_logits(labels, logits, pos_weight=2.0)
    poisson = tf.nn.log_poisson_loss(labels, logits)
    fetches = {
        "loss": [loss, tf.gradients(loss, [logits, labels])],
        "weighted": [weighted, tf.gradients(weighted, logits)],
        "poisson": [poisson, tf.nn.log_poisson_loss(labels, logits, compute_full_loss=True)],
    }
    facts = {"shapes": raised(tf.nn.sigmoid_cross_entropy_with_logits,
                              labels=tf.ones([2]), logits=tf.ones([3]))}
    return Run(fetches, {logits: LOGITS, labels: ONE_HOT}, facts=facts)


@program
def embedding_lookups(tf):
    table = tf.Variable(wave(6, 2), name="table")
    parts = [tf.Variable(wave(3, 2), name="p0"), tf.Variable(wave(3, 2) + 1, name="p1")]
    ids = tf.placeholder(tf.int32, [None])
    rows = tf.nn.embedding_lookup(table, ids)
    fetches = {
        "rows": rows,
        "matrix": tf.nn.embedding_lookup(table, [[0, 1], [5, 5]]),
        "mod": tf.nn.embedding_lookup(parts, ids),
        "div": tf.nn.embedding_lookup(parts, ids, partition_strategy="div", name="div"),
        "max_norm": tf.nn.embedding_lookup(table, ids, max_norm=0.5),
        "gradient": tf.gradients(rows * rows, table),
        "part_gradients": tf.gradients(tf.nn.embedding_lookup(parts, ids), parts),
        "resource": tf.nn.embedding_lookup(
            tf.Variable(wave(6, 2), use_resource=True, name="resource"), ids),
    }
    return Run(fetches, {ids: [0, 4, 4, 1]}, setup=[tf.global_variables_initializer()])


@program
def sparse_embedding_lookups(tf):
    table = tf.Variable(wave(5, 2), name="table")
    ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 3, 0], tf.int64), [3, 2])
    weights = tf.SparseTensor(ids.indices, [0.5, 2.0, 1.0], ids.dense_shape)
    fetches = {}
    for combiner in ("sum", "mean", "sqrtn"):
        y = tf.nn.embedding_lookup_sparse(table, ids, weights, combiner=combiner)
        fetches[combiner] = [y, tf.gradients(y * y, table)]
    fetches["no_weights"] = tf.nn.embedding_lookup_sparse(table, ids, None, combiner="mean")
    fetches["safe"] = tf.nn.safe_embedding_lookup_sparse([table], ids, combiner="sum")
    return Run(fetches, setup=[table.initializer])


@program
def nce_loss(tf):
    tf.set_random_seed(1)
    weights = tf.Variable(wave(10, 4), name="weights")
    biases = tf.Variable(tf.zeros([10]), name="biases")
    inputs = tf.placeholder(tf.float32, [None, 4])
    labels = tf.placeholder(tf.int64, [None, 1])
    loss = tf.nn.nce_loss(weights=weights, biases=biases, labels=labels, inputs=inputs,
                          num_sampled=5, num_classes=10)
    gradients = tf.gradients(tf.reduce_mean(loss), [weights, biases, inputs])
    dense = [tf.convert_to_tensor(g) for g in gradients]
    return Run({"loss": loss, "gradients": dense}, {inputs: wave(3, 4), labels: [[1], [7], [1]]},
               setup=[tf.global_variables_initializer()], steps=2)


@program
def sampled_softmax_loss(tf):
    weights = tf.Variable(wave(10, 4), name="weights")
    biases = tf.Variable(wave(10), name="biases")
    inputs = tf.constant(wave(3, 4))
    labels = tf.constant([[1], [7], [2]], tf.int64)
    loss = tf.nn.sampled_softmax_loss(weights, biases, labels, inputs, 5, 10, seed=3)
    sampled = tf.nn.uniform_candidate_sampler(labels, 1, 4, True, 10, seed=5)
    chosen = tf.nn.sampled_softmax_loss(weights, biases, labels, inputs, 4, 10,
                                        sampled_values=sampled, remove_accidental_hits=False,
                                        partition_strategy="div")
    gradients = tf.gradients(loss, [weights, biases])
    return Run({"loss": loss, "chosen": chosen,
                "gradients": [tf.convert_to_tensor(g) for g in gradients]},
               setup=[tf.global_variables_initializer()], steps=2)
