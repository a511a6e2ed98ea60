"""Look-up of names and objects as tensors or operations of one graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow.graph.operation import Operation, Tensor

if TYPE_CHECKING:
    from stillflow.graph.graph import Graph


def graph_element(
    graph: Graph, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
) -> Tensor | Operation:
    """See `Graph.as_graph_element`."""
    if allow_tensor and allow_operation:
        wanted = "Tensor or Operation"
    elif allow_tensor:
        wanted = "Tensor"
    elif allow_operation:
        wanted = "Operation"
    else:
        raise ValueError("allow_tensor and allow_operation can't both be False.")
    if not isinstance(obj, (str, Tensor, Operation)):
        convert = getattr(obj, "_as_graph_element", None)
        converted = convert() if convert is not None else None
        if converted is not None:
            obj = converted
    if isinstance(obj, str):
        return _by_name(graph, obj, allow_tensor, allow_operation)
    if isinstance(obj, Tensor) and allow_tensor:
        if obj.graph is not graph:
            raise ValueError(f"Tensor {obj} is not an element of this graph.")
        return obj
    if isinstance(obj, Operation) and allow_operation:
        if obj.graph is not graph:
            raise ValueError(f"Operation {obj.name!r} is not an element of this graph.")
        return obj
    raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")


def _by_name(
    graph: Graph, name: str, allow_tensor: bool, allow_operation: bool
) -> Tensor | Operation:
    if ":" in name and allow_tensor:
        return _tensor_by_name(graph, name)
    if ":" in name:
        raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
    if not allow_operation:
        if name in graph._by_name:
            raise ValueError(
                f"The name {name!r} refers to an Operation, not a Tensor. "
                'Tensor names must be of the form "<op_name>:<output_index>".'
            )
        raise ValueError(
            f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. "
            'Tensor names must be of the form "<op_name>:<output_index>".'
        )
    if name not in graph._by_name:
        raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
    return graph._by_name[name]


def _tensor_by_name(graph: Graph, name: str) -> Tensor:
    try:
        op_name, number = name.split(":")
        index = int(number)
    except ValueError:
        raise ValueError(
            f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor names "
            'must be of the form "<op_name>:<output_index>".'
        ) from None
    op = graph._by_name.get(op_name)
    if op is None:
        raise KeyError(
            f"The name {name!r} refers to a Tensor which does not exist. The operation, "
            f"{op_name!r}, does not exist in the graph."
        )
    if not 0 <= index < len(op._outputs):
        raise KeyError(
            f"The name {name!r} refers to a Tensor which does not exist. The operation, "
            f"{op_name!r}, exists but only has {len(op._outputs)} outputs."
        )
    return op._outputs[index]
