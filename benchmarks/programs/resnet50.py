"""ResNet-50 on photographs of 224 x 224, batches of 8, batch normalization, momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 5
BATCH, CLASSES = 8, 1000
STAGES = [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]  # filters, blocks, stride


def data() -> tuple[np.ndarray, np.ndarray]:
    """Images and class numbers."""
    rng = np.random.RandomState(0)
    return rng.rand(BATCH, 224, 224, 3).astype(np.float32), rng.randint(0, CLASSES, BATCH)


def model(tf: Any, images: Any) -> Any:
    """Logits of the residual network of bottleneck blocks."""
    def conv(x: Any, filters: int, size: int, stride: int = 1) -> Any:
        h = tf.layers.conv2d(
            x, filters, size, stride, "same", use_bias=False,
            kernel_initializer=tf.variance_scaling_initializer(2.0, "fan_out"))
        return tf.layers.batch_normalization(h, momentum=0.9, epsilon=1e-5, training=True)

    def block(x: Any, filters: int, stride: int, is_first: bool) -> Any:
        shortcut = conv(x, 4 * filters, 1, stride) if is_first else x
        h = tf.nn.relu(conv(x, filters, 1))
        h = tf.nn.relu(conv(h, filters, 3, stride))
        return tf.nn.relu(conv(h, 4 * filters, 1) + shortcut)

    h = tf.layers.max_pooling2d(tf.nn.relu(conv(images, 64, 7, 2)), 3, 2, "same")
    for filters, blocks, stride in STAGES:
        for index in range(blocks):
            h = block(h, filters, stride if index == 0 else 1, index == 0)
    return tf.layers.dense(tf.reduce_mean(h, [1, 2]), CLASSES, name="logits")


def build(tf: Any) -> Job:
    """Return the training graph: cross entropy, update ops, momentum."""
    pixels, classes = data()
    tf.set_random_seed(1)
    images = tf.placeholder(tf.float32, [None, 224, 224, 3], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=model(tf, images)))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
    feed = {images: pixels, labels: classes}
    return Job([train, loss], feed, [tf.global_variables_initializer()])
