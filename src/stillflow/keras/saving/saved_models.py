"""Models in SavedModels: written for serving, and loaded from their descriptions."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

from stillflow.keras import regularizers
from stillflow.keras.engine.model import Model
from stillflow.keras.engine.network_weights import confirm_overwrite
from stillflow.keras.layers.serialization import deserialize, layer_class
from stillflow.keras.saving.description import compile_as
from stillflow.keras.saving.revived import revive
from stillflow.keras.saving.serving import check_inputs
from stillflow.keras.utils.objects import CustomObjectScope, get_custom_objects
from stillflow.layers.learning_phase import learning_phase_scope
from stillflow.saved_model import names, object_reading, object_writing
from stillflow.saved_model.reading import parse_saved_model

_DEFAULT_SIGNATURE = names.DEFAULT_SERVING_SIGNATURE_DEF_KEY
_INITIALIZER = names.INIT_OP_SIGNATURE_KEY
_PARTS = ("layers", "layer", "cell", "cells")  # where configurations have those of other layers


def save_model(
    model: Any, path: str, overwrite: bool, include_optimizer: bool, signatures: Any
) -> None:
    """Write a model; ValueError if its inputs are not known."""
    if not overwrite and os.path.exists(path) and not confirm_overwrite(path):
        return
    check_inputs(model)
    with contextlib.nullcontext() if include_optimizer else _without_optimizer(model):
        with learning_phase_scope(0):
            object_writing.save(model, path, signatures)


@contextlib.contextmanager
def _without_optimizer(model: Any) -> Iterator[None]:
    model._maybe_initialize_trackable()
    optimizer, model.optimizer = model.optimizer, None
    part = model._tracked.pop("optimizer", None)
    try:
        yield
    finally:
        model.optimizer = optimizer
        if part is not None:
            model._tracked["optimizer"] = part


def load(path: str, compile: bool = True) -> Any:
    """Make the model that a SavedModel describes; see `load_model`."""
    return load_model(path, None, compile)


def load_model(path: str, custom_objects: Any, compile_model: bool) -> Any:
    """Make the model that a SavedModel describes, with its variables; its optimizer is new.

    If the saved object is no model, return the result of `tf.compat.v2.saved_model.load`.
    NotImplementedError for one that only its class describes, without TensorFlow's functions.
    """
    graph = parse_saved_model(path).meta_graphs[0]
    nodes = graph.object_graph_def.nodes  # none if graphs alone were saved
    root = nodes[0].user_object if nodes else None
    if root is None or not root.identifier.startswith("_tf_keras_"):
        return object_reading.load(path)
    described = json.loads(root.metadata)
    with CustomObjectScope(custom_objects or {}):
        model = None if _holds_more(graph) else _of_config(described)
        if model is None:
            model = revive(object_reading.load(path))
        else:
            model.load_weights(
                os.path.join(path, names.VARIABLES_DIRECTORY, names.VARIABLES_FILENAME)
            )
            model._deferred.pop("optimizer", None)
        if compile_model and described.get("training_config"):
            compile_as(model, described["training_config"])
    return model


def _of_config(described: dict[str, Any]) -> Model | None:
    """Return the model of the saved configuration; None if it or a class is missing."""
    config = described.get("model_config", {})
    if "config" not in config:
        return None
    if not all(map(_is_known, _class_names(config))):
        return None
    model = deserialize(config)
    regularizer = described.get("activity_regularizer")
    if regularizer is not None:
        model.activity_regularizer = regularizers.deserialize(regularizer)
    return model


def _class_names(described: dict[str, Any]) -> Iterator[str]:
    """Yield the classes of the layers inside a layer or model, by its configuration."""
    config = described.get("config")
    if not isinstance(config, dict):
        return
    for key in _PARTS:
        parts = config.get(key) or []
        for part in [parts] if isinstance(parts, dict) else parts:
            yield part["class_name"]
            yield from _class_names(part)


def _is_known(class_name: str) -> bool:
    return class_name in get_custom_objects() or layer_class(class_name) is not None


def _holds_more(graph: Any) -> bool:
    """Return True if a model has more than its configuration describes.

    That is signatures, losses of its own, or features by name as the inputs.
    """
    if set(graph.signature_def) - {_DEFAULT_SIGNATURE, _INITIALIZER}:
        return True
    nodes = graph.object_graph_def.nodes
    if any('"_is_feature_layer": true' in node.user_object.metadata for node in nodes):
        return True

    def inside(node: int, name: str) -> int | None:
        found = [child.node_id for child in nodes[node].children if child.local_name == name]
        return found[0] if found else None

    api = inside(0, "keras_api")
    losses = None if api is None else inside(api, "layer_regularization_losses")
    return losses is not None and len(nodes[losses].children) > 0
