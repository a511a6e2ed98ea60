"""tf.contrib.layers and tf.contrib.slim: layers, their variables and collections."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program, raised


def built(tf, fetches, feeds, **options):
    facts = options.pop("facts", {})
    for name in ("variables", "trainable_variables", "model_variables", "update_ops",
                 "regularization_losses", "outs", "kept"):
        facts[name] = [v.name for v in tf.get_collection(name)]
    facts["shapes"] = [f"{n} {fetches[n].shape}" for n in sorted(fetches)
                       if hasattr(fetches[n], "shape")]
    options.setdefault("setup", [tf.global_variables_initializer()])
    return Run(fetches, feeds, facts=facts, **options)


@program
def fully_connected(tf):
    layers = tf.contrib.layers
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 3])
    fetches = {
        "relu": layers.fully_connected(x, 4),
        "linear": layers.fully_connected(x, 2, activation_fn=None, scope="fc",
                                         outputs_collections="outs",
                                         variables_collections=["kept"],
                                         weights_regularizer=layers.l2_regularizer(0.1)),
        "again": layers.fully_connected(x, 2, activation_fn=None, scope="fc", reuse=True),
        "normal": layers.fully_connected(x, 2, normalizer_fn=layers.batch_norm,
                                         normalizer_params={"scale": True}),
        "no_bias": layers.linear(x, 2, biases_initializer=None),
        "relu6": layers.relu6(x, 2),
        "rank3": layers.fully_connected(tf.reshape(x, [-1, 1, 3]), 2, scope="rank3"),
        "legacy": layers.legacy_fully_connected(x, 2, activation_fn=tf.nn.tanh),
        "legacy3": layers.legacy_relu(tf.reshape(x, [-1, 1, 3]), 2),
    }
    facts = {"float": raised(layers.fully_connected, x, 2.0),
             "unknown": raised(layers.fully_connected, tf.placeholder(tf.float32, [2, None]), 2)}
    return built(tf, fetches, {x: wave(2, 3)}, facts=facts)


@program
def convolutions(tf):
    layers = tf.contrib.layers
    tf.set_random_seed(2)
    x = tf.placeholder(tf.float32, [None, 6, 6, 2])
    fetches = {
        "plain": layers.conv2d(x, 3, 3),
        "options": layers.conv2d(x, 3, [3, 2], stride=2, padding="VALID", activation_fn=None,
                                 weights_regularizer=layers.l1_regularizer(0.1), scope="c",
                                 outputs_collections=["outs"],
                                 variables_collections={"weights": ["kept"]}),
        "rate": layers.convolution2d(x, 2, 3, rate=2, normalizer_fn=layers.batch_norm),
        "transposed": layers.conv2d_transpose(x, 3, [3, 3], stride=2),
        "in_plane": layers.conv2d_in_plane(x, [1, 2]),
        "separable": layers.separable_conv2d(x, 4, 3, 2, normalizer_fn=layers.batch_norm),
        "depthwise": layers.separable_conv2d(x, None, [3, 3], 2, stride=2, scope="d"),
        "one": layers.conv1d(tf.reshape(x, [-1, 36, 2]), 2, 3),
        "three": layers.conv3d(tf.reshape(x, [-1, 6, 3, 2, 2]), 2, 2),
        "three_t": layers.conv3d_transpose(tf.reshape(x, [-1, 6, 3, 2, 2]), 2, 2),
    }
    facts = {"format": raised(layers.conv2d, x, 3, 3, data_format="CHWN"),
             "rank": raised(layers.conv2d, tf.zeros([2, 3]), 3, 3),
             "channels": raised(layers.separable_conv2d, x, 3, 3, data_format="x")}
    return built(tf, fetches, {x: wave(2, 6, 6, 2)}, facts=facts)


@program
def pools(tf):
    layers = tf.contrib.layers
    x = tf.placeholder(tf.float32, [None, 6, 6, 2])
    fetches = {
        "max": layers.max_pool2d(x, 2), "avg": layers.avg_pool2d(x, [3, 3], 1, "SAME"),
        "max3": layers.max_pool3d(tf.reshape(x, [-1, 6, 3, 2, 2]), 2, scope="m"),
        "avg3": layers.avg_pool3d(tf.reshape(x, [-1, 6, 3, 2, 2]), 2, padding="SAME"),
        "pool": tf.contrib.slim.pool(x, [2, 2], "AVG", stride=2, outputs_collections="outs"),
        "flat": layers.flatten(x), "flat_known": layers.flatten(tf.zeros([2, 3, 4])),
    }
    return built(tf, fetches, {x: wave(2, 6, 6, 2)}, setup=[],
                 facts={"format": raised(layers.max_pool2d, x, 2, data_format="x")})


def normalized(tf, x, **options):
    layers = tf.contrib.layers
    y = layers.batch_norm(x, **options)
    loss = tf.reduce_sum(y * y * y)
    return y, tf.gradients(loss, x)[0]


@program(rtol=1e-3, atol=1e-4, reason="gradients through variances cancel")
def batch_norms(tf):
    x = tf.placeholder(tf.float32, [3, 4, 4, 2])
    flat = tf.placeholder(tf.float32, [None, 5])
    fetches = {}
    forms = [{}, {"scale": True, "decay": 0.9}, {"is_training": False},
             {"updates_collections": None, "scale": True}, {"fused": False},
             {"fused": False, "updates_collections": None, "center": False},
             {"zero_debias_moving_mean": True}, {"batch_weights": [1.0, 2.0, 0.5]},
             {"updates_collections": "mine", "activation_fn": tf.nn.relu},
             {"renorm": True},
             {"param_initializers": {"beta": tf.constant_initializer(2.0)}}]
    for i, form in enumerate(forms):
        fetches[f"y{i}"], fetches[f"g{i}"] = normalized(tf, x, **form)
    fetches["flat"], fetches["flat_g"] = normalized(tf, flat, scale=True)
    fetches["flat_force"], _ = normalized(tf, flat, updates_collections=None)
    fetches["flat_test"], _ = normalized(tf, flat, is_training=False, center=False)
    facts = {"unknown": raised(tf.contrib.layers.batch_norm, tf.placeholder(tf.float32)),
             "channels": raised(tf.contrib.layers.batch_norm,
                                tf.placeholder(tf.float32, [2, None])),
             "renorm": raised(tf.contrib.layers.batch_norm, x, renorm=True,
                              updates_collections=None)}
    return built(tf, fetches, {x: wave(3, 4, 4, 2), flat: wave(3, 5)}, facts=facts)


@program
def batch_norms_that_ask(tf):
    x = tf.placeholder(tf.float32, [3, 4, 4, 2])
    flat = tf.placeholder(tf.float32, [None, 5])
    training = tf.placeholder(tf.bool, [])
    fetches = {
        "layer": tf.contrib.layers.batch_norm(x, is_training=training),
        "forced": tf.contrib.layers.batch_norm(x, is_training=training, updates_collections=None),
        "flat": tf.contrib.layers.batch_norm(flat, is_training=training),
        "plain": tf.contrib.layers.batch_norm(
            x, is_training=training, updates_collections=None, fused=False),
        "weights": tf.contrib.layers.batch_norm(
            x, is_training=training, batch_weights=[1.0, 2.0, 3.0]),
    }
    return built(tf, fetches, {x: wave(3, 4, 4, 2), flat: wave(3, 5), training: True})


@program
def normalizations(tf):
    layers = tf.contrib.layers
    x = tf.placeholder(tf.float32, [3, 4, 4, 4])
    free = tf.placeholder(tf.float32, [None, 4, 4, 4])
    fetches = {
        "layer": layers.layer_norm(x), "layer_g": tf.gradients(layers.layer_norm(x), x)[0],
        "layer_axes": layers.layer_norm(x, begin_norm_axis=2, begin_params_axis=2,
                                        activation_fn=tf.nn.relu, center=False),
        "instance": layers.instance_norm(x), "instance_first": layers.instance_norm(
            x, data_format="NCHW", outputs_collections="outs"),
        "group": layers.group_norm(x, 2), "group_free": layers.group_norm(free, groups=4),
        "group_first": layers.group_norm(x, 2, channels_axis=1, reduction_axes=(2, 3),
                                         mean_close_to_zero=True, scale=False),
        "unit": layers.unit_norm(x, 1), "unit_last": layers.unit_norm(x, 3, scope="u"),
        "bias": layers.bias_add(x, tf.nn.relu),
        "bias_regular": layers.bias_add(x, regularizer=layers.l2_regularizer(1.0), scope="b"),
    }
    facts = {
        "rank": raised(layers.layer_norm, tf.placeholder(tf.float32)),
        "axes": raised(layers.layer_norm, x, begin_norm_axis=4),
        "groups": raised(layers.group_norm, x, 3), "many": raised(layers.group_norm, x),
        "exclusive": raised(layers.group_norm, x, 2, reduction_axes=(-1,)),
        "dim": raised(layers.unit_norm, x, 4),
        "instance": raised(layers.instance_norm, tf.placeholder(tf.float32, [2, 3, None])),
        "instance_of_vector": raised(layers.instance_norm, tf.zeros([3])),
        "first_of_vector": raised(layers.instance_norm, tf.zeros([3]), data_format="NCHW"),
    }
    return built(tf, fetches, {x: wave(3, 4, 4, 4), free: wave(2, 4, 4, 4)}, facts=facts)


@program
def small_layers(tf):
    layers = tf.contrib.layers
    tf.set_random_seed(3)
    x = tf.placeholder(tf.float32, [None, 6])
    labels = tf.placeholder(tf.int32, [None])
    sparse = layers.dense_to_sparse(labels, eos_token=1)
    fetches = {
        "one_hot": layers.one_hot_encoding(labels, 4),
        "dropout": layers.dropout(x, 0.7, seed=2), "kept": layers.dropout(x, is_training=False),
        "softmax": layers.softmax(tf.reshape(x, [-1, 2, 3])),
        "repeat": layers.repeat(x, 2, layers.fully_connected, 3, scope="r"),
        "repeat_unnamed": layers.repeat(x, 2, layers.fully_connected, 3),
        "stack": layers.stack(x, layers.fully_connected, [4, [3, tf.nn.tanh]]),
        "embedded": layers.embed_sequence(labels, 5, 3, unique=False),
        "unique": layers.embed_sequence(labels, 5, 3, unique=True, scope="unique"),
        "maxout": layers.maxout(x, 3), "poses": layers.spatial_softmax(
            tf.reshape(x, [-1, 3, 2, 1])),
        "poses_first": layers.spatial_softmax(
            tf.reshape(x, [-1, 1, 3, 2]), 0.5, data_format="NCHW", trainable=False),
        "sequence": layers.images_to_sequence(tf.reshape(x, [-1, 3, 2, 1])),
        "images": layers.sequence_to_images(tf.reshape(x, [2, -1, 1]), 3),
        "indices": sparse.indices, "values": sparse.values,
    }
    return built(tf, fetches, {x: wave(4, 6), labels: [1, 0, 3, 1]}, facts={
        "maxout": raised(layers.maxout, x, 4), "stack": raised(layers.stack, x, layers.relu, 3),
        "embed": raised(layers.embed_sequence, labels)})


@program
def regularizers(tf):
    layers = tf.contrib.layers
    w = tf.get_variable("w", initializer=wave(3, 4))
    tf.add_to_collection("weights", w)
    both = layers.l1_l2_regularizer(0.5, 0.25)
    fetches = {
        "l1": layers.l1_regularizer(0.5)(w), "l2": layers.l2_regularizer(0.5, "mine")(w),
        "both": both(w), "only_l2": layers.l1_l2_regularizer(0.0, 0.5)(w),
        "sum": layers.sum_regularizer([layers.l1_regularizer(0.1), None])(w),
        "applied": layers.apply_regularization(both),
    }
    facts = {
        "zero": repr(layers.l1_regularizer(0.0)(w)), "nothing": repr(layers.sum_regularizer([])),
        "below": raised(layers.l2_regularizer, -1.0), "below1": raised(layers.l1_regularizer, -1.0),
        "integer": raised(layers.l2_regularizer, 1), "integers": raised(
            layers.l1_l2_regularizer, 1, 1.0),
        "rank": raised(layers.apply_regularization, lambda v: v, [w]),
    }
    return built(tf, fetches, {}, facts=facts)


@program
def initializers(tf):
    layers = tf.contrib.layers
    tf.set_random_seed(4)
    fetches = {}
    for i, shape in enumerate([[4, 3], [3, 3, 2, 4], [5], []]):
        fetches[f"xavier{i}"] = layers.xavier_initializer(seed=1)(shape)
        fetches[f"normal{i}"] = layers.xavier_initializer(uniform=False)(shape)
        for mode in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
            fetches[f"{mode}{i}"] = layers.variance_scaling_initializer(mode=mode)(shape)
    facts = {"dtype": raised(layers.xavier_initializer, dtype=tf.int32),
             "mode": raised(layers.variance_scaling_initializer, mode="x")}
    return built(tf, fetches, {}, setup=[], facts=facts)


@program
def a_network_with_scopes(tf):
    slim = tf.contrib.slim
    tf.set_random_seed(5)
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    with slim.arg_scope([slim.conv2d, slim.fully_connected],
                        weights_regularizer=slim.l2_regularizer(0.01),
                        normalizer_fn=slim.batch_norm,
                        normalizer_params={"is_training": True, "decay": 0.9}):
        with slim.arg_scope([slim.conv2d], stride=2, outputs_collections="outs") as scope:
            net = slim.conv2d(x, 4, [3, 3], scope="conv1")
            net = slim.repeat(net, 2, slim.conv2d, 4, [3, 3], stride=1, scope="conv2")
        net = slim.max_pool2d(net, [2, 2], scope="pool")
        with slim.arg_scope(scope):
            net = slim.conv2d(net, 2, [1, 1], scope="conv3")
        net = slim.flatten(net)
        logits = slim.fully_connected(net, 3, activation_fn=None, normalizer_fn=None, scope="fc")
    loss = tf.reduce_mean(tf.square(logits)) + tf.losses.get_regularization_loss()
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies(updates):
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    points = slim.utils.convert_collection_to_dict("outs")
    facts = {"points": ["{} {}".format(*item) for item in points.items()],
             "conv": [v.name for v in slim.get_variables("conv2")],
             "weights": [v.name for v in slim.get_variables_by_name("weights")],
             "scope": [sorted(v) for k, v in sorted(scope.items())]}
    return built(tf, {"loss": loss}, {x: wave(2, 8, 8, 3)}, train=train, steps=3, facts=facts)


@program
def optimizing(tf):
    layers = tf.contrib.layers
    x = tf.get_variable("x", initializer=np.array([1.0, 2.0], np.float32))
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_sum(x * x)
    train = layers.optimize_loss(
        loss, step, 0.1, "SGD", clip_gradients=1.0, gradient_multipliers={x: 0.5},
        learning_rate_decay_fn=lambda lr, s: tf.train.exponential_decay(lr, s, 2, 0.5),
        summaries=["learning_rate", "loss", "gradients", "gradient_norm"])
    facts = {"optimizer": raised(layers.optimize_loss, loss, step, 0.1, "x"),
             "rate": raised(layers.optimize_loss, loss, step, "x", "SGD"),
             "summaries": raised(layers.optimize_loss, loss, step, 0.1, "SGD", summaries=["x"]),
             "summaries_made": [s.name for s in tf.get_collection("summaries")]}
    return built(tf, {"x": x, "step": step}, {}, train=train.op, steps=3, facts=facts)


@program
def summaries(tf):
    layers = tf.contrib.layers
    x = tf.placeholder(tf.float32, [3])
    y = tf.nn.relu6(x, name="y")
    tf.add_to_collection("activations", y)
    layers.summarize_activations()
    layers.summarize_tensor(tf.reduce_sum(x, name="s"))
    layers.summarize_tensors([y, tf.constant(True)])
    layers.summarize_collection("activations", name_filter="z")
    facts = {"made": [s.name for s in tf.get_collection("summaries")]}
    return built(tf, {"y": y}, {x: [-1.0, 2.0, 8.0]}, setup=[], facts=facts)


@program
def slim_training(tf):
    slim = tf.contrib.slim
    tf.set_random_seed(6)
    x = tf.placeholder(tf.float32, [None, 3])
    y = slim.fully_connected(x, 2, normalizer_fn=slim.batch_norm)
    loss = tf.reduce_mean(tf.square(y - 1.0))
    train = slim.learning.create_train_op(
        loss, tf.train.GradientDescentOptimizer(0.1), clip_gradient_norm=0.5,
        summarize_gradients=True, gradient_multipliers={"fully_connected/weights": 2.0})
    weights = slim.get_unique_variable("fully_connected/weights")
    facts = {"list": raised(slim.learning.multiply_gradients, (), {}),
             "empty": raised(slim.learning.multiply_gradients, [], {}),
             "train": [op.name for op in tf.get_collection("train_op")]}
    return built(tf, {"weights": weights}, {x: wave(4, 3)}, train=train.op, steps=3, facts=facts)
