"""Bounds on calls of functions that call others, looked at before any is taken apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stillflow import errors
from stillflow.graph.functions import find_function
from stillflow.graph.graph import Graph
from stillflow.graph.trust import functions_in

MOST_CALLS = 1 << 16  # of one run, those inside of others included
DEEPEST = 100  # calls, one inside the other


class TooManyCalls(Exception):
    """Calls that are more, or deeper, than a run may have."""


def checked_calls(op: Any, graph: Graph, name: str, known: dict[str, int]) -> int:
    """Return how many calls one call of a function makes, itself included.

    The known bounds by function names grow. ResourceExhaustedError, for `op`, if there are too
    many, or too many inside each other.
    """
    try:
        return _calls(graph, name, known, ())
    except TooManyCalls as error:
        where = f"\n\t [[{{{{node {op.name}}}}}]]"
        raise errors.resource_exhausted(f"{error}{where}", op) from None


def _calls(graph: Graph, name: str, known: dict[str, int], callers: tuple[str, ...]) -> int:
    if name in callers:
        return 1  # a call of its own, made when it is reached
    if name not in known:
        if len(callers) == DEEPEST:
            raise TooManyCalls(
                f"Function {callers[0]} calls functions that call others, more than {DEEPEST} deep"
            )
        function = find_function(graph, name)
        named = () if function is None else _named(graph, function.definition)
        known[name] = 1 + sum(_calls(graph, each, known, (*callers, name)) for each in named)
        if known[name] > MOST_CALLS:
            raise TooManyCalls(
                f"Function {name} makes {known[name]} calls of functions that call others; the "
                f"limit is {MOST_CALLS}"
            )
    return known[name]


def _named(graph: Graph, definition: Any) -> Iterator[str]:
    """Yield the functions that the nodes of a definition call."""
    for node in definition.node_def:
        if graph._get_function(node.op) is not None:
            yield node.op
        yield from (function.name for function in functions_in(node))
