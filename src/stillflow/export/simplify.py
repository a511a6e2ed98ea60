"""Source whose tests are partly known, without the branches that are never taken."""

from __future__ import annotations

import ast
from typing import Any


def simplified(node: Any) -> Any:
    """Return a tree in which tests of constants, and what never runs behind them, are left out."""
    return _Simplifier().visit(node)


class _Simplifier(ast.NodeTransformer):
    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        ends = isinstance(node.op, ast.Or)  # the truth at which the others do not matter
        values: list[ast.expr] = []
        for operand in node.values:
            is_text = operand is node.values[-1] and getattr(operand, "value", None) in ("", b"", 0)
            if not isinstance(operand, ast.Constant) or is_text:
                values.append(operand)
            elif bool(operand.value) is ends:
                values.append(operand)
                break
        if not values:
            return ast.Constant(not ends)
        if isinstance(values[0], ast.Constant):
            return values[0] if len(values) == 1 else ast.Constant(ends)
        return values[0] if len(values) == 1 else ast.BoolOp(node.op, values)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant):
            return ast.Constant(not node.operand.value)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        is_none = isinstance(node.comparators[0], ast.Constant) and (
            node.comparators[0].value is None
        )
        if is_none and isinstance(node.left, ast.Constant) and len(node.ops) == 1:
            same = node.left.value is None or node.left.value is False
            if isinstance(node.ops[0], ast.Is):
                return ast.Constant(same)
            if isinstance(node.ops[0], ast.IsNot):
                return ast.Constant(not same)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return (node.body if node.test.value else node.orelse) or ast.Pass()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.body = _reached(node.body)
        return node


def _reached(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return a block's statements up to the first that leaves it, without empty ones."""
    kept: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.Pass):
            continue
        kept.append(statement)
        if isinstance(statement, (ast.Return, ast.Raise)):
            break
    return kept or [ast.Pass()]
