"""The part of a network that turns it into a dictionary and back."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow import nest
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import Dimension, TensorShape
from stillflow.keras.backend.session import get_value
from stillflow.keras.engine.topology import node_key
from stillflow.keras.saving import yaml_text
from stillflow.keras.version import VERSION
from stillflow.layers.node import Node
from stillflow.platform import tf_logging as logging

if TYPE_CHECKING:
    from stillflow.keras.engine.model import Model


Coordinates = tuple[Any, int, int]  # a layer, one of its calls, one of its outputs


class _Place:
    """A tensor of a network in a config: [layer name, node index, tensor index, arguments].

    It is no list, so that structures of places have places for leaves.
    """

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts


def _is_place(data: Any) -> bool:
    return isinstance(data, (list, tuple)) and bool(data) and isinstance(data[0], str)


def _wrapped(data: Any) -> Any:
    """Return a structure of lists read from JSON, with places for leaves."""
    if _is_place(data):
        return _Place(list(data))
    if isinstance(data, dict):
        return {key: _wrapped(value) for key, value in data.items()}
    return [_wrapped(item) for item in data] if isinstance(data, (list, tuple)) else data


def _unwrapped(data: Any) -> list[list[Any]]:
    """Return the other way round; a single place comes in a list."""
    bare = nest.map_structure(lambda x: x.parts if isinstance(x, _Place) else x, data)
    return bare if nest.is_sequence(data) else [bare]


class NetworkConfig:
    """A functional network as a dictionary of its layers and their calls."""

    name: Any
    layers: Any
    _is_graph_network: bool
    _network_nodes: set[str]
    _nested_inputs: Any
    _nested_outputs: Any
    _input_coordinates: list[Coordinates]
    _output_coordinates: list[Coordinates]
    _insert_layers: Any

    def get_config(self) -> dict[str, Any]:
        """Return the layers, their calls, the inputs and the outputs.

        Raises:
          NotImplementedError: for a subclass that defines `call`.
        """
        if not self._is_graph_network:
            raise NotImplementedError
        kept = self._kept_nodes()
        layers = [
            {
                "name": layer.name,
                "class_name": type(layer).__name__,
                "config": layer.get_config(),
                "inbound_nodes": [
                    _node_config(node, kept)
                    for index, node in enumerate(layer._inbound_nodes)
                    if node_key(layer.name, index) in self._network_nodes and node.inbound_layers
                ],
            }
            for layer in self.layers
        ]
        config = {
            "name": self.name,
            "layers": layers,
            "input_layers": self._ends(kept, self._nested_inputs, self._input_coordinates),
            "output_layers": self._ends(kept, self._nested_outputs, self._output_coordinates),
        }
        return copy.deepcopy(config)

    def _kept_nodes(self) -> dict[str, int]:
        """Return the new indices of the calls that belong to the network."""
        kept: dict[str, int] = {}
        for layer in self.layers:
            count = 1 if _skips_first_node(layer) else 0
            for index in range(len(layer._inbound_nodes)):
                key = node_key(layer.name, index)
                if key in self._network_nodes:
                    kept[key] = count
                    count += 1
        return kept

    def _ends(
        self, kept: dict[str, int], nested: Any, coordinates: list[Coordinates]
    ) -> list[list[int | str]]:
        places = [
            _Place([layer.name, kept[node_key(layer.name, index)], tensor_index])
            for layer, index, tensor_index in coordinates
            if node_key(layer.name, index) in self._network_nodes
        ]
        return _unwrapped(nest.pack_sequence_as(nested, places))

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Model:
        """Return the network that `get_config` made `config` of.

        Args:
          custom_objects: classes and functions by name.
        """
        created = _make_layers(config["layers"], custom_objects)

        def ends(data: Any) -> list[Tensor]:
            places = _wrapped(data)
            return nest.map_structure(lambda place: _tensor_at(place, created), places)

        network: Any = cls(  # type: ignore[call-arg]
            inputs=ends(config["input_layers"]),
            outputs=ends(config["output_layers"]),
            name=config.get("name"),
        )
        ancillary = [layer for layer in created.values() if layer not in network.layers]
        if ancillary:
            nodes = [
                node
                for layer in created.values()
                for node in layer.inbound_nodes[1 if _skips_first_node(layer) else 0 :]
            ]
            network._insert_layers(ancillary, nodes)
        return network

    def _updated_config(self) -> dict[str, Any]:
        return {
            "class_name": type(self).__name__,
            "config": self.get_config(),
            "keras_version": VERSION,
            "backend": "tensorflow",
        }

    def to_json(self, **kwargs: Any) -> str:
        """Return the config as JSON; arguments are those of `json.dumps`."""
        return json.dumps(self._updated_config(), default=get_json_type, **kwargs)

    def to_yaml(self, **kwargs: Any) -> str:
        """Return the config as YAML; arguments are those of `yaml.dump`.

        Raises:
          ImportError: if PyYAML is not installed.
        """
        return yaml_text.dump(self._updated_config(), **kwargs)


def get_json_type(obj: Any) -> Any:
    """Return an object's form in JSON; TypeError if there is none."""
    if hasattr(obj, "get_config"):
        return {"class_name": type(obj).__name__, "config": obj.get_config()}
    if isinstance(obj, (np.ndarray, np.generic)):
        return obj.tolist()
    if callable(obj):
        return obj.__name__
    if isinstance(obj, TensorShape):
        return obj.as_list()
    if isinstance(obj, Dimension):
        return obj.value
    if isinstance(obj, Mapping):
        return dict(obj)
    raise TypeError("Not JSON Serializable:", obj)


