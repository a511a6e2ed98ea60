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
from stillflow import nest


@pytest.fixture(autouse=True)
def own_session() -> Any:
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()


def check(found: Any) -> None:
    """Check that the facts equal TensorFlow's files and outputs."""
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


def check_loaded(directory: Path) -> None:
    """Models that have a configuration are loaded, and predict what TensorFlow recorded."""
    wanted = json.loads(Path(keras_models.RECORDED).read_text())
    for make in keras_models.MODELS:
        if make is not keras_models.subclassed:
            tf.keras.backend.clear_session()
            model = tf.keras.models.load_model(directory / make.__name__)
            found = model.predict([keras_models.fed(name) for name in model.input_names])
            answers = dict(zip(model.output_names, nest.flatten(found), strict=True))
            for name, answer in answers.items():
                np.testing.assert_allclose(answer, wanted[make.__name__]["answers"][name], 1e-5)


def test_models_are_loaded_again(tmp_path: Path) -> None:
    keras_models.write(tf, str(tmp_path))
    check_loaded(tmp_path)


@pytest.mark.oracle
def test_models_of_tensorflow_are_loaded(tmp_path: Path) -> None:
    ask_tensorflow("keras_models", "write", tmp_path)
    check_loaded(tmp_path)


def test_a_loaded_model_is_compiled_with_an_optimizer_that_starts_anew(tmp_path: Path) -> None:
    model = keras_models.compiled(tf)
    model.save(tmp_path, save_format="tf")
    again = tf.keras.models.load_model(tmp_path)
    assert [again.loss, again.metrics_names] == ["mse", ["loss", "mean_absolute_error"]]
    assert again.optimizer.get_config() == model.optimizer.get_config()
    assert tf.keras.backend.get_value(again.optimizer.iterations) == 0
    again.fit(np.ones((8, 4)), np.ones((8, 2)), verbose=0)
    assert tf.keras.backend.get_value(again.optimizer.iterations) == 1
    assert tf.keras.models.load_model(tmp_path, compile=False).optimizer is None


def test_a_model_is_saved_without_its_optimizer(tmp_path: Path) -> None:
    model = keras_models.compiled(tf)
    optimizer = model.optimizer
    model.save(tmp_path, save_format="tf", include_optimizer=False)
    assert model.optimizer is optimizer
    names = [name for name, _ in tf.train.list_variables(str(tmp_path / "variables/variables"))]
    assert not [name for name in names if "optimizer" in name]
    assert tf.keras.models.load_model(tmp_path).optimizer is None


def test_models_that_cannot_be_saved_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be saved because the input shapes have not been"):
        tf.keras.Model().save(tmp_path, save_format="tf")


def test_objects_that_are_no_models_are_loaded_as_they_are(tmp_path: Path) -> None:
    made = tf.Module()
    made.double = tf.function(
        lambda x: x * 2.0, input_signature=[tf.TensorSpec([], tf.float32, name="x")]
    )
    tf.saved_model.save(made, str(tmp_path))
    with tf.Session() as session:
        assert session.run(tf.keras.models.load_model(tmp_path).double(4.0)) == 8.0
