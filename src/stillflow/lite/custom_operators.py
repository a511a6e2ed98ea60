"""Operations that TensorFlow itself does not know, at the end of a graph: custom operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.card import find
from stillflow.lite.draft import Draft, Step
from stillflow.lite.settings import ConverterError
from stillflow.protos import GraphDef


def split(graph_def: Any) -> tuple[Any, list[Any]]:
    """Returns a graph without the operations that TensorFlow does not know, and these.

    Raises:
      ConverterError: If something else reads what they write: of what shape it is nobody knows.
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
                    f"{names[source.partition(':')[0]]} writes: of that Stillflow knows no shape"
                )
    return known, custom


def sources(custom: Sequence[Any]) -> list[str]:
    """Returns what custom operations read."""
    return list(dict.fromkeys(name for node in custom for name in node.input))


def add(draft: Draft, node: Any, inputs: list[str]) -> None:
    """Adds a custom operator to a draft."""
    types = [dtypes.as_dtype(kind) for kind in node.attr["_output_types"].list.type]
    outputs = [node.name, *(f"{node.name}:{i}" for i in range(1, len(types)))]
    for name, dtype in zip(outputs, types or [dtypes.float32]):
        draft.declare(name, (), dtype.as_numpy_dtype)
    draft.steps.append(Step("CUSTOM", inputs, outputs, options=_options(node), custom=node.op))


def _options(node: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in node.attr.items():
        kind = value.WhichOneof("value")
        if kind in ("i", "f", "b"):
            found[name] = getattr(value, kind)
        elif kind not in ("type", "shape") and not name.startswith("_"):
            raise ConverterError(
                f"The attribute {name} of {node.op} is no number, which Stillflow does not support"
            )
    return {name: value for name, value in found.items() if not name.startswith("_")}
