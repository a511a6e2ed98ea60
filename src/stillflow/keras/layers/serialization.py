"""The layers of Keras by name, and as dictionaries."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from stillflow.graph.export import export
from stillflow.keras.utils.objects import deserialize_keras_object
from stillflow.layers.base_layer import Layer

_MODULES = (
    "layers.base_layer", "keras.engine.input_layer", "keras.engine.network", "keras.engine.model",
    "keras.engine.sequential", "keras.engine.op_layer", "keras.layers.core",
    "keras.layers.convolutional", "keras.layers.separable", "keras.layers.transposed",
    "keras.layers.pooling", "keras.layers.batch_normalization", "keras.layers.activations",
    "keras.layers.attention", "keras.layers.depthwise", "keras.layers.embeddings",
    "keras.layers.functions", "keras.layers.layer_normalization", "keras.layers.locally_connected",
    "keras.layers.merge", "keras.layers.resizing", "keras.layers.wrappers",
    "keras.layers.recurrent.cells", "keras.layers.recurrent.convolutional",
    "keras.layers.recurrent.cudnn", "keras.layers.recurrent.rnn",
    "keras.layers.recurrent.standard", "keras.layers.recurrent.standard_layers",
    "keras.premade.linear", "keras.premade.wide_deep", "feature_column.feature_layers",
)  # fmt: skip
# Other names of layers, in old configurations too.
_ALIASES = {
    "BatchNormalizationV1": "BatchNormalization", "BatchNormalizationV2": "BatchNormalization",
    "Convolution1D": "Conv1D", "Convolution2D": "Conv2D", "Convolution3D": "Conv3D",
    "Convolution2DTranspose": "Conv2DTranspose", "Convolution3DTranspose": "Conv3DTranspose",
    "SeparableConvolution1D": "SeparableConv1D", "SeparableConvolution2D": "SeparableConv2D",
}  # fmt: skip


@functools.cache
def known_layers() -> dict[str, Any]:
    """All layers of Keras by the names of their classes."""
    found: dict[str, Any] = {}
    for name in _MODULES:
        module = importlib.import_module(f"stillflow.{name}")
        for key, value in vars(module).items():
            if isinstance(value, type) and issubclass(value, Layer) and not key.startswith("_"):
                found[key] = value
    return found


def layer_class(name: str) -> Any:
    """Return the class of layers of a name, an older one maybe; None if Keras has none."""
    return known_layers().get(_ALIASES.get(name, name))


@export("keras.layers.serialize")
def serialize(layer: Any) -> dict[str, Any]:
    """{"class_name": ..., "config": ...} of a layer."""
    return {"class_name": type(layer).__name__, "config": layer.get_config()}


@export("keras.layers.deserialize")
def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Return the layer that `serialize` made `config` of."""
    name = config["class_name"]
    config = {**config, "class_name": _ALIASES.get(name, name)}
    return deserialize_keras_object(config, known_layers(), custom_objects, "layer")
