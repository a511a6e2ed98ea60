"""Annotations of nodes of a syntax tree, by keys (TensorFlow's `autograph.pyct.anno`)."""

from __future__ import annotations

import enum
from typing import Any

_FIELD = "___pyct_anno"
FAIL = object()


class Basic(enum.Enum):
    """Keys that passes of every kind know."""

    QN = "Qualified name, as it appeared in the code."
    SKIP_PROCESSING = "This node should be preserved as is and not processed any further."
    INDENT_BLOCK_REMAINDER = "The rest of the block belongs into this node."
    ORIGIN = "Where the node comes from."

    def __repr__(self) -> str:
        return self.name


class Static(enum.Enum):
    """Keys of what analyses find."""

    SCOPE = "The names that the statement reads and modifies."

    def __repr__(self) -> str:
        return self.name


def keys(node: Any, field_name: str = _FIELD) -> frozenset[Any]:
    """Return the keys of a node's annotations."""
    return frozenset(getattr(node, field_name, ()))


def getanno(node: Any, key: Any, default: Any = FAIL, field_name: str = _FIELD) -> Any:
    """Return an annotation; without a default value KeyError if there is none."""
    found = getattr(node, field_name, {})
    return found[key] if default is FAIL else found.get(key, default)


def hasanno(node: Any, key: Any, field_name: str = _FIELD) -> bool:
    """Return True if a node has an annotation."""
    return key in getattr(node, field_name, ())


def setanno(node: Any, key: Any, value: Any, field_name: str = _FIELD) -> None:
    """Annotate a node."""
    if not hasattr(node, field_name):
        setattr(node, field_name, {})
    getattr(node, field_name)[key] = value


def delanno(node: Any, key: Any, field_name: str = _FIELD) -> None:
    """Remove an annotation; KeyError if there is none."""
    del getattr(node, field_name, {})[key]


def copyanno(from_node: Any, to_node: Any, key: Any, field_name: str = _FIELD) -> None:
    """Give a node the annotation of another one, if that has it."""
    if hasanno(from_node, key, field_name):
        setanno(to_node, key, getanno(from_node, key, field_name=field_name), field_name)
