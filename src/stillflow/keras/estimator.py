"""`tf.keras.estimator`: estimators that train compiled models of Keras."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.distribute.context import has_strategy
from stillflow.estimator.estimator import Estimator, settled_config
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.spec import EstimatorSpec
from stillflow.graph.export import export
from stillflow.keras.backend.initialization import initialize_variables, track_variable
from stillflow.keras.backend.session import set_session
from stillflow.keras.engine.cloning import clone_and_build_model
from stillflow.keras.engine.in_place import in_place_subclassed_model_state_restoration
from stillflow.keras.engine.sequential import Sequential
from stillflow.keras.saving.models import load_model
from stillflow.layers.learning_phase import set_learning_phase
from stillflow.platform import tf_logging as logging
from stillflow.train.checkpoint_management import latest_checkpoint
from stillflow.train.global_step import create_global_step, get_or_create_global_step
from stillflow.train.saver import Saver

_SERVING = "serving_default"


@export("keras.estimator.model_to_estimator")
def model_to_estimator(
    keras_model: Any = None,
    keras_model_path: Any = None,
    custom_objects: Any = None,
    model_dir: Any = None,
    config: Any = None,
    checkpoint_format: str | None = "saver",
) -> Estimator:
    """Return an estimator that trains a copy of a model.

    Input functions give the inputs as a tensor, a list or a dictionary by the names of the model's
    input layers; to weigh examples they give {"features": inputs, "sample_weights": weights}.

    Args:
      keras_model: a compiled model; the estimator begins with its weights.
      keras_model_path: the HDF5 file of one instead.
      custom_objects: classes and functions by name.
      model_dir: the folder of checkpoints and event files.
      config: a `RunConfig`.
      checkpoint_format: "saver", for checkpoints with the names of variables.

    Returns:
      The `Estimator`.

    Raises:
      ValueError: if not exactly one model is given, it is not compiled, or the format is unknown.
      NotImplementedError: for the format "checkpoint", and files in Google's storage.
    """
    if not (keras_model or keras_model_path):
        raise ValueError("Either `keras_model` or `keras_model_path` needs to be provided.")
    if keras_model and keras_model_path:
        raise ValueError("Please specity either `keras_model` or `keras_model_path`, but not both.")
    config = settled_config(config, model_dir)
    if keras_model:
        logging.info("Using the Keras model provided.")
    else:
        keras_model = _loaded(keras_model_path)
    _check_format(keras_model, checkpoint_format)
    if not getattr(keras_model, "optimizer", None):
        raise ValueError(
            "The given keras model has not been compiled yet. Please compile the model with "
            "`model.compile()` before calling `model_to_estimator()`."
        )
    model_fn = _model_fn(keras_model, custom_objects)
    if not _has_values(keras_model):
        set_session(tf.Session(config=config.session_config))
    elif config.session_config.HasField("gpu_options"):
        logging.warning(
            "The Keras backend session has already been set. The _session_config passed to "
            "model_to_estimator will not be used."
        )
    begin = None
    if keras_model._is_graph_network:
        begin = _first_checkpoint(keras_model, custom_objects, config)
    return Estimator(model_fn, config=config, warm_start_from=begin)


def _loaded(path: str) -> Any:
    if path.startswith("gs://") or "storage.googleapis.com" in path:
        raise NotImplementedError(
            f"model_to_estimator: models in Google's storage ({path}) are not supported by "
            "Stillflow"
        )
    logging.info("Loading models from %s", path)
    return load_model(path)


def _check_format(model: Any, name: str | None) -> None:
    if name == "saver":
        return
    if name not in (None, "checkpoint"):
        raise ValueError(f'Checkpoint format must be one of "checkpoint" or "saver". Got {name}')
    if not (model._is_graph_network or isinstance(model, Sequential)):
        raise ValueError(
            "Object-based checkpoints are currently not supported with subclassed models."
        )
    raise NotImplementedError(
        'model_to_estimator: checkpoint_format="checkpoint" is not supported by Stillflow'
    )


def _has_values(model: Any) -> bool:
    """Return True if Keras has initialized a variable of the model."""
    if tf.executing_eagerly():
        return True
    return any(hasattr(w, "_keras_initialized") for layer in model.layers for w in layer.weights)


def _optimizer_config(model: Any) -> Any:
    """Return the optimizer's configuration, while its session exists; None if it has none."""
    optimizer = model.optimizer
    try:
        if isinstance(optimizer, (tuple, list)):
            return [one.get_config() for one in optimizer]
        return optimizer.get_config()
    except (NotImplementedError, AttributeError):
        return None


