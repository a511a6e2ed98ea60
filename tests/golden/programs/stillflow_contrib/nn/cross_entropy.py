"""tf.contrib.nn: cross entropies with flipped arguments, and alpha dropout."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


@program
def cross_entropies(tf):
    nn = tf.contrib.nn
    logits = tf.placeholder(tf.float32, [2, 3])
    labels = tf.placeholder(tf.float32, [2, 3])
    numbers = tf.placeholder(tf.int32, [2])
    fetches = {
        "softmax": nn.deprecated_flipped_softmax_cross_entropy_with_logits(logits, labels),
        "columns": nn.deprecated_flipped_softmax_cross_entropy_with_logits(logits, labels, dim=0),
        "sparse": nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits, numbers),
        "sigmoid": nn.deprecated_flipped_sigmoid_cross_entropy_with_logits(logits, labels, "s"),
    }
    return Run(fetches, {logits: [[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]],
                         labels: [[0.0, 1.0, 0.0], [0.5, 0.5, 0.0]], numbers: [1, 2]})


@program
def alpha_dropout(tf):
    nn = tf.contrib.nn
    tf.set_random_seed(5)
    x = tf.placeholder(tf.float32, [3, 4])
    fetches = {
        "half": nn.alpha_dropout(x, 0.5),
        "rows": nn.alpha_dropout(x, 0.8, noise_shape=[3, 1], seed=7, name="rows"),
        "all": nn.alpha_dropout(x, 1.0),
    }
    fetches["gradient"] = tf.gradients(fetches["half"], x)[0]
    facts = {"zero": raised(nn.alpha_dropout, x, 0.0),
             "rank": raised(nn.alpha_dropout, x, tf.constant([0.5]))}
    return Run(fetches, {x: [[0.5 * i - j for i in range(4)] for j in range(3)]}, facts=facts)
