"""Whole small models, trained for a few steps as a TF1 user would."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program

LAST_DIGITS = "rounding differences grow over training steps"
rng = np.random.RandomState(7)
IMAGES = rng.rand(8, 6, 6, 1).astype(np.float32)
PIXELS = rng.rand(8, 12).astype(np.float32)
CLASSES = rng.randint(0, 4, 8)
ONE_HOT = np.eye(4, dtype=np.float32)[CLASSES]


def init(tf):
    return [tf.global_variables_initializer()]


@program
def linear_regression(tf):
    x, y = tf.placeholder("float"), tf.placeholder("float")
    w = tf.Variable(0.3, name="weight")
    b = tf.Variable(-0.1, name="bias")
    prediction = tf.add(tf.multiply(x, w), b)
    cost = tf.reduce_sum(tf.pow(prediction - y, 2)) / (2 * 4)
    optimizer = tf.train.GradientDescentOptimizer(0.01).minimize(cost)
    feed = {x: [3.3, 4.4, 5.5, 6.7], y: [1.7, 2.76, 2.09, 3.19]}
    return Run({"w": w, "b": b, "cost": cost}, feed, setup=init(tf), train=optimizer, steps=5)


@program
def softmax_regression(tf):
    x = tf.placeholder(tf.float32, [None, 12])
    y_ = tf.placeholder(tf.float32, [None, 4])
    w = tf.Variable(tf.zeros([12, 4]))
    b = tf.Variable(tf.zeros([4]))
    y = tf.nn.softmax(tf.matmul(x, w) + b)
    cross_entropy = tf.reduce_mean(-tf.reduce_sum(y_ * tf.log(y), reduction_indices=[1]))
    train_step = tf.train.GradientDescentOptimizer(0.5).minimize(cross_entropy)
    correct = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    return Run({"w": w, "accuracy": accuracy, "loss": cross_entropy}, {x: PIXELS, y_: ONE_HOT},
               setup=[tf.initialize_all_variables()], train=train_step, steps=5)


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def multilayer_perceptron_with_adam(tf):
    tf.set_random_seed(42)
    x = tf.placeholder(tf.float32, [None, 12], name="x")
    y = tf.placeholder(tf.int64, [None], name="y")
    weights = {
        "h1": tf.Variable(tf.random_normal([12, 8], stddev=0.1)),
        "h2": tf.Variable(tf.truncated_normal([8, 8], stddev=0.1)),
        "out": tf.Variable(tf.random_normal([8, 4])),
    }
    biases = {k: tf.Variable(tf.constant(0.1, shape=[n])) for k, n in
              [("b1", 8), ("b2", 8), ("out", 4)]}
    h1 = tf.nn.relu(tf.add(tf.matmul(x, weights["h1"]), biases["b1"]))
    h2 = tf.nn.tanh(tf.matmul(h1, weights["h2"]) + biases["b2"])
    logits = tf.matmul(h2, weights["out"]) + biases["out"]
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=y))
    train = tf.train.AdamOptimizer(learning_rate=0.01).minimize(loss)
    return Run({"logits": logits}, {x: PIXELS, y: CLASSES}, setup=init(tf), train=[train, loss],
               steps=10)


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def convolutional_network_with_dropout(tf):
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 36])
    y = tf.placeholder(tf.float32, [None, 4])
    keep_prob = tf.placeholder(tf.float32)

    def weight_variable(shape):
        return tf.Variable(tf.truncated_normal(shape, stddev=0.1))

    def bias_variable(shape):
        return tf.Variable(tf.constant(0.1, shape=shape))

    image = tf.reshape(x, [-1, 6, 6, 1])
    with tf.name_scope("conv1"):
        kernel, bias = weight_variable([3, 3, 1, 4]), bias_variable([4])
        h = tf.nn.relu(tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "SAME") + bias)
        h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    with tf.name_scope("fc1"):
        flat = tf.reshape(h, [-1, 3 * 3 * 4])
        h = tf.nn.relu(tf.matmul(flat, weight_variable([36, 10])) + bias_variable([10]))
    with tf.name_scope("dropout"):
        h = tf.nn.dropout(h, keep_prob)
    logits = tf.matmul(h, weight_variable([10, 4])) + bias_variable([4])
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), tf.float32))
    feed = {x: IMAGES.reshape(8, 36), y: ONE_HOT}
    training, testing = dict(feed), dict(feed)
    training[keep_prob], testing[keep_prob] = 0.5, 1.0
    return [Run(feeds=training, setup=init(tf), train=[train, loss], steps=4),
            Run({"accuracy": accuracy, "logits": logits}, testing)]


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def residual_network_with_batch_norm(tf):
    tf.set_random_seed(2)
    images = tf.placeholder(tf.float32, [None, 6, 6, 1])
    labels = tf.placeholder(tf.int32, [None])
    training = tf.placeholder(tf.bool, name="training")

    def conv(x, filters, strides=1, size=3):
        return tf.layers.conv2d(x, filters, size, strides, "same", use_bias=False,
                                kernel_initializer=tf.variance_scaling_initializer(),
                                kernel_regularizer=lambda w: 1e-4 * tf.nn.l2_loss(w))

    def norm_relu(x):
        x = tf.layers.batch_normalization(x, momentum=0.9, epsilon=1e-5, training=training,
                                          fused=True)
        return tf.nn.relu(x)

    def block(x, filters, strides):
        pre = norm_relu(x)
        shortcut = x if strides == 1 else conv(pre, filters, strides, 1)
        return conv(norm_relu(conv(pre, filters, strides)), filters) + shortcut

    h = conv(images, 4)
    with tf.variable_scope("stage1"):
        h = block(h, 4, 1)
    with tf.variable_scope("stage2"):
        h = block(h, 6, 2)
    h = tf.reduce_mean(norm_relu(h), [1, 2])
    logits = tf.layers.dense(h, 4, name="logits")
    xent = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.piecewise_constant(tf.cast(step, tf.int32), [2, 4], [0.1, 0.01, 0.001])
    loss = tf.losses.get_total_loss()
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=step)
    feed = {images: IMAGES, labels: CLASSES, training: True}
    test = dict(feed)
    test[training] = False
    facts = {"variables": [v.name for v in tf.global_variables()]}
    return [Run(feeds=feed, setup=init(tf), train=[train, xent], steps=4, facts=facts),
            Run({"logits": logits, "loss": loss, "rate": rate}, test)]


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def autoencoder(tf):
    tf.set_random_seed(3)
    x = tf.placeholder("float", [None, 12])
    weights = {
        "encoder": tf.Variable(tf.random_normal([12, 5])),
        "decoder": tf.Variable(tf.random_normal([5, 12])),
    }
    biases = {"encoder": tf.Variable(tf.random_normal([5])),
              "decoder": tf.Variable(tf.random_normal([12]))}
    code = tf.nn.sigmoid(tf.add(tf.matmul(x, weights["encoder"]), biases["encoder"]))
    output = tf.nn.sigmoid(tf.add(tf.matmul(code, weights["decoder"]), biases["decoder"]))
    loss = tf.reduce_mean(tf.pow(x - output, 2))
    train = tf.train.RMSPropOptimizer(0.01).minimize(loss)
    return Run({"code": code}, {x: PIXELS}, setup=init(tf), train=[train, loss], steps=5)


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def variational_autoencoder(tf):
    tf.set_random_seed(4)
    x = tf.placeholder(tf.float32, [None, 12])
    with tf.variable_scope("encoder"):
        h = tf.layers.dense(x, 6, tf.nn.elu)
        mean = tf.layers.dense(h, 2)
        log_variance = tf.layers.dense(h, 2)
    noise = tf.random_normal(tf.shape(mean))
    z = mean + tf.exp(0.5 * log_variance) * noise
    with tf.variable_scope("decoder"):
        logits = tf.layers.dense(tf.layers.dense(z, 6, tf.nn.elu), 12)
    reconstruction = tf.reduce_sum(
        tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), 1)
    divergence = -0.5 * tf.reduce_sum(
        1 + log_variance - tf.square(mean) - tf.exp(log_variance), 1)
    loss = tf.reduce_mean(reconstruction + divergence)
    train = tf.train.AdamOptimizer(0.01).minimize(loss)
    return Run({"mean": mean}, {x: PIXELS}, setup=init(tf), train=[train, loss], steps=5)


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def word2vec_with_nce(tf):
    tf.set_random_seed(5)
    vocabulary, size = 20, 6
    inputs = tf.placeholder(tf.int32, shape=[4])
    labels = tf.placeholder(tf.int32, shape=[4, 1])
    with tf.device("/cpu:0"):
        embeddings = tf.Variable(tf.random_uniform([vocabulary, size], -1.0, 1.0))
        embed = tf.nn.embedding_lookup(embeddings, inputs)
        weights = tf.Variable(
            tf.truncated_normal([vocabulary, size], stddev=1.0 / np.sqrt(size)))
        biases = tf.Variable(tf.zeros([vocabulary]))
    loss = tf.reduce_mean(tf.nn.nce_loss(weights=weights, biases=biases, labels=labels,
                                         inputs=embed, num_sampled=5, num_classes=vocabulary))
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
    normalized = embeddings / norm
    similar = tf.matmul(tf.nn.embedding_lookup(normalized, [1, 2]), normalized, transpose_b=True)
    feeds = [{inputs: [1, 2, 3, 4], labels: [[2], [3], [4], [5]]},
             {inputs: [7, 7, 1, 0], labels: [[8], [6], [2], [19]]}]
    return [Run(feeds=feeds, setup=init(tf), train=[train, loss], steps=4),
            Run({"similar": similar})]


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def transformer_block(tf):
    tf.set_random_seed(6)
    tokens = tf.placeholder(tf.int32, [None, 5])
    hidden, heads = 8, 2
    table = tf.get_variable("embedding", [11, hidden],
                            initializer=tf.truncated_normal_initializer(stddev=0.02))

    def layer_norm(x, scope):
        with tf.variable_scope(scope):
            beta = tf.get_variable("beta", [hidden], initializer=tf.zeros_initializer())
            gamma = tf.get_variable("gamma", [hidden], initializer=tf.ones_initializer())
            mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
            return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-12)

    def split_heads(x):
        return tf.transpose(tf.reshape(x, [-1, 5, heads, hidden // heads]), [0, 2, 1, 3])

    def gelu(x):
        return x * 0.5 * (1.0 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3))))

    x = tf.nn.embedding_lookup(table, tokens)
    with tf.variable_scope("attention"):
        q, k, v = [split_heads(tf.layers.dense(x, hidden, name=n)) for n in "qkv"]
        scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(hidden // heads).astype(np.float32)
        mask = tf.matrix_band_part(tf.ones([5, 5]), -1, 0)
        scores += (1.0 - mask) * -10000.0
        probabilities = tf.nn.dropout(tf.nn.softmax(scores), keep_prob=0.9)
        context = tf.reshape(tf.transpose(tf.matmul(probabilities, v), [0, 2, 1, 3]),
                             [-1, 5, hidden])
        x = layer_norm(x + tf.layers.dense(context, hidden), "norm")
    with tf.variable_scope("mlp"):
        x = layer_norm(x + tf.layers.dense(tf.layers.dense(x, 16, gelu), hidden), "norm")
    logits = tf.matmul(tf.reshape(x, [-1, hidden]), table, transpose_b=True)
    labels = tf.reshape(tf.concat([tokens[:, 1:], tokens[:, :1]], 1), [-1])
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    variables = tf.trainable_variables()
    gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 1.0)
    train = tf.train.AdamOptimizer(0.01).apply_gradients(zip(gradients, variables))
    batch = np.arange(15).reshape(3, 5) % 11
    return Run(feeds={tokens: batch}, setup=init(tf), train=[train, loss, norm], steps=4)


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def generative_adversarial_network(tf):
    tf.set_random_seed(8)
    real = tf.placeholder(tf.float32, [None, 12])
    z = tf.placeholder(tf.float32, [None, 3])

    def generator(noise):
        with tf.variable_scope("generator"):
            h = tf.layers.dense(noise, 8, tf.nn.relu)
            return tf.layers.dense(h, 12, tf.nn.sigmoid)

    def discriminator(x, reuse=False):
        with tf.variable_scope("discriminator", reuse=reuse):
            h = tf.layers.dense(x, 8, tf.nn.leaky_relu)
            return tf.layers.dense(h, 1)

    fake = generator(z)
    real_logits, fake_logits = discriminator(real), discriminator(fake, reuse=True)
    xent = tf.nn.sigmoid_cross_entropy_with_logits
    d_loss = tf.reduce_mean(xent(logits=real_logits, labels=tf.ones_like(real_logits)) * 0.9) + \
        tf.reduce_mean(xent(logits=fake_logits, labels=tf.zeros_like(fake_logits)))
    g_loss = tf.reduce_mean(xent(logits=fake_logits, labels=tf.ones_like(fake_logits)))
    d_vars = [v for v in tf.trainable_variables() if v.name.startswith("discriminator")]
    g_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="generator")
    d_train = tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(d_loss, var_list=d_vars)
    g_train = tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(g_loss, var_list=g_vars)
    feed = {real: PIXELS, z: wave(8, 3)}
    train_d = Run({"fake": fake}, feed, setup=init(tf), train=[d_train, d_loss])
    train_g = Run({"fake": fake}, feed, train=[g_train, g_loss])
    return [train_d, train_g, Run({"fake": fake}, feed, train=[d_train, d_loss]), train_g]


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def wasserstein_gan_with_gradient_penalty(tf):
    tf.set_random_seed(9)
    real = tf.placeholder(tf.float32, [4, 3])

    def critic(x):
        with tf.variable_scope("critic", reuse=tf.AUTO_REUSE):
            return tf.layers.dense(tf.layers.dense(x, 6, tf.nn.tanh), 1)

    fake = tf.layers.dense(tf.random_normal([4, 2], seed=1), 3, name="generator")
    mix = tf.random_uniform([4, 1], seed=2)
    between = mix * real + (1.0 - mix) * fake
    slopes = tf.sqrt(tf.reduce_sum(tf.square(tf.gradients(critic(between), [between])[0]), 1))
    penalty = tf.reduce_mean(tf.square(slopes - 1.0))
    loss = tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(real)) + 10.0 * penalty
    variables = tf.trainable_variables("critic")
    train = tf.train.AdamOptimizer(1e-2, 0.0, 0.9).minimize(loss, var_list=variables)
    return Run({"loss": loss, "penalty": penalty, "weights": variables}, {real: wave(4, 3)},
               setup=init(tf), train=train, steps=3)


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def deep_q_network(tf):
    tf.set_random_seed(10)
    state = tf.placeholder(tf.float32, [None, 4], name="state")
    action = tf.placeholder(tf.int32, [None], name="action")
    target = tf.placeholder(tf.float32, [None], name="target")

    def network(scope):
        with tf.variable_scope(scope):
            return tf.layers.dense(tf.layers.dense(state, 8, tf.nn.relu), 3)

    q, frozen = network("online"), network("target")
    chosen = tf.reduce_sum(q * tf.one_hot(action, 3), 1)
    loss = tf.reduce_mean(tf.losses.huber_loss(target, chosen))
    online, copy = [tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, s)
                    for s in ("online", "target")]
    sync = [tf.assign(b, a) for a, b in zip(online, copy)]
    soft = tf.group(*[tf.assign(b, 0.9 * b + 0.1 * a) for a, b in zip(online, copy)])
    train = tf.train.RMSPropOptimizer(0.01, momentum=0.95, epsilon=0.01).minimize(
        loss, var_list=online)
    feed = {state: wave(3, 4), action: [0, 2, 1], target: [1.0, -1.0, 0.5]}
    return [Run({"frozen": frozen}, feed, setup=init(tf) + [sync], train=[train, loss], steps=2),
            Run({"frozen": frozen}, feed, train=[soft], steps=2)]


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def unrolled_recurrent_network(tf):
    tf.set_random_seed(11)
    x = tf.placeholder(tf.float32, [None, 4, 3])
    y = tf.placeholder(tf.int32, [None])
    with tf.variable_scope("rnn") as scope:
        state = tf.zeros([tf.shape(x)[0], 5])
        for step, inputs in enumerate(tf.unstack(x, axis=1)):
            if step > 0:
                scope.reuse_variables()
            w = tf.get_variable("w", [8, 5], initializer=tf.orthogonal_initializer(seed=1))
            b = tf.get_variable("b", [5], initializer=tf.zeros_initializer())
            state = tf.tanh(tf.matmul(tf.concat([inputs, state], 1), w) + b)
    logits = tf.layers.dense(state, 2)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    optimizer = tf.train.AdagradOptimizer(0.5)
    pairs = [(tf.clip_by_norm(g, 1.0), v) for g, v in optimizer.compute_gradients(loss)]
    train = optimizer.apply_gradients(pairs)
    return Run({"logits": logits}, {x: wave(3, 4, 3), y: [0, 1, 1]}, setup=init(tf),
               train=[train, loss], steps=4)


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def style_transfer_losses(tf):
    image = tf.Variable(wave(1, 6, 6, 3), name="image")
    style = tf.constant(wave(1, 6, 6, 3)[:, ::-1])
    kernel = tf.constant(wave(3, 3, 3, 4))

    def features(x):
        h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME"), [0.1] * 4))
        return tf.nn.avg_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")

    def gram(h):
        flat = tf.reshape(h, [-1, int(h.shape[3])])
        return tf.matmul(flat, flat, transpose_a=True) / tf.to_float(tf.size(h))

    style_loss = tf.nn.l2_loss(gram(features(image)) - gram(features(style)))
    variation = tf.reduce_mean(tf.abs(image[:, 1:] - image[:, :-1]))
    loss = 100.0 * style_loss + 0.1 * variation
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    return Run({"image": image, "loss": loss}, setup=init(tf), train=train, steps=3)
