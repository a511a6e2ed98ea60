"""Two convolution and pooling layers on MNIST, as TensorFlow 1 programs were written.

    python -m stillflow examples/mnist_cnn.py --curve curve.png
"""

from __future__ import print_function

import time

import digits
import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_integer("epochs", 8, "Passes over the training images.")
flags.DEFINE_integer("batch_size", 50, "Images per step.")
flags.DEFINE_float("learning_rate", 1e-3, "Adam's step size.")
flags.DEFINE_float("keep_prob", 0.5, "What dropout keeps while training.")
flags.DEFINE_string("curve", "", "Write the training curve to this PNG file.")
FLAGS = flags.FLAGS


def weight_variable(shape):
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1), name="weights")


def bias_variable(shape):
    return tf.Variable(tf.constant(0.1, shape=shape), name="biases")


def convolution(x, channels, name):
    with tf.name_scope(name):
        kernel = weight_variable([5, 5, int(x.shape[3]), channels])
        h = tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME")
        h = tf.nn.relu(h + bias_variable([channels]))
        return tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


def dense(x, units, name):
    with tf.name_scope(name):
        weights = weight_variable([int(x.shape[1]), units])
        return tf.matmul(x, weights) + bias_variable([units])


def model(images, keep_prob):
    h = tf.reshape(images, [-1, 28, 28, 1])
    h = convolution(h, 16, "conv1")
    h = convolution(h, 32, "conv2")
    h = tf.reshape(h, [-1, 7 * 7 * 32])
    h = tf.nn.relu(dense(h, 256, "fc1"))
    h = tf.nn.dropout(h, rate=1 - keep_prob)
    return dense(h, 10, "fc2")


def draw(curve, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    steps, losses, epochs, accuracies = curve
    figure, left = plt.subplots(figsize=(7, 3.5))
    left.plot(steps, losses, color="tab:blue", alpha=0.25, linewidth=1)
    smooth = np.convolve(losses, np.ones(20) / 20, mode="valid")
    left.plot(steps[-len(smooth):], smooth, color="tab:blue")
    left.set_xlabel("step")
    left.set_ylabel("training loss", color="tab:blue")
    left.set_yscale("log")
    right = left.twinx()
    right.plot(epochs, accuracies, color="tab:orange", marker="o")
    right.set_ylabel("test accuracy", color="tab:orange")
    right.set_ylim(min(0.9, *accuracies), 1.0)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    print("curve written to", path)


def main(_):
    (train_images, train_labels), (test_images, test_labels) = digits.load()
    print("%d training images, %d held out" % (len(train_images), len(test_images)))

    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 784], name="images")
    y = tf.placeholder(tf.int64, [None], name="labels")
    keep_prob = tf.placeholder(tf.float32, name="keep_prob")
    logits = model(x, keep_prob)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    train_step = tf.train.AdamOptimizer(FLAGS.learning_rate).minimize(loss)
    correct = tf.equal(tf.argmax(logits, 1), y)
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))

    losses, accuracies = [], []
    random = np.random.RandomState(1)
    start = time.time()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(1, FLAGS.epochs + 1):
            for images, labels in digits.batches(
                    train_images, train_labels, FLAGS.batch_size, random):
                feed = {x: images, y: labels, keep_prob: FLAGS.keep_prob}
                _, value = sess.run([train_step, loss], feed_dict=feed)
                losses.append(value)
            feed = {x: test_images, y: test_labels, keep_prob: 1.0}
            accuracies.append(sess.run(accuracy, feed_dict=feed))
            print("epoch %2d  step %4d  loss %.4f  test accuracy %.4f  %5.1f s" % (
                epoch, len(losses), np.mean(losses[-20:]), accuracies[-1], time.time() - start))
    if FLAGS.curve:
        per_epoch = len(losses) // FLAGS.epochs
        epochs = [per_epoch * (i + 1) for i in range(FLAGS.epochs)]
        draw((list(range(1, len(losses) + 1)), losses, epochs, accuracies), FLAGS.curve)


if __name__ == "__main__":
    tf.app.run()
