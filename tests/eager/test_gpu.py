"""Eager execution on a CUDA device, real or simulated."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.graph.eager_mode import eager_mode

GPU, CPU = (f"/job:localhost/replica:0/task:0/device:{kind}:0" for kind in ("GPU", "CPU"))


@pytest.fixture(autouse=True)
def eager(cuda):
    with tf.Graph().as_default(), eager_mode():
        yield


def test_operations_on_numbers_run_on_the_gpu():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    product = tf.matmul(x, x)
    assert x.device == product.device == GPU
    np.testing.assert_array_equal(product.numpy(), [[7.0, 10.0], [15.0, 22.0]])


def test_counts_and_shapes_stay_on_the_host():
    x = tf.ones([2, 3])
    assert (tf.constant([1, 2]) + 1).device == tf.shape(x).device == CPU
    assert tf.reshape(x, [tf.shape(x)[1], 2]).device == GPU


def test_scopes_choose_and_operands_are_brought():
    with tf.device("/cpu:0"):
        here = tf.ones([2]) * 2.0
    assert here.device == CPU
    there = here.gpu()
    assert (here + there).device == GPU
    with tf.device("/cpu:0"):
        assert (here + there).device == CPU
    assert list((here + there).numpy()) == [4.0, 4.0]


def test_a_gpu_that_is_not_there_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="unknown device"):
        with tf.device("/gpu:7"):
            tf.ones([2]) + 1.0


def test_functions_find_variables_where_they_are():
    with tf.device("/cpu:0"):
        count = tf.contrib.eager.Variable(1.0)
    weights, steps = tf.contrib.eager.Variable([1.0, 2.0]), tf.contrib.eager.Variable(0)

    @tf.function
    def step(x):
        steps.assign_add(1)
        count.assign_add(1.0)
        total = tf.zeros([2])
        for turn in tf.range(3):
            total += weights * tf.cast(turn, tf.float32)
        return total * x * count

    with tf.GradientTape() as tape:
        result = step(tf.constant([1.0, 10.0]))
    assert list(result.numpy()) == [6.0, 120.0] and result.device == GPU
    assert list(tape.gradient(result, weights).numpy()) == [6.0, 60.0]
    assert int(steps) == 1


def learned():
    tf.set_random_seed(1)
    random = np.random.RandomState(0)
    images, labels = random.rand(12, 8, 8, 1).astype(np.float32), np.arange(12) % 3
    model = tf.keras.Sequential([
        tf.keras.layers.Conv2D(4, 3, activation="relu", input_shape=(8, 8, 1)),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(3, activation="softmax"),
    ])  # fmt: skip
    model.set_weights([random.rand(*w.shape) * 0.1 for w in model.get_weights()])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    data = tf.data.Dataset.from_tensor_slices((images, labels)).batch(4)
    return model.fit(data, epochs=3, verbose=0).history["loss"]


def test_a_model_learns_as_on_the_cpu():
    with tf.device("/cpu:0"):
        expected = learned()
    np.testing.assert_allclose(learned(), expected, rtol=1e-3)
    assert expected[-1] < expected[0]
