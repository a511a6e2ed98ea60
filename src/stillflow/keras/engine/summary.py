"""The table of a model's layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from stillflow import nest

_PLAIN = 65, [0.45, 0.85, 1.0], ["Layer (type)", "Output Shape", "Param #"]
_CONNECTED = 98, [0.33, 0.55, 0.67, 1.0], [*_PLAIN[2], "Connected to"]


def count_weights(weights: Iterable[Any]) -> int:
    """Return the number of elements in variables, each counted once."""
    unique = {id(variable): variable for variable in weights}
    return int(sum(np.prod(variable.shape.as_list()) for variable in unique.values()))


def _is_sequence(model: Any) -> bool:
    """Return True if each layer of a model takes the output of the one before."""
    if type(model).__name__ == "Sequential" or not model._is_graph_network:
        return True
    nodes: list[Any] = []
    for level in model._nodes_by_depth.values():
        if len(level) > 1 or (level and len(nest.flatten(level[0].inbound_layers)) > 1):
            return False
        nodes += level
    return all(sum(n in nodes for n in layer._inbound_nodes) <= 1 for layer in model.layers)


def _output_shape(layer: Any) -> Any:
    try:
        return layer.output_shape
    except AttributeError:
        return "multiple"
    except RuntimeError:
        return "?"


def print_summary(
    model: Any,
    line_length: int | None = None,
    positions: Any = None,
    print_fn: Callable[[str], Any] | None = None,
) -> None:
    """Print a model's layers, the shapes of their outputs and the numbers of their parameters.

    Columns end at `positions`, absolute or parts of the length; `print_fn` gets each line.
    """
    show = print if print_fn is None else print_fn
    connected = not _is_sequence(model)
    length, parts, header = _CONNECTED if connected else _PLAIN
    length, parts = line_length or length, positions or parts
    scale = length if parts[-1] <= 1 else 1
    ends = [int(scale * end) for end in parts]
    show(f'Model: "{model.name}"')
    show("_" * length)
    show(_row(header, ends))
    show("=" * length)
    layers = model.layers
    for i, layer in enumerate(layers):
        title = f"{layer.name} ({type(layer).__name__})"
        fields = [title, _output_shape(layer), layer.count_params()]
        connections = _connections(model, layer) if connected else []
        show(_row([*fields, *(connections[:1] or [""] * connected)], ends))
        for connection in connections[1:]:
            show(_row(["", "", "", connection], ends))
        show(("=" if i == len(layers) - 1 else "_") * length)
    trained = count_weights(
        getattr(model, "_collected_trainable_weights", None) or model.trainable_weights
    )
    frozen = count_weights(model.non_trainable_weights)
    show(f"Total params: {trained + frozen:,}")
    show(f"Trainable params: {trained:,}")
    show(f"Non-trainable params: {frozen:,}")
    show("_" * length)


def _row(fields: list[Any], ends: list[int]) -> str:
    line = ""
    for i, field in enumerate(fields):
        if i > 0:
            line = line[:-1] + " "
        line = (line + str(field))[: ends[i]].ljust(ends[i])
    return line


def _connections(model: Any, layer: Any) -> list[str]:
    relevant = [node for nodes in model._nodes_by_depth.values() for node in nodes]
    return [
        f"{below.name}[{node_index}][{tensor_index}]"
        for node in layer._inbound_nodes
        if not relevant or node in relevant
        for below, node_index, tensor_index, _ in node.iterate_inbound()
    ]
