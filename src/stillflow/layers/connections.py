"""The part of a layer that knows which tensors it was called on, in models of Keras."""

from __future__ import annotations

from typing import Any

from stillflow import nest
from stillflow.graph.api import name_scope
from stillflow.graph.operation import Tensor
from stillflow.layers.history import KerasHistory
from stillflow.layers.node import Node
from stillflow.ops.control_flow.identity_and_group import identity


class Connections:
    """Inputs and outputs of a layer, by the nodes that its calls add to a Keras model."""

    name: Any
    _inbound_nodes: list[Any]
    _outbound_nodes: list[Any]
    _call_fn_args: Any  # of Layer

    def _connect(self, inputs: Any, outputs: Any, args: Any, kwargs: Any) -> Any:
        """Remembers a call; gives its outputs, as new tensors where they are inputs."""
        known = {id(x) for x in nest.flatten(inputs)}
        flat = [self._renewed(x) if id(x) in known else x for x in nest.flatten(outputs)]
        outputs = nest.pack_sequence_as(outputs, flat)
        arguments = {**dict(zip(self._call_fn_args[1:], args, strict=False)), **kwargs}
        self._add_inbound_node(inputs, outputs, arguments)
        return outputs

    def _renewed(self, x: Any) -> Tensor:
        with name_scope(self.name):
            return identity(x)

    def _add_inbound_node(
        self, input_tensors: Any, output_tensors: Any, arguments: Any = None
    ) -> None:
        def of_history(attribute: str) -> Any:
            return nest.map_structure(lambda x: getattr(x._keras_history, attribute), input_tensors)

        Node(
            self, of_history("layer"), of_history("node_index"), of_history("tensor_index"),
            input_tensors, output_tensors, arguments,
        )  # fmt: skip
        for i, x in enumerate(nest.flatten(output_tensors)):
            x._keras_history = KerasHistory(self, len(self._inbound_nodes) - 1, i)

    @property
    def inbound_nodes(self) -> list[Any]:
        return self._inbound_nodes

    @property
    def outbound_nodes(self) -> list[Any]:
        return self._outbound_nodes

    def get_input_at(self, node_index: int) -> Any:
        """Return the inputs of a call."""
        return self._at(node_index, "input_tensors", "input")

    def get_output_at(self, node_index: int) -> Any:
        """Return the outputs of a call."""
        return self._at(node_index, "output_tensors", "output")

    def get_input_shape_at(self, node_index: int) -> Any:
        """Return the shapes of the inputs of a call."""
        return self._at(node_index, "input_shapes", "input shape")

    def get_output_shape_at(self, node_index: int) -> Any:
        """Return the shapes of the outputs of a call."""
        return self._at(node_index, "output_shapes", "output shape")

    def get_input_mask_at(self, node_index: int) -> Any:
        """Return the masks of the inputs of a call."""
        return _masks(self.get_input_at(node_index))

    def get_output_mask_at(self, node_index: int) -> Any:
        """Return the masks of the outputs of a call."""
        return _masks(self.get_output_at(node_index))

    @property
    def input(self) -> Any:
        """The inputs of the only call."""
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self.name} is not connected, no input to return.")
        return self._at(0, "input_tensors", "input")

    @property
    def output(self) -> Any:
        """The outputs of the only call."""
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self.name} has no inbound nodes.")
        return self._at(0, "output_tensors", "output")

    @property
    def input_mask(self) -> Any:
        return _masks(self.input)

    @property
    def output_mask(self) -> Any:
        return _masks(self.output)

    @property
    def input_shape(self) -> Any:
        """The shapes of the inputs, which must be the same for all calls."""
        self._need_call("input shape")
        if len({str(node.input_shapes) for node in self._inbound_nodes}) > 1:
            raise AttributeError(
                f'The layer "{self.name} has multiple inbound nodes, with different input shapes. '
                'Hence the notion of "input shape" is ill-defined for the layer. Use '
                "`get_input_shape_at(node_index)` instead."
            )
        return self._inbound_nodes[0].input_shapes

    @property
    def output_shape(self) -> list[tuple[int | None, ...]] | tuple[int | None, ...]:
        """The shapes of the outputs, which must be the same for all calls."""
        self._need_call("output shape")
        if len({str(node.output_shapes) for node in self._inbound_nodes}) > 1:
            raise AttributeError(
                f'The layer "{self.name}" has multiple inbound nodes, with different output '
                'shapes. Hence the notion of "output shape" is ill-defined for the layer. Use '
                "`get_output_shape_at(node_index)` instead."
            )
        return self._inbound_nodes[0].output_shapes

    def _need_call(self, what: str) -> None:
        if not self._inbound_nodes:
            raise AttributeError(f"The layer has never been called and thus has no defined {what}.")

    def _at(self, node_index: int, attribute: str, what: str) -> Any:
        if not self._inbound_nodes:
            raise RuntimeError(f"The layer has never been called and thus has no defined {what}.")
        if len(self._inbound_nodes) <= node_index:
            raise ValueError(
                f"Asked to get {what} at node {node_index}, but the layer has only "
                f"{len(self._inbound_nodes)} inbound nodes."
            )
        values = getattr(self._inbound_nodes[node_index], attribute)
        return values[0] if isinstance(values, list) and len(values) == 1 else values


def _masks(tensors: Any) -> Any:
    if isinstance(tensors, list):
        return [getattr(x, "_keras_mask", None) for x in tensors]
    return getattr(tensors, "_keras_mask", None)
