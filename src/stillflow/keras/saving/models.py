"""`tf.keras.models`: models saved, loaded, and made of dictionaries."""

from __future__ import annotations

import json
import os
from typing import Any

from stillflow.graph.export import export
from stillflow.keras.engine.sequential import Sequential
from stillflow.keras.layers.serialization import deserialize
from stillflow.keras.saving import hdf5

_ENDINGS = (".h5", ".hdf5", ".keras")


@export("keras.models.model_from_config")
def model_from_config(config: Any, custom_objects: Any = None) -> Any:
    """The model of {"class_name": ..., "config": ...}.

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
    """The model that `to_json` wrote."""
    return deserialize(json.loads(json_string), custom_objects=custom_objects)


@export("keras.models.model_from_yaml")
def model_from_yaml(yaml_string: str, custom_objects: Any = None) -> Any:
    """Always raises: reading YAML may run code.

    Raises:
      RuntimeError: always.
    """
    raise RuntimeError(
        "Method `model_from_yaml()` has been removed due to security risk of arbitrary code "
        "execution. Please use `Model.to_json()` and `model_from_json()` instead."
    )


@export("keras.models.save_model")
def save_model(
    model: Any,
    filepath: Any,
    overwrite: bool = True,
    include_optimizer: bool = True,
    save_format: str | None = None,
    signatures: Any = None,
) -> None:
    """Writes a model to an HDF5 file.

    Args:
      model: a functional or sequential model.
      filepath: the file.
      overwrite: False to ask before a file is replaced.
      include_optimizer: whether it can be trained on.
      save_format: "h5"; "tf", a SavedModel, is not supported.
      signatures: of a SavedModel.

    Raises:
      ImportError: if h5py is not installed.
      NotImplementedError: for a SavedModel, or a model that a subclass defines.
    """
    filepath = os.fspath(filepath)
    if (save_format or "h5") != "h5" and not filepath.endswith(_ENDINGS):
        raise NotImplementedError(
            "keras.models.save_model: save_format='tf' is not supported by Stillflow; use "
            "save_weights, or save_format='h5'"
        )
    if not model._is_graph_network and not isinstance(model, Sequential):
        raise NotImplementedError(
            "Saving the model to HDF5 format requires the model to be a Functional model or a "
            "Sequential model. It does not work for subclassed models, because such models are "
            "defined via the body of a Python method, which isn't safely serializable. Consider "
            'saving to the Tensorflow SavedModel format (by setting save_format="tf") or using '
            "`save_weights`."
        )
    hdf5.save_model(model, filepath, overwrite, include_optimizer)


@export("keras.models.load_model")
def load_model(filepath: Any, custom_objects: Any = None, compile: bool = True) -> Any:
    """Reads a model from an HDF5 file.

    Args:
      filepath: the file.
      custom_objects: classes and functions by name.
      compile: whether it is compiled as it was.

    Raises:
      ImportError: if h5py is not installed.
      OSError: if the file is none.
      NotImplementedError: for a SavedModel.
    """
    filepath = os.fspath(filepath)
    if hdf5.is_hdf5(filepath):
        return hdf5.load_model(filepath, custom_objects, compile)
    if os.path.isdir(filepath):
        raise NotImplementedError(
            "keras.models.load_model: SavedModels are not supported by Stillflow; "
            "tf.saved_model.load reads their graphs"
        )
    raise OSError(
        "Unable to load model. Filepath is not an hdf5 file (or h5py is not available) or "
        "SavedModel."
    )
