"""Layers of tf.contrib.layers with gradients of their own, and bags of words."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program, raised


def halves(tf):
    x = tf.placeholder(tf.float32, [None, 4])
    return x, tf.split(x, 2, axis=1)


@program
def a_reversible_layer(tf):
    """Use one variable: TensorFlow's gradients take several in no fixed order."""
    tf.set_random_seed(1)
    x, (x1, x2) = halves(tf)
    side = tf.constant([[0.5, -0.5]])
    y1, y2 = tf.contrib.layers.rev_block(
        x1, x2, lambda x: tf.layers.dense(x, 2, use_bias=False),
        lambda x, side: tf.tanh(x) * side[0], g_side_input=[side])
    grads = tf.gradients(tf.reduce_sum(y1 * y2), [x, side, *tf.trainable_variables()])
    return Run({"y1": y1, "y2": y2, "grads": grads}, {x: wave(3, 4)},
               setup=[tf.global_variables_initializer()])


@program
def layers_walked_back(tf):
    tf.set_random_seed(2)
    x, (x1, x2) = halves(tf)
    block = tf.contrib.layers.RevBlock(
        [lambda x: tf.layers.dense(x, 2)] * 2, lambda x: tf.layers.dense(x, 2, use_bias=False),
        num_layers=2, use_efficient_backprop=False)
    ys = block.forward(x1, x2)
    back = block.backward(*ys)
    facts = {"variables": [v.name for v in block.variables]}
    return Run({"ys": list(ys), "back": list(back)}, {x: wave(3, 4)}, facts=facts,
               setup=[tf.global_variables_initializer()])


@program
def recomputed(tf):
    tf.set_random_seed(3)
    x = tf.placeholder(tf.float32, [None, 4])
    told = []

    @tf.contrib.layers.recompute_grad
    def layer(x, is_recomputing=False):
        told.append(is_recomputing)
        return tf.layers.dense(x, 3, activation=tf.nn.tanh)

    @tf.contrib.layers.recompute_grad(use_data_dep=True, tupleize_grads=True)
    def square(x, y):
        return x * x + y

    with tf.variable_scope("first", use_resource=True):
        out = layer(x)
    out = square(out, tf.reduce_sum(out))
    # The gradients of variables stand in no fixed order.
    grads = tf.gradients(tf.reduce_sum(out), [x])
    closed = tf.contrib.layers.recompute_grad
    facts = {"told": told, "closes": raised(closed, lambda: x)["class"],
             "arrays": raised(layer, np.ones(3))}
    return Run({"out": out, "grad": grads[0]}, {x: wave(3, 4)}, facts=facts,
               setup=[tf.global_variables_initializer()])


@program
def bags_of_words(tf):
    tf.set_random_seed(4)
    ids = tf.placeholder(tf.int32, [None, 3])
    encode = tf.contrib.layers.bow_encoder
    sparse = tf.SparseTensor([[0, 0], [2, 1]], tf.constant([3, 1], tf.int64), [3, 2])
    fetches = {"sparse": encode(ids, 6, 2), "dense": encode(ids, 6, 2, sparse_lookup=False),
               "given": encode(sparse, 5, 2, scope="given")}
    facts = {"refused": raised(encode, sparse, 5, 2, sparse_lookup=False)["class"],
             "variables": [v.name for v in tf.model_variables()]}
    return Run(fetches, {ids: [[1, 2, 0], [5, 0, 0]]}, facts=facts,
               setup=[tf.global_variables_initializer()])
