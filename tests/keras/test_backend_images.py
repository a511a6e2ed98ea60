"""Convolution, pooling and connectionist temporal classification in the backend."""

import numpy as np
import pytest

import stillflow as tf
from stillflow.testing.random_classes import get_test_data

backend = tf.keras.backend
IMAGES = np.sin(np.arange(72.0)).reshape(2, 6, 6, 1).astype("float32")


def run(tensor):
    with tf.Session() as session:
        return session.run(tensor)


@pytest.mark.parametrize("padding", ["same", "valid"])
def test_channels_first_is_channels_last_transposed(padding):
    kernel = tf.constant(np.cos(np.arange(18.0)).reshape(3, 3, 1, 2).astype("float32"))
    first = np.transpose(IMAGES, (0, 3, 1, 2))
    last = run(backend.conv2d(tf.constant(IMAGES), kernel, padding=padding))
    found = run(
        backend.conv2d(tf.constant(first), kernel, padding=padding, data_format="channels_first")
    )
    np.testing.assert_allclose(found, np.transpose(last, (0, 3, 1, 2)), rtol=1e-5)
    pooled = run(backend.pool2d(tf.constant(first), (2, 2), (2, 2), data_format="channels_first"))
    expected = first.reshape(2, 1, 3, 2, 3, 2).max((3, 5))
    np.testing.assert_allclose(pooled, expected)


def test_a_causal_convolution_looks_back():
    x = tf.constant(np.arange(4.0, dtype="float32").reshape(1, 4, 1))
    kernel = tf.constant([[[10.0]], [[1.0]]])
    found = run(backend.conv1d(x, kernel, padding="causal"))
    np.testing.assert_allclose(found[0, :, 0], [0, 1, 12, 23])


def test_a_transposed_convolution_has_the_shape_asked_for():
    kernel = tf.ones([2, 2, 3, 1])
    y = backend.conv2d_transpose(tf.constant(IMAGES), kernel, (None, 12, 12, 3), (2, 2))
    np.testing.assert_allclose(run(y)[:, ::2, ::2, 0], IMAGES[..., 0], rtol=1e-6)


def test_separable_convolution_and_means_of_windows():
    depthwise, pointwise = tf.ones([2, 2, 1, 1]), tf.constant([[[[0.25]]]])
    found = run(backend.separable_conv2d(tf.constant(IMAGES), depthwise, pointwise))
    expected = run(backend.pool2d(tf.constant(IMAGES), (2, 2), pool_mode="avg"))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    volume = tf.constant(IMAGES[:, None])
    flat = run(backend.pool3d(volume, (1, 2, 2), pool_mode="avg"))
    np.testing.assert_allclose(flat[:, 0], expected, rtol=1e-5, atol=1e-6)
    same = run(backend.conv3d(volume, tf.ones([1, 1, 1, 1, 1])))
    np.testing.assert_allclose(same[:, 0], IMAGES)


def test_what_is_unknown_is_refused():
    x = tf.constant(IMAGES)
    with pytest.raises(ValueError, match="Unknown data_format: x"):
        backend.pool2d(x, (2, 2), data_format="x")
    with pytest.raises(ValueError, match="Invalid padding: x"):
        backend.pool2d(x, (2, 2), padding="x")
    with pytest.raises(ValueError, match="Invalid pooling mode: x"):
        backend.pool2d(x, (2, 2), pool_mode="x")


def test_ctc_of_certain_labels():
    """The one way to write 0 1 in two steps has the product of both probabilities."""
    y_pred = tf.constant([[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]])
    loss = run(backend.ctc_batch_cost([[0, 1]], y_pred, [[2]], [[2]]))
    np.testing.assert_allclose(loss, [[-np.log(0.8 * 0.8)]], rtol=1e-5)
    for greedy in (True, False):
        (decoded,), _ = backend.ctc_decode(y_pred, [2], greedy=greedy)
        np.testing.assert_array_equal(run(decoded), [[0, 1]])


def test_padded_lists():
    pad = tf.keras.preprocessing.sequence.pad_sequences
    lists = [[1, 2, 3], [4], []]
    np.testing.assert_array_equal(pad(lists), [[1, 2, 3], [0, 0, 4], [0, 0, 0]])
    found = pad(lists, 2, padding="post", truncating="post", value=9)
    np.testing.assert_array_equal(found, [[1, 2], [4, 9], [9, 9]])
    with pytest.raises(ValueError, match="not understood"):
        pad(lists, padding="middle")
    with pytest.raises(ValueError, match="non-iterable"):
        pad([1])


def test_data_for_tests():
    (x, y), (x_test, _) = get_test_data(5, 2, (3,), 2, random_seed=1)
    assert x.shape == (5, 3)
    assert x_test.shape == (2, 3)
    assert set(y) <= {0, 1}
