"""Keras models exported with a graph for each use: files, loading and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.saved_model import keras_exports
from tests.saved_model.exchange import ask_tensorflow

import stillflow as tf

export = tf.keras.experimental.export_saved_model
load = tf.keras.experimental.load_from_saved_model


@pytest.fixture(autouse=True)
def own_session() -> Any:
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()


def check(found: Any, wanted: Any = None) -> None:
    """Check that the facts equal TensorFlow's up to the last bits of numbers."""
    if wanted is None:
        wanted = json.loads(Path(keras_exports.RECORDED).read_text())
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for key, value in wanted.items():
            check(found[key], value)
    elif isinstance(wanted, list) and not isinstance(wanted[0], str):
        for one, other in zip(found, wanted, strict=True):
            check(one, other)
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=1e-5)
    else:
        assert found == wanted


def test_exported_models_are_and_answer_as_those_of_tensorflow(tmp_path: Path) -> None:
    keras_exports.write(tf, str(tmp_path))
    check(keras_exports.use(tf, str(tmp_path)))


@pytest.mark.oracle
def test_tensorflow_loads_what_is_exported(tmp_path: Path) -> None:
    keras_exports.write(tf, str(tmp_path))
    check(json.loads(ask_tensorflow("keras_exports", "use", tmp_path)))


@pytest.mark.oracle
def test_what_tensorflow_exports_is_loaded(tmp_path: Path) -> None:
    ask_tensorflow("keras_exports", "write", tmp_path)
    check(keras_exports.use(tf, str(tmp_path)))


class Twice(tf.keras.Model):  # type: ignore[misc,name-defined]
    """A model that only its `call` describes."""

    def call(self, inputs: Any) -> Any:
        return inputs * 2.0


def test_a_model_that_is_a_subclass_is_exported_to_be_served(tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match="set argument serving_only=True"):
        export(Twice(), str(tmp_path / "all"))
    with pytest.raises(ValueError, match="input shapes have not been set"):
        export(Twice(), str(tmp_path / "unknown"), serving_only=True)
    signature = [tf.TensorSpec([None, 3], tf.float32, name="given")]
    export(Twice(), str(tmp_path / "served"), input_signature=signature, serving_only=True)
    with tf.Session(graph=tf.Graph()) as session:
        graph = tf.saved_model.load(session, ["serve"], str(tmp_path / "served"))
        served = graph.signature_def["serving_default"]
        assert list(served.inputs) == ["given"]
        given = {served.inputs["given"].name: np.ones((1, 3))}
        assert session.run(served.outputs["output_1"].name, given).tolist() == [[2, 2, 2]]
    with pytest.raises(tf.errors.NotFoundError):
        load(str(tmp_path / "served"))


def test_a_model_without_variables_and_a_full_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Weights for sequential model have not yet been created"):
        export(tf.keras.Sequential([tf.keras.layers.Dense(1)]), str(tmp_path))
    (tmp_path / "file").write_text("")
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    with pytest.raises(AssertionError, match="already exists, and isn't empty"):
        export(model, str(tmp_path))


def test_inputs_are_those_of_the_signature_that_is_given(tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    export(model, str(tmp_path), input_signature=tf.TensorSpec([5, 2], tf.float32, name="five"))
    with tf.Session(graph=tf.Graph()) as session:
        graph = tf.saved_model.load(session, ["serve"], str(tmp_path))
        (given,) = graph.signature_def["serving_default"].inputs.values()
        assert [given.name, [one.size for one in given.tensor_shape.dim]] == ["five:0", [5, 2]]


def test_classes_that_only_the_program_knows_are_found_by_their_names(tmp_path: Path) -> None:
    class Shift(tf.keras.layers.Layer):  # type: ignore[misc,name-defined]
        def call(self, inputs: Any) -> Any:
            return inputs + 1.0

    model = tf.keras.Sequential([Shift(input_shape=(2,)), tf.keras.layers.Dense(1)])
    export(model, str(tmp_path), custom_objects={"Shift": Shift})
    with pytest.raises(ValueError, match="Unknown layer: Shift"):
        load(str(tmp_path))
    again = load(str(tmp_path), custom_objects={"Shift": Shift})
    np.testing.assert_array_equal(again.predict(np.ones((1, 2))), model.predict(np.ones((1, 2))))


def test_a_model_that_was_not_trained_is_exported_with_what_its_optimizer_keeps(
    tmp_path: Path,
) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile(tf.train.AdadeltaOptimizer(0.1), "mse")
    export(model, str(tmp_path))
    names = [name for name, _ in tf.train.list_variables(str(tmp_path / "variables/variables"))]
    assert sum("OPTIMIZER_SLOT" in name for name in names) == 4
