"""Attributes that a GraphDef leaves out because they have their defaults."""

from __future__ import annotations

from functools import cache
from typing import Any

from stillflow.graph.attrs import fill_proto
from stillflow.graph.card import Card, find


def add_default_attrs(graph_def: Any) -> None:
    """Write defaults of missing attributes into a GraphDef, as importing it does."""
    for node in graph_def.node:
        card = find(node.op)
        if card is None:
            continue
        for name in _with_default(card):
            if name not in node.attr or node.attr[name].WhichOneof("value") is None:
                attr = card.signature.attrs[name]
                fill_proto(node.attr[name], attr.default, attr.kind)


@cache
def _with_default(card: Card) -> tuple[str, ...]:
    return tuple(name for name, attr in card.signature.attrs.items() if attr.has_default)
