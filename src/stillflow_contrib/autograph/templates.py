"""Code with placeholders, filled with parts of syntax trees (`autograph.pyct.templates`)."""

from __future__ import annotations

import ast
import copy
import textwrap
from typing import Any

import gast

from stillflow_contrib.autograph.qualified_names import QN, resolve


def replace(template: str, **replacements: Any) -> list[Any]:
    """Return the statements of a template whose names are replaced.

    Args:
      template: code.
      **replacements: by name a node, a list of them, a `QN`, or a string, which is a name. A list
        may replace an argument, or a statement.

    Raises:
      ValueError: if something other than a name replaces a function's name or an attribute.
    """
    filled = {name: _nodes(value) for name, value in replacements.items()}
    statements: list[Any] = gast.parse(textwrap.dedent(template)).body
    found: list[Any] = []
    for statement in statements:
        new = _Filler(filled).visit(statement)
        found.extend(new if isinstance(new, list) else [new])
    return [resolve(node) for node in found]


def replace_as_expression(template: str, **replacements: Any) -> Any:
    """Return the expression of a template whose names are replaced; ValueError if it is none."""
    found = replace(template, **replacements)
    if len(found) != 1:
        raise ValueError(
            f"single expression expected; for more general templates use replace: {found}"
        )
    (node,) = found
    if isinstance(node, gast.Expr):
        return node.value
    if isinstance(node, gast.Name):
        return node
    raise ValueError(
        f"the template is expected to generate an expression or a name node; instead found {node}"
    )


def _nodes(value: Any) -> Any:
    if isinstance(value, str):
        return gast.Name(value, gast.Load(), None, None)
    if isinstance(value, QN):
        return value.ast()
    if isinstance(value, (list, tuple)):
        return [_nodes(each) for each in value]
    return value


class _Filler(ast.NodeTransformer):
    def __init__(self, replacements: dict[str, Any]) -> None:
        self.replacements = replacements

    def visit_Name(self, node: Any) -> Any:
        if node.id not in self.replacements:
            return node
        new = copy.deepcopy(self.replacements[node.id])
        for each in new if isinstance(new, list) else [new]:
            _set_context(each, node.ctx)
        return new

    def visit_Expr(self, node: Any) -> Any:
        """Let statements replace a name that is a statement."""
        value = self.visit(node.value)
        if isinstance(value, gast.expr) and not isinstance(node.value, gast.Name):
            node.value = value
            return node
        return node if value is node.value else value

    def visit_FunctionDef(self, node: Any) -> Any:
        self.generic_visit(node)
        node.name = self._renamed(node.name)
        return node

    def visit_Attribute(self, node: Any) -> Any:
        self.generic_visit(node)
        node.attr = self._renamed(node.attr)
        return node

    def visit_keyword(self, node: Any) -> Any:
        """Let arguments replace one that is called as a placeholder."""
        new = self.replacements.get(node.arg)
        if isinstance(new, list) and all(isinstance(each, gast.keyword) for each in new):
            return copy.deepcopy(new)
        self.generic_visit(node)
        node.arg = self._renamed(node.arg)
        return node

    def _renamed(self, name: Any) -> Any:
        new = self.replacements.get(name)
        if new is None:
            return name
        if not isinstance(new, gast.Name):
            raise ValueError(f"a name can only be replaced by a name: {name} by {new}")
        return new.id


def _set_context(node: Any, context: Any) -> None:
    """Have an expression read, assigned or taken as an argument; so are the parts of a tuple."""
    if hasattr(node, "ctx"):
        node.ctx = context
        for each in getattr(node, "elts", ()):
            _set_context(each, context)
