"""Models and their variables in HDF5 files, as Keras 2 writes them. They need h5py."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from stillflow.graph.eager_mode import executing_eagerly
from stillflow.keras.engine.network_config import get_json_type
from stillflow.keras.engine.network_weights import confirm_overwrite
from stillflow.keras.optimizers.base import OptimizerV2
from stillflow.keras.optimizers.tf_optimizer import TFOptimizer
from stillflow.keras.saving.description import compile_as, describe
from stillflow.keras.saving.hdf5_groups import (
    load_optimizer_weights_from_hdf5_group,
    load_weights_from_hdf5_group,
    load_weights_from_hdf5_group_by_name,
    save_optimizer_weights_to_hdf5_group,
    save_weights_to_hdf5_group,
    text,
)
from stillflow.platform import tf_logging as logging


def _h5py(what: str) -> Any:
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise ImportError(
            f"`{what}` requires h5py.\nThe extra `keras` brings it: pip install 'stillflow[keras]'"
        ) from None


def is_file(value: Any) -> bool:
    """Return True if a value is a file of h5py that is open."""
    h5py = sys.modules.get("h5py")  # who has such a file has imported it
    return h5py is not None and isinstance(value, h5py.File)


@contextlib.contextmanager
def _opened(what: str, path: Any, mode: str) -> Iterator[Any]:
    """Open the file at a path; a file that is open already is left open."""
    if is_file(path):
        yield path
        path.flush()
        return
    with _h5py(what).File(path, mode) as file:
        yield file


def is_hdf5(path: Any) -> bool:
    """Return True if a file is one of HDF5."""
    try:
        with open(path, "rb") as file:
            return file.read(8) == b"\x89HDF\r\n\x1a\n"
    except OSError:
        return False


def save_weights(path: str, layers: list[Any]) -> None:
    """Write the variables of layers; ImportError if h5py is not installed."""
    with _h5py("save_weights").File(path, "w") as file:
        save_weights_to_hdf5_group(file, layers)


def load_weights(path: str, layers: list[Any], by_name: bool) -> None:
    """Read the variables of layers, in their order, or found by their names if `by_name`.

    ImportError if h5py is not installed, ValueError if the file has other layers.
    """
    load = load_weights_from_hdf5_group_by_name if by_name else load_weights_from_hdf5_group
    with _h5py("load_weights").File(path, "r") as file:
        group = file
        if "layer_names" not in file.attrs and "model_weights" in file:
            group = file["model_weights"]
        load(group, layers)


def save_model_to_hdf5(
    model: Any, filepath: Any, overwrite: bool = True, include_optimizer: bool = True
) -> None:
    """Write a model, functional or sequential, to a path or an open file of h5py.

    If not to `overwrite`, the user is asked before a file is replaced. ImportError without h5py.
    """
    if not (overwrite or is_file(filepath)) and os.path.isfile(filepath):
        _h5py("save_model")
        if not confirm_overwrite(filepath):
            return
    with _opened("save_model", filepath, "w") as file:
        for key, value in describe(model, include_optimizer).items():
            plain = value if isinstance(value, str) else json.dumps(value, default=get_json_type)
            file.attrs[key] = plain.encode("utf8")
        save_weights_to_hdf5_group(file.create_group("model_weights"), model.layers)
        optimizer = model.optimizer
        if include_optimizer and optimizer and not isinstance(optimizer, TFOptimizer):
            save_optimizer_weights_to_hdf5_group(file, optimizer)


def load_model_from_hdf5(filepath: Any, custom_objects: Any = None, compile: bool = True) -> Any:
    """Read a model from a path or an open file of h5py; if `compile`, compile it as it was.

    ImportError if h5py is not installed, ValueError if the file has no model.
    """
    from stillflow.keras.layers.serialization import deserialize
    from stillflow.keras.utils.objects import CustomObjectScope

    with _opened("load_model", filepath, "r") as file, CustomObjectScope(custom_objects or {}):
        config = file.attrs.get("model_config")
        if config is None:
            raise ValueError("No model found in config file.")
        model = deserialize(json.loads(text(config)), custom_objects=custom_objects)
        load_weights_from_hdf5_group(file["model_weights"], model.layers)
        if compile:
            _compile(model, file)
    return model


def _compile(model: Any, file: Any) -> None:
    config = file.attrs.get("training_config")
    if config is None:
        logging.warning(
            "No training configuration found in save file: the model was *not* compiled. Compile "
            "it manually."
        )
        return
    compile_as(model, json.loads(text(config)))
    if "optimizer_weights" not in file:
        return
    if not model._is_graph_network:
        logging.warning(
            "Sequential models without an `input_shape` passed to the first layer cannot reload "
            "their optimizer state. As a result, your model isstarting with a freshly initialized "
            "optimizer."
        )
        return
    if executing_eagerly() and isinstance(model.optimizer, OptimizerV2):
        model.optimizer._create_all_weights(model._collected_trainable_weights)
    else:
        model._make_train_function()
    try:
        model.optimizer.set_weights(load_optimizer_weights_from_hdf5_group(file))
    except ValueError:
        logging.warning(
            "Error in loading the saved optimizer state. As a result, your model is starting with "
            "a freshly initialized optimizer."
        )
