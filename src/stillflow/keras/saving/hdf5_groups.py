"""Variables of layers and optimizers in the groups of HDF5 files, as Keras 2 writes them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from stillflow.keras.backend.session import batch_get_value, batch_set_value
from stillflow.keras.saving.older_weights import Origin
from stillflow.keras.saving.recurrent_weights import fitting
from stillflow.keras.version import VERSION

HDF5_OBJECT_HEADER_LIMIT = 64512  # bytes of an attribute


def save_attributes_to_hdf5_group(group: Any, name: str, data: list[Any]) -> None:
    """Write texts as an attribute, in numbered parts if it would be too large."""
    encoded = np.asarray([x if isinstance(x, bytes) else x.encode("utf8") for x in data])
    if encoded.dtype.itemsize > HDF5_OBJECT_HEADER_LIMIT:
        large = [str(x) for x in data if len(x) > HDF5_OBJECT_HEADER_LIMIT]
        raise RuntimeError(
            "The following attributes cannot be saved to HDF5 file because they are larger than "
            f"{HDF5_OBJECT_HEADER_LIMIT} bytes: {', '.join(large)}"
        )
    parts, count = [encoded], 1
    while any(part.nbytes > HDF5_OBJECT_HEADER_LIMIT for part in parts):
        count += 1
        parts = np.array_split(encoded, count)
    for i, part in enumerate(parts):
        group.attrs[f"{name}{i}" if count > 1 else name] = part


def load_attributes_from_hdf5_group(group: Any, name: str) -> list[str]:
    """Return the texts that `save_attributes_to_hdf5_group` wrote."""
    if name in group.attrs:
        return [text(value) for value in group.attrs[name]]
    parts = itertools.takewhile(
        lambda key: key in group.attrs, (f"{name}{i}" for i in itertools.count())
    )
    return [text(value) for key in parts for value in group.attrs[key]]


def text(value: Any) -> str:
    """Return an attribute of a file as a string."""
    return value.decode("utf8") if isinstance(value, bytes) else str(value)


def _weights_of(layer: Any) -> list[Any]:
    """Return the variables in the order of the file: trainable ones first."""
    weights: list[Any] = layer.trainable_weights + layer.non_trainable_weights
    return weights


def _write_arrays(group: Any, variables: list[Any]) -> None:
    names = [str(variable.name) for variable in variables]
    save_attributes_to_hdf5_group(group, "weight_names", names)
    for name, value in zip(names, batch_get_value(variables), strict=True):
        group.create_dataset(name, data=value)


def _read_arrays(group: Any) -> list[np.ndarray]:
    return [np.asarray(group[x]) for x in load_attributes_from_hdf5_group(group, "weight_names")]


def save_weights_to_hdf5_group(f: Any, layers: list[Any]) -> None:
    """Write the variables of layers into a file or a group of one that is open."""
    save_attributes_to_hdf5_group(f, "layer_names", [layer.name for layer in layers])
    f.attrs["backend"] = b"tensorflow"
    f.attrs["keras_version"] = VERSION.encode("utf8")
    for layer in layers:
        _write_arrays(f.create_group(layer.name), _weights_of(layer))


def save_optimizer_weights_to_hdf5_group(hdf5_group: Any, optimizer: Any) -> None:
    """Write the variables of an optimizer, if it has any, into the group `optimizer_weights`."""
    if optimizer.weights:
        _write_arrays(hdf5_group.create_group("optimizer_weights"), optimizer.weights)


def load_optimizer_weights_from_hdf5_group(hdf5_group: Any) -> list[Any]:
    """Return an optimizer's `set_weights` argument: datasets of the file, which stays open."""
    group = hdf5_group["optimizer_weights"]
    return [group[name] for name in load_attributes_from_hdf5_group(group, "weight_names")]


def load_weights_from_hdf5_group(f: Any, layers: list[Any]) -> None:
    """Read the variables of layers in their order; ValueError for other layers."""
    _read_layers(f, layers, by_name=False)


def load_weights_from_hdf5_group_by_name(f: Any, layers: list[Any]) -> None:
    """Load the layers whose names the group has."""
    _read_layers(f, layers, by_name=True)


def _read_layers(group: Any, layers: list[Any], by_name: bool) -> None:
    backend = text(group.attrs["backend"]) if "backend" in group.attrs else None
    origin = Origin(text(group.attrs.get("keras_version", "1")), backend)
    names = load_attributes_from_hdf5_group(group, "layer_names")
    saved = {name: _read_arrays(group[name]) for name in names}
    if by_name:
        # In the order of the file, whose layers errors count.
        triples = [
            (number, layer, name)
            for number, name in enumerate(names)
            for layer in layers
            if layer.name == name
        ]
    else:
        wanted = [layer for layer in layers if _weights_of(layer)]
        filled = [name for name, values in saved.items() if values]
        if len(filled) != len(wanted):
            raise ValueError(
                f"You are trying to load a weight file containing {len(filled)} layers into a "
                f"model with {len(wanted)} layers."
            )
        triples = list(zip(range(len(wanted)), wanted, filled, strict=True))
    values: list[tuple[Any, Any]] = []
    for number, layer, name in triples:
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
    """Return the error of a layer; `saved_name` if it was found by its order in the file."""
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
