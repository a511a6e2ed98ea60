"""A denoising autoencoder on MNIST with tied weights: get_variable, reuse, collections.

    python -m stillflow examples/autoencoder.py
"""

from __future__ import print_function

import digits
import numpy as np
import tensorflow as tf

EPOCHS = 8
BATCH = 100
CODE = 32


def layer(x, units, scope, tied=None, activation=tf.nn.sigmoid):
    """One dense layer; with `tied` it uses the transpose of that layer's weights."""
    inputs = int(x.get_shape()[1])
    if tied:
        with tf.variable_scope(tied, reuse=True):
            weights = tf.transpose(tf.get_variable("weights", [units, inputs]))
    else:
        with tf.variable_scope(scope, regularizer=tf.nn.l2_loss):
            weights = tf.get_variable("weights", [inputs, units])
    with tf.variable_scope(scope):
        bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
        return activation(tf.nn.xw_plus_b(x, weights, bias))


def autoencoder(x):
    h = layer(x, 128, "encoder1", activation=tf.nn.relu)
    code = layer(h, CODE, "encoder2", activation=tf.nn.tanh)
    h = layer(code, 128, "decoder2", tied="encoder2", activation=tf.nn.relu)
    return code, layer(h, 784, "decoder1", tied="encoder1", activation=tf.identity)


tf.set_random_seed(3)
clean = tf.placeholder(tf.float32, [None, 784], name="clean")
noise = tf.placeholder_with_default(0.0, [], name="noise")
corrupted = clean + noise * tf.random_normal(tf.shape(clean))
with tf.variable_scope("autoencoder", initializer=tf.glorot_uniform_initializer()):
    code, logits = autoencoder(corrupted)
cross_entropy = tf.nn.sigmoid_cross_entropy_with_logits(labels=clean, logits=logits)
reconstruction = tf.reduce_mean(tf.reduce_sum(cross_entropy, axis=1))
penalty = 1e-4 * tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
train_step = tf.train.RMSPropOptimizer(1e-3).minimize(reconstruction + penalty)
error = tf.reduce_mean(tf.squared_difference(tf.sigmoid(logits), clean))

(images, labels), (test_images, _) = digits.load()
random = np.random.RandomState(3)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(EPOCHS):
        for batch, _ in digits.batches(images, labels, BATCH, random):
            _, value = sess.run([train_step, reconstruction], {clean: batch, noise: 0.2})
        print("epoch %d  loss %7.2f  mean squared error on held-out digits %.4f" % (
            epoch + 1, value, sess.run(error, {clean: test_images})))
