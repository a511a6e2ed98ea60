"""Recurrent layers of `tf.keras` that are one operation, which TensorFlow runs on GPUs only."""

from __future__ import annotations

import json
import os
import tempfile
import unittest

import numpy as np

try:
    import h5py
except ImportError:  # an extra that Stillflow does without
    h5py = None

from tests.golden.registry import Run, program, raised


def told_of(tf, layer, outputs):
    """Return the facts of a layer, with its gradients in the graph."""
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    grads = tf.gradients(outputs, layer.trainable_weights)
    config = {key: str(value) for key, value in sorted(layer.get_config().items())}
    return {"weights": [v.name for v in layer.weights], "config": config,
            "outputs": [str(x.shape) for x in outputs], "grads": [str(g.shape) for g in grads],
            "losses": [x.name for x in layer.losses], "updates": len(layer.updates),
            "states": [str(x) for x in layer.states]}


def called(title, kind, batch=None, **kwargs):
    def build(tf):
        tf.set_random_seed(3)
        x = tf.placeholder(tf.float32, [batch, 4, 3], name="x")
        layer = getattr(tf.keras.layers, kind)(2, **kwargs)
        return Run({}, facts=told_of(tf, layer, layer(x)))

    build.__name__, build.__module__ = title, __name__
    return program(build)


for _kind in ("CuDNNLSTM", "CuDNNGRU"):
    called(_kind.lower(), _kind)
    called(_kind.lower() + "_sequences", _kind, return_sequences=True, return_state=True)
    called(_kind.lower() + "_backwards", _kind, go_backwards=True, return_sequences=True,
           name="back")
    called(_kind.lower() + "_stateful", _kind, 2, stateful=True)
    called(_kind.lower() + "_time_major", _kind, 4, time_major=True, return_sequences=True)
    called(_kind.lower() + "_regularized", _kind, kernel_regularizer="l2", bias_regularizer="l1",
           recurrent_constraint="max_norm", activity_regularizer="l2", trainable=False)
called("memory_without_ones", "CuDNNLSTM", unit_forget_bias=False, bias_initializer="ones")


@program
def initial_state(tf):
    layer = tf.keras.layers.CuDNNLSTM(2, return_state=True)
    x = tf.placeholder(tf.float32, [None, 4, 3], name="x")
    outputs = layer(x, initial_state=[tf.ones([2, 2]), tf.ones([2, 2])])
    gru = tf.keras.layers.CuDNNGRU(2)
    facts = told_of(tf, layer, outputs)
    facts["one"] = raised(gru, x, initial_state=[tf.ones([2, 2])] * 2)
    return Run({}, facts=facts)


@program
def both_ways_in_a_model(tf):
    tf.set_random_seed(3)
    layers = tf.keras.layers
    model = tf.keras.Sequential([
        layers.Embedding(20, 6, input_length=5),
        layers.Bidirectional(layers.CuDNNLSTM(4, return_sequences=True)),
        layers.Bidirectional(layers.CuDNNGRU(3), merge_mode="sum"),
        layers.Dense(1, activation="sigmoid"),
    ])
    model.compile(loss="binary_crossentropy", optimizer="adam")
    facts = {"shape": str(model.output_shape), "weights": [v.name for v in model.weights],
             "json": json.loads(model.to_json())["config"]}
    again = tf.keras.models.model_from_json(model.to_json())
    facts["again"] = [type(layer).__name__ for layer in again.layers]
    return Run({}, facts=facts)


@program
def states_of_layers(tf):
    layers = tf.keras.layers
    x = layers.Input((4, 3))
    state = layers.Input((2,))
    y, last = layers.CuDNNGRU(2, return_state=True)(x, initial_state=state)
    model = tf.keras.Model([x, state], [y, last])
    return Run({}, facts={"shapes": str(model.output_shape),
                          "weights": [v.name for v in model.weights]})


@program
def refused(tf):
    layers = tf.keras.layers
    x = tf.zeros([2, 4, 3])
    masked = layers.Masking()(x)
    facts = {
        "mask": raised(layers.CuDNNLSTM(2), x, mask=tf.ones([2, 4], tf.bool)),
        "masked": raised(layers.CuDNNGRU(2), masked),
        "rank": raised(layers.CuDNNLSTM(2), tf.zeros([2, 3])),
        "batch": raised(layers.CuDNNLSTM(2, stateful=True),
                        tf.placeholder(tf.float32, [None, 4, 3])),
        "dropout": raised(layers.CuDNNLSTM, 2, dropout=0.5),
        "activation": raised(layers.CuDNNGRU, 2, activation="relu"),
        "states": raised(layers.CuDNNLSTM(2), x, initial_state=[tf.ones([2, 2])]),
    }
    return Run({}, facts=facts)


def loaded(tf, saved, wanted):
    """Return the weights of a layer read from the file of a model of another one."""
    class Holder(tf.keras.Model):
        """Model with a layer that it does not call: TensorFlow could not run this graph then."""

        def __init__(self, layer):
            super().__init__()
            self.held = layer
            for part in getattr(layer, "layers", [layer]):
                part.build((None, 4, 3))
            layer.built = self.built = True

    model, other = Holder(saved), Holder(wanted)
    model.set_weights([np.cos(np.arange(w.size)).reshape(w.shape) for w in model.get_weights()])
    path = os.path.join(tempfile.mkdtemp(), "weights.h5")
    model.save_weights(path)
    other.load_weights(path)
    return other.get_weights()


def conversions(tf):
    layers = tf.keras.layers
    memory, slow_memory = layers.CuDNNLSTM, layers.LSTM

    def gru(*args, **kwargs):
        return layers.GRU(*args, reset_after=True, **kwargs)

    return {
        "memory": loaded(tf, slow_memory(2), memory(2)),
        "slow_memory": loaded(tf, memory(2), slow_memory(2)),
        "same": loaded(tf, memory(2), memory(2)),
        "gated": loaded(tf, gru(2), layers.CuDNNGRU(2)),
        "slow_gated": loaded(tf, layers.CuDNNGRU(2), gru(2)),
        "both_ways": loaded(tf, layers.Bidirectional(slow_memory(2)),
                            layers.Bidirectional(memory(2))),
        "nested": loaded(tf, tf.keras.Sequential([layers.Dense(3), gru(2)]),
                         tf.keras.Sequential([layers.Dense(3), layers.CuDNNGRU(2)])),
        "other_gru": raised(loaded, tf, layers.GRU(2), layers.CuDNNGRU(2)),
        "other_way": raised(loaded, tf, layers.CuDNNGRU(2), layers.GRU(2)),
        "units": raised(loaded, tf, layers.Dense(2), memory(2)),
        "no_bias": raised(loaded, tf, slow_memory(2, use_bias=False), memory(2)),
    }


@program
def weights_from_other_layers(tf):
    if h5py is None:
        raise unittest.SkipTest("h5py is not installed")
    # In a graph of its own: Keras asks for its variables in an order that changes.
    with tf.Graph().as_default():
        facts = conversions(tf)
    for name, value in facts.items():
        if isinstance(value, list):
            facts[name] = [array.tolist() for array in value]
    return Run({}, facts=facts)
