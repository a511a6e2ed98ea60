"""Passes over a function's tree: analysis of its names, and one way out of it and of loops."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

import gast

from stillflow.autograph import transformer
from stillflow.autograph.build import Block, mark_located
from stillflow.autograph.jumps import LoopJumps, Returns, move_into_branches, returns_early
from stillflow_contrib.autograph.annotations import Basic, Static, getanno, setanno
from stillflow_contrib.autograph.qualified_names import QN, resolve
from stillflow_contrib.autograph.trees import to_ast

# Expressions that have names of their own.
_SCOPES = ("Lambda", "ListComp", "SetComp", "DictComp", "GeneratorExp")


class ProgramContext(NamedTuple):
    """Settings of the conversion of a program.

    Attributes:
      options: `ConversionOptions`.
      autograph_module: the module that converted code calls `ag__`.
    """

    options: Any
    autograph_module: Any


class EntityContext(transformer.Context):
    """State of the conversion of a function or class.

    Attributes:
      namer: a `Namer`.
      info: a `transformer.EntityInfo`.
      program: a `ProgramContext`.
      target_name: name of the result.
    """

    def __init__(
        self, namer: Any, entity_info: Any, program_ctx: Any, target_name: str | None = None
    ) -> None:
        super().__init__(entity_info)
        self.namer, self.program, self.target_name = namer, program_ctx, target_name


class Scope(NamedTuple):
    """Names of a statement.

    Attributes:
      read: names, attributes and items that are read, a `QN` each.
      modified: those that are assigned.
    """

    read: set[QN]
    modified: set[QN]

    @property
    def referenced(self) -> set[QN]:
        """All of them."""
        return self.read | self.modified


def standard_analysis(node: Any, context: Any, is_initial: bool = False) -> Any:
    """Annotate the names of a tree with a `QN` each, and its statements with a `Scope` each."""
    node = resolve(node)
    for each in gast.walk(node):
        if isinstance(each, gast.stmt):
            scope = Scope(set(), set())
            _Reader(scope).visit(each)
            setanno(each, Static.SCOPE, scope)
    return node


class _Reader(ast.NodeVisitor):
    """Collects the names of a node, but for those that a lambda or comprehension makes itself."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def visit(self, node: Any) -> None:
        """Collect the names of a node and of what is below."""
        kind, (read, modified) = type(node).__name__, self.scope
        if kind in _SCOPES:
            inner = Scope(set(), set())
            _Reader(inner).generic_visit(node)
            read.update(name for name in inner.read if not name.support_set & inner.modified)
            return
        self.generic_visit(node)
        name = getanno(node, Basic.QN, None)
        if name is not None:
            (read if isinstance(node.ctx, gast.Load) else modified).add(name)
        if kind == "AugAssign" and (name := getanno(node.target, Basic.QN, None)) is not None:
            read.add(name)


def lower_loop_jumps(node: Any, ctx: Any) -> Any:
    """Return a function whose loops end by flags, without `break` and `continue`."""
    return _rewritten(node, ctx, lambda body, name: LoopJumps(name).block(body)[0])


def lower_returns(node: Any, ctx: Any, default_to_null_return: bool = True) -> Any:
    """Return a function with one `return`, at its end.

    Args:
      node: the function's tree, of gast.
      ctx: an `EntityContext`.
      default_to_null_return: whether the returned value is defined, as None, on paths that do not
        return one.
    """

    def change(body: Block, name: Callable[[str], str]) -> Block:
        returns = any(isinstance(each, ast.Return) for part in body for each in ast.walk(part))
        if not returns or (default_to_null_return and not returns_early(body)):
            return body
        move_into_branches(body)
        lowering = Returns(name("do_return"), name("retval_"))
        if default_to_null_return:
            return lowering.function(body)
        end = ast.parse(f"return {lowering.retval}").body[0]
        return [*lowering.block(body)[0], ast.copy_location(end, body[-1])]

    return _rewritten(node, ctx, change)


def _rewritten(node: Any, ctx: Any, change: Callable[[Block, Callable[[str], str]], Block]) -> Any:
    """Rewrite the body of a function as a tree of Python's own."""
    names = {each.id for each in gast.walk(node) if isinstance(each, gast.Name)}
    tree = to_ast(node)
    for ours, theirs in _loops(tree, node):
        if (test := getanno(theirs, "extra_test", None)) is not None:
            ours.extra_test = to_ast(test)
    mark_located(tree)
    tree.body = change(tree.body, lambda root: ctx.namer.new_symbol(root, names))
    made = gast.ast_to_gast(ast.fix_missing_locations(tree))
    for ours, theirs in _loops(tree, made):
        if hasattr(ours, "extra_test"):
            setanno(theirs, "extra_test", gast.ast_to_gast(ours.extra_test))
    return resolve(made)


def _loops(tree: Any, other: Any) -> Any:
    """Yield the `for` loops of a tree and those of its copy of gast."""
    return zip(*([n for n in ast.walk(t) if type(n).__name__ == "For"] for t in (tree, other)))
