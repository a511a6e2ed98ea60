"""Models made again with layers and variables of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.graph.export import export
from stillflow.keras.backend.variables import placeholder
from stillflow.keras.engine.input_layer import Input, InputLayer
from stillflow.keras.engine.model import Model
from stillflow.keras.engine.sequential import Sequential
from stillflow.keras.metrics.base import Metric
from stillflow.keras.optimizers.tf_optimizer import TFOptimizer
from stillflow.keras.utils.objects import CustomObjectScope


def _clone_layer(layer: Any) -> Any:
    return type(layer).from_config(layer.get_config())


@export("keras.models.clone_model")
def clone_model(
    model: Any, input_tensors: Any = None, clone_function: Callable[[Any], Any] | None = None
) -> Any:
    """A model with layers like those of another, with new values.

    Args:
      model: a functional or sequential one.
      input_tensors: its inputs; new ones by default.
      clone_function: gives a layer for each one that is no input; one with the same
        configuration by default.

    Raises:
      ValueError: for a model that is a subclass, or inputs that do not fit.
      NotImplementedError: for a functional model with losses or metrics of tensors.
    """
    clone = clone_function or _clone_layer
    if not callable(clone):
        raise ValueError("Expected `layer_fn` argument to be a callable.")
    if isinstance(model, Sequential):
        return _clone_sequential(model, input_tensors, clone)
    if not isinstance(model, Model):
        raise ValueError("Expected `model` argument to be a `Model` instance, got ", model)
    if not model._is_graph_network:
        raise ValueError(
            "Expected `model` argument to be a functional `Model` instance, but got a subclass "
            "model instead."
        )
    if min(model._nodes_by_depth) < 0:
        raise NotImplementedError(
            "clone_model: losses and metrics of tensors are not supported by Stillflow"
        )
    return _clone_functional(model, input_tensors, clone)


def _as_input(tensor: Any, name: str) -> Any:
    if hasattr(tensor, "_keras_history"):
        return tensor
    return Input(tensor=tensor, name=f"input_wrapper_for_{name}")


def _clone_sequential(model: Any, input_tensors: Any, clone: Callable[[Any], Any]) -> Any:
    inputs = nest.flatten(input_tensors) if input_tensors is not None else None
    layers = []
    for layer in model._layers:
        if not isinstance(layer, InputLayer):
            layers.append(clone(layer))
        elif inputs is None:
            layers.append(_clone_layer(layer))
    if inputs is None:
        return Sequential(layers, name=model.name)
    if len(inputs) != 1:
        raise ValueError(
            "To clone a `Sequential` model, we expect  at most one tensor as part of "
            "`input_tensors`."
        )
    first = _as_input(inputs[0], str(inputs[0].name))._keras_history.layer
    if not isinstance(first, InputLayer):
        raise ValueError(
            "Cannot clone a `Sequential` model on top of a tensor that comes from a Keras layer "
            "other than an `InputLayer`. Use the functional API instead."
        )
    return Sequential([first, *layers], name=model.name)


def _clone_functional(model: Any, input_tensors: Any, clone: Callable[[Any], Any]) -> Any:
    if input_tensors is None:
        inputs = [Input(**layer.get_config()) for layer in model._input_layers]
    else:
        given = nest.flatten(input_tensors)
        pairs = zip(given, model._input_layers, strict=True)
        inputs = [_as_input(tensor, layer.name) for tensor, layer in pairs]
    tensors = {id(old): new for old, new in zip(model.inputs, inputs, strict=True)}
    layers: dict[int, Any] = {}
    for depth in sorted(model._nodes_by_depth, reverse=True):
        for node in model._nodes_by_depth[depth]:
            old = node.outbound_layer
            if isinstance(old, InputLayer):
                continue
            if id(old) not in layers:
                layers[id(old)] = clone(old)
            arguments = nest.map_structure(lambda x: tensors.get(id(x), x), node.arguments)
            called = nest.map_structure(lambda x: tensors[id(x)], node.input_tensors)
            outputs = layers[id(old)](called, **(arguments or {}))
            before, after = nest.flatten(node.output_tensors), nest.flatten(outputs)
            tensors.update((id(x), y) for x, y in zip(before, after, strict=True))
    outputs = nest.map_structure(lambda x: tensors[id(x)], model._nested_outputs)
    return Model(nest.pack_sequence_as(model._nested_inputs, inputs), outputs, name=model.name)


def clone_and_build_model(
    model: Any, input_tensors: Any = None, custom_objects: Any = None, compile_clone: bool = True
) -> Any:
    """A functional or sequential model made again in the default graph, with inputs.

    Args:
      model: the model.
      input_tensors: its inputs; new placeholders by default.
      custom_objects: classes and functions by name.
      compile_clone: whether it is compiled as the model is.

    Raises:
      ValueError: as `clone_model`, or if the model is not compiled and the clone should be.
    """
    if compile_clone and not model.optimizer:
        raise ValueError(
            "Error when cloning model: compile_clone was set to True, but the original model has "
            "not been compiled."
        )
    with CustomObjectScope(custom_objects or {}):
        clone = clone_model(model, input_tensors=input_tensors)
    shape = getattr(model, "_build_input_shape", None)
    if isinstance(clone, Sequential) and not clone._is_graph_network and shape is not None:
        clone._set_inputs(placeholder(shape, dtype=model.inputs[0].dtype))
    if compile_clone:
        clone.compile(
            _clone_optimizer(model.optimizer),
            model.loss,
            metrics=clone_metrics(model._compile_metrics),
            loss_weights=model.loss_weights,
            sample_weight_mode=model.sample_weight_mode,
            weighted_metrics=clone_metrics(model._compile_weighted_metrics),
        )
    return clone


def _clone_optimizer(optimizer: Any) -> Any:
    if isinstance(optimizer, TFOptimizer):
        return optimizer.optimizer  # what it has in a graph is the graph's
    return type(optimizer).from_config(optimizer.get_config())


def clone_metrics(metrics: Any) -> Any:
    """Metrics like others, with values of their own; names as they are."""
    return nest.map_structure(
        lambda one: type(one).from_config(one.get_config()) if isinstance(one, Metric) else one,
        metrics,
    )
