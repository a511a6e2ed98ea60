"""Checks of a GraphDef's nodes before anything is made of them, with TF's messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from stillflow.graph.op_text import op_text
from stillflow.graph.signature import Signature

_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\-/>]*\Z")


def check_form(node: Any) -> None:
    """Raise ValueError for a `NodeDef` without name or op, or with inputs in a wrong order."""
    if not _NAME.match(node.name):
        raise ValueError(f"Node '{node.name}': Node name contains invalid characters")
    if not node.op:
        raise ValueError(f"Node '{node.name}' does not specify an operation")
    after_control = False
    for text in node.input:
        if text.startswith("^"):
            after_control = True
        elif after_control:
            raise ValueError(
                f"Node '{node.name}': Control dependencies must come after regular dependencies"
            )


def unknown_attr(signature: Signature, name: str, key: str) -> ValueError:
    """Return the error for an attribute that the op of the node `name` does not have."""
    return ValueError(
        f"NodeDef mentions attr '{key}' not in {op_text(signature)}; NodeDef: {{{{node {name}}}}}. "
        "(Check whether your GraphDef-interpreting binary is up to date with your "
        "GraphDef-generating binary.)."
    )


def missing_attrs(signature: Signature, name: str, keys: Sequence[str]) -> ValueError:
    """Return the error for missing attributes of the node `name`."""
    listed = ", ".join(f"'{key}'" for key in keys)
    word = "attr" if len(keys) == 1 else "attrs"
    where = f"{op_text(signature)}; NodeDef: {{{{node {name}}}}}"
    return ValueError(f"NodeDef missing {word} {listed} from {where}")


def wrong_count(signature: Signature, name: str, types: Sequence[str], count: int) -> ValueError:
    """Return the error for another number of inputs than those of the given types."""
    return ValueError(
        f"NodeDef expected inputs '{', '.join(types)}' do not match {count} inputs specified; "
        f"{op_text(signature)}; NodeDef: {{{{node {name}}}}}"
    )
