"""Convolutional LSTMs and locally connected layers."""

import numpy as np
import pytest

import stillflow as tf
from stillflow.keras.utils.convolutions import conv_kernel_mask

MOVIES = np.sin(np.arange(2 * 3 * 5 * 4 * 2.0)).reshape(2, 3, 5, 4, 2).astype("float32")
IMAGES = np.cos(np.arange(2 * 5 * 6 * 3.0)).reshape(2, 5, 6, 3).astype("float32")


def test_connections_of_a_place():
    valid = conv_kernel_mask((4,), (2,), (1,), "valid")
    np.testing.assert_array_equal(valid.astype(int), [[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]])
    same = conv_kernel_mask((4,), (3,), (2,), "same")
    np.testing.assert_array_equal(same.astype(int), [[1, 0], [1, 1], [0, 1], [0, 1]])


@pytest.mark.parametrize("data_format", ["channels_first", "channels_last"])
def test_ways_to_compute_a_local_convolution_agree(data_format):
    outputs = []
    for way in (2, 3):
        layer = tf.keras.layers.LocallyConnected2D(
            2, (3, 2), implementation=way, kernel_initializer="ones", data_format=data_format,
            padding="same", input_shape=IMAGES.shape[1:],
        )  # fmt: skip
        outputs.append(tf.keras.Sequential([layer]).predict(IMAGES))
    np.testing.assert_allclose(*outputs, rtol=1e-5, atol=1e-5)


def test_a_local_convolution_with_one_kernel_is_a_convolution():
    conv = tf.keras.layers.Conv2D(2, 2, input_shape=IMAGES.shape[1:])
    local = tf.keras.layers.LocallyConnected2D(2, 2, input_shape=IMAGES.shape[1:])
    models = [tf.keras.Sequential([layer]) for layer in (conv, local)]
    kernel = conv.get_weights()[0]
    local.set_weights(
        [np.tile(kernel.reshape(1, -1, 2), (4 * 5, 1, 1)), np.zeros((4, 5, 2), "float32")]
    )
    one, other = (model.predict(IMAGES) for model in models)
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_a_stateful_convolutional_lstm_goes_on_where_it_stopped():
    given = {"kernel_initializer": "ones", "recurrent_initializer": "ones", "padding": "same"}
    whole = tf.keras.layers.ConvLSTM2D(2, 2, input_shape=(3, 5, 4, 2), **given)
    kept = tf.keras.layers.ConvLSTM2D(
        2, 2, batch_input_shape=(2, None, 5, 4, 2), stateful=True, **given
    )
    expected = tf.keras.Sequential([whole]).predict(MOVIES)
    model = tf.keras.Sequential([kept])
    model.predict(MOVIES[:, :1], batch_size=2)
    np.testing.assert_allclose(model.predict(MOVIES[:, 1:], batch_size=2), expected, rtol=1e-5)
    kept.reset_states()
    assert not any(np.any(tf.keras.backend.get_value(state)) for state in kept.states)
    kept.reset_states([np.ones((2, 5, 4, 2))] * 2)
    assert np.all(tf.keras.backend.get_value(kept.states[1]) == 1)


def test_a_saved_convolutional_lstm_is_the_same():
    model = tf.keras.Sequential(
        [tf.keras.layers.ConvLSTM2D(2, 2, input_shape=(3, 5, 4, 2), return_sequences=True)]
    )
    again = tf.keras.models.model_from_json(model.to_json())
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(model.predict(MOVIES), again.predict(MOVIES))


def test_steps_one_by_one_are_refused():
    with pytest.raises(TypeError, match="Unrolling isn't possible"):
        tf.keras.layers.ConvLSTM2D(2, 2, unroll=True)
