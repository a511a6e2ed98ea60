"""Models and their variables in HDF5 files, as Keras 2 writes them. They need h5py."""

from __future__ import annotations

import importlib
import itertools
import json
import os
from typing import Any

import numpy as np

from stillflow.keras.backend.session import batch_get_value, batch_set_value
from stillflow.keras.engine.network_config import json_of
from stillflow.keras.engine.network_weights import confirm_overwrite
from stillflow.keras.optimizers.tf_optimizer import TFOptimizer
from stillflow.keras.saving.description import compile_as, describe
from stillflow.keras.saving.older_weights import Origin
from stillflow.keras.saving.recurrent_weights import fitting
from stillflow.keras.version import VERSION
from stillflow.platform import tf_logging as logging

_HEADER_LIMIT = 64512  # bytes of an attribute


def _h5py(what: str) -> Any:
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise ImportError(f"`{what}` requires h5py.") from None


def is_hdf5(path: Any) -> bool:
    """Whether a file is one of HDF5."""
    try:
        with open(path, "rb") as file:
            return file.read(8) == b"\x89HDF\r\n\x1a\n"
    except OSError:
        return False


def _weights_of(layer: Any) -> list[Any]:
    """The variables in the order of the file: trainable ones first."""
    weights: list[Any] = layer.trainable_weights + layer.non_trainable_weights
    return weights


def _write_names(group: Any, name: str, values: list[str]) -> None:
    """Names as an attribute, in parts if it would be too large."""
    encoded = np.asarray([value.encode("utf8") for value in values])
    if encoded.dtype.itemsize > _HEADER_LIMIT:
        raise RuntimeError(
            "The following attributes cannot be saved to HDF5 file because they are larger than "
            f"{_HEADER_LIMIT} bytes: {[v for v in values if len(v) > _HEADER_LIMIT]}"
        )
    parts, count = [encoded], 1
    while any(part.nbytes > _HEADER_LIMIT for part in parts):
        count += 1
        parts = np.array_split(encoded, count)
    for i, part in enumerate(parts):
        group.attrs[f"{name}{i}" if count > 1 else name] = part


def _read_names(group: Any, name: str) -> list[str]:
    if name in group.attrs:
        return [_text(value) for value in group.attrs[name]]
    parts = itertools.takewhile(
        lambda key: key in group.attrs, (f"{name}{i}" for i in itertools.count())
    )
    return [_text(value) for key in parts for value in group.attrs[key]]


def _text(value: Any) -> str:
    return value.decode("utf8") if isinstance(value, bytes) else str(value)


def _write_arrays(group: Any, variables: list[Any]) -> None:
    names = [str(variable.name) for variable in variables]
    _write_names(group, "weight_names", names)
    for name, value in zip(names, batch_get_value(variables), strict=True):
        group.create_dataset(name, data=value)


def _write_layers(group: Any, layers: list[Any]) -> None:
    _write_names(group, "layer_names", [layer.name for layer in layers])
    group.attrs["backend"] = b"tensorflow"
    group.attrs["keras_version"] = VERSION.encode("utf8")
    for layer in layers:
        _write_arrays(group.create_group(layer.name), _weights_of(layer))


def save_weights(path: str, layers: list[Any]) -> None:
    """Writes the variables of layers.

    Raises:
      ImportError: if h5py is not installed.
    """
    with _h5py("save_weights").File(path, "w") as file:
        _write_layers(file, layers)


def load_weights(path: str, layers: list[Any], by_name: bool) -> None:
    """Reads the variables of layers.

    Args:
      by_name: whether layers are found by their names rather than in their order.

    Raises:
      ImportError: if h5py is not installed.
      ValueError: if the file has other layers.
    """
    with _h5py("load_weights").File(path, "r") as file:
        group = file
        if "layer_names" not in file.attrs and "model_weights" in file:
            group = file["model_weights"]
        _read_layers(group, layers, by_name)


