"""Subclassed models, rebuilt in themselves, and restored."""

from __future__ import annotations

from typing import Any

from stillflow.keras.engine.network import Network
from stillflow.layers.base_layer import Layer

_NEW = {"built": False, "inputs": None, "outputs": None, "_is_compiled": False, "optimizer": None}


def reset_in_place(model: Any) -> None:
    """Give a model new layers, and reset it to its state before building and compiling.

    Its state is kept for `in_place_subclassed_model_state_restoration`, the first time. ValueError
    if it holds lists of layers, or models.
    """
    places = _places(model)
    state = vars(model)
    layers = []
    kept = {name: list(value) if type(value) is list else value for name, value in state.items()}
    for layer in model._layers:
        if isinstance(layer, Network) and not layer._is_graph_network:
            raise ValueError(_refusal("nested subclassed models", "model", layer))
        layers.append(type(layer).from_config(layer.get_config()))
    if state.get("_original_state") is None:
        state["_original_state"] = kept
    for old, new in zip(model._layers, layers, strict=True):
        state[places[id(old)]] = new
    state.update(_NEW, _layers=layers)


def _places(model: Any) -> dict[int, str]:
    """Return the attributes in which the layers of a model are, by their ids."""
    found = {}
    for name, value in vars(model).items():
        if isinstance(value, Layer):
            if getattr(value, "layers", None):
                raise ValueError(_refusal("nested layers", "layer", value))
            found[id(value)] = name
        elif not name.startswith("_") and _is_list_of_layers(value):
            raise ValueError(
                "We do not support the use of list-of-layers attributes in subclassed models used "
                f"with `model_to_estimator` at this time. Found list model: {name}"
            )
    return found


def _is_list_of_layers(value: Any) -> bool:
    return bool(
        isinstance(value, (list, tuple)) and value and all(isinstance(x, Layer) for x in value)
    )


def _refusal(what: str, kind: str, layer: Any) -> str:
    return (
        f"We do not support the use of {what} in `model_to_estimator` at this time. Found nested "
        f"{kind}: {layer}"
    )


def in_place_subclassed_model_state_restoration(model: Any) -> None:
    """Restore a model's state before its reset; one never reset becomes unbuilt."""
    state = vars(model)
    kept = state.pop("_original_state", None)
    if kept is None:
        state.update(_NEW)
    else:
        state.clear()
        state.update(kept)
