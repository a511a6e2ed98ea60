"""Models in SavedModels: written for those who serve them, made again of what is said there."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

from stillflow.keras.engine.network_weights import confirm_overwrite
from stillflow.keras.layers.serialization import deserialize
from stillflow.keras.saving.description import compile_as
from stillflow.keras.saving.revived import revive
from stillflow.keras.saving.serving import check_inputs
from stillflow.keras.utils.objects import CustomObjectScope
from stillflow.layers.learning_phase import learning_phase_scope
from stillflow.saved_model import names, object_reading, object_writing
from stillflow.saved_model.reading import parse_saved_model


def save_model(
    model: Any, path: str, overwrite: bool, include_optimizer: bool, signatures: Any
) -> None:
    """Writes a model.

    Raises:
      ValueError: if its inputs are not known.
    """
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
    """Makes the model that a SavedModel describes; see `load_model`."""
    return load_model(path, None, compile)


def load_model(path: str, custom_objects: Any, compile_model: bool) -> Any:
    """Makes the model that a SavedModel describes, with its variables; its optimizer is new.

    If what was saved is no model, gives what `tf.compat.v2.saved_model.load` gives.

    Raises:
      NotImplementedError: if it is a model that only its class describes, without the functions
        that TensorFlow saves of models.
    """
    graph = parse_saved_model(path).meta_graphs[0]
    nodes = graph.object_graph_def.nodes  # none if graphs alone were saved
    root = nodes[0].user_object if nodes else None
    if root is None or not root.identifier.startswith("_tf_keras_"):
        return object_reading.load(path)
    described = json.loads(root.metadata)
    config = described["model_config"]
    with CustomObjectScope(custom_objects or {}):
        if "config" not in config:
            model = revive(object_reading.load(path), described)
            if compile_model and described.get("training_config"):
                compile_as(model, described["training_config"])
            return model
        model = deserialize(config)
        model.load_weights(os.path.join(path, names.VARIABLES_DIRECTORY, names.VARIABLES_FILENAME))
        model._deferred.pop("optimizer", None)
        if compile_model and described.get("training_config"):
            compile_as(model, described["training_config"])
    return model
