"""tf.layers: arguments that few programs give, and what layers do with scopes and collections."""

from __future__ import annotations

import copy

import numpy as np
from tests.golden.programs.layers.functions import initialized
from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program, raised


@program
def channels_first(tf):
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 2, 4, 4])
    cube = tf.placeholder(tf.float32, [None, 1, 2, 2, 2])
    # TF 1.15 looks for GPUs at the first of these, with a session of Keras that adds nodes for
    # every variable there is; so it comes before all variables.
    first = tf.layers.max_pooling1d(x[:, :, 0], 2, 2, data_format="channels_first")
    fetches = {
        "pool_line": first,
        "image": tf.layers.conv2d(x, 3, 3, data_format="channels_first"),
        "line": tf.layers.conv1d(x[:, :, 0], 3, 2, data_format="channels_first"),
        "cube": tf.layers.conv3d(cube, 2, 2, data_format="channels_first"),
        "up": tf.layers.conv2d_transpose(x, 2, 2, 2, data_format="channels_first"),
        "up_cube": tf.layers.conv3d_transpose(cube, 2, 2, 2, data_format="channels_first"),
        "separable": tf.layers.separable_conv2d(x, 3, 2, data_format="channels_first"),
        "separable_line": tf.layers.separable_conv1d(x[:, :, 0], 3, 2,
                                                     data_format="channels_first"),
        "pool": tf.layers.max_pooling2d(x, 2, 2, data_format="channels_first"),
        "mean_line": tf.layers.average_pooling1d(x[:, :, 0], 2, 2, "same", "channels_first"),
        "pool_cube": tf.layers.average_pooling3d(cube, 2, 1, data_format="channels_first"),
        "flat": tf.layers.flatten(x, data_format="channels_first"),
        "norm": tf.layers.batch_normalization(x, axis=1, training=True),
    }
    facts = {"shapes": [str(fetches[name].shape) for name in sorted(fetches)]}
    # TF 1.15's CPU kernels do not take images with channels first.
    ran = {name: fetches[name] for name in ("up", "pool_line", "mean_line", "pool_cube", "flat")}
    return initialized(tf, ran, {x: wave(1, 2, 4, 4), cube: wave(1, 1, 2, 2, 2)}, facts=facts)


@program
def causal_and_dilated_sequences(tf):
    tf.set_random_seed(2)
    x = tf.placeholder(tf.float32, [None, 6, 2])
    fetches = {
        "causal": tf.layers.conv1d(x, 2, 3, padding="causal"),
        "causal_dilated": tf.layers.conv1d(x, 2, 2, padding="causal", dilation_rate=2),
        "dilated": tf.layers.conv1d(x, 2, 2, dilation_rate=3, activation=tf.nn.relu),
        "separable": tf.layers.separable_conv1d(x, 2, 2, padding="causal", depth_multiplier=2),
    }
    facts = {"shapes": [str(fetches[name].shape) for name in sorted(fetches)],
             "refused": raised(tf.layers.conv2d, x[:, :, None], 2, 3, padding="causal")}
    return initialized(tf, fetches, {x: wave(1, 6, 2)}, facts=facts)


@program
def names_for_activations_and_initializers(tf):
    tf.set_random_seed(3)
    x = tf.placeholder(tf.float32, [None, 3])
    h = tf.layers.dense(x, 4, "relu", kernel_initializer="he_normal")
    h = tf.layers.dense(h, 4, "tanh", kernel_initializer="glorot_normal", bias_initializer="ones")
    h = tf.layers.dense(h, 4, "hard_sigmoid", kernel_initializer="random_uniform")
    h = tf.layers.dense(h, 4, "selu", kernel_initializer="random_normal")
    h = tf.layers.dense(h, 4, "elu", kernel_initializer="truncated_normal")
    h = tf.layers.dense(h, 4, "softplus", kernel_initializer="lecun_uniform")
    h = tf.layers.dense(h, 4, "linear", kernel_regularizer="l2", bias_regularizer="l1_l2",
                        kernel_constraint="max_norm", bias_constraint="non_neg")
    h = tf.layers.dense(tf.layers.dense(h, 4, "sigmoid"), 4, "softsign")
    y = tf.layers.dense(tf.layers.dense(h, 4, "exponential"), 3, "softmax")
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y[:, 0]))
    facts = {"activation": raised(tf.layers.dense, x, 2, "reluu"),
             "initializer": raised(tf.layers.dense, x, 2, kernel_initializer="one_two")}
    return initialized(tf, {"y": y, "losses": losses}, {x: wave(2, 3)}, train=[train], steps=2,
                       facts=facts)


