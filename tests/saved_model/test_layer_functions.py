"""The functions of layers in SavedModels: those that TensorFlow writes, and their exchange."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.saved_model import layer_functions
from tests.saved_model.exchange import ask_tensorflow

import stillflow as tf
from stillflow.saved_model.reading import parse_saved_model
from stillflow.saved_model.structures import decode


@pytest.fixture(scope="module")
def written(tmp_path_factory: Any) -> str:
    """Return the directory of the models."""
    directory = str(tmp_path_factory.mktemp("models"))
    layer_functions.write(tf, directory)
    tf.keras.backend.clear_session()
    return directory


def recorded(what: str) -> Any:
    return json.loads(Path(layer_functions.RECORDED).read_text())[what]


def check_use(found: dict[str, Any]) -> None:
    wanted = recorded("used")
    assert found.keys() == wanted.keys()
    for name, model in found.items():
        assert model.pop("difference") < 1e-6
        wanted[name].pop("difference")
        assert model == wanted[name]


def test_files_say_of_layers_what_tensorflow_says(written: str) -> None:
    found = layer_functions.described(written, parse_saved_model, decode)
    wanted = recorded("described")
    assert found.keys() == wanted.keys()
    for name, layers in json.loads(json.dumps(found)).items():
        assert layers.keys() == wanted[name].keys()
        for layer, told in layers.items():
            assert told == wanted[name][layer], (name, layer)


def test_models_are_made_again(written: str) -> None:
    check_use(layer_functions.use(tf, written))
    tf.keras.backend.clear_session()


@pytest.mark.oracle
def test_tensorflow_makes_models_of_them(written: str) -> None:
    check_use(json.loads(ask_tensorflow("layer_functions", "use", Path(written))))


def test_a_save_leaves_nothing_behind(written: str) -> None:
    model = layer_functions.sequential(tf)
    model.save(str(Path(written) / "again"), save_format="tf")
    for layer in (model, *model.layers):
        assert not {"call", "_saved_functions"} & set(layer.__dict__)
        assert "keras_api" not in layer._tracked
