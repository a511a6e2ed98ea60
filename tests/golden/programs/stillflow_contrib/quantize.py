"""tf.contrib.quantize: graphs rewritten so that training knows of rounding."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

# What is on the edge between two integers is rounded either way, and training goes on from there.
rounds = {"rtol": 1e-2, "atol": 1e-4,
          "reason": "one ulp decides which of two integers a value becomes"}


def image(tf, channels=3, size=8):
    return tf.placeholder(tf.float32, [4, size, size, channels], name="image")


def pictures(steps=1, channels=3, size=8):
    draw = np.random.RandomState(7)
    return [draw.rand(4, size, size, channels).astype(np.float32) for _ in range(steps)]


def normalized(tf, is_training=True, fused=True, **more):
    """Return the settings of a layer with a batch normalization."""
    params = dict({"is_training": is_training, "fused": fused, "decay": 0.9}, **more)
    return {"normalizer_fn": tf.contrib.slim.batch_norm, "normalizer_params": params}


def small_net(tf, inputs, is_training=True, fused=True, **more):
    """Return a convolution, a separable one, a fully connected layer."""
    slim = tf.contrib.slim
    with slim.arg_scope([slim.conv2d, slim.separable_conv2d], activation_fn=tf.nn.relu6,
                        **normalized(tf, is_training, fused, **more)):
        net = slim.conv2d(inputs, 4, 3, stride=2, scope="conv")
        net = slim.separable_conv2d(net, None, 3, 1, scope="depthwise")
        net = slim.conv2d(net, 6, 1, scope="pointwise")
    net = slim.flatten(net)
    return slim.fully_connected(net, 3, activation_fn=None, scope="logits")


def ranges(tf):
    return {v.op.name: v for v in tf.global_variables() if v.op.name.endswith(("/min", "/max"))}


def collections(tf):
    keys = (tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.TRAINABLE_VARIABLES,
            tf.GraphKeys.UPDATE_OPS, tf.GraphKeys.MOVING_AVERAGE_VARIABLES)
    return {key: [getattr(item, "op", item).name for item in tf.get_collection(key)]
            for key in keys}


def trained(tf, logits, inputs, steps=4, update_averages=False):
    """Trains what was rewritten.

    A reference variable may be read after it is updated in the same step, or before: which, is not
    said. So averages are updated where they are resource variables only.
    """
    labels = tf.constant([0, 1, 2, 1])
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train = tf.contrib.training.create_train_op(
        loss, tf.train.GradientDescentOptimizer(0.05),
        **({} if update_averages else {"update_ops": []}))
    return Run(ranges(tf), [{inputs: value} for value in pictures(steps)],
               setup=[tf.global_variables_initializer()], train=train, steps=steps,
               facts={"collections": collections(tf)})


def forward(tf, outputs, inputs, **more):
    return Run({"outputs": outputs}, {inputs: pictures(channels=inputs.shape[-1])[0]},
               setup=[tf.global_variables_initializer()],
               facts=dict({"collections": collections(tf)}, **more))


@program(**rounds)
def training(tf):
    tf.set_random_seed(1)
    inputs = image(tf)
    logits = small_net(tf, inputs)
    tf.contrib.quantize.create_training_graph()
    return trained(tf, logits, inputs)


@program(**rounds)
def training_unfused(tf):
    tf.set_random_seed(2)
    inputs = image(tf)
    logits = small_net(tf, inputs, fused=False, scale=True)
    tf.contrib.quantize.create_training_graph(tf.get_default_graph())
    return trained(tf, logits, inputs)


@program(**rounds)
def training_delayed_and_frozen(tf):
    tf.set_random_seed(3)
    tf.get_variable_scope().set_use_resource(True)
    inputs = image(tf)
    logits = small_net(tf, inputs, scale=True)
    tf.contrib.quantize.experimental_create_training_graph(quant_delay=2, freeze_bn_delay=4)
    return trained(tf, logits, inputs, steps=6, update_averages=True)


@program(**rounds)
def training_unfused_delayed_and_frozen(tf):
    tf.set_random_seed(4)
    tf.get_variable_scope().set_use_resource(True)
    inputs = image(tf)
    logits = small_net(tf, inputs, fused=False)
    tf.contrib.quantize.experimental_create_training_graph(quant_delay=1, freeze_bn_delay=2)
    return trained(tf, logits, inputs, update_averages=True)


@program(**rounds)
def training_symmetric_of_few_bits(tf):
    tf.set_random_seed(5)
    inputs = image(tf)
    logits = small_net(tf, inputs)
    tf.contrib.quantize.experimental_create_training_graph(
        weight_bits=4, activation_bits=6, symmetric=True)
    return trained(tf, logits, inputs)


@program(**rounds)
def training_resource_variables(tf):
    tf.set_random_seed(6)
    inputs = image(tf)
    with tf.variable_scope("net", use_resource=True):
        logits = small_net(tf, inputs, scale=True)
    tf.contrib.quantize.create_training_graph(quant_delay=2)
    return trained(tf, logits, inputs, update_averages=True)


@program(**rounds)
def training_unfused_resource_variables(tf):
    tf.set_random_seed(6)
    inputs = image(tf)
    tf.get_variable_scope().set_use_resource(True)
    logits = small_net(tf, inputs, fused=False, scale=True)
    tf.contrib.quantize.create_training_graph(quant_delay=2)
    return trained(tf, logits, inputs, update_averages=True)


@program(**rounds)
def training_updated_in_place(tf):
    tf.set_random_seed(8)
    tf.get_variable_scope().set_use_resource(True)
    inputs = image(tf)
    logits = small_net(tf, inputs, updates_collections=None)
    tf.contrib.quantize.create_training_graph()
    return trained(tf, logits, inputs, update_averages=True)


@program(**rounds)
def training_in_a_scope(tf):
    tf.set_random_seed(9)
    inputs = image(tf)
    slim = tf.contrib.slim
    with tf.variable_scope("one"):
        net = slim.conv2d(inputs, 4, 3, scope="conv", **normalized(tf))
    with tf.variable_scope("two"):
        net = slim.conv2d(net, 4, 3, scope="conv", **normalized(tf))
    logits = slim.fully_connected(slim.flatten(net), 3, activation_fn=None, scope="logits")
    tf.contrib.quantize.experimental_create_training_graph(scope="two")
    return trained(tf, logits, inputs)


@program
def evaluation(tf):
    tf.set_random_seed(1)
    inputs = image(tf)
    logits = small_net(tf, inputs, is_training=False)
    tf.contrib.quantize.create_eval_graph()
    return forward(tf, logits, inputs)


@program
def evaluation_unfused(tf):
    tf.set_random_seed(2)
    inputs = image(tf)
    logits = small_net(tf, inputs, is_training=False, fused=False)
    tf.contrib.quantize.create_eval_graph()
    return forward(tf, logits, inputs)


@program
def evaluation_experimental(tf):
    tf.set_random_seed(3)
    inputs = image(tf)
    logits = small_net(tf, inputs, is_training=False)
    tf.contrib.quantize.experimental_create_eval_graph(
        weight_bits=5, activation_bits=7, symmetric=True, quant_delay=3)
    return forward(tf, logits, inputs)


@program(**rounds)
def no_normalization(tf):
    tf.set_random_seed(1)
    slim = tf.contrib.slim
    inputs = image(tf)
    net = slim.conv2d(inputs, 4, 3, scope="conv")
    net = slim.conv2d(net, 4, 3, activation_fn=None, scope="linear")
    net = slim.max_pool2d(net, 2, scope="pool")
    net = slim.separable_conv2d(net, 5, 3, 2, scope="separable")
    net = tf.layers.dense(slim.flatten(net), 6, tf.nn.relu6, name="dense")
    logits = slim.fully_connected(net, 3, activation_fn=None, scope="logits")
    tf.contrib.quantize.create_training_graph()
    return trained(tf, logits, inputs)


def residual(tf, fused, activation):
    """Return a block whose input is added before and after activations."""
    slim = tf.contrib.slim
    inputs = image(tf, 4)
    with tf.variable_scope("block"):
        beside = slim.conv2d(inputs, 4, 1, scope="beside", **normalized(tf, fused=fused))
        net = slim.conv2d(beside, 4, 3, activation_fn=None, scope="before",
                          **normalized(tf, fused=fused))
        net = activation(tf.add(beside, net, name="AddV2" if not fused else "sum"))
        after = slim.conv2d(net, 4, 3, scope="after", **normalized(tf, fused=fused))
        net = net + after
    tf.contrib.quantize.create_training_graph()
    return inputs, net


@program
def bypasses(tf):
    tf.set_random_seed(11)
    inputs, net = residual(tf, True, tf.nn.relu)
    return forward(tf, net, inputs)


@program
def bypasses_without_activation(tf):
    tf.set_random_seed(12)
    inputs, net = residual(tf, True, tf.tanh)
    return forward(tf, net, inputs)


@program
def bypasses_unfused(tf):
    tf.set_random_seed(13)
    inputs, net = residual(tf, False, tf.nn.relu6)
    return forward(tf, net, inputs)


@program
def sums_and_products(tf):
    tf.set_random_seed(14)
    slim = tf.contrib.slim
    inputs = image(tf)
    net = slim.conv2d(inputs, 4, 3, scope="conv", **normalized(tf))
    scaled = net * 1.5
    shifted = tf.add(scaled, net)
    pooled = tf.reduce_max(tf.reshape(shifted, [4, 64, 4]), 1)
    outputs = tf.nn.relu(pooled * 0.5 + 1.0)
    tf.contrib.quantize.create_training_graph()
    return forward(tf, outputs, inputs)


@program
def dilated(tf):
    tf.set_random_seed(15)
    slim = tf.contrib.slim
    inputs = image(tf)
    net = slim.separable_conv2d(inputs, None, 3, 1, rate=2, scope="depthwise", **normalized(tf))
    outputs = slim.separable_conv2d(net, None, 3, 1, rate=2, scope="unfused",
                                    **normalized(tf, fused=False))
    tf.contrib.quantize.create_training_graph()
    return forward(tf, outputs, inputs)


@program(fails=True)
def dilated_convolution(tf):
    slim = tf.contrib.slim
    slim.conv2d(image(tf), 4, 3, rate=2, scope="conv", **normalized(tf))
    tf.contrib.quantize.create_training_graph()


@program
def matrix_products(tf):
    tf.set_random_seed(16)
    slim = tf.contrib.slim
    inputs = tf.placeholder(tf.float32, [4, 5])
    net = slim.fully_connected(inputs, 6, scope="fused", **normalized(tf))
    net = slim.fully_connected(net, 7, scope="unfused", **normalized(tf, fused=False))
    tf.contrib.quantize.create_training_graph()
    return Run({"outputs": net}, {inputs: np.linspace(-1, 1, 20).reshape(4, 5)},
               setup=[tf.global_variables_initializer()])


@program
def partitioned_weights(tf):
    tf.set_random_seed(17)
    slim = tf.contrib.slim
    inputs = image(tf)
    with tf.variable_scope("net", partitioner=tf.fixed_size_partitioner(2)):
        net = slim.conv2d(inputs, 4, 4, activation_fn=None, scope="conv")
        outputs = tf.identity(net, name="outputs")
    tf.contrib.quantize.create_training_graph()
    return forward(tf, outputs, inputs)


@program
def identity_before_normalization(tf):
    tf.set_random_seed(18)
    slim = tf.contrib.slim
    inputs = image(tf)
    net = slim.conv2d(inputs, 4, 3, activation_fn=None, biases_initializer=None, scope="conv")
    net = tf.identity(net, name="conv_out")
    net = slim.batch_norm(net, decay=0.9, fused=True, scope="norm")
    outputs = tf.nn.relu(net)
    tf.contrib.quantize.create_training_graph()
    return forward(tf, outputs, inputs)


@program
def keras_layers(tf):
    tf.set_random_seed(19)
    inputs = image(tf)
    net = tf.layers.conv2d(inputs, 4, 3, use_bias=False, name="conv")
    net = tf.nn.relu(tf.layers.batch_normalization(net, training=True, name="norm"))
    outputs = tf.layers.conv2d(net, 4, 3, activation=tf.nn.relu, name="last")
    tf.contrib.quantize.create_training_graph()
    return forward(tf, outputs, inputs)


@program
def within_a_name_scope(tf):
    tf.set_random_seed(20)
    slim = tf.contrib.slim
    inputs = image(tf)
    with tf.name_scope("tower"):
        net = slim.conv2d(inputs, 4, 3, scope="conv", **normalized(tf))
        tf.contrib.quantize.create_training_graph(quant_delay=5)
    return forward(tf, net, inputs)


@program
def refused(tf):
    x = tf.get_variable("x", initializer=1.0)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(x * x)
    facts = {"training": raised(tf.contrib.quantize.create_training_graph),
             "evaluation": raised(tf.contrib.quantize.create_eval_graph)}
    return Run({"x": x}, setup=[tf.global_variables_initializer()], train=train, facts=facts)


@program(fails=True)
def dangling_average(tf):
    inputs = image(tf)
    weights = tf.get_variable("weights", [3, 3, 3, 4])
    net = tf.nn.conv2d(inputs, weights, [1, 1, 1, 1], "SAME")
    net, _, _ = tf.nn.fused_batch_norm(net, tf.ones([4]), tf.zeros([4]))
    tf.nn.relu(net)
    tf.contrib.quantize.create_training_graph()
