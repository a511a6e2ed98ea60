"""Models as YAML: TensorFlow's texts are read, and no text runs code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stillflow as tf

yaml = pytest.importorskip("yaml")
HERE = Path(__file__).parent
layers = tf.keras.layers


def images():
    # What `recorded/images.yaml` is of, written by TensorFlow 1.15.5 with PyYAML 5.4.
    return tf.keras.Sequential(
        [
            layers.Conv2D(
                3, (2, 3), strides=2, activation="relu", input_shape=(8, 8, 1),
                kernel_regularizer=tf.keras.regularizers.l2(1e-4),
            ),
            layers.BatchNormalization(),
            layers.Flatten(),
            layers.Dropout(0.25),
            layers.Dense(2, activation="softmax"),
        ],
        name="images",
    )  # fmt: skip


def sentences():
    words = tf.keras.Input([4], name="words")
    vectors = layers.Embedding(10, 3, name="vectors")(words)
    both = layers.Bidirectional(layers.LSTM(2, name="cell"), name="both")(vectors)
    joined = layers.concatenate([both, both], name="joined")
    return tf.keras.Model(words, layers.Dense(1, name="score")(joined), name="sentences")


def recorded(name):
    return (HERE / "recorded" / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("make", [images, sentences])
def test_models_are_written_as_tensorflow_writes_them(make):
    text = recorded(make.__name__)
    # One list that TensorFlow's layers track stands there as such; here it is a list.
    wrapper = (
        "!!python/object/apply:tensorflow.python.training.tracking.data_structures.ListWrapper"
    )
    assert make().to_yaml() == text.replace(f" {wrapper}\n      - - 3", "\n      - 3")


@pytest.mark.parametrize("make", [images, sentences])
def test_models_that_tensorflow_wrote_are_read(make):
    model = tf.keras.models.model_from_yaml(recorded(make.__name__))
    assert model.get_config() == make().get_config()
    assert [w.shape for w in model.get_weights()] == [w.shape for w in make().get_weights()]


def test_a_model_is_read_back():
    model = sentences()
    again = tf.keras.models.model_from_yaml(model.to_yaml())
    again.set_weights(model.get_weights())
    words = np.array([[1, 2, 3, 4]])
    np.testing.assert_array_equal(again.predict(words), model.predict(words))


@pytest.mark.parametrize(
    "attack",
    [
        "!!python/object/apply:os.system ['touch {path}']",
        "!!python/object/new:os.system ['touch {path}']",
        "!!python/name:os.system",
        "!!python/module:os",
        "!!python/object/apply:tensorflow.python.training.tracking.data_structures.Other [[1]]",
    ],
)
def test_a_text_that_asks_for_objects_is_an_error(attack, tmp_path):
    path = tmp_path / "made"
    text = "class_name: Sequential\nconfig: " + attack.format(path=path)
    with pytest.raises(yaml.YAMLError, match="could not determine a constructor for the tag"):
        tf.keras.models.model_from_yaml(text)
    assert not path.exists()


def test_numbers_of_numpy_are_written_as_numbers():
    model = tf.keras.Sequential([layers.Dropout(np.float32(0.5), input_shape=(np.int64(3),))])
    again = tf.keras.models.model_from_yaml(model.to_yaml(default_flow_style=True))
    assert again.layers[0].rate == 0.5 and again.input_shape == (None, 3)
