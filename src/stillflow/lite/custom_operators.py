"""Custom operators: operations that TensorFlow Lite has no operator for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.card import find
from stillflow.graph.operation import Operation
from stillflow.lite.draft import Draft, Step
from stillflow.lite.settings import ConverterError
from stillflow.protos import GraphDef


def split(graph_def: Any) -> tuple[Any, list[Any]]:
    """Return a graph without the operations that TensorFlow does not know, and these.

    ConverterError if something else reads what they write: of what shape it is nobody knows.
    """
    known, custom = GraphDef(), []
    known.versions.CopyFrom(graph_def.versions)
    known.library.CopyFrom(graph_def.library)
    for node in graph_def.node:
        if find(node.op) is None:
            custom.append(node)
        else:
            known.node.add().CopyFrom(node)
    names = {node.name: node.op for node in custom}
    for node in graph_def.node:
        for source in node.input:
            if source.partition(":")[0] in names:
                raise ConverterError(
                    f"{node.name} reads what the custom operation "
                    f"{names[source.partition(':')[0]]} writes, whose shape Stillflow cannot infer"
                )
    return known, custom


def sources(custom: Sequence[Any]) -> list[str]:
    """Return the inputs of custom operations."""
    return list(dict.fromkeys(name for node in custom for name in node.input))


def add(draft: Draft, node: Any, inputs: list[str]) -> None:
    """Add a custom operator to a draft."""
    types = [dtypes.as_dtype(kind) for kind in node.attr["_output_types"].list.type]
    outputs = [node.name, *(f"{node.name}:{i}" for i in range(1, len(types)))]
    for name, dtype in zip(outputs, types or [dtypes.float32]):
        draft.declare(name, (), dtype.as_numpy_dtype)
    draft.steps.append(Step("CUSTOM", inputs, outputs, options=_options(node), custom=node.op))


def add_known(draft: Draft, op: Operation, inputs: list[str]) -> None:
    """Add a custom operator for an operation that TensorFlow knows, its outputs declared."""
    outputs = [tensor.name.removesuffix(":0") for tensor in op.outputs]
    # Of these TensorFlow's converter knows everything but an operator: they have no options.
    options = {} if op.type in ("Merge", "RandomUniform") else _options(op.node_def)
    draft.steps.append(Step("CUSTOM", inputs, outputs, options=options, custom=op.type))


def _options(node: Any) -> dict[str, Any]:
    """Return a node's numbers, strings and lists of numbers; options hold nothing else."""
    found: dict[str, Any] = {}
    for name, value in node.attr.items():
        kind = value.WhichOneof("value")
        if name.startswith("_"):
            continue
        if kind in ("i", "f", "b", "s"):
            found[name] = getattr(value, kind)
        elif kind == "list" and (value.list.i or value.list.f):
            found[name] = list(value.list.i or value.list.f)
    return found
