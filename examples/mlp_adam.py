"""A multi-layer perceptron on MNIST: tf.layers, a decaying learning rate, gradient clipping.

    python -m stillflow examples/mlp_adam.py
"""

from __future__ import print_function

import digits
import numpy as np
import tensorflow as tf

EPOCHS = 6
BATCH = 64


def network(images, training):
    with tf.variable_scope("mlp"):
        h = tf.layers.dense(images, 256, activation=tf.nn.relu, name="hidden1")
        h = tf.layers.dropout(h, rate=0.3, training=training)
        h = tf.layers.dense(h, 128, activation=tf.nn.relu, name="hidden2")
        return tf.layers.dense(h, 10, name="logits")


def train_operation(loss):
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(2e-3, step, decay_steps=100, decay_rate=0.8, staircase=True)
    optimizer = tf.train.AdamOptimizer(rate)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    gradients, norm = tf.clip_by_global_norm(gradients, 5.0)
    return optimizer.apply_gradients(zip(gradients, variables), global_step=step), norm, step


tf.set_random_seed(7)
x = tf.placeholder(tf.float32, [None, 784], name="x")
y = tf.placeholder(tf.int64, [None], name="y")
training = tf.placeholder_with_default(False, [], name="training")
logits = network(x, training)
loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
train_op, norm, global_step = train_operation(loss)
accuracy = tf.reduce_mean(tf.to_float(tf.equal(tf.argmax(logits, 1), y)))

(images, labels), (test_images, test_labels) = digits.load()
random = np.random.RandomState(7)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(EPOCHS):
        for batch, answers in digits.batches(images, labels, BATCH, random):
            feed = {x: batch, y: answers, training: True}
            _, value, size, step = sess.run([train_op, loss, norm, global_step], feed)
        print("epoch %d  step %3d  loss %.4f  gradient norm %.3f  test accuracy %.4f" % (
            epoch + 1, step, value, size,
            sess.run(accuracy, {x: test_images, y: test_labels})))
