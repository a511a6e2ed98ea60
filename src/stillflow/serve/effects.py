"""Effects of a graph that is to be served, as far as its signatures reach.

A run of an operation that is not allowed raises anyway. Here the model is turned down while it is
loaded, so that a version with such operations never takes the place of a good one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stillflow import errors
from stillflow.graph import trust

_UNTOLD = ("unknown", trust.HIDDEN)  # an import says the first; the policy holds in the second


def check_effects(graph_def: Any, outputs: Iterable[str], path: str) -> None:
    """Raise PermissionDeniedError where outputs need operations with effects on files and the like.

    Args:
      graph_def: the graph.
      outputs: names of tensors.
      path: the model, for the error.
    """
    reached = reachable(graph_def, outputs)
    effects = {
        effect: names
        for effect, names in trust.effects_of(reached).items()
        if effect not in _UNTOLD
    }
    if effects:
        told = "; ".join(f"{effect}: {', '.join(names)}" for effect, names in effects.items())
        raise errors.permission_denied(
            f"{path} is not served, because its graph does more than compute ({told}). "
            "Serve it with --trust if you know where it comes from."
        )


def reachable(graph_def: Any, outputs: Iterable[str]) -> Any:
    """Return the part of a GraphDef that outputs need, with the functions that it calls."""
    nodes = {node.name: node for node in graph_def.node}
    functions = {function.signature.name: function for function in graph_def.library.function}
    found = type(graph_def)()
    seen: set[str] = set()
    called: set[str] = set()
    left = [name.partition(":")[0] for name in outputs]
    while left:
        name = left.pop()
        if name in seen or name not in nodes:
            continue
        seen.add(name)
        found.node.append(nodes[name])
        left += [text.lstrip("^").partition(":")[0] for text in nodes[name].input]
        _call(nodes[name], functions, called, found)
    return found


def _call(node: Any, functions: dict[str, Any], called: set[str], found: Any) -> None:
    """Add the functions that a node calls, and those that they call."""
    left = [node]
    while left:
        node = left.pop()
        names = [node.op]
        for value in node.attr.values():
            names += [value.func.name, *(each.name for each in value.list.func)]
        for name in names:
            if name in functions and name not in called:
                called.add(name)
                found.library.function.append(functions[name])
                left += functions[name].node_def
