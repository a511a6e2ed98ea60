"""Layers of `tf.keras` that few programs use: convolutional LSTMs, locally connected ones."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.keras.layers.recurrent import called
from tests.golden.registry import Run, program

MOVIES = np.sin(np.arange(2 * 3 * 5 * 4 * 2.0)).reshape(2, 3, 5, 4, 2).astype("float32")
IMAGES = np.cos(np.arange(2 * 5 * 6 * 3.0)).reshape(2, 5, 6, 3).astype("float32")
SEQUENCES = IMAGES[:, 0]


def movie(tf, **kwargs):
    tf.set_random_seed(3)
    given = {"filters": 2, "kernel_size": (2, 3), **kwargs}
    return called(tf, tf.keras.layers.ConvLSTM2D(**given), x=MOVIES)


def local(tf, kind, x, size, **kwargs):
    tf.set_random_seed(3)
    layer = getattr(tf.keras.layers, kind)(filters=2, kernel_size=size, **kwargs)
    return called(tf, layer, x=x)


@program
def conv_lstm(tf):
    return movie(tf)


@program
def conv_lstm_with_states(tf):
    return movie(tf, return_sequences=True, return_state=True, padding="same", strides=2)


@program
def conv_lstm_backwards(tf):
    return movie(
        tf, go_backwards=True, dilation_rate=(2, 1), unit_forget_bias=False, activation="relu",
        recurrent_activation="sigmoid", kernel_regularizer="l2", use_bias=False,
    )  # fmt: skip


@program
def conv_lstm_with_channels_first(tf):
    # TensorFlow starts a session to look for devices the first time that it meets this format.
    first = tf.keras.backend.permute_dimensions(tf.constant(IMAGES), (0, 3, 1, 2))
    tf.keras.backend.bias_add(first, tf.ones([3]), data_format="channels_first")
    return movie(tf, data_format="channels_first", kernel_size=2, return_state=True)


@program
def conv_lstm_with_first_states(tf):
    tf.set_random_seed(3)
    layer = tf.keras.layers.ConvLSTM2D(2, 2)
    return called(tf, layer, x=MOVIES, initial_state=[tf.ones([2, 4, 3, 2]), tf.ones([2, 4, 3, 2])])


@program
def conv_lstm_keeps_states(tf):
    tf.set_random_seed(3)
    layer = tf.keras.layers.ConvLSTM2D(
        2, 2, stateful=True, batch_input_shape=(2, 3, 5, 4, 2), padding="same"
    )
    y = layer(tf.constant(MOVIES))
    return Run(
        {"h": layer.states[0], "c": layer.states[1]},
        train=[y] + layer.updates,
        steps=2,
        facts={"shapes": [state.shape.as_list() for state in layer.states]},
        setup=[tf.global_variables_initializer()],
    )


@program
def conv_lstm_in_a_model(tf):
    tf.set_random_seed(3)
    x = tf.keras.Input((None, 5, 4, 2))
    layer = tf.keras.layers.ConvLSTM2D(2, 2, return_state=True, return_sequences=True)
    model = tf.keras.Model(x, layer(x))
    again = tf.keras.layers.ConvLSTM2D.from_config(layer.get_config())
    shapes = [s.as_list() for s in layer.compute_output_shape(tf.TensorShape((7, 3, 5, 4, 2)))]
    return Run(
        {"output_" + str(n): one for n, one in enumerate(model.outputs)},
        feeds={x: MOVIES},
        facts={
            "config": again.get_config(),
            "shapes": shapes,
            "outputs": [str(one.shape) for one in model.outputs],
        },
        setup=[tf.global_variables_initializer()],
    )


@program(fails=True)
def conv_lstm_unrolled(tf):
    return movie(tf, unroll=True)


@program(fails=True)
def conv_lstm_with_unknown_channels(tf):
    x = tf.placeholder("float32", [2, 3, 5, 4, None])
    tf.keras.layers.ConvLSTM2D(2, 2)(x)


@program(fails=True)
def conv_lstm_with_states_of_another_shape(tf):
    layer = tf.keras.layers.ConvLSTM2D(2, 2, stateful=True, name="c")
    layer(tf.constant(MOVIES))
    layer.reset_states([np.zeros([2, 4, 3, 1]), np.zeros([2, 4, 3, 2])])


@program
def sequences_one_product_per_place(tf):
    return local(tf, "LocallyConnected1D", SEQUENCES, 2, strides=2, activation="tanh")


@program
def sequences_one_product(tf):
    return local(tf, "LocallyConnected1D", SEQUENCES, 3, padding="same", implementation=2)


@program
def sequences_with_channels_first(tf):
    return local(
        tf, "LocallyConnected1D", SEQUENCES, 2, data_format="channels_first", use_bias=False
    )


@program
def sequences_in_a_sparse_product(tf):
    return local(
        tf, "LocallyConnected1D", SEQUENCES, 2, implementation=3, padding="same", strides=2
    )


@program
def images_one_product_per_place(tf):
    return local(tf, "LocallyConnected2D", IMAGES, (2, 3), strides=(2, 1), activation="relu")


@program
def images_one_product(tf):
    return local(tf, "LocallyConnected2D", IMAGES, 2, padding="same", implementation=2, strides=2)


@program
def images_with_channels_first(tf):
    return local(
        tf, "LocallyConnected2D", IMAGES, (2, 1), data_format="channels_first", implementation=2
    )


@program
def images_in_a_sparse_product(tf):
    return local(tf, "LocallyConnected2D", IMAGES, 3, implementation=3)


@program
def images_in_a_sparse_product_with_channels_first(tf):
    return local(
        tf, "LocallyConnected2D", IMAGES, (3, 2), implementation=3, data_format="channels_first"
    )


@program
def functions_of_the_backend(tf):
    backend = tf.keras.backend
    sequences, images = tf.constant(SEQUENCES), tf.constant(IMAGES)
    small = tf.constant(np.arange(5 * 6 * 2.0).reshape(5, 6, 2).astype("float32"))
    large = tf.constant(np.arange(6 * 12 * 2.0).reshape(6, 12, 2).astype("float32"))
    return Run(
        {
            "one": backend.local_conv1d(sequences, small, (2,), (1,)),
            "two": backend.local_conv2d(images, large, (2, 2), (2, 2), (2, 3)),
        }
    )


@program(fails=True)
def local_products_with_padding(tf):
    tf.keras.layers.LocallyConnected1D(2, 3, padding="same")


@program(fails=True)
def local_products_with_causal_padding(tf):
    tf.keras.layers.LocallyConnected1D(2, 3, padding="causal", implementation=2)(SEQUENCES)


@program(fails=True)
def local_products_of_unknown_implementation(tf):
    tf.keras.layers.LocallyConnected2D(2, 3, implementation=4)(IMAGES)


@program(fails=True)
def local_products_of_images_of_unknown_size(tf):
    tf.keras.layers.LocallyConnected2D(2, 3)(tf.placeholder("float32", [2, None, 5, 3]))
