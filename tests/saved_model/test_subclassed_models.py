"""SavedModels where operations run when they are called, and models made of their functions."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.saved_model import subclassed_models

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph
from stillflow.keras.saving import attached


def check(found: dict[str, Any]) -> None:
    wanted = json.loads(Path(subclassed_models.RECORDED).read_text())
    assert found.keys() == wanted.keys()
    for name in ("predicted", "evaluated", "afterwards"):
        np.testing.assert_allclose(found.pop(name), wanted.pop(name), 1e-4)
    history, expected = found.pop("history"), wanted.pop("history")
    assert history.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(history[name], values, 1e-4)
    assert found == wanted


def test_models_of_unknown_classes_are_made_of_their_functions() -> None:
    with ImmediateGraph().as_default():
        check(subclassed_models.use(tf))


def test_they_are_trained_in_graphs_as_well() -> None:
    tf.keras.backend.clear_session()
    check(subclassed_models.use(tf))
    tf.keras.backend.clear_session()


def test_models_without_functions_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Own(tf.keras.Model):
        def call(self, inputs: Any) -> Any:
            return inputs * 2.0

    with ImmediateGraph().as_default():
        model = Own()
        model.compile("sgd", "mse")
        model.predict(np.ones((1, 2), np.float32))
        with monkeypatch.context() as patch:
            patch.setattr(attached, "layers_with_functions", contextlib.nullcontext)
            model.save(str(tmp_path), save_format="tf")
        with pytest.raises(NotImplementedError, match="a model of the class Own without"):
            tf.keras.models.load_model(str(tmp_path))


class Scaler(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.by = tf.Variable([1.0, 2.0])

    @tf.function(input_signature=[tf.TensorSpec([2])])
    def __call__(self, x: Any) -> Any:
        return x * self.by


def test_modules_are_saved_and_loaded_at_once(tmp_path: Path) -> None:
    with ImmediateGraph().as_default():
        tf.saved_model.save(Scaler(), str(tmp_path))
        loaded = tf.compat.v2.saved_model.load(str(tmp_path))
        x = tf.constant([3.0, 4.0])
        loaded.by.assign_add([1.0, 0.0])
        with tf.GradientTape() as tape:
            y = loaded(x)
        assert y.numpy().tolist() == [6.0, 8.0]
        assert tape.gradient(y, loaded.by).numpy().tolist() == [3.0, 4.0]
        assert loaded.signatures["serving_default"](x)["output_0"].numpy().tolist() == [6.0, 8.0]


def test_tapes_inside_of_functions_see_variables_of_functions_that_were_traced_before() -> None:
    with ImmediateGraph().as_default():
        variable = tf.Variable(2.0)
        inner = tf.function(lambda x: x * variable)
        assert inner(tf.constant(1.0)).numpy() == 2.0

        @tf.function
        def slope(x: Any) -> Any:
            with tf.GradientTape() as tape:
                y = inner(x)
            return tape.gradient(y, variable)

        assert slope(tf.constant(5.0)).numpy() == 5.0
