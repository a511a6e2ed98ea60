"""Activations, initializers, regularizers and constraints by name, and as dictionaries."""

import numpy as np
import pytest

import stillflow as tf

ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "exponential": np.exp,
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "selu": lambda x: 1.05070098 * np.where(x > 0, x, 1.67326324 * np.expm1(x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "hard_sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
}
X = np.float32([[-4.0, -0.5, 0.0], [0.25, 1.0, 7.0]])


def run(tensor):
    with tf.Session() as session:
        return session.run(tensor)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    activation = tf.keras.activations.get(name)
    np.testing.assert_allclose(run(activation(tf.constant(X))), ACTIVATIONS[name](X), rtol=1e-5)
    assert tf.keras.activations.serialize(activation) == name


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"alpha": 0.5}, np.where(X > 0, X, X / 2)),
        ({"max_value": 6}, np.clip(X, 0, 6)),
        ({"max_value": 0.5}, np.clip(X, 0, 0.5)),
        ({"threshold": 0.5}, np.where(X > 0.5, X, 0)),
        ({"threshold": 0.5, "alpha": 0.1, "max_value": 2},
         np.where(X > 0.5, np.minimum(X, 2), 0.1 * (X - 0.5))),
    ],
)  # fmt: skip
def test_forms_of_relu(options, expected):
    result = run(tf.keras.activations.relu(tf.constant(X), **options))
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_softmax_of_a_vector_is_refused():
    with pytest.raises(ValueError, match="Cannot apply softmax to a tensor that is 1D"):
        tf.keras.activations.softmax(tf.constant([1.0]))


@pytest.mark.parametrize(
    "name",
    ["zeros", "ones", "Zeros", "glorot_uniform", "GlorotNormal", "he_normal", "lecun_uniform",
     "random_normal", "uniform", "truncated_normal", "orthogonal", "identity"],
)  # fmt: skip
def test_initializers(name):
    initializer = tf.keras.initializers.get(name)
    assert run(initializer([3, 3])).shape == (3, 3)
    config = tf.keras.initializers.serialize(initializer)
    twin = tf.keras.initializers.deserialize(config)
    assert type(twin) is type(initializer)
    assert twin.get_config() == initializer.get_config()


def test_regularizers():
    x = tf.constant(X)
    value = run(tf.keras.regularizers.get("l1_l2")(x))
    assert value == pytest.approx(0.01 * np.abs(X).sum() + 0.01 * np.square(X).sum())
    assert run(tf.keras.regularizers.L1L2()(x)) == 0
    config = tf.keras.regularizers.serialize(tf.keras.regularizers.l2(0.5))
    assert config == {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.5}}
    assert tf.keras.regularizers.get(config).l2 == 0.5


def test_constraints():
    w = tf.constant(X)
    norms = np.linalg.norm(X, axis=0)
    maximum = run(tf.keras.constraints.get("max_norm")(w))
    np.testing.assert_allclose(np.linalg.norm(maximum, axis=0), np.minimum(norms, 2), rtol=1e-4)
    unit = run(tf.keras.constraints.unit_norm()(w))
    np.testing.assert_allclose(np.linalg.norm(unit, axis=0), 1, rtol=1e-4)
    between = run(tf.keras.constraints.MinMaxNorm(2.0, 3.0, rate=0.5)(w))
    expected = 0.5 * np.clip(norms, 2, 3) + 0.5 * norms
    np.testing.assert_allclose(np.linalg.norm(between, axis=0), expected, rtol=1e-4)
    np.testing.assert_array_equal(run(tf.keras.constraints.get("nonneg")(w)), np.maximum(X, 0))
    config = tf.keras.constraints.serialize(tf.keras.constraints.MaxNorm(3, axis=1))
    assert config == {"class_name": "MaxNorm", "config": {"max_value": 3, "axis": 1}}
    assert tf.keras.constraints.get(config).max_value == 3


@pytest.mark.parametrize("space", ["activations", "initializers", "regularizers", "constraints"])
def test_what_is_unknown_is_refused(space):
    get = getattr(tf.keras, space).get
    with pytest.raises(ValueError, match="Unknown"):
        get("no_such_name")
    with pytest.raises((ValueError, TypeError), match="Could not interpret"):
        get(3)
    with pytest.raises(ValueError, match=r"Improper config format|Unknown"):
        get({"name": "x"})


def test_custom_objects_are_known_in_their_scope():
    def triple(x):
        return 3 * x

    with tf.keras.utils.custom_object_scope({"triple": triple}):
        y = tf.layers.dense(tf.ones([1, 2]), 1, "triple", kernel_initializer="ones")
        assert tf.keras.utils.get_custom_objects() == {"triple": triple}
    with pytest.raises(ValueError, match="Unknown activation function:triple"):
        tf.keras.activations.get("triple")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y) == 6


def test_settings_have_bounds():
    backend = tf.keras.backend
    before = backend.floatx(), backend.epsilon(), backend.image_data_format()
    try:
        backend.set_floatx("float64")
        backend.set_epsilon(1e-3)
        backend.set_image_data_format("channels_first")
        assert tf.layers.Flatten().data_format == "channels_first"
        assert run(tf.keras.regularizers.L1L2()(tf.constant(1.0))).dtype == np.float64
        assert backend.epsilon() == 1e-3
        with pytest.raises(ValueError, match="Unknown floatx type: int8"):
            backend.set_floatx("int8")
        with pytest.raises(ValueError, match="Unknown data_format"):
            backend.set_image_data_format("NHWC")
    finally:
        backend.set_floatx(before[0])
        backend.set_epsilon(before[1])
        backend.set_image_data_format(before[2])
