"""Operations made from a `NodeDef` by hand: the public constructor of `tf.Operation`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from stillflow.graph import attrs as attr_values
from stillflow.graph import operation
from stillflow.graph.build import complete_attrs, output_types
from stillflow.graph.card import get
from stillflow.graph.graph import Graph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.infer import infer_shapes
from stillflow.graph.operation import Operation, Tensor

_VALID_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$")


def node_def(
    op_type: str, name: str, device: Any = None, attrs: dict[str, Any] | None = None
) -> Any:
    """Return a `NodeDef`; `device` is text, a `DeviceSpec` or a function of the message."""
    from stillflow.graph.device import canonical
    from stillflow.protos import NodeDef

    message = NodeDef(op=op_type, name=name)
    for key, value in (attrs or {}).items():
        message.attr[key].CopyFrom(value)
    if device is not None:
        message.device = device(message) if callable(device) else canonical(device)
    return message


def fill(
    op: Operation,
    message: Any,
    graph: Graph,
    inputs: list[Tensor] | None,
    control_inputs: Sequence[Any] | None,
    input_types: Sequence[Any] | None,
    original_op: Operation | None,
) -> None:
    """Make `op` the operation that a `NodeDef` describes and add it to the graph, without scopes.

    TypeError or ValueError for arguments, types, names and shapes that are rejected, NotFoundError
    if there is no op of that type.
    """
    _check(message, graph, inputs)
    inputs = inputs or []
    if input_types is not None:
        _check_types(message, inputs, input_types)
    if message.name in graph._by_name:
        raise ValueError(f"Duplicate node name in graph: '{message.name}'")
    card = get(message.op)
    declared = card.signature.attrs
    values = {
        key: attr_values.from_proto(value, declared[key].kind if key in declared else None)
        for key, value in message.attr.items()
    }
    complete_attrs(card, values, inputs)
    types = output_types(card, values)
    controls = [_control_op(item) for item in control_inputs or ()]
    with graph._lock:
        op._build(card, graph, message.name, list(inputs), values, types, controls)
        op._device = message.device
        op._original_op = original_op
        try:
            infer_shapes(op)
        except Exception:
            graph._forget(op)
            raise
        graph._register(op)
        graph._names_in_use.setdefault(op.name.lower(), 1)
        context = graph._get_control_flow_context()
        if context is not None:
            op._control_flow_context = context
            context.AddOp(op)


def _check(message: Any, graph: Any, inputs: Any) -> None:
    from stillflow.graph.graph import Graph
    from stillflow.graph.operation import Tensor

    if type(message).__name__ != "NodeDef":
        raise TypeError(f"node_def needs to be a NodeDef: {message}")
    if not _VALID_NAME.match(message.name):
        raise ValueError(f"'{message.name}' is not a valid node name")
    if not isinstance(graph, Graph):
        raise TypeError(f"g needs to be a Graph: {graph}")
    if inputs is not None and not isinstance(inputs, list):
        raise TypeError(f"inputs needs to be a list of Tensors: {inputs}")
    for tensor in inputs or ():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"input needs to be a Tensor: {tensor}")


def _check_types(message: Any, inputs: list[Tensor], expected: Sequence[Any]) -> None:
    if not all(
        dtype.is_compatible_with(tensor.dtype)
        for tensor, dtype in zip(inputs, expected, strict=False)
    ):
        raise TypeError(
            f"In op '{message.name}', input types ({[tensor.dtype for tensor in inputs]}) are not "
            f"compatible with expected types ({expected})"
        )


def _control_op(item: Any) -> Operation:
    from stillflow.graph.operation import Operation, Tensor

    if isinstance(item, Operation):
        return item
    if isinstance(item, (Tensor, IndexedSlices)):
        return item.op
    raise TypeError(f"Control input must be an Operation, a Tensor, or IndexedSlices: {item}")


operation.fill.provide(fill)