def _model_fn(keras_model: Any, custom_objects: Any) -> Callable[..., EstimatorSpec]:
    """Return the model function of an estimator."""
    optimizer_config = _optimizer_config(keras_model)

    def model_fn(features: Any, labels: Any, mode: Any) -> EstimatorSpec:
        model = _clone(keras_model, mode, custom_objects, features, labels, optimizer_config)
        names = model.output_names
        if has_strategy():
            names = [re.sub(r"_\d$", "", name) for name in names]
        predictions = dict(zip(names, model.outputs, strict=True))
        trains = mode == ModeKeys.TRAIN
        results: dict[str, Any] = {}
        if mode != ModeKeys.PREDICT:
            if trains:
                model._make_train_function()
            else:
                model._make_test_function()
            results = {"loss": model.total_loss, "eval_metric_ops": _metrics(model)}
        if trains:
            results["train_op"] = model.train_function.updates_op
        served = {_SERVING: tf.estimator.export.PredictOutput(predictions)}
        if not keras_model._is_graph_network:
            in_place_subclassed_model_state_restoration(keras_model)
        return EstimatorSpec(mode, predictions=predictions, export_outputs=served, **results)

    return model_fn


def _metrics(model: Any) -> dict[str, Any] | None:
    """Return the metrics that the model was compiled with, by name."""
    if not model._compile_metrics:
        return None
    return {metric.name: metric for metric in model._compile_metric_functions}


def _clone(
    keras_model: Any,
    mode: Any,
    custom_objects: Any,
    features: Any = None,
    labels: Any = None,
    optimizer_config: Any = None,
) -> Any:
    """Return the model made again in the default graph, on the tensors of an input function."""
    set_learning_phase(int(mode == ModeKeys.TRAIN))
    weights = None
    if isinstance(features, dict) and set(features) == {"features", "sample_weights"}:
        features, weights = features["features"], features["sample_weights"]
    inputs = _ordered(features, keras_model, "input", "features")
    targets = _ordered(labels, keras_model, "output", "labels")
    compiles = mode != ModeKeys.PREDICT
    global_step = None
    if compiles:
        global_step = get_or_create_global_step()
        track_variable(global_step)
    clone = clone_and_build_model(
        keras_model, inputs, targets, custom_objects, compile_clone=compiles,
        in_place_reset=not keras_model._is_graph_network, optimizer_iterations=global_step,
        optimizer_config=optimizer_config,
    )  # fmt: skip
    if weights is not None:
        clone._weigh_by(_of_outputs(weights, clone.output_names))
    return clone


def _ordered(given: Any, model: Any, kind: str, what: str) -> list[Any] | None:
    """Return tensors in the order of the model's inputs or outputs; `what` is for messages."""
    if given is None:
        return None
    if isinstance(given, dict):
        names = [f"{kind}_{i + 1}" for i in range(len(given))]
        if model._is_graph_network:
            names = getattr(model, f"{kind}_names")
        different = set(given) ^ set(names)
        if different:
            raise KeyError(
                f"The dictionary passed into {what} does not have the expected {kind}s keys "
                f"defined in the keras model.\n\tExpected keys: {set(names)}\n\t{what} keys: "
                f"{set(given)}\n\tDifference: {different}"
            )
        given = [given[name] for name in names]
    given = given if isinstance(given, (list, tuple)) else [given]
    return [x if tf.is_tensor(x) else tf.convert_to_tensor_or_sparse_tensor(x) for x in given]


def _of_outputs(weights: Any, names: list[str]) -> list[Any]:
    """Return the weights of examples for each output; None where there are none."""
    if isinstance(weights, dict):
        return [weights.get(name) for name in names]
    return list(weights) if isinstance(weights, (list, tuple)) else [weights]


def _first_checkpoint(keras_model: Any, custom_objects: Any, config: Any) -> str:
    """Return the checkpoint with the estimator's initial values; write it if it is missing."""
    folder = os.path.join(config.model_dir, "keras")
    latest = latest_checkpoint(folder)
    if latest:
        return latest
    values = keras_model.get_weights() if _has_values(keras_model) else None
    tf.gfile.MakeDirs(folder)
    with tf.Graph().as_default():
        tf.set_random_seed(config.tf_random_seed)
        create_global_step()
        model = _clone(keras_model, ModeKeys.TRAIN, custom_objects)
        model._make_train_function()
        with tf.Session(config=config.session_config) as session:
            if values:
                model.set_weights(values)
            initialize_variables(session)
            path = os.path.join(folder, "keras_model.ckpt")
            Saver().save(session, path)
    return path
