"""Recurrent layers of `tf.keras`."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

X = np.sin(np.arange(24.0)).reshape(2, 4, 3).astype("float32")
WORDS = np.array([[3, 1, 0, 0], [2, 4, 1, 0]])


def called(tf, layer, x=X, **kwargs):
    x = tf.constant(x)
    outputs = layer(x, **kwargs)
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    fetches = {"output_" + str(n): one for n, one in enumerate(outputs)}
    grads = tf.gradients(outputs[0], layer.trainable_weights)
    fetches.update({"grad_" + str(n): grad for n, grad in enumerate(grads)})
    facts = {"weights": [v.name for v in layer.weights], "config": sorted(layer.get_config())}
    return Run(fetches, facts=facts, setup=[tf.global_variables_initializer()])


def simple(tf, kind, **kwargs):
    tf.set_random_seed(3)
    return called(tf, getattr(tf.keras.layers, kind)(2, **kwargs))


@program
def simple_rnn(tf):
    return simple(tf, "SimpleRNN", return_sequences=True)


@program
def lstm(tf):
    return simple(tf, "LSTM", return_sequences=True, return_state=True)


@program
def lstm_in_one_product(tf):
    return simple(tf, "LSTM", implementation=2, go_backwards=True, unit_forget_bias=False)


@program
def lstm_unrolled(tf):
    return simple(tf, "LSTM", unroll=True)


@program
def gru(tf):
    return simple(tf, "GRU")


@program
def gru_with_reset_after(tf):
    return simple(tf, "GRU", reset_after=True, implementation=2, recurrent_activation="sigmoid")


@program
def stacked_cells(tf):
    tf.set_random_seed(3)
    layers = tf.keras.layers
    return called(tf, layers.RNN([layers.LSTMCell(2), layers.GRUCell(3)], return_state=True))


@program
def bidirectional(tf):
    tf.set_random_seed(3)
    layers = tf.keras.layers
    return called(tf, layers.Bidirectional(layers.GRU(2, return_sequences=True), merge_mode="sum"))


@program
def embedding_with_mask(tf):
    tf.set_random_seed(3)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Embedding(5, 3, mask_zero=True, input_length=4),
            layers.LSTM(2, return_sequences=True),
            layers.SimpleRNN(2),
        ]
    )
    return Run({"y": model(tf.constant(WORDS))}, setup=[tf.global_variables_initializer()])


@program
def masking(tf):
    tf.set_random_seed(3)
    x = X.copy()
    x[0, 2:] = 0.0
    layers = tf.keras.layers
    y = layers.GRU(2)(layers.Masking(0.0)(tf.constant(x)))
    return Run({"y": y}, setup=[tf.global_variables_initializer()])


@program
def initial_state(tf):
    tf.set_random_seed(3)
    layer = tf.keras.layers.LSTM(2)
    return called(tf, layer, initial_state=[tf.ones([2, 2]), tf.ones([2, 2])])


@program
def stateful(tf):
    tf.set_random_seed(3)
    layer = tf.keras.layers.SimpleRNN(2, stateful=True, batch_input_shape=(2, 4, 3))
    y = layer(tf.constant(X))
    return Run(
        {"state": layer.states[0]},
        train=[y] + layer.updates,
        steps=2,
        setup=[tf.global_variables_initializer()],
    )


@program
def cell_of_a_user(tf):
    tf.set_random_seed(3)

    class Cell(tf.keras.layers.Layer):
        def __init__(self, units, **kwargs):
            super().__init__(**kwargs)
            self.units = self.state_size = units

        def build(self, input_shape):
            self.kernel = self.add_weight("kernel", [int(input_shape[-1]), self.units])
            self.built = True

        def call(self, inputs, states):
            output = tf.keras.backend.dot(inputs, self.kernel) + states[0]
            return output, [output]

    layer = tf.keras.layers.RNN(Cell(2), return_sequences=True)
    y = layer(tf.constant(X))
    return Run({"y": y}, setup=[tf.global_variables_initializer()])
