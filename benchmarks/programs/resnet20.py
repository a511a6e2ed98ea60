"""ResNet-20 on images of CIFAR's shape, batches of 32, batch normalization, momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 8
BATCH = 32
STAGES = [(16, 1), (32, 2), (64, 2)]
BLOCKS = 3


def data() -> tuple[np.ndarray, np.ndarray]:
    """Images and class numbers."""
    rng = np.random.RandomState(0)
    return rng.rand(BATCH, 32, 32, 3).astype(np.float32), rng.randint(0, 10, BATCH)


def model(tf: Any, images: Any) -> Any:
    """Logits of the residual network with three stages of three blocks."""
    def conv(x: Any, filters: int, strides: int = 1, size: int = 3) -> Any:
        return tf.layers.conv2d(
            x, filters, size, strides, "same", use_bias=False,
            kernel_initializer=tf.variance_scaling_initializer(2.0, "fan_out"))

    def norm(x: Any) -> Any:
        return tf.layers.batch_normalization(x, momentum=0.9, epsilon=1e-5, training=True)

    def block(x: Any, filters: int, strides: int) -> Any:
        shortcut = x if strides == 1 else norm(conv(x, filters, strides, 1))
        h = tf.nn.relu(norm(conv(x, filters, strides)))
        return tf.nn.relu(norm(conv(h, filters)) + shortcut)

    h = tf.nn.relu(norm(conv(images, 16)))
    for number, (filters, strides) in enumerate(STAGES):
        with tf.variable_scope(f"stage{number}"):
            for index in range(BLOCKS):
                with tf.variable_scope(f"block{index}"):
                    h = block(h, filters, strides if index == 0 else 1)
    return tf.layers.dense(tf.reduce_mean(h, [1, 2]), 10, name="logits")


def build(tf: Any) -> Job:
    """Return the training graph: cross entropy, weight decay, update ops, momentum."""
    pixels, classes = data()
    tf.set_random_seed(1)
    images = tf.placeholder(tf.float32, [None, 32, 32, 3], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    logits = model(tf, images)
    cross_entropy = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    decay = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "kernel" in v.name])
    loss = cross_entropy + 1e-4 * decay
    step = tf.train.get_or_create_global_step()
    rate = tf.train.piecewise_constant(step, [32000, 48000], [0.1, 0.01, 0.001])
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=step)
    feed = {images: pixels, labels: classes}
    return Job([train, cross_entropy], feed, [tf.global_variables_initializer()])