@program
def ghost_batches_and_adjustment(tf):
    tf.set_random_seed(4)
    x = tf.placeholder(tf.float32, [None, 3])
    ghost = tf.layers.batch_normalization(x, virtual_batch_size=2, training=True, momentum=0.5,
                                          name="ghost")
    adjusted = tf.layers.batch_normalization(
        x, training=True, name="adjusted", adjustment=lambda shape: (
            tf.random_uniform(shape[-1:], 0.9, 1.1, seed=1),
            tf.random_uniform(shape[-1:], -0.1, 0.1, seed=2)))
    image = tf.reshape(x, [-1, 1, 1, 3])
    axes = tf.layers.batch_normalization(image, axis=[1, 3], training=True, name="axes")
    bare = tf.layers.batch_normalization(image, center=False, scale=False, training=True)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    fetches = {"ghost": ghost, "adjusted": adjusted, "axes": axes, "bare": bare}
    fetches["gradients"] = tf.gradients(ghost[:, 0] + axes[:, 0, 0, 0], [x])
    run = initialized(tf, fetches, {x: wave(4, 3)})
    return [run, Run({"moving": tf.global_variables()}, {x: wave(4, 3)}, train=[updates], steps=2)]


@program
def normalization_with_a_placeholder(tf):
    training = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [None, 3])
    rows = tf.layers.batch_normalization(x, training=training, momentum=0.5)
    renorm = tf.layers.batch_normalization(x, training=training, renorm=True, name="renorm",
                                           renorm_clipping={"rmin": 0.5, "rmax": 2.0, "dmax": 1.0})
    image = tf.layers.batch_normalization(tf.reshape(x, [-1, 1, 1, 3]), training=training)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    facts = {"updates": [u.name for u in updates]}
    fetches = {"rows": rows, "renorm": renorm, "image": image}
    run = initialized(tf, fetches, {x: wave(4, 3), training: False}, facts=facts)
    return [run, Run({"variables": tf.global_variables()}, {x: wave(4, 3), training: True},
                     train=[updates], steps=2)]


