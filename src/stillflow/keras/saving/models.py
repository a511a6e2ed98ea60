"""`tf.keras.models`: models saved, loaded, and made of dictionaries."""

from __future__ import annotations

import json
import os
from typing import Any

from stillflow.files import sniff
from stillflow.graph.export import export
from stillflow.keras.engine import network
from stillflow.keras.engine.sequential import Sequential
from stillflow.keras.layers.serialization import deserialize
from stillflow.keras.saving import hdf5, saved_models, yaml_text
from stillflow.saved_model import names

_ENDINGS = (".h5", ".hdf5", ".keras")


@export("keras.models.model_from_config")
def model_from_config(config: Any, custom_objects: Any = None) -> Any:
    """Return the model of {"class_name": ..., "config": ...}.

    Raises:
      TypeError: for a list.
    """
    if isinstance(config, list):
        raise TypeError(
            "`model_from_config` expects a dictionary, not a list. Maybe you meant to use "
            "`Sequential.from_config(config)`?"
        )
    return deserialize(config, custom_objects=custom_objects)


@export("keras.models.model_from_json")
def model_from_json(json_string: str, custom_objects: Any = None) -> Any:
    """Return the model that `to_json` wrote."""
    return deserialize(json.loads(json_string), custom_objects=custom_objects)


@export("keras.models.model_from_yaml")
def model_from_yaml(yaml_string: str, custom_objects: Any = None) -> Any:
    """Return the model that `to_yaml` wrote, under TensorFlow or here; no code in it is run.

    Raises:
      ImportError: if PyYAML is not installed.
      yaml.YAMLError: if the text asks for objects of Python, or is no YAML.
    """
    return deserialize(yaml_text.load(yaml_string), custom_objects=custom_objects)


@export("keras.models.save_model")
def save_model(
    model: Any,
    filepath: Any,
    overwrite: bool = True,
    include_optimizer: bool = True,
    save_format: str | None = None,
    signatures: Any = None,
) -> None:
    """Write a model to an HDF5 file or as a SavedModel.

    A SavedModel serves programs everywhere, and `load_model` makes the model again: Stillflow's of
    its configuration, if it has one, TensorFlow's of the functions of its layers.

    Args:
      model: a functional or sequential model; for a SavedModel any that knows its inputs.
      filepath: the path of a file, a file of h5py that is open, or the directory of a SavedModel.
      overwrite: False to ask before a file is replaced.
      include_optimizer: whether it can be trained on.
      save_format: "h5", or "tf" for a SavedModel.
      signatures: of a SavedModel, see `tf.saved_model.save`.

    Raises:
      ImportError: if h5py is not installed.
      NotImplementedError: for an HDF5 file of a model that a subclass defines.
      ValueError: for a SavedModel of a model that does not know its inputs.
    """
    is_open = hdf5.is_file(filepath)
    filepath = filepath if is_open else os.fspath(filepath)
    if (save_format or "h5") != "h5" and not (is_open or filepath.endswith(_ENDINGS)):
        saved_models.save_model(model, filepath, overwrite, include_optimizer, signatures)
        return
    if not model._is_graph_network and not isinstance(model, Sequential):
        raise NotImplementedError(
            "Saving the model to HDF5 format requires the model to be a Functional model or a "
            "Sequential model. It does not work for subclassed models, because such models are "
            "defined via the body of a Python method, which isn't safely serializable. Consider "
            'saving to the Tensorflow SavedModel format (by setting save_format="tf") or using '
            "`save_weights`."
        )
    hdf5.save_model_to_hdf5(model, filepath, overwrite, include_optimizer)


@export("keras.models.load_model")
def load_model(filepath: Any, custom_objects: Any = None, compile: bool = True) -> Any:
    """Read a model from an HDF5 file or a SavedModel.

    Args:
      filepath: the path of a file, a file of h5py that is open, or the directory of a SavedModel.
      custom_objects: classes and functions by name.
      compile: whether it is compiled as it was.

    Raises:
      ImportError: if h5py is not installed.
      OSError: if the file is none.
      NotImplementedError: for a SavedModel of a model that only its class describes, without the
        functions that TensorFlow saves of models.
    """
    is_open = hdf5.is_file(filepath)
    filepath = filepath if is_open else os.fspath(filepath)
    if is_open or hdf5.is_hdf5(filepath):
        return hdf5.load_model_from_hdf5(filepath, custom_objects, compile)
    if os.path.isdir(filepath):
        return saved_models.load_model(filepath, custom_objects, compile)
    why = ""
    if os.path.exists(filepath):
        why = f"\n{filepath} is {sniff.describe_path(filepath) or 'no HDF5 file'}"
    raise OSError(
        f"SavedModel file does not exist at: {filepath}/"
        f"{{{names.SAVED_MODEL_FILENAME_PBTXT}|{names.SAVED_MODEL_FILENAME_PB}}}{why}"
    )


network.save_model.provide(save_model)
