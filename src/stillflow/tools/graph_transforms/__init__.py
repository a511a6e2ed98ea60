"""tensorflow.tools.graph_transforms: rewritings of frozen graphs, one after another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from stillflow import errors
from stillflow.platform import tf_logging as logging
from stillflow.protos import GraphDef
from stillflow.tools.graph_transforms import (
    batch_norms,
    constant_folding,
    logging_nodes,
    pruning,
    renaming,
    weights,
)
from stillflow.tools.graph_transforms.context import TRANSFORMS, Context
from stillflow.tools.graph_transforms.nodes import node_name

__all__ = ["TransformGraph"]

# Importing these put their transforms on the list.
_MODULES = (batch_norms, constant_folding, logging_nodes, pruning, renaming, weights)

# Transforms of TensorFlow 1.15 that are not supported.
_LACKING = frozenset({
    "backport_tensor_array_v3", "freeze_requantization_ranges", "fuse_pad_and_conv",
    "fuse_resize_and_conv", "fuse_resize_pad_and_conv", "quantize_nodes", "sparsify_gather",
})  # fmt: skip

_NAME = re.compile(r"[A-Za-z0-9_]+")
_VALUE = re.compile(r"[A-Za-z0-9_./-]+")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


def TransformGraph(
    input_graph_def: Any, inputs: Sequence[str], outputs: Sequence[str], transforms: Sequence[str]
) -> Any:
    """Return a graph after some transforms.

    Args:
      input_graph_def: a `GraphDef`.
      inputs: the names of the nodes that are fed.
      outputs: the names of the nodes that are fetched.
      transforms: names, with parameters: `"fold_constants(ignore_errors=true)"`.

    Raises:
      InvalidArgumentError: If TensorFlow 1.15 has no such transform, or it cannot be applied.
      UnimplementedError: If Stillflow does not support it.
    """
    graph_def = GraphDef()
    graph_def.CopyFrom(input_graph_def)
    for name, parameters in _parsed(" ".join(transforms)):
        if name in _LACKING:
            raise errors.unimplemented(f"The graph transform {name} is not supported by Stillflow")
        if name not in TRANSFORMS:
            raise errors.invalid_argument(f"Transform '{name}' not recognized.")
        graph_def = _applied(name, graph_def, Context(list(inputs), list(outputs), parameters))
    return graph_def


def _applied(name: str, graph_def: Any, context: Context) -> Any:
    logging.info("Applying %s", name)
    ignores_errors = context.flag("ignore_errors", False)
    try:
        result = TRANSFORMS[name](graph_def, context)
    except errors.OpError as error:
        if not ignores_errors:
            raise
        logging.error(f"{name}: Ignoring error {error.message}")
        result = GraphDef()
        result.CopyFrom(graph_def)
    result.library.CopyFrom(graph_def.library)
    known = {node.name for node in result.node}
    for node in result.node:
        if any(node_name(source) not in known for source in node.input):
            raise errors.internal("Invalid graph with inputs referring to nonexistent nodes")
    return result


def _parsed(text: str) -> list[tuple[str, dict[str, list[str]]]]:
    """Return the names of transforms and their parameters, or raise InvalidArgumentError."""
    found: list[tuple[str, dict[str, list[str]]]] = []
    position = 0

    def take(pattern: re.Pattern[str], what: str) -> re.Match[str]:
        nonlocal position
        match = pattern.match(text, position)
        if match is None:
            raise errors.invalid_argument(f"Looking for {what}, but found {text[position:]}")
        position = match.end()
        return match

    while text[position:].strip():
        position += len(text[position:]) - len(text[position:].lstrip())
        name = take(_NAME, "transform name")[0]
        parameters: dict[str, list[str]] = {}
        found.append((name, parameters))
        if not text.startswith("(", position):
            continue
        position += 1
        while not text.startswith(")", position):
            take(re.compile(r",?\s*"), "parameter name")
            parameter = take(_NAME, "parameter name")[0]
            take(re.compile("="), "=")
            if text.startswith('"', position):
                value = take(_QUOTED, "parameter name")[1]
            else:
                value = take(_VALUE, "parameter name")[0]
            parameters.setdefault(parameter, []).append(value)
            take(re.compile("\"?'?"), "")
        position += 1
    return found
