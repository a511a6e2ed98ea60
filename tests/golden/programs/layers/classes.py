"""tf.layers in class form: attributes, calling twice, layers of one's own."""

from __future__ import annotations

from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program, raised


@program
def dense_class(tf):
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 3])
    layer = tf.layers.Dense(2, activation=tf.nn.sigmoid, name="fc")
    before = layer.built
    y, z = layer(x), layer(x * 2.0)
    facts = {
        "attributes": [layer.name, layer.units, layer.use_bias, before, layer.built],
        "variables": [v.name for v in layer.variables],
        "trainable": [v.name for v in layer.trainable_weights],
        "weights": [layer.kernel.name, layer.bias.name],
        "output": str(layer.compute_output_shape([None, 3])),
        "count": layer.count_params(),
        "spec": layer.input_spec.min_ndim,
        "scope": layer.scope_name,
    }
    return Run({"y": y, "z": z}, {x: wave(2, 3)}, setup=[tf.global_variables_initializer()],
               facts=facts)


@program
def convolution_classes(tf):
    tf.set_random_seed(2)
    x = tf.placeholder(tf.float32, [None, 5, 5, 2])
    conv = tf.layers.Conv2D(3, 3, padding="same", activation=tf.nn.relu)
    up = tf.layers.Conv2DTranspose(2, 2, strides=2)
    separable = tf.layers.SeparableConv2D(2, 3)
    pool = tf.layers.MaxPooling2D(2, 2)
    flat = tf.layers.Flatten()
    y = flat(pool(separable(up(conv(x)))))
    line = tf.layers.Conv1D(2, 3)(x[:, 0])
    narrow = tf.layers.SeparableConv1D(2, 3)(x[:, 0])
    average = tf.layers.AveragePooling2D(2, 1)(x)
    facts = {"variables": [v.name for v in tf.global_variables()],
             "shapes": [str(t.shape) for t in (y, line, narrow, average)],
             "output": str(conv.compute_output_shape([None, 5, 5, 2]))}
    return Run({"y": y, "line": line, "narrow": narrow, "average": average},
               {x: wave(1, 5, 5, 2)}, setup=[tf.global_variables_initializer()], facts=facts)


@program
def batch_normalization_class(tf):
    x = tf.placeholder(tf.float32, [None, 2, 2, 3])
    layer = tf.layers.BatchNormalization(momentum=0.5, name="bn")
    y = layer.apply(x, training=True)
    z = layer(x, training=False)
    facts = {"updates": [u.name for u in layer.updates],
             "collection": len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)),
             "weights": [v.name for v in layer.weights],
             "trainable": [v.name for v in layer.trainable_variables],
             "moving": [v.name for v in layer.non_trainable_variables]}
    fetches = {"y": y, "z": z}
    return [
        Run(fetches, {x: wave(2, 2, 2, 3)}, setup=[tf.global_variables_initializer()], facts=facts),
        Run({"moving": [layer.moving_mean, layer.moving_variance]}, {x: wave(2, 2, 2, 3)},
            train=[layer.updates], steps=2),
    ]


@program
def a_layer_of_ones_own(tf):
    class Scale(tf.layers.Layer):
        def build(self, input_shape):
            self.factor = self.add_variable("factor", [int(input_shape[-1])],
                                            initializer=tf.constant_initializer(2.0),
                                            regularizer=tf.nn.l2_loss)
            self.offset = self.add_weight("offset", shape=[], initializer=tf.zeros_initializer(),
                                          trainable=False)
            self.built = True

        def call(self, inputs):
            self.add_loss(tf.reduce_sum(inputs), inputs=True)
            return inputs * self.factor + self.offset

    x = tf.placeholder(tf.float32, [None, 2])
    layer = Scale(name="scale")
    y = layer(x)
    facts = {"names": [v.name for v in layer.variables], "losses": len(layer.losses),
             "frozen": [v.name for v in layer.non_trainable_weights]}
    return Run({"y": y, "losses": tf.losses.get_regularization_losses()}, {x: [[1.0, 2.0]]},
               setup=[tf.global_variables_initializer()], facts=facts)


@program
def layers_in_scopes(tf):
    tf.set_random_seed(3)
    x = tf.placeholder(tf.float32, [None, 2])
    first = tf.layers.Dense(2)
    with tf.variable_scope("a"):
        second = tf.layers.Dense(2)
        h = first(x)
    with tf.variable_scope("b"):
        y = second(h)
        z = second(y)
    return Run({"y": y, "z": z}, {x: wave(2, 2)}, setup=[tf.global_variables_initializer()],
               facts={"names": [v.name for v in tf.global_variables()],
                      "ops": [h.name, y.name, z.name]})


@program
def input_specs(tf):
    spec = tf.layers.InputSpec(shape=[None, 4], dtype=tf.float32)
    ranks = tf.layers.InputSpec(min_ndim=2, max_ndim=4, axes={-1: 3})
    layer = tf.layers.Dense(2)
    layer(tf.zeros([1, 3]))
    facts = {"spec": [str(spec.shape), spec.ndim, str(spec.dtype)],
             "ranks": [ranks.min_ndim, ranks.max_ndim, str(ranks.axes)],
             "mismatch": raised(layer, tf.zeros([1, 5])),
             "rank": raised(tf.layers.Dense(1), tf.zeros([3]))}
    return Run(facts=facts)