def _read_layers(group: Any, layers: list[Any], by_name: bool) -> None:
    backend = _text(group.attrs["backend"]) if "backend" in group.attrs else None
    origin = Origin(_text(group.attrs.get("keras_version", "1")), backend)
    saved = {name: _read_arrays(group[name]) for name in _read_names(group, "layer_names")}
    if by_name:
        pairs = [(layer, layer.name) for layer in layers if layer.name in saved]
    else:
        wanted = [layer for layer in layers if _weights_of(layer)]
        filled = [name for name, values in saved.items() if values]
        if len(filled) != len(wanted):
            raise ValueError(
                f"You are trying to load a weight file containing {len(filled)} layers into a "
                f"model with {len(wanted)} layers."
            )
        pairs = list(zip(wanted, filled, strict=True))
    values: list[tuple[Any, Any]] = []
    for number, (layer, name) in enumerate(pairs):
        variables, arrays = _weights_of(layer), fitting(layer, saved[name], origin)
        if len(variables) != len(arrays):
            saved_name = None if by_name else name
            raise _wrong_count(number, layer, saved_name, len(variables), len(arrays))
        for variable, array in zip(variables, arrays, strict=True):
            if tuple(variable.shape.as_list()) != array.shape:
                raise ValueError(
                    f'Layer #{number} (named "{layer.name}"), weight {variable} has shape '
                    f"{tuple(variable.shape.as_list())}, but the saved weight has shape "
                    f"{array.shape}."
                )
            values.append((variable, array))
    batch_set_value(values)


def _wrong_count(
    number: int, layer: Any, saved_name: str | None, expected: int, found: int
) -> ValueError:
    """The error of a layer; `saved_name` if it was found by its order in the file."""
    beginning = f'Layer #{number} (named "{layer.name}"'
    if saved_name is None:
        return ValueError(
            f"{beginning}) expects {expected} weight(s), but the saved weights have {found} "
            "element(s)."
        )
    return ValueError(
        f"{beginning} in the current model) was found to correspond to layer {saved_name} in the "
        f"save file. However the new layer {layer.name} expects {expected} weights, but the saved "
        f"weights have {found} elements."
    )


def _read_arrays(group: Any) -> list[np.ndarray]:
    return [np.asarray(group[name]) for name in _read_names(group, "weight_names")]


def save_model(model: Any, path: str, overwrite: bool, include_optimizer: bool) -> None:
    """Writes a model: its configuration, its variables, how it is trained.

    Raises:
      ImportError: if h5py is not installed.
    """
    h5py = _h5py("save_model")
    if not overwrite and os.path.isfile(path) and not confirm_overwrite(path):
        return
    with h5py.File(path, "w") as file:
        for key, value in describe(model, include_optimizer).items():
            plain = value if isinstance(value, str) else json.dumps(value, default=json_of)
            file.attrs[key] = plain.encode("utf8")
        _write_layers(file.create_group("model_weights"), model.layers)
        optimizer = model.optimizer
        keeps = include_optimizer and optimizer and not isinstance(optimizer, TFOptimizer)
        if keeps and optimizer.weights:
            _write_arrays(file.create_group("optimizer_weights"), optimizer.weights)


def load_model(path: str, custom_objects: Any, compile_model: bool) -> Any:
    """Reads a model.

    Raises:
      ImportError: if h5py is not installed.
      ValueError: if the file has none.
    """
    from stillflow.keras.layers.serialization import deserialize
    from stillflow.keras.utils.objects import CustomObjectScope

    with _h5py("load_model").File(path, "r") as file, CustomObjectScope(custom_objects or {}):
        config = file.attrs.get("model_config")
        if config is None:
            raise ValueError("No model found in config file.")
        model = deserialize(json.loads(_text(config)), custom_objects=custom_objects)
        _read_layers(file["model_weights"], model.layers, by_name=False)
        if compile_model:
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
    compile_as(model, json.loads(_text(config)))
    if "optimizer_weights" not in file:
        return
    model._make_train_function()
    try:
        model.optimizer.set_weights(_read_arrays(file["optimizer_weights"]))
    except ValueError:
        logging.warning(
            "Error in loading the saved optimizer state. As a result, your model is starting with "
            "a freshly initialized optimizer."
        )
