"""tf.layers in functional form: every layer and most of its arguments."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program, raised


def initialized(tf, fetches, feeds, **options):
    facts = options.pop("facts", {})
    facts["variables"] = [f"{v.name} {v.shape}" for v in tf.global_variables()]
    facts["trainable"] = [v.name for v in tf.trainable_variables()]
    return Run(fetches, feeds, setup=[tf.global_variables_initializer()], facts=facts, **options)


@program
def dense(tf):
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 3])
    fetches = {
        "linear": tf.layers.dense(x, 2),
        "relu": tf.layers.dense(x, units=4, activation=tf.nn.relu, name="hidden"),
        "no_bias": tf.layers.dense(x, 2, use_bias=False),
        "initializers": tf.layers.dense(
            x, 2, kernel_initializer=tf.random_normal_initializer(stddev=0.1, seed=4),
            bias_initializer=tf.constant_initializer(0.5)),
        "sequence": tf.layers.dense(tf.reshape(x, [-1, 1, 3]), 2, tf.tanh),
        "frozen": tf.layers.dense(x, 1, trainable=False, name="frozen"),
    }
    shapes = [str(fetches[n].shape) for n in sorted(fetches)]
    facts = {"shapes": shapes, "unknown": raised(
        tf.layers.dense, tf.placeholder(tf.float32, [2, None]), 2)}
    return initialized(tf, fetches, {x: wave(2, 3)}, facts=facts)


@program
def reuse_of_layers(tf):
    tf.set_random_seed(2)
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.layers.dense(x, 2, name="shared")
    z = tf.layers.dense(x * 2.0, 2, name="shared", reuse=True)
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        a = tf.layers.dense(x, 2, name="fc")
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        b = tf.layers.dense(x, 2, name="fc")
    facts = {"again": raised(tf.layers.dense, x, 2, name="shared")}
    return initialized(tf, {"y": y, "z": z, "a": a, "b": b}, {x: wave(2, 3)}, facts=facts)


@program
def regularizers_and_constraints(tf):
    tf.set_random_seed(3)
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.layers.dense(
        x, 2, kernel_regularizer=lambda w: 0.1 * tf.nn.l2_loss(w),
        bias_regularizer=lambda b: tf.reduce_sum(tf.abs(b)),
        activity_regularizer=lambda a: tf.reduce_sum(a),
        kernel_constraint=lambda w: tf.clip_by_value(w, -0.1, 0.1), name="fc")
    image = tf.reshape(x, [-1, 1, 3, 1])
    z = tf.layers.conv2d(image, 2, [1, 2], kernel_regularizer=tf.nn.l2_loss)
    losses = tf.losses.get_regularization_losses()
    total = tf.losses.get_regularization_loss() + tf.reduce_sum(y) + tf.reduce_sum(z)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(total)
    weights = tf.trainable_variables()
    return initialized(tf, {"losses": losses, "weights": weights, "total": total},
                       {x: wave(2, 3)}, train=[train], steps=2)


@program
def convolutions(tf):
    tf.set_random_seed(4)
    x = tf.placeholder(tf.float32, [None, 6, 6, 2])
    fetches = {
        "valid": tf.layers.conv2d(x, 3, 3),
        "same": tf.layers.conv2d(x, filters=2, kernel_size=[3, 2], padding="same",
                                 activation=tf.nn.relu, name="conv1"),
        "strided": tf.layers.conv2d(x, 2, (3, 3), strides=(2, 2), padding="SAME"),
        "dilated": tf.layers.conv2d(x, 2, 3, dilation_rate=2, use_bias=False),
        "initializer": tf.layers.conv2d(
            x, 1, 1, kernel_initializer=tf.truncated_normal_initializer(stddev=0.1, seed=1)),
        "line": tf.layers.conv1d(x[:, 0], 3, 2, padding="same"),
        "cube": tf.layers.conv3d(tf.reshape(x, [-1, 3, 4, 6, 1]), 2, 2, strides=(1, 2, 2)),
    }
    shapes = [str(fetches[n].shape) for n in sorted(fetches)]
    return initialized(tf, fetches, {x: wave(1, 6, 6, 2)}, facts={"shapes": shapes})


@program
def transposed_and_separable_convolutions(tf):
    tf.set_random_seed(5)
    x = tf.placeholder(tf.float32, [None, 4, 4, 2])
    fetches = {
        "valid": tf.layers.conv2d_transpose(x, 3, 3, strides=2),
        "same": tf.layers.conv2d_transpose(x, 2, [3, 3], (2, 2), padding="same",
                                           activation=tf.nn.tanh, name="up"),
        "cube": tf.layers.conv3d_transpose(tf.reshape(x, [-1, 2, 4, 4, 1]), 1, 2, strides=2),
        "separable": tf.layers.separable_conv2d(x, 3, 3, padding="same", depth_multiplier=2),
        "separable_line": tf.layers.separable_conv1d(x[:, 0], 2, 2),
    }
    shapes = [str(fetches[n].shape) for n in sorted(fetches)]
    return initialized(tf, fetches, {x: wave(1, 4, 4, 2)}, facts={"shapes": shapes})


@program
def gradients_through_convolutions(tf):
    tf.set_random_seed(6)
    x = tf.placeholder(tf.float32, [None, 5, 5, 2])
    y = tf.layers.conv2d(x, 3, 3, padding="same", activation=tf.nn.leaky_relu)
    y = tf.layers.max_pooling2d(y, 2, 2)
    y = tf.layers.conv2d_transpose(y, 1, 3, 2)
    y = tf.layers.separable_conv2d(y, 2, 3)
    gradients = tf.gradients(tf.reduce_mean(tf.square(y)), [x] + tf.trainable_variables())
    return initialized(tf, {"y": y, "gradients": gradients}, {x: wave(1, 5, 5, 2)})


@program
def pooling_and_flatten(tf):
    x = tf.placeholder(tf.float32, [None, 6, 6, 2])
    cube = tf.reshape(x, [-1, 3, 4, 6, 1])
    fetches = {
        "max": tf.layers.max_pooling2d(x, pool_size=2, strides=2),
        "max_same": tf.layers.max_pooling2d(x, [3, 3], [2, 2], padding="same", name="pool"),
        "average": tf.layers.average_pooling2d(x, (2, 2), (1, 1)),
        "max_line": tf.layers.max_pooling1d(x[:, 0], 2, 2),
        "average_line": tf.layers.average_pooling1d(x[:, 0], 2, 1, padding="same"),
        "max_cube": tf.layers.max_pooling3d(cube, 2, 2),
        "average_cube": tf.layers.average_pooling3d(cube, 2, 1),
        "flatten": tf.layers.flatten(x),
        "flatten_unknown": tf.layers.flatten(tf.placeholder_with_default(
            np.ones([2, 3, 2], np.float32), [None, None, 2])),
        "flatten_vector": tf.layers.flatten(tf.constant([1.0, 2.0])),
    }
    shapes = [str(fetches[n].shape) for n in sorted(fetches)]
    return Run(fetches, {x: wave(2, 6, 6, 2)}, facts={"shapes": shapes})


@program
def batch_normalization_of_images(tf):
    training = tf.placeholder(tf.bool, [], name="training")
    x = tf.placeholder(tf.float32, [None, 2, 2, 3])
    y = tf.layers.batch_normalization(x, training=training)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    loss = tf.reduce_mean(tf.square(y - x))
    with tf.control_dependencies(updates):
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    images = np.stack([wave(2, 2, 3), wave(2, 2, 3) * 2 + 1])
    facts = {"updates": [u.name for u in updates], "shape": str(y.shape)}
    run = initialized(tf, {"variables": tf.global_variables()}, {x: images, training: True},
                      train=[train, loss], steps=3, facts=facts)
    return [run, Run({"y": y}, {x: images, training: False})]


@program
def batch_normalization_of_rows(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    fetches = {
        "training": tf.layers.batch_normalization(x, training=True, momentum=0.9, name="bn"),
        "inference": tf.layers.batch_normalization(x, training=False),
        "bare": tf.layers.batch_normalization(x, center=False, scale=False, epsilon=0.1,
                                              training=True),
        "not_fused": tf.layers.batch_normalization(tf.reshape(x, [-1, 1, 1, 3]), fused=False,
                                                   training=True),
        "reused": tf.layers.batch_normalization(x + 1.0, training=True, name="bn", reuse=True),
    }
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    fetches["gradients"] = tf.gradients(fetches["training"] * x, [x] + tf.trainable_variables()[:2])
    moving = [v for v in tf.global_variables() if "moving" in v.name]
    run = initialized(tf, fetches, {x: wave(4, 3)})
    updates = updates[:-2]  # those of "reused" change the variables of "training"
    return [run, Run({"moving": moving}, {x: wave(4, 3)}, train=[updates], steps=2)]


@program
def batch_renormalization_and_axis(tf):
    x = tf.placeholder(tf.float32, [None, 3, 4])
    last = tf.layers.batch_normalization(x, training=True)
    axis = tf.layers.batch_normalization(x, axis=1, training=True)
    renorm = tf.layers.batch_normalization(x, renorm=True, training=True, name="renorm",
                                           renorm_clipping={"rmax": 1.5, "dmax": 0.5})
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    run = initialized(tf, {"last": last, "axis": axis}, {x: wave(2, 3, 4)})
    return [run, Run({"moving": tf.global_variables("renorm")}, {x: wave(2, 3, 4)},
                     train=[updates, renorm], steps=2)]


@program
def dropout(tf):
    tf.set_random_seed(7)
    x = tf.placeholder(tf.float32, [None, 4])
    training = tf.placeholder_with_default(False, [])
    fetches = {
        "inference": tf.layers.dropout(x, 0.5),
        "training": tf.layers.dropout(x, rate=0.5, training=True),
        "seeded": tf.layers.dropout(x, 0.25, seed=3, training=True, name="drop"),
        "switched": tf.layers.dropout(x, 0.4, training=training),
        "noise_shape": tf.layers.dropout(x, 0.5, noise_shape=[1, 4], training=True),
    }
    return [Run(fetches, {x: np.ones([3, 4])}),
            Run(fetches, {x: np.ones([3, 4]), training: True}, steps=2)]


@program
def layers_refused(tf):
    x = tf.placeholder(tf.float32, [None, 4, 4, 2])
    layers = tf.layers
    facts = {
        "rank": raised(layers.conv2d, x[0], 2, 3),
        "padding": raised(layers.conv2d, x, 2, 3, padding="full"),
        "kernel": raised(layers.conv2d, x, 2, [3, 3, 3]),
        "channels": raised(layers.conv2d, tf.placeholder(tf.float32, [1, 4, 4, None]), 2, 3),
        "pool_rank": raised(layers.max_pooling2d, x[0], 2, 2),
        "batch_axis": raised(layers.batch_normalization, x, axis=7),
        "both": raised(layers.conv2d, x, 2, 3, strides=2, dilation_rate=2),
    }
    return Run(facts=facts)


@program
def small_scopes_and_names(tf):
    tf.set_random_seed(8)
    x = tf.placeholder(tf.float32, [None, 4])
    with tf.variable_scope("encoder"):
        h = tf.layers.dense(x, 3, tf.nn.relu)
        with tf.name_scope("inner"):
            h = tf.layers.dense(h, 3, name="second")
    with tf.variable_scope("decoder", initializer=tf.ones_initializer(), dtype=tf.float32):
        y = tf.layers.dense(h, 4)
    kernel = tf.get_default_graph().get_tensor_by_name("encoder/dense/kernel:0")
    with tf.variable_scope("encoder/second", reuse=True):
        same = tf.get_variable("kernel")
    facts = {"ops": [h.name, y.name]}
    return initialized(tf, {"y": y, "kernel": kernel, "same": same}, {x: wave(2, 4)}, facts=facts)
