"""Pieces of converted code."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeVar

Block = list[ast.stmt]
_Node = TypeVar("_Node", bound=ast.AST)


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def statements(text: str) -> Block:
    return ast.parse(text).body


def assign(name: str, value: str) -> ast.stmt:
    """`name = value`, of texts."""
    return statements(f"{name} = {value}")[0]


def operator(name: str, *args: ast.expr, **kwargs: ast.expr) -> ast.Call:
    """Return a call of one of `stillflow.autograph.operators`."""
    keywords = [ast.keyword(key, value) for key, value in kwargs.items()]
    return ast.Call(expression(f"ag__.{name}"), list(args), keywords)


def thunk(value: ast.expr) -> ast.Lambda:
    """`lambda: value`."""
    made = expression("lambda: 0")
    assert isinstance(made, ast.Lambda)
    made.body = value
    return made


def locate(node: _Node, at: ast.AST) -> _Node:
    """Give new code the place of `at`; code of the program keeps its place."""
    place = _start_of(at)
    pending: list[ast.AST] = [node]
    while pending:
        new = pending.pop()
        if getattr(new, "_located", False):
            continue
        if "lineno" in new._attributes:
            for name, value in place.items():
                setattr(new, name, value)
        new._located = True  # type: ignore[attr-defined]
        pending.extend(ast.iter_child_nodes(new))
    return node


def _start_of(node: Any) -> dict[str, int]:
    """Return the start of code, and its end if that is in the first line."""
    line, column, end = node.lineno, node.col_offset, node.end_col_offset
    end = end if node.end_lineno == line else column + 1
    return {"lineno": line, "col_offset": column, "end_lineno": line, "end_col_offset": end}


def mark_located(tree: ast.AST) -> None:
    """Says that all of a tree stands in the program where it says."""
    for node in ast.walk(tree):
        node._located = True  # type: ignore[attr-defined]


def map_blocks(node: ast.stmt, change: Callable[[Block], Block]) -> None:
    """Change the blocks of a statement, in their order; those of definitions are left alone."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    parts = [node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())]
    for name in ("body", "orelse", "finalbody"):
        for part in parts:
            if getattr(part, name, None):
                setattr(part, name, change(getattr(part, name)))
