"""One call of a layer in a model of Keras."""

from __future__ import annotations

from typing import Any

from stillflow import nest
from stillflow.graph.operation import Tensor
from stillflow.layers.history import create_history, needs_history


def int_shape(x: Any) -> tuple[Any, ...] | None:
    """Return the static shape as a tuple, None for unknown sizes.

    None if even the rank is unknown.
    """
    shape = x.shape
    if isinstance(shape, tuple):
        return shape
    return None if shape.ndims is None else tuple(shape.as_list())


class Node:
    """Call of a layer: its inputs, and its outputs.

    Args:
      outbound_layer: the layer that was called.
      inbound_layers: the layers that made its inputs, in the structure of the inputs.
      node_indices, tensor_indices: in which of their calls, and which output of it.
      input_tensors, output_tensors: of the call.
      arguments: other arguments of the call, by name.

    Raises:
      ValueError: if there is more than one layer.
    """

    def __init__(
        self,
        outbound_layer: Any,
        inbound_layers: Any,
        node_indices: Any,
        tensor_indices: Any,
        input_tensors: Any,
        output_tensors: Any,
        arguments: dict[str, Any] | None = None,
    ) -> None:
        if isinstance(outbound_layer, (list, tuple, dict)):
            raise ValueError(
                "`outbound_layer` should be a layer instance, not a list, tuple, or, dict."
            )
        self.outbound_layer, self.inbound_layers = outbound_layer, inbound_layers
        self.node_indices, self.tensor_indices = node_indices, tensor_indices
        self.input_tensors, self.output_tensors = input_tensors, output_tensors
        self.input_shapes = nest.map_structure(int_shape, input_tensors)
        self.output_shapes = nest.map_structure(int_shape, output_tensors)
        self.arguments = arguments
        for x in nest.flatten(arguments):
            if isinstance(x, Tensor) and needs_history(x):
                create_history(x)
        for layer in nest.flatten(inbound_layers):
            if layer is not None:
                layer.outbound_nodes.append(self)
        outbound_layer.inbound_nodes.append(self)

    def iterate_inbound(self, include_arguments: bool = False) -> list[tuple[Any, int, int, Any]]:
        """(layer, node index, tensor index, tensor) of each input.

        Args:
          include_arguments: whether tensors of layers among other arguments count as inputs.
        """
        parts = (self.inbound_layers, self.node_indices, self.tensor_indices, self.input_tensors)
        inbound = list(zip(*(nest.flatten(part) for part in parts), strict=False))
        if include_arguments:
            inbound += [
                (*x._keras_history, x)
                for x in nest.flatten(self.arguments)
                if hasattr(x, "_keras_history")
            ]
        return inbound

    def dependencies(self) -> list[Node]:
        """Return the calls that this one needs."""
        needed = [(layer, index) for layer, index, _, _ in self.iterate_inbound()]
        needed += [
            x._keras_history[:2]
            for x in nest.flatten(self.arguments)
            if isinstance(x, Tensor) and hasattr(x, "_keras_history")
        ]
        return [layer._inbound_nodes[index] for layer, index in needed]

    def get_config(self) -> dict[str, Any]:
        """Return the names and indices that say where the call stands."""
        names = nest.map_structure(lambda layer: layer.name if layer else None, self.inbound_layers)
        return {
            "outbound_layer": self.outbound_layer.name,
            "inbound_layers": names,
            "node_indices": self.node_indices,
            "tensor_indices": self.tensor_indices,
        }
