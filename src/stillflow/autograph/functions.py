"""A function's syntax tree converted: jumps to flags, then statements to calls of operators."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable

from stillflow.autograph.build import Block, expression, locate, mark_located, operator, statements
from stillflow.autograph.expressions import Expressions
from stillflow.autograph.jumps import lower_jumps
from stillflow.autograph.lists import lower_lists
from stillflow.autograph.liveness import Liveness
from stillflow.autograph.names import Names, parameters
from stillflow.autograph.options import ConversionOptions, Feature
from stillflow.autograph.source import FunctionNode
from stillflow.autograph.statements import Statements

IsBuiltin = Callable[[str], bool]


def convert_tree(node: FunctionNode, options: ConversionOptions, is_builtin: IsBuiltin) -> None:
    """Convert the tree of a `def` or a `lambda` in place; NotImplementedError if impossible.

    `is_builtin` tells names that are, outside of the function, Python's own.
    """
    _refuse(node)
    mark_located(node)
    converter = _Converter(node, options)
    if isinstance(node, ast.Lambda):
        converter.lambda_(node, is_builtin)
    else:
        converter.function(node, is_builtin)


def _refuse(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Yield | ast.YieldFrom):
            raise NotImplementedError("Generators are not supported by AutoGraph")
        if isinstance(node, ast.Attribute) and _mangled(node.attr):
            raise NotImplementedError("Mangled names are not yet supported by AutoGraph")
        if isinstance(node, ast.Await | ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith):
            raise NotImplementedError("Coroutines are not supported by AutoGraph")


def _mangled(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")


class _Converter:
    def __init__(self, tree: ast.AST, options: ConversionOptions) -> None:
        self.options = options
        self.used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}

    def new_name(self, name: str) -> str:
        """Return a name like this one that the function does not use."""
        made = name
        for number in itertools.count(1):
            if made not in self.used:
                break
            made = f"{name}_{number}"
        self.used.add(made)
        return made

    def lambda_(self, node: ast.Lambda, is_builtin: IsBuiltin) -> None:
        scope = self.new_name("lambda_scope")
        own = parameters(node.args)
        known = lambda name: name not in own and is_builtin(name)  # noqa: E731
        body = Expressions(self.options, scope, _first(own), known).visit(node.body)
        inner = expression(f"lambda {scope}: 0")
        inner.body = body  # type: ignore[attr-defined]
        options = expression(self.options.as_source())
        node.body = locate(
            operator("with_function_scope", inner, expression(repr(scope)), options), body
        )

    def function(self, node: ast.FunctionDef, is_builtin: IsBuiltin) -> None:
        documentation, body = _split_documentation(node.body)
        scope = self.new_name(f"{node.name}_scope")
        if self.options.uses(Feature.AUTO_CONTROL_DEPS):
            _mark_returns(body, scope)
        body = lower_jumps(body or [locate(ast.Pass(), node)], self.new_name)
        if self.options.uses(Feature.LISTS):
            body = lower_lists(body, self.new_name)
        names, given = Names(body), parameters(node.args)
        own = {*given, *names.bound} - set(names.declared)

        def known(name: str) -> bool:
            return name not in own and is_builtin(name)

        converted = Statements(
            names,
            own,
            Liveness(body, own, names.declared),
            Expressions(self.options, scope, _first(given), known),
            lambda inner: self.function(inner, known),
            given,
        ).block(body)
        given_to_scope = f"{node.name!r}, {scope!r}, {self.options.as_source()}"
        (around,) = statements(f"with ag__.FunctionScope({given_to_scope}) as {scope}: 0")
        around.body = converted  # type: ignore[attr-defined]
        node.body = [*documentation, locate(around, body[0])]


def _first(given: list[str]) -> str | None:
    return given[0] if given else None


def _split_documentation(body: Block) -> tuple[Block, Block]:
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return body[:1], body[1:]
    return [], body


def _mark_returns(body: Block, scope: str) -> None:
    """Make returned values wait for the function's effects."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            call = expression(f"{scope}.mark_return_value(0)")
            call.args = [node.value]  # type: ignore[attr-defined]
            node.value = locate(call, node)
        elif not isinstance(node, ast.FunctionDef | ast.ClassDef):
            pending.extend(child for child in ast.iter_child_nodes(node))
