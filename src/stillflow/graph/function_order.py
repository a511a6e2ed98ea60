"""Check that the nodes of a function's body can be ordered."""

from __future__ import annotations

from typing import Any


def check_order(definition: Any) -> None:
    """Raise ValueError for a `FunctionDef` whose nodes have no order of execution."""
    kinds = {node.name: node.op for node in definition.node_def}
    given = {arg.name for arg in definition.signature.input_arg}
    waiting: dict[tuple[str, str], set[str]] = {}
    for node in definition.node_def:
        sources = {_source(text) for text in node.input}
        for source in sources - kinds.keys() - given:
            text = f"input {source} is not found: {{{{node {node.name}}}}}"
            raise ValueError(f"{text}\n\tIn {{{{node {node.name}}}}}")
        if node.op == "Merge":  # the back edge of a loop comes later
            sources = {source for source in sources if kinds.get(source) != "NextIteration"}
        waiting["node", node.name] = sources & kinds.keys()
    for output, text in definition.ret.items():
        waiting["output", output] = {_source(text)} & kinds.keys()
    ready: set[str] = {""}
    while ready:
        found = [key for key, sources in waiting.items() if not sources]
        ready = {name for kind, name in found if kind == "node"}
        waiting = {key: sources - ready for key, sources in waiting.items() if sources}
    if waiting:
        raise ValueError(f"{len(waiting)} nodes in a cycle")


def _source(text: str) -> str:
    """Return the node or argument that an input of a body names: `Add:z:0`, `x`, `^Add`."""
    return str(text).removeprefix("^").partition(":")[0]
