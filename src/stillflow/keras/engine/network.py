"""A graph of layers as a layer."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow._hooks import Hook
from stillflow.graph.export import redefinable
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend.config import floatx
from stillflow.keras.engine.network_config import NetworkConfig
from stillflow.keras.engine.network_weights import NetworkWeights
from stillflow.keras.engine.summary import print_summary
from stillflow.keras.engine.topology import map_graph, map_subgraph, node_key
from stillflow.layers.attributes import has_weights, layers_in
from stillflow.layers.base_layer import Layer, only_for_users
from stillflow.layers.call_context import call_context
from stillflow.layers.history import create_history
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.learning_phase import phases
from stillflow.layers.node import Node
from stillflow.layers.policy import Policy, global_policy, policy_defaults_to_floatx, v2_dtypes
from stillflow.layers.symbolic_graph import in_function, symbolic_graph
from stillflow.platform import tf_logging as logging
from stillflow.train.tracking.base import is_trackable, no_automatic_dependency_tracking
from stillflow.util import tf_inspect

_BASE_OPTIONS = {"trainable", "dtype", "dynamic", "autocast"}
_FUNCTIONAL_OPTIONS = {"trainable"}

# Writes a model.
save_model: Hook[Callable[..., None]] = Hook("keras.engine.network.save_model")


class Network(NetworkConfig, NetworkWeights, Layer):
    """A graph of layers, from `inputs` to `outputs`; or a layer made of layers, by a subclass.

    Args:
      inputs, outputs: tensors between which the layers lie; a subclass that defines `call` gives
        none.
      name: of the network.
      trainable: whether its variables are trained.
    """

    _is_graph_network: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        functional = (
            len(args) == 2
            or (len(args) == 1 and "outputs" in kwargs)
            or ("inputs" in kwargs and "outputs" in kwargs)
        )
        if functional:
            self._init_graph_network(*args, **kwargs)
        else:
            self._init_subclassed_network(**kwargs)
        refuse_legacy_layers(self.layers)

    # ---- making one

    @no_automatic_dependency_tracking
    def _base_init(self, name: Any = None, **kwargs: Any) -> None:
        _check_options(kwargs, _BASE_OPTIONS, "Keyword argument not understood:")
        self._init_set_name(name, zero_based=True)
        self._activity_regularizer = None
        self._trainable = kwargs.get("trainable", True)
        self._dynamic = kwargs.get("dynamic", False)
        self._is_compiled = False
        self._layers = []
        self.supports_masking = False
        self._compute_output_and_mask_jointly = False
        if not hasattr(self, "optimizer"):
            self.optimizer: Any = None
        for attribute in ("_trainable_weights", "_non_trainable_weights"):
            if not hasattr(self, attribute):
                setattr(self, attribute, [])
        self._updates, self._losses, self._callable_losses, self._metrics = [], [], [], []
        self._eager_losses = []
        self._inbound_nodes, self._outbound_nodes = [], []
        self._initial_weights = None
        self._graph = get_default_graph()
        dtype = kwargs.get("dtype")
        if dtype is None:
            self._dtype_policy = global_policy()
        else:
            self._dtype_policy = dtype if isinstance(dtype, Policy) else Policy(_dtype_name(dtype))
        self._autocast = kwargs.get("autocast", v2_dtypes())
        self._warns_of_casts = not dtype and policy_defaults_to_floatx()

    @no_automatic_dependency_tracking
    def _init_graph_network(
        self, inputs: Any, outputs: Any, name: Any = None, **kwargs: Any
    ) -> None:
        _check_options(
            kwargs, _FUNCTIONAL_OPTIONS,
            "Functional models may only specify `name` and `trainable` keyword arguments during "
            "initialization. Got an unexpected argument:",
        )  # fmt: skip
        self._nested_inputs, self._nested_outputs = _alone(inputs), _alone(outputs)
        self.inputs = nest.flatten(self._nested_inputs)
        self.outputs = nest.flatten(self._nested_outputs)
        if any(not hasattr(x, "_keras_history") for x in self.outputs):
            create_history(self._nested_outputs)
        self._base_init(name=name, **kwargs)
        self._autocast = False  # its layers do
        self._check_inputs_and_outputs()
        self.built = self._compute_output_and_mask_jointly = self._is_graph_network = True
        self._input_coordinates = [tuple(x._keras_history) for x in self.inputs]
        self._output_coordinates = [tuple(x._keras_history) for x in self.outputs]
        self._input_layers = [layer for layer, _, _ in self._input_coordinates]
        self._output_layers = [layer for layer, _, _ in self._output_coordinates]
        self._network_nodes, self._nodes_by_depth, self._layers = map_graph(
            self.inputs, self.outputs
        )
        self._layer_call_argspecs = {x: tf_inspect.getfullargspec(x.call) for x in self._layers}
        self._track_layers(self._layers)
        Node(
            self, [], [], [],
            input_tensors=self._nested_inputs, output_tensors=self._nested_outputs,
        )  # fmt: skip
        self._set_output_names()
        self.input_names = [layer.name for layer in self._input_layers]
        fed = [layer for layer in self._input_layers if layer.is_placeholder]
        self._feed_input_names = [layer.name for layer in fed]
        self._feed_input_shapes = [layer._batch_input_shape for layer in fed]
        self._feed_inputs = [layer.input for layer in fed]

    @no_automatic_dependency_tracking
    def _init_subclassed_network(self, name: Any = None, **kwargs: Any) -> None:
        self._base_init(name=name, **kwargs)
        self._is_graph_network = False
        self.outputs, self.inputs = [], []
        self.built = False

    def _set_output_names(self) -> None:
        self.output_names: list[str] = []
        candidates: dict[str, Iterator[str]] = {}
        for layer in self._output_layers:
            names = candidates.setdefault(layer.name, _numbered(layer.name))
            self.output_names.append(next(x for x in names if x not in self.output_names))

    def _check_inputs_and_outputs(self) -> None:
        kind = type(self).__name__
        if len({id(x) for x in self.inputs}) != len(self.inputs):
            raise ValueError(
                "The list of inputs passed to the model is redundant. All inputs should only "
                f"appear once. Found: {self.inputs}"
            )
        for x in self.inputs:
            if not hasattr(x, "_keras_history"):
                raise ValueError(
                    f"Input tensors to a {kind} must come from `tf.keras.Input`. Received: {x} "
                    "(missing previous layer metadata)."
                )
            layer = x._keras_history.layer
            nodes = layer._inbound_nodes
            if len(nodes) > 1 or (nodes and nodes[0].inbound_layers):
                logging.warning(
                    f"{kind} inputs must come from `tf.keras.Input` (thus holding past layer "
                    "metadata), they cannot be the output of a previous non-Input layer. Here, a "
                    f'tensor specified as input to "{self.name}" was not an Input tensor, it was '
                    f"generated by layer {layer.name}.\nNote that input tensors are instantiated "
                    "via `tensor = tf.keras.Input(shape)`.\nThe tensor that caused the issue was: "
                    f"{x.name}"
                )
        sizes = [static_batch_size(x._keras_history.layer) for x in self.inputs]
        if len(set(sizes) - {None}) > 1:
            raise ValueError(
                "The specified batch sizes of the Input Layers are incompatible. Found batch "
                f"sizes: {sizes}"
            )
        for x in self.outputs:
            if not hasattr(x, "_keras_history"):
                raise ValueError(
                    f"Output tensors to a {kind} must be the output of a TensorFlow `Layer` (thus "
                    f"holding past layer metadata). Found: {x}"
                )

    # ---- attributes

    def __setattr__(self, name: str, value: Any) -> None:
        if not self.__dict__.get("_self_setattr_tracking", True):
            object.__setattr__(self, name, value)
            return
        if "_is_graph_network" not in self.__dict__ and all(
            has_weights(x) for x in nest.flatten(value)
        ):
            raise RuntimeError(
                "It looks like you are subclassing `Model` and you forgot to call "
                "`super(YourClass, self).__init__()`. Always start with this line."
            )
        super().__setattr__(name, value)
        from stillflow.keras.metrics.base import Metric

        if isinstance(value, Metric):
            self._metrics.append(value)

    def _track_layers(self, layers: Any) -> None:
        with_weights = 0
        for index, layer in enumerate(layers):  # some are lists of layers
            if _has_weights_yet(layer):
                name = f"layer_with_weights-{with_weights}"
                self._track_trackable(layer, name, overwrite=True)
                with_weights += 1
            if is_trackable(layer):
                self._track_trackable(layer, f"layer-{index}", overwrite=True)

    @property
    def layers(self) -> list[Any]:
        """The layers of which it is made."""
        return list(layers_in(self._layers))

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """Return a layer by its name or its place.

        Raises:
          ValueError: if there is none.
        """
        if index is not None:
            if len(self.layers) <= index:
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has "
                    f"{len(self.layers)} layers."
                )
            return self.layers[index]
        if not name:
            raise ValueError("Provide either a layer name or layer index.")
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}")

    @property
    def dynamic(self) -> bool:
        inside = any(layer.dynamic for layer in self.layers)
        return inside or (not self._is_graph_network and self._dynamic)

    @property
    def stateful(self) -> bool:  # type: ignore[override]  # if a layer is
        return any(getattr(layer, "stateful", False) for layer in self.layers)

    def reset_states(self) -> None:
        """Reset the states of all layers."""
        for layer in self.layers:
            if hasattr(layer, "reset_states") and getattr(layer, "stateful", False):
                layer.reset_states()

    @property
    def state_updates(self) -> list[Any]:
        """The updates of layers that keep states."""
        stateful = [layer for layer in self.layers if getattr(layer, "stateful", False)]
        return [update for layer in stateful for update in getattr(layer, "updates", ())]

    @property  # type: ignore[misc]  # those of the first layers
    def input_spec(self) -> InputSpec | list[InputSpec | None] | None:
        if not self._is_graph_network:
            return None
        specs: list[Any] = []
        for layer in self._input_layers:
            if layer.input_spec is None:
                specs.append(None)
            elif isinstance(layer.input_spec, list):
                specs += layer.input_spec
            else:
                raise TypeError(
                    f"Layer {layer.name} has an input_spec attribute that is not a list. We "
                    f"expect a list. Found input_spec = {layer.input_spec}"
                )
        return specs[0] if len(specs) == 1 else specs

    # ---- calling

    def _expects(self, argument: str) -> bool:
        return self._is_graph_network or super()._expects(argument)

    @property
    def _should_compute_mask(self) -> bool:
        return self._is_graph_network

    @only_for_users
    def build(self, input_shape: Any) -> None:
        """Make the variables for inputs of a shape, by a call on placeholders.

        Raises:
          ValueError: if there is no shape, or `call` cannot be called so.
        """
        if self._is_graph_network:
            self.built = True
            return
        if input_shape is None:
            raise ValueError(
                "Input shape must be defined when calling build on a model subclass network."
            )
        if not isinstance(input_shape, (tuple, list, TensorShape)):
            raise ValueError(
                "Specified input shape is not one of the valid types. Please specify a batch input "
                "shape of type tuple or list of input shapes. User provided input type: "
                f"{type(input_shape)}"
            )
        if input_shape and not self.inputs:
            self._call_on_placeholders(input_shape)
        if self._layers:
            self._track_layers(self._layers)
        self.built = True

    def _call_on_placeholders(self, input_shape: Any) -> None:
        is_list = isinstance(input_shape, list)
        shapes = input_shape if is_list else [input_shape]
        graph = symbolic_graph()
        try:
            with graph.as_default():
                made = [tf.placeholder(shape=shape, dtype=floatx()) for shape in shapes]
                self.call(made if is_list else made[0], **_needed_arguments(self.call))
        except (tf.errors.InvalidArgumentError, TypeError):
            raise ValueError(
                "You cannot build your model by calling `build` if your layers do not support "
                "float type inputs. Instead, in order to instantiate and build your model, `call` "
                "your model on real tensor data (of the correct dtype)."
            ) from None

    @redefinable
    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Tensor | list[Tensor]:
        """Return the outputs for other inputs.

        Raises:
          NotImplementedError: if a subclass does not define it.
        """
        if not self._is_graph_network:
            raise NotImplementedError(
                "When subclassing the `Model` class, you should implement a `call` method."
            )
        return self._run_internal_graph(inputs, training=training, mask=mask)

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        """Return the masks of the outputs."""
        if not self._is_graph_network:
            return None
        outputs = self._run_internal_graph(inputs, mask=mask)
        return nest.map_structure(lambda x: x._keras_mask, outputs)

    def _run_internal_graph(
        self, inputs: Any, training: Any = None, mask: Any = None
    ) -> Tensor | list[Tensor]:
        inputs = nest.flatten(inputs)
        masks = [None] * len(inputs) if mask is None else nest.flatten(mask)
        for x, its_mask in zip(inputs, masks, strict=False):
            x._keras_mask = its_mask
        known = {id(x): y for x, y in zip(self.inputs, inputs, strict=False)}
        for depth in sorted(self._nodes_by_depth, reverse=True)[1:]:
            for node in self._nodes_by_depth[depth]:
                if all(id(x) in known for x in nest.flatten(node.input_tensors)):
                    made = nest.flatten(self._call_again(node, known, training))
                    originals = nest.flatten(node.output_tensors)
                    known.update((id(x), y) for x, y in zip(originals, made, strict=False))
        outputs = [known[id(x)] for x in self.outputs]
        return nest.pack_sequence_as(self._nested_outputs, outputs)

    def _call_again(self, node: Node, known: dict[int, Any], training: Any) -> Tensor:
        """Call the layer of a node on the tensors that stand for its inputs."""
        layer = node.outbound_layer
        kwargs = copy.copy(node.arguments) if node.arguments else {}
        if "training" in self._layer_call_argspecs[layer].args:
            kwargs.setdefault("training", training)
            if any(kwargs["training"] is phase for phase in phases.values()):
                kwargs["training"] = training

        def mapped(x: Any) -> bool | None:
            is_made = isinstance(x, Tensor) and hasattr(x, "_keras_history")
            return known[id(x)] if is_made else x

        inputs = nest.map_structure(lambda x: known[id(x)], node.input_tensors)
        return layer(inputs, **nest.map_structure(mapped, kwargs))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shapes of the outputs for inputs of other shapes."""
        if not self._is_graph_network:
            return super().compute_output_shape(input_shape)
        shapes = _shapes_of(input_shape)
        if len(shapes) != len(self._input_layers):
            raise ValueError(
                f"Invalid input_shape argument {input_shape}: model has "
                f"{len(self._input_layers)} tensor inputs."
            )
        known = {(layer, 0, 0): x for layer, x in zip(self._input_layers, shapes, strict=True)}
        for depth in sorted(self._nodes_by_depth, reverse=True):
            for node in self._nodes_by_depth[depth]:
                layer = node.outbound_layer
                if layer in self._input_layers:
                    continue
                inbound = [known[below, i, j] for below, i, j, _ in node.iterate_inbound()]
                tuples = [tuple(TensorShape(x).as_list()) for x in inbound]
                given = nest.pack_sequence_as(node.input_tensors, tuples)
                made = _shapes_of(layer.compute_output_shape(given))
                index = layer._inbound_nodes.index(node)
                known.update(((layer, index, j), x) for j, x in enumerate(made))
        outputs = [known[coordinates] for coordinates in self._output_coordinates]
        return nest.pack_sequence_as(self._nested_outputs, outputs)

    def save(
        self,
        filepath: Any,
        overwrite: bool = True,
        include_optimizer: bool = True,
        save_format: str | None = None,
        signatures: Any = None,
    ) -> None:
        """Write the model; see `tf.keras.models.save_model`."""
        save_model.value(self, filepath, overwrite, include_optimizer, save_format, signatures)

    # ---- losses and metrics of functional models

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add losses; a functional model gets a layer for each tensor, unless it is called now."""
        if not self._is_graph_network or call_context.in_call or in_function():
            super().add_loss(losses, inputs=inputs)
            return
        for loss in nest.flatten(losses):
            if callable(loss) or not hasattr(loss, "op"):
                super().add_loss(loss, inputs=inputs)
            else:
                from stillflow.keras.engine.op_layer import AddLoss

                self._insert_after(loss, AddLoss(unconditional=False))

    def _add_symbolic_metric(self, value: Any, aggregation: Any, name: Any) -> None:
        if not self._is_graph_network:
            super()._add_symbolic_metric(value, aggregation, name)
            return
        if hasattr(value, "_metric_obj"):
            raise ValueError(
                "Using the result of calling a `Metric` object when calling `add_metric` on a "
                "Functional Model is not supported. Please pass the Tensor to monitor directly."
            )
        from stillflow.keras.engine.op_layer import AddMetric

        self._insert_after(value, AddMetric(aggregation, name))

    def _insert_after(self, tensor: Any, layer: Any) -> None:
        nodes, layers = map_subgraph(self.inputs, [tensor])
        layer(tensor)
        self._insert_layers([*layers, layer], [*nodes, *layer.inbound_nodes])

    def _insert_layers(self, layers: Any, relevant_nodes: Any = None) -> None:
        """Add layers that no output depends on; their depths are negative."""
        layers = nest.flatten(layers)
        refuse_legacy_layers(layers)
        depths = {node: depth for depth, nodes in self._nodes_by_depth.items() for node in nodes}
        waiting = list(relevant_nodes or [n for layer in layers for n in layer._inbound_nodes])
        inside = {*waiting, *depths}
        passed = 0
        while waiting:
            node = waiting.pop(0)
            depth = _depth_below(node, depths, inside)
            if depth is None:
                waiting.append(node)
                passed += 1
                if passed > 10000:
                    raise ValueError("Layers could not be added due to missing dependencies.")
                continue
            layer = node.outbound_layer
            key = node_key(layer.name, layer._inbound_nodes.index(node))
            if key not in self._network_nodes:
                depths[node] = depth
                self._network_nodes.add(key)
                self._nodes_by_depth[depth].append(node)
        for layer in layers:
            if not any(layer is known for known in self._layers):
                self._layers.append(layer)
                self._layer_call_argspecs[layer] = tf_inspect.getfullargspec(layer.call)

    def summary(
        self, line_length: int | None = None, positions: Any = None, print_fn: Any = None
    ) -> None:
        """Print the layers, the shapes of their outputs and the numbers of their parameters.

        Args:
          line_length: of the table.
          positions: where its columns end, absolute or as parts of the length.
          print_fn: gets each line; `print` by default.

        Raises:
          ValueError: if the model does not know its shapes yet.
        """
        if not self.built:
            raise ValueError(
                "This model has not yet been built. Build the model first by calling `build()` or "
                "calling `fit()` with some data, or specify an `input_shape` argument in the first "
                "layer(s) for automatic build."
            )
        print_summary(self, line_length=line_length, positions=positions, print_fn=print_fn)


def refuse_legacy_layers(layers: Any) -> None:
    """Raise TypeError for layers of `tf.layers`, whose names and sharing differ."""
    legacy = [layer for layer in layers if getattr(layer, "_is_legacy_layer", None)]
    if legacy:
        listed = "\n".join(f"  {layer}" for layer in legacy)
        raise TypeError(
            f"The following are legacy tf.layers.Layers:\n{listed}\nTo use keras as a framework "
            "(for instance using the Network, Model, or Sequential classes), please use the "
            "tf.keras.layers implementation instead. (Or, if writing custom layers, subclass from "
            "tf.keras.layers rather than tf.layers)"
        )


def first_input_shape(layer: Any) -> tuple[Any, Any]:
    """Return the batch shape and dtype that a layer was told for its inputs.

    (None, None) for none.
    """
    while getattr(layer, "_is_graph_network", False) or type(layer).__name__ == "Sequential":
        first = layer.layers[:1]
        if not first:
            raise ValueError("An empty Model cannot be used as a Layer.")
        layer = first[0]
    shape = getattr(layer, "_batch_input_shape", None)
    return shape, None if shape is None else layer.dtype


def static_batch_size(layer: Any) -> int | None:
    """Return the batch size that a layer was told, or None."""
    shape, _ = first_input_shape(layer)
    return None if shape is None else TensorShape(shape).as_list()[0]


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in itertools.count(1))


def _depth_below(node: Node, depths: dict[Node, int], inside: set[Node]) -> int | None:
    """Return the depth below the consumers of the outputs; None if one has no depth yet."""
    consumers = [
        layer._inbound_nodes[index]
        for layer, index, *_ in node.iterate_inbound(include_arguments=True)
    ]
    if any(each in inside and each not in depths for each in consumers):
        return None
    return min([0, *(depths[each] for each in consumers if each in depths)]) - 1


def _check_options(given: Any, allowed: set[str], message: str) -> None:
    for key in given:
        if key not in allowed:
            raise TypeError(message, key)


def _dtype_name(dtype: Any) -> str:
    return tf.as_dtype(dtype).name if dtype else "infer"


def _alone(tensors: Any) -> Any:
    """Return the only item of a list, or the list."""
    single = isinstance(tensors, list) and len(nest.flatten(tensors)) == 1
    return tensors[0] if single else tensors


def _shapes_of(shapes: Any) -> list[TensorShape]:
    """Return the shapes in a structure; a tuple of sizes is one shape."""
    if shapes is None or isinstance(shapes, TensorShape):
        return [TensorShape(shapes)]
    if isinstance(shapes, dict):
        return [x for key in sorted(shapes) for x in _shapes_of(shapes[key])]
    if all(x is None or isinstance(x, int) or hasattr(x, "value") for x in shapes):
        return [TensorShape(shapes)]
    return [x for shape in shapes for x in _shapes_of(shape)]


def _needed_arguments(call: Any) -> dict[str, Any]:
    """Return the arguments of a `call` that have no default, except the inputs."""
    signature = tf_inspect.getfullargspec(call)
    if len(signature.args) < 2:
        raise ValueError(
            "You can only call `build` on a model if its `call` method accepts an `inputs` "
            "argument."
        )
    needed = signature.args[2 : len(signature.args) - len(signature.defaults or ())]
    if set(needed) - {"training"}:
        raise ValueError(
            "Currently, you cannot build your model if it has positional or keyword arguments that "
            "are not inputs to the model, but are required for its `call` method. Instead, in "
            "order to instantiate and build your model, `call` your model on real tensor data with "
            "all expected call arguments."
        )
    return dict.fromkeys(needed, False)


def _has_weights_yet(layer: Any) -> bool:
    """Return True if a layer, or one in a list of layers, has variables already."""
    try:
        return any(one.weights for one in layers_in([layer], with_containers=True))
    except ValueError:  # it may get some when it is built
        return False
