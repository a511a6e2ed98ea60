"""Origin of tensors in layers, for models that are built from tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from stillflow import nest
from stillflow._hooks import Hook

# The layer of an operation, and the value of a constant that it takes.
op_layer: Hook[Callable[..., Any]] = Hook("layers.history.op_layer")
constant_of: Hook[Callable[[Any], Any]] = Hook("layers.history.constant_of")


class KerasHistory(NamedTuple):
    """Origin of a tensor.

    Attributes:
      layer: the layer that made it.
      node_index: in which of its calls.
      tensor_index: which of the outputs of that call it is.
    """

    layer: Any
    node_index: int
    tensor_index: int


def has_history(tensors: Any) -> bool:
    """Return True if all tensors of a structure come from layers."""
    return all(hasattr(x, "_keras_history") for x in nest.flatten(tensors))


def uses_history(tensors: Any) -> bool:
    """Return True if any tensor of a structure depends on one that comes from a layer."""
    seen: set[int] = set()
    waiting = nest.flatten(tensors)
    while waiting:
        found: list[Any] = []
        for x in waiting:
            if id(x) in seen or getattr(x, "_keras_history_checked", None) is not None:
                continue
            seen.add(id(x))
            if getattr(x, "_keras_history", None) is not None:
                return True
            found.extend(getattr(getattr(x, "op", None), "inputs", ()))
        waiting = found
    for x in nest.flatten(tensors):
        if hasattr(x, "__dict__") or hasattr(type(x), "_keras_history_checked"):
            x._keras_history_checked = True
    return False


def needs_history(tensors: Any) -> bool:
    """Return True if some tensors depend on layers' outputs without being outputs themselves."""
    flat = nest.flatten(tensors)
    if all(getattr(x, "_keras_history", None) is not None for x in flat):
        return False
    return uses_history(flat)


def create_history(tensors: Any) -> list[Any]:
    """Make layers of the operations between layers' outputs and `tensors`; return them."""
    created: list[Any] = []
    _create(nest.flatten(tensors), set(), created)
    return created


def _create(tensors: Iterable[Any], processed: set[int], created: list[Any]) -> None:
    for tensor in tensors:
        if getattr(tensor, "_keras_history", None) is not None or id(tensor.op) in processed:
            continue
        op = tensor.op
        layer_inputs, constants = [], {}
        for index, x in enumerate(op.inputs):
            if uses_history(x):
                layer_inputs.append(x)
            else:
                constants[index] = constant_of.value(x)
        _create(layer_inputs, processed, created)
        layer = op_layer.value(op.node_def.SerializeToString(), constants=constants, name=op.name)
        created.append(layer)
        layer._add_inbound_node(layer_inputs, op.outputs)
        processed.add(id(op))
