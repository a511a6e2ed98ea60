"""Models made again with layers and variables of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.graph.export import export
from stillflow.keras.backend.initialization import track_tf_optimizer
from stillflow.keras.backend.variables import placeholder
from stillflow.keras.engine.in_place import reset_in_place
from stillflow.keras.engine.input_layer import Input, InputLayer
from stillflow.keras.engine.model import Model
from stillflow.keras.engine.op_layer import AddMetric
from stillflow.keras.engine.sequential import Sequential
from stillflow.keras.metrics.base import Metric
from stillflow.keras.optimizers.tf_optimizer import TFOptimizer
from stillflow.keras.utils.objects import CustomObjectScope
from stillflow.layers.base_layer import Layer
from stillflow.platform import tf_logging


def _clone_layer(layer: Any) -> Layer:
    return type(layer).from_config(layer.get_config())


@export("keras.models.clone_model")
def clone_model(
    model: Any, input_tensors: Any = None, clone_function: Callable[[Any], Any] | None = None
) -> Model:
    """Return a model with layers like those of another, with new values.

    Args:
      model: a functional or sequential one.
      input_tensors: its inputs; new ones by default.
      clone_function: gives a layer for each one that is no input; one with the same
        configuration by default.

    Raises:
      ValueError: for a model that is a subclass, or inputs that do not fit.
    """
    clone = clone_function or _clone_layer
    if isinstance(model, Sequential):
        return clone_sequential_model(model, input_tensors, clone)
    return clone_functional_model(model, input_tensors, clone)


def _check_cloner(layer_fn: Any) -> None:
    if not callable(layer_fn):
        raise ValueError("Expected `layer_fn` argument to be a callable.")


def share_weights(layer: Any) -> Any:
    """Return the layer itself, for clones that have the layers of the model."""
    return layer


def _as_input(tensor: Any, name: str) -> Any:
    if hasattr(tensor, "_keras_history"):
        return tensor
    return Input(tensor=tensor, name=f"input_wrapper_for_{name}")


def clone_sequential_model(
    model: Any, input_tensors: Any = None, layer_fn: Callable[[Any], Any] = _clone_layer
) -> Sequential:
    """Return a sequential model like another.

    See `clone_model`, whose `clone_function` is `layer_fn`.
    """
    _check_cloner(layer_fn)
    if not isinstance(model, Sequential):
        raise ValueError(
            f"Expected `model` argument to be a `Sequential` model instance, but got: {model}"
        )
    inputs = nest.flatten(input_tensors) if input_tensors is not None else None
    layers = []
    for layer in model._layers:
        if not isinstance(layer, InputLayer):
            layers.append(layer_fn(layer))
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


def clone_functional_model(
    model: Any, input_tensors: Any = None, layer_fn: Callable[[Any], Any] = _clone_layer
) -> Model:
    """Return a functional model like another.

    See `clone_model`, whose `clone_function` is `layer_fn`.
    """
    _check_cloner(layer_fn)
    if not isinstance(model, Model):
        raise ValueError("Expected `model` argument to be a `Model` instance, got ", model)
    if isinstance(model, Sequential):
        raise ValueError(
            "Expected `model` argument to be a functional `Model` instance, got a `Sequential` "
            "instance instead:", model,
        )  # fmt: skip
    if not model._is_graph_network:
        raise ValueError(
            "Expected `model` argument to be a functional `Model` instance, but got a subclass "
            "model instead."
        )
    made = list(model._input_layers)  # of which there are new ones
    if input_tensors is None:
        inputs = [Input(**layer.get_config()) for layer in made]
    else:
        given = nest.flatten(input_tensors)
        pairs = list(zip(given, made, strict=True))
        made = [layer for tensor, layer in pairs if not hasattr(tensor, "_keras_history")]
        inputs = [_as_input(tensor, layer.name) for tensor, layer in pairs]
    tensors = {id(old): new for old, new in zip(model.inputs, inputs, strict=True)}
    layers, nodes = _call_layers(model, layer_fn, made, tensors)
    outputs = nest.map_structure(lambda x: tensors[id(x)], model._nested_outputs)
    clone = Model(nest.pack_sequence_as(model._nested_inputs, inputs), outputs, name=model.name)
    beside = [layer for layer in layers if not any(layer is known for known in clone.layers)]
    if beside:  # losses and metrics of tensors, and their inputs
        order = model.metrics_names
        metrics = [layer for layer in beside if isinstance(layer, AddMetric)]
        metrics.sort(key=lambda layer: order.index(layer.metric_name))
        others = [layer for layer in beside if not isinstance(layer, AddMetric)]
        clone._insert_layers([*others, *metrics], nodes)
    return clone


def _call_layers(
    model: Any, layer_fn: Callable[[Any], Any], made: list[Any], tensors: dict[int, Any]
) -> tuple[list[Any], list[Any]]:
    """Make a model's layers and their calls again, add their outputs to {id of old: new}.

    Layers in `made` are not; that of an input for which a tensor of Keras stands is, as in
    TensorFlow.
    """
    layers: dict[int, Any] = {}
    nodes = []
    for depth in sorted(model._nodes_by_depth, reverse=True):
        for node in model._nodes_by_depth[depth]:
            old = node.outbound_layer
            if any(old is layer for layer in made):
                continue
            if id(old) not in layers:
                layers[id(old)] = layer_fn(old)
            layer = layers[id(old)]
            arguments = nest.map_structure(lambda x: tensors.get(id(x), x), node.arguments)
            called = nest.map_structure(lambda x: tensors[id(x)], node.input_tensors)
            outputs = layer(called, **(arguments or {}))
            before, after = nest.flatten(node.output_tensors), nest.flatten(outputs)
            tensors.update((id(x), y) for x, y in zip(before, after, strict=True))
            nodes.append(layer._inbound_nodes[after[0]._keras_history.node_index])
    return list(layers.values()), nodes


def clone_and_build_model(
    model: Any,
    input_tensors: Any = None,
    target_tensors: Any = None,
    custom_objects: Any = None,
    compile_clone: bool = True,
    in_place_reset: bool = False,
    optimizer_iterations: Any = None,
    optimizer_config: Any = None,
) -> Model:
    """Return a model made again in the default graph, with inputs: placeholders by default.

    With `in_place_reset` a subclassed model may be rebuilt in itself;
    `in_place_subclassed_model_state_restoration` restores it. `optimizer_iterations` counts the
    steps of the clone's optimizer. ValueError as of `clone_model`, or if `model` is not compiled
    and the clone should be.
    """
    if compile_clone and not model.optimizer:
        raise ValueError(
            "Error when cloning model: compile_clone was set to True, but the original model has "
            "not been compiled."
        )
    optimizer = model.optimizer
    with CustomObjectScope(custom_objects or {}):
        if model._is_graph_network or isinstance(model, Sequential):
            clone = clone_model(model, input_tensors=input_tensors)
        else:
            clone = _clone_subclassed(model, input_tensors, in_place_reset)
    shape = getattr(model, "_build_input_shape", None)
    if isinstance(clone, Sequential) and not clone._is_graph_network and shape is not None:
        clone._set_inputs(placeholder(shape, dtype=model.inputs[0].dtype))
    if compile_clone:
        clone.compile(
            _clone_optimizer(optimizer, optimizer_iterations, optimizer_config),
            model.loss,
            metrics=clone_metrics(model._compile_metrics),
            loss_weights=model.loss_weights,
            sample_weight_mode=model.sample_weight_mode,
            weighted_metrics=clone_metrics(model._compile_weighted_metrics),
            target_tensors=target_tensors,
        )
    return clone


def _clone_subclassed(model: Any, input_tensors: Any, in_place_reset: bool) -> Any:
    try:
        clone = type(model).from_config(model.get_config())
    except NotImplementedError:
        tf_logging.warning(
            "This model is a subclassed model. Please implement `get_config` and `from_config` to "
            "better support cloning the model."
        )
        if not in_place_reset:
            raise ValueError(
                "This model is a subclassed model. Such a model cannot be cloned, but there is a "
                "workaround where the model is reset in-place. To use this, please set the "
                "argument `in_place_reset` to `True`. This will reset the attributes in the "
                "original model. To restore the attributes, call "
                "`in_place_subclassed_model_state_restoration(model)`."
            ) from None
        clone = model
        reset_in_place(model)
    if input_tensors is not None:
        single = isinstance(input_tensors, (list, tuple)) and len(input_tensors) == 1
        clone._set_inputs(input_tensors[0] if single else input_tensors)
    return clone


def _clone_optimizer(optimizer: Any, iterations: Any, config: Any) -> Any:
    if isinstance(optimizer, TFOptimizer):
        if iterations is None:
            return optimizer.optimizer  # its state in a graph is the graph's
        made = TFOptimizer(optimizer.optimizer, iterations)
        track_tf_optimizer(made)
        return made
    several = isinstance(optimizer, (list, tuple))
    given = list(optimizer) if several else [optimizer]
    configs = config if isinstance(config, (list, tuple)) else [config] * len(given)
    clones = [
        type(one).from_config(told or one.get_config())
        for one, told in zip(given, configs, strict=True)
    ]
    if iterations is not None:
        for one in clones:
            one.iterations = iterations
    return clones if several else clones[0]


def clone_metrics(metrics: Any) -> list[str] | None:
    """Metrics like others, with values of their own; names as they are."""
    return nest.map_structure(
        lambda one: type(one).from_config(one.get_config()) if isinstance(one, Metric) else one,
        metrics,
    )
