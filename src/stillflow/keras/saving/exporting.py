"""`tf.keras.experimental`: models exported with a graph for each use, and loaded from there."""

from __future__ import annotations

import os
from typing import Any

from stillflow import nest
from stillflow.files import gfile
from stillflow.files.file_io import GFile
from stillflow.graph.api import get_collection_ref
from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.keras.backend.variables import placeholder
from stillflow.keras.engine.cloning import clone_and_build_model
from stillflow.keras.engine.model import Model
from stillflow.keras.engine.sequential import Sequential
from stillflow.keras.metrics.base import Metric
from stillflow.keras.saving.models import model_from_json
from stillflow.keras.saving.serving import serving_function
from stillflow.layers.learning_phase import learning_phase_scope
from stillflow.platform import tf_logging as logging
from stillflow.runtime.session.session import Session
from stillflow.saved_model import names
from stillflow.saved_model.export_outputs import EvalOutput, PredictOutput, TrainOutput
from stillflow.saved_model.exported_signatures import signatures_of
from stillflow.saved_model.object_writing import save
from stillflow.saved_model.writing import InternalBuilder
from stillflow.train.saver import Saver
from stillflow.train.tracking.object_graph import ObjectGraph
from stillflow.variables.collections import local_variables_initializer

_JSON = "saved_model.json"
_TAGS = {"train": names.TRAINING, "test": "eval", "predict": names.SERVING}


@export("keras.experimental.export_saved_model", "contrib.saved_model.save_keras_model")
def export_saved_model(
    model: Any,
    saved_model_path: Any,
    custom_objects: Any = None,
    as_text: bool = False,
    input_signature: Any = None,
    serving_only: bool = False,
) -> None:
    """Write a model as a SavedModel: a graph each to train (if compiled), to evaluate, to serve.

    Args:
      model: the model.
      saved_model_path: a directory that is empty or does not exist.
      custom_objects: classes and functions by name.
      as_text: whether the file is text; ignored with `serving_only`.
      input_signature: a structure of `TensorSpec`s for the inputs; by default that of the model.
      serving_only: whether there is only the graph to serve; a model that is a subclass has no
        other.

    Raises:
      NotImplementedError: for a model that is a subclass, without `serving_only`.
      ValueError: if the model has no variables yet, or its inputs are not known.
      AssertionError: if there is something in the directory.
    """
    path = os.fsdecode(saved_model_path)
    if serving_only:
        save(model, path, serving_function(model, input_signature))
    else:
        _export_graphs(model, path, custom_objects, as_text, input_signature)
    try:
        described = model.to_json()
    except NotImplementedError:
        logging.warning(
            "Skipped saving model JSON, subclassed model does not have get_config() defined."
        )
        return
    assets = os.path.join(path, names.ASSETS_DIRECTORY)
    gfile.recursive_create_dir_v2(assets)
    with GFile(os.path.join(assets, _JSON), "w") as file:
        file.write(described)


@export("keras.experimental.load_from_saved_model", "contrib.saved_model.load_keras_model")
def load_from_saved_model(saved_model_path: Any, custom_objects: Any = None) -> Model:
    """Make the model that `export_saved_model` wrote, not compiled.

    Args:
      saved_model_path: the directory.
      custom_objects: classes and functions by name.

    Raises:
      NotFoundError: if there is none, or a subclass that cannot be described.
    """
    path = os.fsdecode(saved_model_path)
    with GFile(os.path.join(path, names.ASSETS_DIRECTORY, _JSON)) as file:
        model = model_from_json(file.read(), custom_objects)
    model.load_weights(_checkpoint_of(path))
    return model


def _checkpoint_of(path: str) -> str:
    return os.path.join(path, names.VARIABLES_DIRECTORY, names.VARIABLES_FILENAME)


def _export_graphs(model: Any, path: str, custom_objects: Any, as_text: bool, inputs: Any) -> None:
    if isinstance(model, Sequential) and not model.built:
        raise ValueError(
            "Weights for sequential model have not yet been created. Weights are created when the "
            "Model is first called on inputs or `build()` is called with an `input_shape`, or the "
            "first layer in the model has `input_shape` during construction."
        )
    if not (model._is_graph_network or isinstance(model, Sequential)):
        raise NotImplementedError(
            "Subclassed models can only be exported for serving. Please set argument "
            "serving_only=True."
        )
    builder = InternalBuilder(path)
    checkpoint = _checkpoint_of(path)
    gfile.recursive_create_dir_v2(os.path.dirname(checkpoint))
    model.save_weights(checkpoint, save_format="tf")
    for mode in ("train", "test", "predict") if model.optimizer else ("predict",):
        with Graph().as_default(), learning_phase_scope(int(mode == "train")):
            _add_graph(builder, _clone(model, mode, custom_objects, inputs), mode, checkpoint)
    builder.save(as_text)


def _clone(model: Any, mode: str, custom_objects: Any, signature: Any) -> Model:
    """Return the model again in the default graph, ready for a mode."""
    inputs = signature and nest.map_structure(
        lambda spec: placeholder(shape=spec.shape, dtype=spec.dtype, name=spec.name), signature
    )
    clone = clone_and_build_model(
        model, inputs, custom_objects=custom_objects, compile_clone=mode != "predict"
    )
    if clone.optimizer:
        get_collection_ref(GraphKeys.GLOBAL_STEP).append(clone.optimizer.iterations)
    clone._make_execution_function(mode, (0, 0))
    get_collection_ref(GraphKeys.UPDATE_OPS).extend(clone.state_updates)
    return clone


def _add_graph(builder: InternalBuilder, model: Any, mode: str, checkpoint: str) -> None:
    """Add the default graph; the first one has all variables, and so it writes them again."""
    with Session().as_default():
        saveables, _ = ObjectGraph(model).serialize()
        status = model.load_weights(checkpoint)
        if builder._has_saved_variables:
            status.assert_existing_objects_matched()
        else:
            model.save_weights(checkpoint, save_format="tf")
            builder._has_saved_variables = True
        builder.add_meta_graph(
            [_TAGS[mode]],
            _signatures(model, mode),
            saver=Saver(saveables, allow_empty=True),
            init_op=local_variables_initializer(),
            train_op=model.train_function.updates_op if mode == "train" else None,
        )


def _signatures(model: Any, mode: str) -> dict[str, Any]:
    inputs = dict(zip(model.input_names, model.inputs, strict=True))
    outputs = dict(zip(model.output_names, model.outputs, strict=True))
    if mode == "predict":
        served = {names.DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(outputs)}
        return signatures_of(inputs, served)
    inputs.update((x.op.name, x) for x in model._feed_targets)
    metrics = {metric.name: metric for metric in model._compile_metric_functions}
    _initialize_with_locals(metrics.values())
    kind = TrainOutput if mode == "train" else EvalOutput
    answer = {_TAGS[mode]: kind(model.total_loss, outputs, metrics or None)}
    return signatures_of(inputs, answer, serving_only=False)


def _initialize_with_locals(metrics: Any) -> None:
    """Make the initializer of local variables initialize those of metrics too."""
    known = get_collection_ref(GraphKeys.LOCAL_VARIABLES)
    made = [v for metric in metrics if isinstance(metric, Metric) for v in metric.variables]
    known += [v for v in made if not any(v is one for one in known)]