@program
def normalization_with_numbers_for_training(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    variable = tf.get_variable("training", initializer=True, trainable=False)
    fetches = {
        "one": tf.layers.batch_normalization(x, training=1),
        "zero": tf.layers.batch_normalization(x, training=0),
        "constant": tf.layers.batch_normalization(x, training=tf.constant(True)),
        "variable": tf.layers.batch_normalization(x, training=variable),
        "frozen": tf.layers.batch_normalization(x, training=True, trainable=False),
        "half": tf.layers.batch_normalization(tf.cast(x, tf.float16), training=True),
    }
    return initialized(tf, fetches, {x: wave(4, 3)},
                       facts={"updates": len(tf.get_collection(tf.GraphKeys.UPDATE_OPS))})


@program
def losses_and_updates_of_a_layer(tf):
    class Measured(tf.layers.Layer):
        def build(self, input_shape):
            self.total = self.add_variable(
                "total", [int(input_shape[-1])], initializer=tf.zeros_initializer(),
                trainable=False)
            self.scale = self.add_weight("scale", [], initializer=tf.ones_initializer(),
                                         regularizer=tf.nn.l2_loss)
            self.built = True

        def call(self, inputs, training=None):
            self.add_update(tf.assign_add(self.total, tf.reduce_sum(inputs, 0)), inputs=True)
            self.add_update(tf.assign(self.scale, 2.0))
            self.add_loss(tf.reduce_mean(inputs), inputs=inputs)
            self.add_loss(tf.constant(1.0))
            self.add_loss(lambda: tf.square(self.scale))
            return inputs * self.scale

    x = tf.placeholder(tf.float32, [None, 2], name="x")
    z = tf.placeholder(tf.float32, [None, 2], name="z")
    layer = Measured()
    y = layer.apply(x)
    facts = {
        "name": [layer.name, layer.scope_name, layer.dtype],
        "weights": [[v.name for v in layer.trainable_weights],
                    [v.name for v in layer.non_trainable_weights], layer.count_params()],
        "updates": [[u.name for u in layer.get_updates_for(inputs)] for inputs in (None, x, z)],
        "losses": [len(layer.get_losses_for(inputs)) for inputs in (None, x, z)],
        "collections": [len(tf.get_collection(name)) for name in
                        (tf.GraphKeys.UPDATE_OPS, tf.GraphKeys.REGULARIZATION_LOSSES)],
    }
    layer.trainable = False
    facts["frozen"] = [len(layer.trainable_weights), len(layer.weights), len(layer.updates)]
    return initialized(tf, {"y": y, "losses": tf.losses.get_regularization_losses()},
                       {x: wave(3, 2)}, facts=facts)


@program
def calling_layers_again(tf):
    tf.set_random_seed(5)
    x = tf.placeholder(tf.float32, [None, 2])
    layer = tf.layers.Dense(2, name="mine", activity_regularizer=tf.nn.l2_loss)
    twin = copy.deepcopy(layer)
    first = layer(x)
    with tf.name_scope("elsewhere"):
        second = layer(first)
    with tf.variable_scope("other"):
        third = twin(second)
        fourth = tf.layers.Dense(1)(third, scope="chosen")
    facts = {"tensors": [t.name for t in (first, second, third, fourth)],
             "losses": [loss.name for loss in layer.losses],
             "default": tf.layers.Dense(1).name,
             "unused": raised(lambda: tf.layers.Dense(1).scope_name),
             "unbuilt": raised(tf.layers.Dense(1, name="unbuilt").count_params),
             "config": sorted(tf.layers.Dropout(0.5, name="d").get_config().items())}
    return initialized(tf, {"y": fourth}, {x: wave(2, 2)}, facts=facts)


@program
def keras_style(tf):
    tf.set_random_seed(6)
    x = tf.placeholder(tf.float32, [None, 2])
    with tf.layers.experimental.keras_style_scope():
        layers = [tf.layers.Dense(2, name="same"), tf.layers.Dense(2, name="same")]
        y = layers[1](layers[0](x))
        facts = {"scope": raised(tf.layers.dense, x, 2, name="named"),
                 "reuse": raised(tf.layers.Dense, 2, _reuse=True)}
    facts["weights"] = [[v.name for v in layer.weights] for layer in layers]
    return initialized(tf, {"y": y}, {x: wave(2, 2)}, facts=facts)


@program
def partitioned_layers(tf):
    tf.set_random_seed(7)
    x = tf.placeholder(tf.float32, [None, 4])
    with tf.variable_scope("split", partitioner=tf.fixed_size_partitioner(2)):
        layer = tf.layers.Dense(2, kernel_regularizer=tf.nn.l2_loss)
        h = layer(x)
        h = tf.layers.batch_normalization(h, training=True)
        y = tf.layers.conv1d(h[:, None], 2, 1, use_bias=False)
    facts = {"counts": [len(layer.trainable_weights), len(layer.non_trainable_weights)]}
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    return initialized(tf, {"y": y, "losses": losses}, {x: wave(3, 4)}, facts=facts)


@program
def variables_of_scopes(tf):
    tf.set_random_seed(8)
    x = tf.placeholder(tf.float64, [None, 3])

    def getter(getter, name, *args, **kwargs):
        kwargs["trainable"] = False
        return getter(name, *args, **kwargs)

    with tf.variable_scope("resources", use_resource=True):
        h = tf.layers.dense(x, 2)
    with tf.variable_scope("got", custom_getter=getter):
        layer = tf.layers.Dense(2)
        h = layer(h)
    with tf.variable_scope("deep"):
        with tf.variable_scope("deeper", reuse=tf.AUTO_REUSE):
            y = [tf.layers.dense(h, 2, name="d") for _ in range(2)]
            y.append(tf.layers.dense(h, 2))
    facts = {"getter": [len(layer.trainable_weights), len(layer.non_trainable_weights)],
             "dtype": layer.dtype, "names": [t.name for t in y]}
    return initialized(tf, {"y": y}, {x: wave(2, 3)}, facts=facts)


@program
def dense_of_any_rank(tf):
    tf.set_random_seed(9)
    known = tf.placeholder(tf.float32, [2, 3, 4])
    partly = tf.placeholder(tf.float32, [None, None, 4])
    fetches = {
        "known": tf.layers.dense(known, 2, tf.nn.relu),
        "partly": tf.layers.dense(partly, 2, use_bias=False),
        "deep": tf.layers.dense(partly[:, :, None], 3),
        "array": tf.layers.dense(np.ones([2, 4], np.float32), 2),
        "complex": tf.layers.dense(tf.complex(known[0], known[1]), 1,
                                   kernel_initializer=tf.ones_initializer()),
    }
    facts = {"shapes": [str(fetches[name].shape) for name in sorted(fetches)],
             "integers": raised(tf.layers.dense, tf.constant([[1, 2]]), 2),
             "unknown": raised(tf.layers.dense, tf.placeholder(tf.float32), 2),
             "vector": raised(tf.layers.dense, tf.constant([1.0]), 2)}
    return initialized(tf, fetches, {known: wave(2, 3, 4), partly: wave(1, 2, 4)}, facts=facts)


@program
def refusals(tf):
    x = tf.placeholder(tf.float32, [None, 4, 4, 2])
    layers = tf.layers
    layer = layers.Conv2D(2, 3)
    layer(x)
    plain = tf.autograph.experimental.do_not_convert
    facts = {
        "other_channels": raised(layer, tf.placeholder(tf.float32, [None, 4, 4, 3])),
        "nothing": raised(type("Nothing", (layers.Layer,), {"call": lambda self, x: None})(), x),
        "truth": raised(type("Truth", (layers.Layer,),
                             {"call": plain(lambda self, x: x if x[0, 0, 0, 0] > 0 else -x)})(),
                        x),
        "argument": raised(layers.Dense, 2, size=3),
        "tuple": raised(layers.conv2d, x, 2, "ab"),
        "strides": raised(layers.max_pooling2d, x, 2, None),
        "data_format": raised(layers.conv2d, x, 2, 3, data_format="NHWC"),
        "axis_type": raised(layers.batch_normalization, x, axis=1.5),
        "axes": raised(layers.batch_normalization, x, axis=[1, -3]),
        "unknown_axis": raised(layers.batch_normalization, tf.placeholder(tf.float32, [2, None])),
        "clipping": raised(layers.batch_normalization, x, renorm=True, renorm_clipping={"r": 1}),
        "ghost": raised(layers.batch_normalization, x, virtual_batch_size=0),
        "ghost_axis": raised(layers.batch_normalization, x, virtual_batch_size=2, axis=0),
        "spec": raised(setattr, layer, "input_spec", "any"),
        "spec_axis": raised(layers.InputSpec, ndim=2, axes={2: 3}),
        "spec_keys": raised(layers.InputSpec, axes={"a": 3}),
        "option": raised(layer.add_weight, "w", [2], size=3),
        "output": raised(lambda: layer.output),
        "input_shape": raised(lambda: layer.input_shape),
    }
    return Run(facts=facts)


@program
def noise_shapes(tf):
    tf.set_random_seed(10)
    x = tf.placeholder(tf.float32, [None, 2, 3])
    training = tf.placeholder(tf.bool, [])
    fetches = {
        "by_row": tf.layers.dropout(x, 0.5, noise_shape=[None, 1, None], training=True),
        "switched": tf.layers.dropout(x, 0.5, noise_shape=[None, 2, 1], training=training, seed=3),
        "rate": tf.layers.dropout(x, tf.constant(0.25), training=training),
        "none": tf.layers.dropout(x, 0.0, training=True),
    }
    return Run(fetches, {x: np.ones([2, 2, 3]), training: True}, steps=2)
