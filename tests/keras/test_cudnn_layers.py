"""Recurrent layers of one operation, which TensorFlow has for GPUs: against the others."""

import numpy as np
import pytest

import stillflow as tf
from stillflow.keras.saving.recurrent_weights import fitting
from stillflow.runtime.devices.devices import gpu_count

X = np.sin(np.arange(40.0)).reshape(2, 5, 4).astype("float32")
ATOL = 1e-4 if gpu_count() else 1e-5  # cuDNN computes tanh and the like with fewer digits
KINDS = ["memory", "gated"]


def layers_of(kind, units=3, **kwargs):
    """Return a layer, and the one that computes the same step by step."""
    layers = tf.keras.layers
    if kind == "memory":
        return (
            layers.CuDNNLSTM(units, **kwargs),
            layers.LSTM(units, recurrent_activation="sigmoid", **kwargs),
        )
    return (
        layers.CuDNNGRU(units, **kwargs),
        layers.GRU(units, recurrent_activation="sigmoid", reset_after=True, **kwargs),
    )


def both(make, x=X):
    """Return the outputs of two layers with the same weights, with their inputs' gradients."""
    results = []
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        for layer in make():
            inputs = tf.constant(x)
            outputs = layer(inputs)
            outputs = outputs if isinstance(outputs, list) else [outputs]
            results.append((layer, [*outputs, *tf.gradients(outputs, inputs)]))
        session.run(tf.global_variables_initializer())
        fast, slow = results[0][0], results[1][0]
        for variable in fast.weights:
            noise = np.cos(np.arange(variable.shape.num_elements()))
            variable.load(noise.reshape(variable.shape.as_list()), session)
        arrays = fitting(slow, session.run(fast.weights))
        for variable, array in zip(slow.weights, arrays, strict=True):
            variable.load(array, session)
        return [session.run(tensors) for _, tensors in results]


def assert_same(found):
    for fast, slow in zip(*found, strict=True):
        assert fast.shape == slow.shape
        np.testing.assert_allclose(fast, slow, rtol=1e-4, atol=ATOL)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"return_sequences": True, "return_state": True},
        {"go_backwards": True, "return_sequences": True},
        {"time_major": True, "return_sequences": True},
    ],
    ids=["last", "all", "backwards", "time_major"],
)
def test_as_step_by_step(kind, kwargs):
    assert_same(both(lambda: layers_of(kind, **kwargs)))


@pytest.mark.parametrize("kind", KINDS)
def test_both_ways(kind):
    both_ways = tf.keras.layers.Bidirectional
    assert_same(both(lambda: [both_ways(each) for each in layers_of(kind, return_sequences=True)]))


@pytest.mark.parametrize("kind", KINDS)
def test_states_are_kept(kind):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.keras.backend.set_session(session)
        layer, _ = layers_of(kind, stateful=True, batch_input_shape=(2, 5, 4))
        model = tf.keras.Sequential([layer])
        first, second = model.predict(X, batch_size=2), model.predict(X, batch_size=2)
        assert not np.allclose(first, second)
        np.testing.assert_allclose(session.run(layer.states[0]), second, rtol=1e-5)
        layer.reset_states()
        np.testing.assert_allclose(model.predict(X, batch_size=2), first, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_learns_and_is_read_without_cudnn(kind, tmp_path):
    pytest.importorskip("h5py")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.keras.backend.set_session(session)
        tf.set_random_seed(2)
        models = [
            tf.keras.Sequential(
                [
                    tf.keras.layers.Bidirectional(layer, input_shape=(5, 4)),
                    tf.keras.layers.Dense(1),
                ]
            )
            for layer in layers_of(kind)
        ]
        fast, slow = models
        fast.compile("adam", "mse")
        history = fast.fit(X, np.float32([[1.0], [-1.0]]), epochs=5, verbose=0)
        assert history.history["loss"][-1] < history.history["loss"][0]
        path = str(tmp_path / "weights.h5")
        fast.save_weights(path)
        slow.load_weights(path)
        np.testing.assert_allclose(fast.predict(X), slow.predict(X), rtol=1e-4, atol=1e-5)
        fast.save(str(tmp_path / "model.h5"))
        again = tf.keras.models.load_model(str(tmp_path / "model.h5"))
        np.testing.assert_allclose(again.predict(X), fast.predict(X), rtol=1e-6)
