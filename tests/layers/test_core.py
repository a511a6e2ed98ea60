"""Dense layers, dropout, flattening."""

import numpy as np
import pytest
from tests.running import run

import stillflow as tf

RNG = np.random.RandomState(0)


@pytest.mark.parametrize("shape", [(2, 3), (2, 4, 3), (1, 2, 4, 3)])
def test_dense_maps_the_last_dimension(shape):
    x = RNG.randn(*shape).astype(np.float32)
    layer = tf.layers.Dense(5, bias_initializer=tf.constant_initializer([1, 2, 3, 4, 5]))
    y, kernel, bias = run([layer(x), layer.kernel, layer.bias])
    np.testing.assert_allclose(y, x @ kernel + bias, rtol=1e-5, atol=1e-6)
    assert layer.compute_output_shape(shape).as_list() == list(y.shape)


def test_dense_learns():
    x = RNG.randn(64, 3).astype(np.float32)
    target = x @ np.float32([[1], [-2], [0.5]]) + 3
    loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - target))
    train = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(100):
            session.run(train)
        assert session.run(loss) < 1e-4


def test_dense_keeps_unknown_dimensions():
    y = tf.layers.dense(tf.placeholder(tf.float32, [None, None, 3]), 2)
    assert y.shape.as_list() == [None, None, 2]


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        (lambda: tf.placeholder(tf.float32, [2, None]), ValueError, "should be defined"),
        (lambda: tf.constant([[1]]), TypeError, "non-floating point dtype"),
        (lambda: tf.constant([1.0]), ValueError, "expected min_ndim=2, found ndim=1"),
    ],
)
def test_dense_refuses(inputs, error, message):
    with pytest.raises(error, match=message):
        tf.layers.dense(inputs(), 2)


def test_dropout_drops_a_part_and_scales_the_rest():
    y = run(tf.layers.dropout(np.ones([100, 100], np.float32), 0.25, training=True, seed=1))
    assert set(np.unique(y)) == {0, np.float32(1 / 0.75)}
    assert abs((y == 0).mean() - 0.25) < 0.02


def test_dropout_draws_what_its_noise_shape_says():
    x = tf.placeholder(tf.float32, [None, 3, 4])
    y = tf.layers.dropout(x, 0.5, noise_shape=[None, 1, 4], training=True, seed=1)
    values = run(y, {x: np.ones([8, 3, 4])})
    assert (values == values[:, :1]).all()
    assert 0 < (values == 0).mean() < 1


@pytest.mark.parametrize("training", [False, True])
def test_dropout_takes_a_tensor_for_training(training):
    switch = tf.placeholder(tf.bool, [])
    y = run(tf.layers.dropout(np.ones([50], np.float32), training=switch), {switch: training})
    assert (y == 1).all() != training


def test_keras_dropout_follows_the_learning_phase():
    from stillflow.keras.layers.core import Dropout
    from stillflow.layers.learning_phase import learning_phase

    y = Dropout(0.5)(tf.ones([50]))
    assert (run(y) == 1).all()
    assert not (run(y, {learning_phase(): True}) == 1).all()
    assert learning_phase().op.name == "keras_learning_phase"


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3), (2,), (2, 3, 4, 5)])
def test_flatten_keeps_the_batch(shape):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    y = run(tf.layers.flatten(x))
    assert y.tolist() == x.reshape(2, -1).tolist()
    assert tf.layers.Flatten().compute_output_shape(shape).as_list() == list(y.shape)


def test_flatten_brings_channels_to_the_end():
    x = np.arange(24).reshape(1, 2, 3, 4)
    y = run(tf.layers.flatten(x, data_format="channels_first"))
    assert y.tolist() == x.transpose(0, 2, 3, 1).reshape(1, -1).tolist()
