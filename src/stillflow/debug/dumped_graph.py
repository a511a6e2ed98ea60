"""The graph that ran on a device, as a dump tells it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import Any

_DEBUG_NODE = re.compile(r"__(?:copy|dbg)_.*")
_REFERENCE_WRITERS = re.compile(r"Assign.*|Apply.*|Scatter.*|CountUpTo")


def reconstruct_non_debug_graph_def(debug_graph_def: Any) -> Any:
    """Return a `GraphDef` without the nodes by which TensorFlow's debugger watches others."""
    graph_def = type(debug_graph_def)()
    graph_def.CopyFrom(debug_graph_def)
    del graph_def.node[:]
    copied = {
        node.name: node.input[0] for node in debug_graph_def.node
        if node.name.startswith("__copy_")
    }  # fmt: skip
    for node in debug_graph_def.node:
        if _DEBUG_NODE.fullmatch(node.name):
            continue
        kept = graph_def.node.add()
        kept.CopyFrom(node)
        del kept.input[:]
        for source in node.input:
            name = source.removeprefix("^").partition(":")[0]
            if name in copied:
                kept.input.append(copied[name])
            elif not _DEBUG_NODE.fullmatch(name):
                kept.input.append(source)
    return graph_def


class DumpedGraph:
    """Nodes, their inputs and recipients.

    Args:
      debug_graph_def: what ran, as it was dumped.
    """

    def __init__(self, debug_graph_def: Any) -> None:
        self.debug_graph_def = debug_graph_def
        self.graph_def = reconstruct_non_debug_graph_def(debug_graph_def)
        self.nodes = {node.name: node for node in self.graph_def.node}
        self.inputs: dict[str, list[str]] = {name: [] for name in self.nodes}
        self.controls: dict[str, list[str]] = {name: [] for name in self.nodes}
        self.recipients: dict[str, list[str]] = {name: [] for name in self.nodes}
        self.control_recipients: dict[str, list[str]] = {name: [] for name in self.nodes}
        self.sources: dict[str, list[tuple[str, int]]] = {}  # inputs, with their slots
        for name, node in self.nodes.items():
            self._connect(name, node)

    def _connect(self, name: str, node: Any) -> None:
        sources = self.sources[name] = []
        for text in node.input:
            source, _, slot = text.removeprefix("^").partition(":")
            if source not in self.nodes:
                continue
            if text.startswith("^"):
                self.controls[name].append(source)
                self.control_recipients[source].append(name)
                continue
            sources.append((source, int(slot or 0)))
            self.inputs[name].append(source)
            if name not in self.recipients[source]:
                self.recipients[source].append(name)

    def before(
        self, name: str, include_control: bool = True, include_reversed_ref: bool = False
    ) -> list[str]:
        """Return the nodes that must run before one: inputs, and changes of its variables."""
        names = [*self.inputs[name], *(self.controls[name] if include_control else ())]
        if include_reversed_ref:
            for user in self.recipients[name]:
                writes = _REFERENCE_WRITERS.fullmatch(self.nodes[user].op)
                if writes and self.inputs[user][:1] == [name]:
                    names.append(user)
        return names

    def all_before(self, name: str, before: Callable[[str], list[str]]) -> list[str]:
        """All nodes that a node depends on, nearest first."""
        found: dict[str, None] = {}
        waiting = deque(before(name))
        while waiting:
            current = waiting.popleft()
            if current not in found and current != name:
                found[current] = None
                waiting.extend(before(current))
        return list(found)

    def path(self, start: str, end: str, before: Callable[[str], list[str]]) -> list[str] | None:
        """Return a shortest way from one node to another, both included; None if there is none."""
        after: dict[str, str | None] = {end: None}
        waiting = deque([end])
        while waiting:
            current = waiting.popleft()
            if current == start:
                way: list[str] = []
                step: str | None = current
                while step is not None:
                    way.append(step)
                    step = after[step]
                return way
            for source in before(current):
                if source not in after:
                    after[source] = current
                    waiting.append(source)
        return None