def _node_config(node: Node, kept: dict[str, int]) -> list[list[Any]]:
    kwargs = _serializable(node)
    places = [
        _Place([below.name, kept.get(node_key(below.name, index), 0), tensor_index, kwargs])
        for below, index, tensor_index, _ in node.iterate_inbound()
    ]
    return _unwrapped(nest.pack_sequence_as(node.input_tensors, places))


def _serializable(node: Node) -> dict[str, Any]:
    """Return the other arguments of a call, with places for tensors of layers."""
    if not node.arguments:
        return {}

    def serialized(x: Any) -> Any:
        if hasattr(x, "_keras_history"):
            history = x._keras_history
            return [history.layer.name, history.node_index, history.tensor_index]
        if isinstance(x, Tensor):
            return get_value(x).tolist()
        return x.tolist() if isinstance(x, np.ndarray) else x

    kwargs: dict[str, Any] = nest.map_structure(serialized, node.arguments)
    try:
        json.dumps(kwargs)
    except TypeError:
        logging.warning(
            f"Layer {node.outbound_layer.name} was passed non-serializable keyword arguments: "
            f"{node.arguments}. They will not be included in the serialized model (and thus will "
            "be missing at deserialization time)."
        )
        return {}
    return kwargs


def _make_layers(layers_data: list[dict[str, Any]], custom_objects: Any) -> dict[str, Any]:
    """Return the layers by name, called on each other as the config says."""
    from stillflow.keras.layers.serialization import deserialize

    created: dict[str, Any] = {}
    waiting: dict[str, list[Any]] = {}
    for data in layers_data:
        created[data["name"]] = deserialize(data, custom_objects=custom_objects)
        if data["inbound_nodes"]:
            waiting[data["name"]] = [_wrapped(node) for node in data["inbound_nodes"]]
    while waiting:
        for data in layers_data:
            name = data["name"]
            left = [n for n in waiting.pop(name, ()) if not _called(created[name], n, created)]
            if left:
                waiting[name] = left
    return created


def _called(layer: Any, node: Any, created: dict[str, Any]) -> bool:
    """Call a layer as a config says, unless an input is not there yet."""
    places = [place for place in nest.flatten(node) if isinstance(place, _Place)]
    if any(len(created[p.parts[0]]._inbound_nodes) <= p.parts[1] for p in places):
        return False
    kwargs: dict[str, Any] = {}
    for place in places:
        if len(place.parts) not in (3, 4):
            raise ValueError("Improperly formatted model config.")
        if len(place.parts) == 4:
            kwargs = {k: _argument(v, created) for k, v in place.parts[3].items()}
    inputs = nest.map_structure(lambda place: _tensor_at(place, created), node)
    if not isinstance(inputs, dict) and len(nest.flatten(inputs)) == 1:
        inputs = nest.flatten(inputs)[0]
    layer(inputs, **kwargs)
    return True


def _argument(value: Any, created: dict[str, Any]) -> Any:
    def restored(x: Any) -> Any:
        return _tensor_at(x, created) if isinstance(x, _Place) else x

    return nest.map_structure(restored, _wrapped(value))


def _tensor_at(place: _Place, created: dict[str, Any]) -> Tensor:
    name, node_index, tensor_index = place.parts[:3]
    node = created[name]._inbound_nodes[node_index]
    return nest.flatten(node.output_tensors)[tensor_index]


def _skips_first_node(layer: Any) -> bool:
    return isinstance(layer, NetworkConfig) and layer._is_graph_network
