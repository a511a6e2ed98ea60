"""Keras models as SavedModels: the signature they get, what it answers, and its exchange."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.saved_model import keras_models
from tests.saved_model.exchange import ask_tensorflow

import stillflow as tf


@pytest.fixture(autouse=True)
def own_session() -> Any:
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()


def check(found: Any) -> None:
    """What was found is what TensorFlow wrote and answered."""
    wanted = json.loads(Path(keras_models.RECORDED).read_text())
    assert found.keys() == wanted.keys()
    for name, model in found.items():
        answers, expected = model.pop("answers"), wanted[name].pop("answers")
        assert model == wanted[name]
        assert answers.keys() == expected.keys()
        for key, answer in answers.items():
            np.testing.assert_allclose(answer, expected[key], 1e-5)


def test_models_that_are_written_answer_as_those_of_tensorflow(tmp_path: Path) -> None:
    keras_models.write(tf, str(tmp_path))
    check(keras_models.use(tf, str(tmp_path)))


@pytest.mark.oracle
def test_tensorflow_loads_what_is_written(tmp_path: Path) -> None:
    keras_models.write(tf, str(tmp_path))
    check(json.loads(ask_tensorflow("keras_models", "use", tmp_path)))


@pytest.mark.oracle
def test_what_tensorflow_writes_is_loaded(tmp_path: Path) -> None:
    ask_tensorflow("keras_models", "write", tmp_path)
    check(keras_models.use(tf, str(tmp_path)))


def test_a_save_adds_no_losses_and_updates_to_a_model(tmp_path: Path) -> None:
    model = keras_models.sequential(tf)
    before = len(model.losses), len(model.updates)
    tf.saved_model.save(model, str(tmp_path))
    assert (len(model.losses), len(model.updates)) == before


def test_a_model_of_unknown_inputs_has_no_signature(tmp_path: Path) -> None:
    tf.saved_model.save(tf.keras.Model(), str(tmp_path))
    with tf.Session(graph=tf.Graph()) as session:
        loaded = tf.saved_model.load(session, ["serve"], str(tmp_path))
        assert "serving_default" not in loaded.signature_def


def test_the_signature_of_a_function_call_is_that_of_the_model(tmp_path: Path) -> None:
    class Declared(tf.keras.Model):  # type: ignore[misc,name-defined]
        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="given")])
        def call(self, inputs: Any) -> Any:
            return inputs * 2.0

    model = Declared()
    model(tf.ones([1, 3]))
    tf.saved_model.save(model, str(tmp_path))
    with tf.Session(graph=tf.Graph()) as session:
        loaded = tf.saved_model.load(session, ["serve"], str(tmp_path))
        assert list(loaded.signature_def["serving_default"].inputs) == ["given"]
