"""Files of graphs: a GraphDef or a MetaGraphDef, binary or text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from stillflow import errors
from stillflow.files import wire
from stillflow.files.failures import os_errors
from stillflow.files.filesystem import open_file
from stillflow.protos import GraphDef, MetaGraphDef


def read_graph(path: str) -> Any:
    """Return the binary or text GraphDef or MetaGraphDef in a file; else InvalidArgumentError."""
    with open_file(path) as file, os_errors(path):
        content = file.read()
    if not content:
        raise errors.invalid_argument(f"{path} is an empty file")
    for kind in (GraphDef, MetaGraphDef):
        for parse in (kind.FromString, from_text(kind)):
            try:
                message = parse(content)
            except (DecodeError, text_format.ParseError, UnicodeDecodeError, RecursionError):
                continue
            if _is_plausible(message):
                return message
    require_whole(path, content, MetaGraphDef, "graph")  # both begin alike
    raise errors.invalid_argument(
        f"{path} is no GraphDef and no MetaGraphDef, neither binary nor text"
    )


def require_whole(path: str, content: bytes, kind: Any, what: str) -> None:
    """Raise DataLossError if bytes are only the beginning of a message of a kind."""
    if wire.is_cut_off(content, kind):
        raise errors.data_loss(f"{path} is the beginning of a {what}; the rest is cut off")


def from_text(kind: Any) -> Callable[..., Any]:
    """Return the parser of a kind of message in text."""
    return lambda content: text_format.Parse(content.decode(), kind())


def _is_plausible(message: Any) -> bool:
    """Return True if a message is plausible: random bytes often parse too."""
    graph = message.graph_def if isinstance(message, MetaGraphDef) else message
    return bool(graph.node) and all(node.name and node.op.isidentifier() for node in graph.node)
