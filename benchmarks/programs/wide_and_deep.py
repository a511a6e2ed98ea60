"""A wide and deep model: 20 numbers and 20 classes of 1,000, batches of 128, Adagrad."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 60
BATCH, NUMBERS, CLASSES, SIZE = 128, 20, 20, 1000


def data() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Columns of numbers, and columns of class numbers."""
    rng = np.random.RandomState(0)
    numbers = [rng.rand(BATCH, 1).astype(np.float32) for _ in range(NUMBERS)]
    return numbers, [rng.randint(0, SIZE, [BATCH, 1]) for _ in range(CLASSES)]


def build(tf: Any) -> Job:
    """Embedded classes and numbers into a hidden layer, classes into a linear model as well."""
    numbers, classes = data()
    tf.set_random_seed(1)
    column = tf.feature_column
    feed, features, deep, wide = {}, {}, [], []
    for i in range(NUMBERS):
        key = f"number{i}"
        features[key] = tf.placeholder(tf.float32, [None, 1], name=key)
        feed[features[key]] = numbers[i]
        deep.append(column.numeric_column(key))
    for i in range(CLASSES):
        key = f"class{i}"
        features[key] = tf.placeholder(tf.int64, [None, 1], name=key)
        feed[features[key]] = classes[i]
        wide.append(column.categorical_column_with_identity(key, SIZE))
        deep.append(column.embedding_column(wide[-1], 8))
    hidden = tf.layers.dense(column.input_layer(features, deep), 64, tf.nn.relu)
    result = tf.layers.dense(hidden, 1) + column.linear_model(features, wide)
    loss = tf.reduce_mean(tf.square(result - 1))
    train = tf.train.AdagradOptimizer(0.05).minimize(loss)
    setup = [tf.global_variables_initializer(), tf.tables_initializer()]
    return Job([train, loss], feed, setup)
